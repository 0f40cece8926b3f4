"""The transport to configured model endpoints: requests of httpx2, sent by aiohttp, with bounded answers.

Knows connections, time limits and sizes. Does not know providers. Importing this module loads aiohttp.

Both SDKs speak httpx2. Its own transport looks at every connection of its pool before and after each request and parses
headers in Python: four times the CPU of aiohttp's, which was a fifth of the whole engine's (`bench.engine_calls`).
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager

import aiohttp
import httpx2

from corrobora.adapters.http import tls_context

_REWRITTEN = (b"content-encoding", b"content-length")
_KEPT_SECONDS = 30.0  # an idle connection is closed by then; servers close them after a minute or more

# What aiohttp raises, the special kinds before the general ones.
_ERRORS: tuple[tuple[type[Exception], type[httpx2.RequestError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.ServerTimeoutError, httpx2.ReadTimeout),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol),
    (aiohttp.NonHttpUrlClientError, httpx2.UnsupportedProtocol),
    (aiohttp.ServerDisconnectedError, httpx2.RemoteProtocolError),
    (aiohttp.ClientPayloadError, httpx2.RemoteProtocolError),
    (aiohttp.ClientResponseError, httpx2.RemoteProtocolError),
    (aiohttp.ClientError, httpx2.ReadError),
)


class TooLarge(httpx2.TransportError):
    """An answer grew over its limit; the connection was closed."""


class ModelTransport(httpx2.AsyncBaseTransport):
    """Sends requests over kept connections; no answer exceeds `limit` bytes, before or after decoding.

    Proxies, cookies, credentials of the environment and redirects play no part. Raises the errors of httpx2.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request; the body of the response is bounded."""
        seconds = request.extensions.get("timeout", {})
        limits = aiohttp.ClientTimeout(sock_connect=seconds.get("connect"), sock_read=seconds.get("read"))
        with _as_httpx2():
            answer = await self._open().request(
                request.method,
                str(request.url),
                headers=request.headers.multi_items(),
                data=request.content or None,
                allow_redirects=False,
                timeout=limits,
            )
        coding = answer.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "gzip", "deflate", ""):
            answer.close()
            raise httpx2.RemoteProtocolError(f"content coding {coding[:20]!r} was not asked for")
        encoded = coding in ("gzip", "deflate")
        headers = [pair for pair in answer.raw_headers if not (encoded and pair[0].lower() in _REWRITTEN)]
        return httpx2.Response(answer.status, headers=headers, stream=_Bounded(answer, self._limit, encoded=encoded))

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        """Return the session, made in the event loop that uses it."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_SECONDS, ssl=tls_context())
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                auto_decompress=False,
            )
        return self._session


class _Bounded(httpx2.AsyncByteStream):
    """A body that stops at a number of bytes, counted after decoding."""

    def __init__(self, answer: aiohttp.ClientResponse, limit: int, *, encoded: bool) -> None:
        self._answer = answer
        self._left = limit
        self._decoder = zlib.decompressobj(wbits=47) if encoded else None  # 47: gzip or zlib, by its header

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx2():
            while raw := await self._answer.content.readany():
                part = self._decoded(raw)
                self._left -= len(part)
                if self._left < 0:
                    self._answer.close()
                    raise TooLarge("The answer is larger than its limit.")
                yield part

    def _decoded(self, raw: bytes) -> bytes:
        """Unpack at most one byte more than may come."""
        if self._decoder is None:
            return raw
        try:
            return self._decoder.decompress(raw, self._left + 1)
        except zlib.error as error:
            raise httpx2.DecodingError(f"The answer cannot be unpacked: {error}.") from error

    async def aclose(self) -> None:
        self._answer.release()  # a connection whose answer was read is kept, any other closed


@contextmanager
def _as_httpx2() -> Generator[None]:
    try:
        yield
    except (aiohttp.ClientError, aiohttp.ServerTimeoutError) as error:
        kind = next(theirs for ours, theirs in _ERRORS if isinstance(error, ours))
        raise kind(str(error) or type(error).__name__) from error
