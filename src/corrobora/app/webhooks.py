"""Webhooks: who is notified of the end of a run, when it is tried again, and what is sent.

A webhook belongs to no process: after a crash another one sends it, under the same id. Does not know runs or reports.
Loads what speaks HTTP, which a command over a library needs not.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from corrobora.adapters.delivery import (
    WEBHOOK_SECONDS,
    WebhookMessage,
    check_webhook,
    find_host,
    parse_signing_keys,
    post_webhook,
)
from corrobora.config import Settings
from corrobora.domain.errors import JournalError, UserError
from corrobora.storage.postgres import cancel_tasks

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.storage.queue.statements import DueWebhook, WebhookRecord

log = logging.getLogger("corrobora")
RETRY_SECONDS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)  # as Standard Webhooks advises
LEASE_SECONDS = 4 * WEBHOOK_SECONDS  # after which another process takes what a dead one had taken
POLL_SECONDS = 1.0
_AT_ONCE = 8


def check_request_webhook(settings: Settings, url: str) -> None:
    """Refuse a webhook that could not be sent. Raises `UserError`: no key, or an address that is not allowed."""
    check_webhook(url, settings.webhook_hosts)
    parse_signing_keys(settings.key("webhook").reveal())


async def send_webhooks(workspace: Workspace) -> None:
    """Send what is due, until cancelled; a process without a usable key leaves it to others."""
    if not workspace.settings.key("webhook").set:
        return
    try:
        keys = parse_signing_keys(workspace.settings.key("webhook").reveal())
    except UserError as error:
        log.warning("no webhook is sent: %s", error.message)
        return
    sending: set[asyncio.Task[None]] = set()
    try:
        while True:
            try:
                most = _AT_ONCE - len(sending)
                found = await workspace.webhooks.take_due(most=most, seconds=LEASE_SECONDS) if most else ()
            except JournalError as error:
                log.warning("looking for due webhooks: %s", error)
                found = ()
            for due in found:
                task = asyncio.create_task(_send_one(workspace, due, keys), name=f"webhook {due.id}")
                sending.add(task)
                task.add_done_callback(sending.discard)
            await asyncio.sleep(POLL_SECONDS)
    finally:
        await cancel_tasks(*sending)


async def _send_one(workspace: Workspace, due: DueWebhook, keys: Sequence[bytes]) -> None:
    message = WebhookMessage(due.id, write_body(due), int(datetime.now(UTC).timestamp()))
    result = await post_webhook(due.url, message, keys=keys, hosts=workspace.settings.webhook_hosts)
    again = None
    if not (result.delivered or result.gone) and due.attempt <= len(RETRY_SECONDS):
        pause = max(RETRY_SECONDS[due.attempt - 1], result.wait)
        again = pause * random.uniform(1.0, 1.1)  # noqa: S311 - receivers are not met at once
    try:
        await workspace.webhooks.store_result(due, result.told, delivered=result.delivered, again=again)
    except JournalError as error:  # the lease ends, and it is sent again under the same id
        log.warning("webhook %s: %s", due.id, error)
        return
    log.info("webhook %s: attempt %d: %s", due.id, due.attempt, result.told, extra={"run": due.run})


def describe_webhook(record: WebhookRecord) -> dict[str, Any]:
    """Return a delivery as JSON values for people and programs: its host, never the rest of the address."""
    return {
        "id": record.id,
        "host": find_host(record.url),
        "event": f"run.{record.status}",
        "state": record.state,
        "ended_at": record.ended_at,
        "next_at": record.next_at,
        "attempts": [{"at": each.at, "result": each.result} for each in record.attempts],
    }


def write_body(due: DueWebhook) -> bytes:
    """Return the body of an event: the same bytes in every attempt."""
    data = {"run": due.run, "status": due.status, "outcome": due.outcome, "reason": due.reason}
    links = {"self": f"/api/v1/runs/{due.run}", "report": f"/api/v1/runs/{due.run}/report"}
    event = {"type": f"run.{due.status}", "timestamp": due.ended_at, "data": {**data, "links": links}}
    return json.dumps(event, ensure_ascii=False).encode()
