"""The HTTP client for configured model endpoints: no proxies from the environment, bounded answers.

Knows sizes and times. Does not know any provider, and is never used for an address that a page or a model wrote.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Sequence

import httpx2

from corrobora.domain.limits import LIMITS


class TooLarge(httpx2.TransportError):
    """An answer grew over its limit; the connection was closed."""


class _Bounded(httpx2.AsyncByteStream):
    """A body that stops at a number of bytes, counted after decoding."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int, *, encoded: bool) -> None:
        self._inner = inner
        self._left = limit
        self._decoder = zlib.decompressobj(wbits=47) if encoded else None  # 47: gzip or zlib, by its header

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for raw in self._inner:
            part = raw if self._decoder is None else self._decoder.decompress(raw, self._left + 1)
            self._left -= len(part)
            if self._left < 0:
                await self._inner.aclose()
                raise TooLarge("The answer is larger than its limit.")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Wraps a transport so that no answer exceeds `limit` bytes, before or after decoding."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request; the body of the response is bounded."""
        response = await self._inner.handle_async_request(request)
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "gzip", "deflate", ""):
            await response.aclose()
            raise httpx2.RemoteProtocolError(f"content coding {coding[:20]!r} was not asked for")
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        encoded = coding in ("gzip", "deflate")
        headers = [(k, v) for k, v in response.headers.raw if not (encoded and k.lower() in _REWRITTEN)]
        return httpx2.Response(
            status_code=response.status_code,
            headers=headers,
            stream=_Bounded(stream, self._limit, encoded=encoded),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._inner.aclose()


class SpreadTransport(httpx2.AsyncBaseTransport):
    """Spreads requests over several transports in turn.

    A pool looks at each of its connections before and after every request; with hundreds of them that costs more than
    the request. Several small pools look at fewer.
    """

    def __init__(self, parts: Sequence[httpx2.AsyncBaseTransport]) -> None:
        self._parts = parts
        self._busy = [0] * len(parts)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request by the part that sends the fewest now, the first of them: few calls need few connections."""
        at = self._busy.index(min(self._busy)) if min(self._busy) >= _FULL else _first_below(self._busy, _FULL)
        self._busy[at] += 1
        try:
            return await self._parts[at].handle_async_request(request)
        finally:
            self._busy[at] -= 1

    async def aclose(self) -> None:
        """Close all parts."""
        for part in self._parts:
            await part.aclose()


def _first_below(busy: Sequence[int], full: int) -> int:
    return next(at for at, number in enumerate(busy) if number < full)


_FULL = 4  # requests that one part sends at once before the next part is used
_PARTS = 64
_REWRITTEN = (b"content-encoding", b"content-length")


def model_client(*, idle_seconds: float = 120.0, limit: int = LIMITS.provider_json_max_bytes) -> httpx2.AsyncClient:
    """Return a client for one configured endpoint. A call that brings no byte for `idle_seconds` fails."""
    pool = httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=30.0)
    trusted = httpx2.create_ssl_context(trust_env=False)  # one for all parts: it weighs a megabyte
    parts = [httpx2.AsyncHTTPTransport(verify=trusted, limits=pool, trust_env=False) for _ in range(_PARTS)]
    return httpx2.AsyncClient(
        transport=BoundedTransport(SpreadTransport(parts), limit),
        timeout=httpx2.Timeout(connect=10.0, read=idle_seconds, write=30.0, pool=30.0),
        headers={"accept-encoding": "gzip, deflate"},
        trust_env=False,
        follow_redirects=False,
    )
