"""HTTP/1.1 to one configured model endpoint: kept connections, bounded and timed answers, server-sent events.

Knows connections, time limits and sizes. Does not know providers, and is never used for an address that a page or a
model wrote. A proxy of the environment is used; its cookies and credentials play no part, and no redirect is followed.

It stands on asyncio's streams: general clients spend two to five times the CPU on a streamed answer (decision 0016).
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar
from urllib.parse import quote, urlsplit
from weakref import WeakKeyDictionary

from corrobora.adapters.http import (
    END_OF_HEAD,
    BadEncoding,
    BodyTooLarge,
    PlainDecoder,
    ProxyRefused,
    TruncatedBody,
    find_proxy,
    make_decoder,
    tls_context,
)
from corrobora.adapters.models.framing import (
    BrokenAnswerError,
    ChunkDecoder,
    ForeignAnswerError,
    IdleTimeoutError,
    OversizedAnswerError,
    RejectedError,
    TransportError,
    UnfinishedAnswerError,
    UnreachableError,
    split_body,
    split_stream,
)
from corrobora.domain.errors import describe_connection
from corrobora.domain.limits import LIMITS, CallOptions

STREAM_MAX_BYTES = 32_000_000  # a stream takes some 250 bytes for each token
CONNECT_SECONDS = 10.0
IDLE_SECONDS = 120.0
CALL_SECONDS = 600.0  # of one request, even if bytes still arrive; silence ends a streamed answer much earlier
_WRITE_SECONDS = 30.0
_KEPT_SECONDS = 30.0  # servers close idle connections after a minute or more
_HEAD_BYTES = 256 * 1024  # of status and headers; those of interim answers count
_BLOCK = 64 * 1024
_LEAST_PAIRED = 3  # events: two that are alike may be two of the same word
_END_SECONDS = 1.0  # after the last event of an answer: a connection that ends in time is kept
_WHOLE = re.compile(rb"\s*[{\[<]")
_EAGER_READS, _SMALL_READ, _PAUSE_SECONDS = 8, 4_096, 0.05


@dataclass(eq=False)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    idle_since: float = 0.0

    def is_usable(self, now: float) -> bool:
        return not (self.reader.at_eof() or self.writer.is_closing() or now - self.idle_since > _KEPT_SECONDS)


C_co = TypeVar("C_co", covariant=True)


class StreamedAnswer(Protocol[C_co]):
    """A model's answer while its events arrive; `size` counts its characters."""

    size: int
    finished: bool

    def add_event(self, event: bytes) -> None:
        """Take in one event. Raises `TransportError`."""
        ...

    def make_completion(self) -> C_co:
        """Return the whole answer. Raises `BrokenAnswerError`."""
        ...


class HttpEndpoint:
    """Sends requests to one address. Connections are kept for the next request, one pool for each event loop."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str] | None = None, options: CallOptions | None = None
    ) -> None:
        parts = urlsplit(base_url)
        self._tls = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._tls else 80)
        self._path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
        self._query = parts.query and "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=~")
        self._idle_seconds = (options and options.idle_seconds) or IDLE_SECONDS
        self._total_seconds = (options and options.total_seconds) or CALL_SECONDS
        self._connect_seconds = (options and options.connect_seconds) or CONNECT_SECONDS
        host = parts.netloc.rpartition("@")[2].encode("idna").decode()
        self._proxy = find_proxy(parts.scheme, self._host, self._port)
        fixed = {"host": host, "accept-encoding": "identity", **(headers or {})}
        if self._proxy is not None and not self._tls:  # a proxy passes on what is not encrypted; else it opens a tunnel
            self._path = f"http://{host}{self._path}"
            fixed |= {"proxy-authorization": self._proxy.authorization} if self._proxy.authorization else {}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in fixed.items())
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, list[_Connection]] = WeakKeyDictionary()

    @asynccontextmanager
    async def request(
        self, method: str, path: str, body: bytes = b"", *, idle_seconds: float | None = None
    ) -> AsyncGenerator[HttpAnswer]:
        """Send a request and give its answer; the connection is kept if the answer was read to its end.

        `idle_seconds` is for answers that come as a whole: their server is silent while it works.

        Raises `TransportError`, also while the answer is read.
        """
        connection = await self._connect()
        idle = idle_seconds or self._idle_seconds
        answer: HttpAnswer | None = None
        try:
            length = f"content-length: {len(body)}\r\n" if body else ""
            head = f"{method} {self._path}{path}{self._query} HTTP/1.1\r\n{self._head}{length}\r\n"
            connection.writer.write(head.encode("latin-1") + body)
            async with _bound_step(_WRITE_SECONDS):
                await connection.writer.drain()
            answer = await _read_head(connection, idle)
            yield answer
        finally:
            if answer is not None and answer.is_complete:
                loop = asyncio.get_running_loop()
                connection.idle_since = loop.time()
                self._pools.setdefault(loop, []).append(connection)
            else:
                connection.writer.transport.abort()

    async def post_for_answer(
        self, path: str, body: Mapping[str, object], make_answer: Callable[[bool], StreamedAnswer[C_co]]
    ) -> C_co:
        """Send `body` as JSON and read the answer, event by event, to its end or as far as an answer may go.

        `make_answer` is told whether the answer is a stream. Raises `TransportError`, or what the answer raises.
        """
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        idle = None if body.get("stream") else self._total_seconds
        async with self.request("POST", path, data, idle_seconds=idle) as reply:
            try:
                return (await _read_answer(reply, make_answer)).make_completion()
            except BrokenAnswerError as error:
                if reply.is_stream or not reply.ended:
                    raise
                raise ForeignAnswerError(str(error)) from error

    async def aclose(self) -> None:
        for connection in self._pools.pop(asyncio.get_running_loop(), []):
            connection.writer.close()
            with suppress(OSError):
                await connection.writer.wait_closed()

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop, [])
        while pool:
            connection = pool.pop()
            if connection.is_usable(loop.time()):
                return connection
            connection.writer.transport.abort()
        try:
            async with asyncio.timeout(self._connect_seconds):
                opened = await self._open_streams()
        except TimeoutError as error:
            raise UnreachableError(f"no connection within {self._connect_seconds:g} s") from error
        except ProxyRefused as error:
            raise UnreachableError(str(error)) from error
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise UnreachableError(f"the proxy {self._proxy} gave no answer that is HTTP") from error
        except ssl.SSLError as error:
            raise UnreachableError(f"no secure connection ({error.reason or type(error).__name__})") from error
        except (OSError, ValueError) as error:
            through = f" to the proxy {self._proxy}" if self._proxy else ""
            raise UnreachableError(f"no connection{through}: {describe_connection(error)}") from error
        return _Connection(*opened)

    async def _open_streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect, through the proxy if there is one: to it alone, or by a tunnel."""
        proxy = self._proxy
        host, port, tls = (proxy.host, proxy.port, proxy.tls) if proxy else (self._host, self._port, self._tls)
        reader, writer = await asyncio.open_connection(
            host, port, limit=_HEAD_BYTES, ssl=tls_context() if tls else None
        )
        if proxy is not None and self._tls:
            try:
                writer.write(proxy.write_tunnel_request(self._host, self._port))
                proxy.check_tunnel(await reader.readuntil(END_OF_HEAD))
                await writer.start_tls(tls_context(), server_hostname=self._host)
            except BaseException:
                writer.transport.abort()
                raise
        return reader, writer


@asynccontextmanager
async def _bound_step(seconds: float) -> AsyncGenerator[None]:
    """Bound one step of an exchange, and turn what breaks it into a `TransportError`."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise IdleTimeoutError(f"nothing arrived for {seconds:g} s") from error
    except asyncio.IncompleteReadError as error:
        raise BrokenAnswerError("the connection was closed") from error
    except OSError as error:
        raise BrokenAnswerError(describe_connection(error)) from error


async def _read_head(connection: _Connection, idle_seconds: float) -> HttpAnswer:
    """Read status and headers; interim answers (1xx) are skipped, and lines may end without a carriage return."""
    reader, left = connection.reader, _HEAD_BYTES
    status, lines = 100, [""]
    async with _bound_step(idle_seconds):
        while 100 <= status < 200:  # noqa: PLR2004 - HTTP
            if (start := await reader.readexactly(7)) != b"HTTP/1.":
                raise ForeignAnswerError(f"it is not HTTP/1 and begins with {start!r}")
            lines = [await _read_line(reader, left)]
            while lines[-1]:
                left -= len(lines[-1])
                lines.append(await _read_line(reader, left))
            if not (code := lines[0][2:5]).isdecimal():
                raise ForeignAnswerError(f"its status is {code!r}")
            status = int(code)
    rows = (line.partition(":") for line in lines[1:])
    headers = {name.strip().lower(): value.strip() for name, _, value in rows}
    try:
        unpack = make_decoder(headers.get("content-encoding", ""))
    except BadEncoding as error:
        raise ForeignAnswerError(str(error)) from error
    streams = headers.get("content-type", "").lower().startswith("text/event-stream")
    return HttpAnswer(status, headers, connection, unpack, idle_seconds, lines[0][0] == "1", streams)


async def _read_line(reader: asyncio.StreamReader, limit: int) -> str:
    try:
        line = await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError:
        line = b""
    if not 0 < len(line) <= limit:
        raise ForeignAnswerError(f"its headers have more than {_HEAD_BYTES:,} bytes")
    return line.decode("latin-1").strip()


async def _read_answer(reply: HttpAnswer, make_answer: Callable[[bool], StreamedAnswer[C_co]]) -> StreamedAnswer[C_co]:
    """Read an answer to its end. What follows the end of a stream is no part of it, and is not waited for.

    Of a stream whose every event comes twice, as some relays send it, one of each pair counts.
    """
    answer, halved = make_answer(reply.is_stream), make_answer(reply.is_stream)
    whole, number, odd, paired = False, 0, b"", reply.is_stream
    try:
        async for event in reply.read_events():
            if not whole:
                answer.add_event(event)
                number += 1
                if paired and number % 2:
                    odd = event
                    halved.add_event(event)
                paired = paired and event == odd
            if answer.size > LIMITS.model_output_max_chars:
                answer.finished = True
                return answer
            if reply.is_stream and answer.finished:
                whole, reply.idle_seconds = True, _END_SECONDS
    except TransportError as error:
        if isinstance(error, BrokenAnswerError) and not whole and (number or (reply.begun and not reply.ended)):
            raise UnfinishedAnswerError(str(error)) from error
        if not whole:
            raise
    return halved if paired and number > _LEAST_PAIRED else answer


@dataclass(eq=False)
class HttpAnswer:
    """Status and headers of an answer (names in lower case), and its body while the request is open."""

    status: int
    headers: Mapping[str, str]
    _connection: _Connection = field(repr=False)
    _unpack: PlainDecoder = field(repr=False)
    idle_seconds: float = IDLE_SECONDS
    reusable: bool = True
    is_stream: bool = False
    begun: bool = False  # a part of the body came
    ended: bool = False  # the body was read to its end

    @property
    def is_complete(self) -> bool:
        """True if the body was read to its end and the connection may serve another request."""
        return self.ended and self.reusable and self.headers.get("connection", "").lower() != "close"

    async def read_body(self, limit: int = LIMITS.provider_json_max_bytes) -> bytes:
        return b"".join([part async for part in self.read_parts(limit)])

    async def read_events(self, limit: int = STREAM_MAX_BYTES) -> AsyncIterator[bytes]:
        """Yield the data of each server-sent event; a body that is no stream is one event.

        Raises `RejectedError` for every status but 2xx, or another `TransportError`.
        """
        if not 200 <= self.status < 300:  # noqa: PLR2004 - HTTP
            raise RejectedError(self.status, self.headers, await self.read_body())
        parts, first = self.read_parts(limit), b""
        if self.is_stream:
            async for first in parts:
                if first.strip():
                    break
            self.is_stream = not _WHOLE.match(first)  # a whole answer under the name of a stream
        if self.is_stream:
            async for event in split_stream(first, parts):
                yield event
        else:
            for event in split_body(first + b"".join([part async for part in parts])):
                yield event

    async def read_parts(self, limit: int) -> AsyncIterator[bytes]:
        """Yield the body as it comes, unpacked. Raises `OversizedAnswerError` for more than `limit` bytes."""
        try:
            async for packed in self._read_wire(limit):
                part = bytearray()
                self._unpack.feed_chunk(packed, part, limit)
                yield bytes(part)
            self._unpack.check_end()
        except BodyTooLarge as error:
            raise OversizedAnswerError(str(error)) from error
        except (BadEncoding, TruncatedBody) as error:
            raise BrokenAnswerError(str(error)) from error

    async def _read_wire(self, limit: int) -> AsyncIterator[bytes]:
        chunks = ChunkDecoder() if "chunked" in self.headers.get("transfer-encoding", "").lower() else None
        left = None if chunks else self._content_length()
        taken = 0
        if left is not None and left > limit:
            raise OversizedAnswerError(f"{left:,} bytes")
        self.ended = left == 0
        reads = 0
        size = _BLOCK
        while not self.ended:
            reads += 1
            data = await self._read_block(patient=reads > _EAGER_READS and size < _SMALL_READ)
            size = len(data)
            taken += size
            if taken > limit:
                raise OversizedAnswerError(f"more than {limit:,} bytes")
            if chunks is not None:
                part = chunks.decode(data)
                self.ended = chunks.finished
            else:
                part = data if left is None or taken <= left else data[: left - taken]
                self.ended = not data if left is None else taken >= left
                self.reusable = self.reusable and taken == (left or taken)
            self.begun = self.begun or bool(data)
            if part:
                yield part
            if not data and (chunks is not None or left is not None):
                raise BrokenAnswerError("the connection was closed within the answer")

    def _content_length(self) -> int | None:
        length = self.headers.get("content-length")
        if length is None:
            self.reusable = False  # the body ends with the connection
            return 0 if self.status in (204, 304) else None
        first, *others = {each.strip() for each in length.split(",")}
        if others or not (first.isascii() and first.isdigit()):
            raise BrokenAnswerError("the length of the answer is not a number")
        return int(first[:18])

    async def _read_block(self, *, patient: bool) -> bytes:
        """Read what is there. `patient`: first let the events of a slow stream pile up in the socket.

        Waking for every event of a few bytes costs more CPU than everything else that is done with an answer.
        """
        reader, transport = self._connection.reader, self._connection.writer.transport
        if patient and not reader.at_eof() and isinstance(transport, asyncio.Transport):
            transport.pause_reading()
            await asyncio.sleep(_PAUSE_SECONDS)
            transport.resume_reading()
        async with _bound_step(self.idle_seconds):
            return await reader.read(_BLOCK)
