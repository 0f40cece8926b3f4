"""Transport: one request for one page, over vetted connections, within limits of time and size.

Knows HTTP/1.1 and how an answer can fail; each failure becomes a `ReadError` with its outcome. It sends no cookie,
credential or referrer, keeps no connection and follows no redirect. Does not know robots, politeness or content.
"""

from __future__ import annotations

import asyncio
import ssl
import string
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

import httpcore2

from corrobora.adapters.http import (
    ACCEPT_ENCODING,
    BadEncoding,
    BodyTooLarge,
    ProxyRefused,
    TruncatedBody,
    find_tls_error,
    read_body,
    tls_context,
)
from corrobora.adapters.web import DEFAULT_PORTS, BadUrl, parse_url
from corrobora.adapters.web.network import ConnectionBlocked, NameUnresolved, VettedNetwork
from corrobora.domain.errors import ReadError, describe_connection
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS, Limits
from corrobora.ports import Clock

USER_AGENT = "Corrobora/0.1 (research assistant; obeys robots.txt as Corrobora)"
_HEADER_CHARS = 2_000
_SWITCHING = 101


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a body is read: on the wire, and unpacked. `truncate`: a longer wire is cut instead of refused."""

    wire: int
    decoded: int
    truncate: bool = False


@dataclass(frozen=True, slots=True)
class PageReply:
    """One answer. Header names are in lower case; values are on one line and cut at 2,000 characters."""

    url: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    truncated: bool = False

    def get_header(self, name: str) -> str:
        return self.headers.get(name, "")


ChooseBounds = Callable[[PageReply], Bounds | None]


class Transport:
    """Sends GET requests; calls may run in parallel."""

    def __init__(
        self,
        network: VettedNetwork,
        *,
        clock: Clock,
        limits: Limits = LIMITS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self._network = network
        self._clock = clock
        self._limits = limits

    async def request_page(
        self, url: str, wants: ChooseBounds, *, accept: str = "*/*", seconds: float | None = None
    ) -> PageReply:
        """Return the answer of `url`. `wants` sees status and headers and says how much of the body to read, if any.

        Raises:
            ReadError: `refused` for addresses and ports, `timeout`, `too_large`, `unsupported` for codings, `failed`
                for everything that broke; and what `wants` raises.
        """
        allowed = self._limits.fetch_seconds if seconds is None else seconds
        try:
            async with asyncio.timeout(allowed):
                return await self._send_request(url, wants, accept)
        except (BadUrl, ConnectionBlocked) as error:
            raise ReadError(ReadOutcome.REFUSED, f"{error}.") from error
        except (TimeoutError, httpcore2.TimeoutException) as error:
            raise ReadError(ReadOutcome.TIMEOUT, _describe_silence(error, allowed, self._limits)) from error
        except BodyTooLarge as error:
            raise ReadError(ReadOutcome.TOO_LARGE, f"The answer has {error}.") from error
        except BadEncoding as error:
            raise ReadError(ReadOutcome.UNSUPPORTED, f"The answer is not read: {error}.") from error
        except (NameUnresolved, ProxyRefused) as error:
            raise ReadError(ReadOutcome.FAILED, f"{error}.") from error
        except (httpcore2.LocalProtocolError, UnicodeError) as error:
            raise ReadError(ReadOutcome.REFUSED, "Not fetched: no request can be written for this URL.") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, TruncatedBody, OSError, ValueError) as error:
            raise ReadError(ReadOutcome.FAILED, _failure_message(error)) from error

    async def _send_request(self, url: str, wants: ChooseBounds, accept: str) -> PageReply:
        target = parse_url(url)
        port = target.port
        authority = target.netloc
        request = httpcore2.Request(
            "GET",
            httpcore2.URL(
                scheme=target.raw_scheme, host=target.raw_host.rstrip(b"."), port=port, target=target.raw_path or b"/"
            ),
            headers=[
                (b"Host", authority.lower()),
                (b"User-Agent", USER_AGENT.encode("ascii")),
                (b"Accept", accept.encode("ascii")),
                (b"Accept-Encoding", ACCEPT_ENCODING.encode("ascii")),
                (b"Connection", b"close"),
            ],
            extensions={"timeout": {"connect": self._limits.connect_seconds, "read": self._limits.fetch_idle_seconds}},
        )
        async with (
            httpcore2.AsyncHTTPConnection(
                httpcore2.Origin(target.raw_scheme, request.url.host, port or DEFAULT_PORTS[target.scheme]),
                ssl_context=(self._tls or tls_context()) if target.scheme == "https" else None,
                network_backend=self._network,
            ) as connection,
        ):
            return await self._read_response(await connection.handle_async_request(request), url, wants)

    async def _read_response(self, answer: httpcore2.Response, url: str, wants: ChooseBounds) -> PageReply:
        if answer.status == _SWITCHING:
            raise ReadError(ReadOutcome.FAILED, "The server asks for another protocol.")
        head = PageReply(url, answer.status, _read_headers(answer))
        bounds = wants(head)
        if bounds is None:
            return head
        length = head.get_header("content-length")
        if not bounds.truncate and length.isascii() and length.isdigit() and int(length[:18]) > bounds.wire:
            raise BodyTooLarge("wire", bounds.wire)
        body = await read_body(
            self._enforce_rate(answer),
            head.get_header("content-encoding"),
            wire=bounds.wire,
            decoded=bounds.decoded,
            truncate=bounds.truncate,
        )
        return PageReply(url, head.status, head.headers, body.data, body.truncated)

    async def _enforce_rate(self, answer: httpcore2.Response) -> AsyncIterator[bytes]:
        """Pass the body on while it arrives at a useful rate (bad-input H07)."""
        start = self._clock.now()
        taken = 0
        try:
            async for chunk in answer.aiter_stream():
                taken += len(chunk)
                passed = self._clock.now() - start
                if passed > self._limits.connect_seconds and taken < self._limits.fetch_min_bytes_per_second * passed:
                    raise ReadError(ReadOutcome.TIMEOUT, f"The page came too slowly: {taken} bytes in {passed:.0f} s.")
                yield chunk
        except (httpcore2.RemoteProtocolError, httpcore2.ReadError) as error:  # it hung up before it had sent all
            raise TruncatedBody(type(error).__name__) from error


def _describe_silence(error: BaseException, allowed: float, limits: Limits) -> str:
    if isinstance(error, httpcore2.ReadTimeout):
        return f"It sent nothing for {limits.fetch_idle_seconds:.3g} s."
    return f"No complete answer within {allowed:.3g} s."


def _failure_message(error: BaseException) -> str:
    """Say why a connection failed; for a certificate, in the words of the check."""
    cause = find_tls_error(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"Its certificate is not valid: {cause.verify_message.rstrip('.')}."
    if cause is not None:
        return f"It offers no secure connection ({cause.reason or type(cause).__name__})."
    return f"The connection failed: {describe_connection(error)}."


def _read_location(value: bytes) -> str:
    """Return the address of a redirect; spaces and bytes that are no UTF-8 are escaped, as browsers do."""
    try:
        return value.decode().strip().replace(" ", "%20")
    except UnicodeDecodeError:
        return quote(value.strip(), safe=string.printable[:94])


def _read_headers(answer: httpcore2.Response) -> Mapping[str, str]:
    """Return the headers as text; repeated ones are joined, as HTTP says, or lines where a name in one holds for it."""
    found: dict[str, str] = {}
    for raw_name, raw_value in answer.headers:
        name = raw_name.decode("latin-1").lower()
        value = " ".join(raw_value.decode("utf-8", "replace").split())[:_HEADER_CHARS]
        if name == "location":
            value = _read_location(raw_value)
        between = "\n" if name == "x-robots-tag" else ", "
        found[name] = f"{found[name]}{between}{value}"[:_HEADER_CHARS] if name in found else value
    return found
