"""Webhooks of runs: which addresses a request may name, and one signed POST request over vetted connections.

Knows the operator's list of hosts, Standard Webhooks and how a receiver can fail. Follows no redirect, reads no answer
but its status, and reaches no private address that the operator did not write down. Does not know runs or retries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpcore2

from corrobora.adapters.delivery import sign_payload
from corrobora.adapters.http import tls_context
from corrobora.adapters.web import DEFAULT_PORTS, BadUrl, parse_url
from corrobora.adapters.web.network import AllowList, ConnectionBlocked, NameUnresolved, VettedNetwork
from corrobora.adapters.web.transport import USER_AGENT
from corrobora.domain.errors import UserError

ANYWHERE = "*"  # in the list of hosts: every public one
POST_SECONDS = 15.0
_GONE = 410


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """What is sent and signed: the id of the event, the same in every attempt, its body, and seconds since 1970."""

    id: str
    body: bytes
    at: int


@dataclass(frozen=True, slots=True)
class PostResult:
    """What a receiver answered, in words without its address; `gone` if it wants no more."""

    told: str
    delivered: bool = False
    gone: bool = False


def find_host(url: str) -> str:
    """Return the host of an address, which may be shown: the rest of it may hold a secret."""
    return urlsplit(url).hostname or ""


def parse_hosts(hosts: Sequence[str]) -> AllowList:
    """Return what an operator's list allows: `HOST` means its port 443, and `HOST:PORT` that very endpoint.

    A private address is reached only if it is in the list itself, also where a name of the list leads to it.
    """
    endpoints: set[tuple[str, int]] = set()
    for each in hosts:
        parts = urlsplit(f"//{each}")
        if parts.hostname and each != ANYWHERE:
            endpoints.add((parts.hostname, parts.port or DEFAULT_PORTS["https"]))
    ports = {DEFAULT_PORTS["https"], *(port for _, port in endpoints)}
    return AllowList(ports=frozenset(ports), endpoints=frozenset(endpoints))


def check_webhook(url: str, hosts: Sequence[str]) -> None:
    """Refuse an address that a request may not name. Raises `UserError` `webhook_address` or `webhook_refused`."""
    try:
        parsed = parse_url(url)
    except BadUrl as error:
        raise UserError("webhook_address", f"The webhook has no usable address: {error}.") from error
    port = parsed.port or DEFAULT_PORTS[parsed.scheme]
    host = parsed.host.lower().rstrip(".")
    listed = (host, port) in parse_hosts(hosts).endpoints
    if not listed and not (ANYWHERE in hosts and port == DEFAULT_PORTS["https"]):
        raise UserError(
            "webhook_refused",
            f"The operator of this server allows no webhook to {host[:80]}:{port}.",
            next_step=f'Ask for it: delivery.webhook_hosts = ["{host[:80]}:{port}"]',
        )
    if parsed.scheme != "https" and port in DEFAULT_PORTS.values():
        raise UserError("webhook_address", "A webhook must have an address with https.", next_step="Use https.")


async def post_webhook(url: str, message: WebhookMessage, *, key: bytes, hosts: Sequence[str]) -> PostResult:
    """Post a message, signed with `key`, to an address that `hosts` allow; what goes wrong is in the result."""
    try:
        check_webhook(url, hosts)
        async with asyncio.timeout(POST_SECONDS):
            status = await _send(url, message, key, parse_hosts(hosts))
    except UserError as error:
        return PostResult(error.message)
    except ConnectionBlocked as error:
        return PostResult(f"not sent: {error}")
    except NameUnresolved as error:
        return PostResult(f"not sent: {error}")
    except (TimeoutError, httpcore2.TimeoutException):
        return PostResult(f"no answer within {POST_SECONDS:g} s")
    except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, UnicodeError, ValueError) as error:
        return PostResult(f"the connection failed ({type(error).__name__})")
    return PostResult(f"HTTP {status}", delivered=200 <= status < 300, gone=status == _GONE)  # noqa: PLR2004 - HTTP


async def _send(url: str, message: WebhookMessage, key: bytes, allow: AllowList) -> int:
    target = parse_url(url)
    host = target.raw_host.rstrip(b".")
    headers = {
        "Host": target.netloc.decode("ascii").lower(),
        "User-Agent": USER_AGENT,
        "Content-Type": "application/json",
        "Content-Length": str(len(message.body)),
        "Connection": "close",
        **sign_payload(key, message.id, str(message.at), message.body),
    }
    request = httpcore2.Request(
        "POST",
        httpcore2.URL(scheme=target.raw_scheme, host=host, port=target.port, target=target.raw_path or b"/"),
        headers=[(name.encode(), value.encode("ascii")) for name, value in headers.items()],
        content=message.body,
    )
    async with httpcore2.AsyncHTTPConnection(
        httpcore2.Origin(target.raw_scheme, host, target.port or DEFAULT_PORTS[target.scheme]),
        ssl_context=tls_context() if target.scheme == "https" else None,
        network_backend=VettedNetwork(allow=allow),
    ) as connection:
        answer = await connection.handle_async_request(request)
        await answer.aclose()
        return answer.status
