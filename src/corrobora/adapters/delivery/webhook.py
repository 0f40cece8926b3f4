"""Delivery to a webhook: a finished report posted to the operator's endpoint, signed as Standard Webhooks specifies.

Knows the three headers and the signature. The address comes from the operator's settings only, never from a question, a
page, a request or a model.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Self

import httpx2

from corrobora.adapters.http import tls_context
from corrobora.domain.errors import ProviderError, UserError
from corrobora.ports import Clock
from corrobora.registry import Configuration

POST_SECONDS = 30.0


class WebhookDelivery:
    """Posts `{type, timestamp, data}` with the headers webhook-id, webhook-timestamp and webhook-signature."""

    name = "webhook"
    syntax = "webhook"

    def __init__(self, url: str, secret: str, *, clock: Clock) -> None:
        self._url = url
        self._key = parse_signing_key(secret)
        self._clock = clock

    @classmethod
    def open_target(cls, where: str, given: Configuration) -> Self:
        """Return the channel to the operator's endpoint. Raises `UserError` if a request names another one."""
        if where:
            raise UserError(
                "delivery_webhook",
                "The address of the webhook is the operator's: a request cannot name one.",
                next_step="Set delivery.webhook_url and write: --deliver webhook",
            )
        return cls(given.require("delivery.webhook_url"), given.secret("webhook"), clock=given.clock)

    async def send(self, title: str, files: Mapping[str, bytes], *, delivery: str) -> None:
        """Post the report; the same `delivery` has the same webhook-id, so that a receiver can drop a duplicate.

        Raises:
            ProviderError: `delivery_webhook`; retryable for 429, 5xx and broken connections.
        """
        texts = {name: content.decode("utf-8", "replace") for name, content in files.items()}
        wall = self._clock.utc_time()
        data = {"id": delivery, "title": title, "files": texts}
        event = {"type": "report.completed", "timestamp": wall, "data": data}
        body = json.dumps(event, ensure_ascii=False).encode()
        stamp = str(int(datetime.fromisoformat(wall).timestamp()))
        headers = {
            "Content-Type": "application/json",
            "webhook-id": delivery,
            "webhook-timestamp": stamp,
            "webhook-signature": sign_payload(self._key, delivery, stamp, body),
        }
        try:
            async with httpx2.AsyncClient(
                follow_redirects=False, trust_env=False, timeout=httpx2.Timeout(POST_SECONDS), verify=tls_context()
            ) as client:
                reply = await client.post(self._url, content=body, headers=headers)
        except httpx2.RequestError as error:
            raise self._delivery_error(type(error).__name__, retryable=True) from error
        if not reply.is_success:
            status = reply.status_code
            raise self._delivery_error(f"HTTP {status}", retryable=status == 429 or status >= 500)  # noqa: PLR2004 - HTTP

    def _delivery_error(self, why: str, *, retryable: bool) -> ProviderError:
        return ProviderError(
            "delivery_webhook",
            f"The webhook did not take the report: {why}.",
            provider=self.name,
            retryable=retryable,
            next_step="Check the setting delivery.webhook_url, then: corrobora resume RUN --from-stage delivery",
        )


def parse_signing_key(secret: str) -> bytes:
    """Read `whsec_BASE64`. Raises `UserError` for anything else."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith("whsec_") or len(key) < 16:  # noqa: PLR2004 - bytes that cannot be guessed
        raise UserError(
            "delivery_secret",
            "The secret of the webhook must be whsec_ and the Base64 of at least 16 bytes.",
            next_step="Make one: openssl rand -base64 32",
        )
    return key


def sign_payload(key: bytes, identity: str, stamp: str, body: bytes) -> str:
    """Return `v1,BASE64` of HMAC-SHA-256 over id, timestamp and body, joined by full stops."""
    signed = b".".join((identity.encode(), stamp.encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
