"""How an exchange with a model endpoint fails, and the framing of bodies: chunks, and events under other names.

Does not know connections.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Mapping

_EVENT = re.compile(rb"\s*(?:data|event|id|retry)?:")  # how a stream of events begins


class TransportError(Exception):
    """No usable answer came. `reached` is False if nothing says that a model server is there."""

    reached = True


class UnreachableError(TransportError):
    """No connection could be made."""

    reached = False


class IdleTimeoutError(TransportError):
    """The server sent no byte for too long."""


class BrokenAnswerError(TransportError):
    """The answer ended early, maybe before its first byte, or is not what HTTP allows."""

    reached = False


class UnfinishedAnswerError(BrokenAnswerError):
    """The answer of a model ended early: a model server is there."""

    reached = True


class ForeignAnswerError(BrokenAnswerError):
    """The answer is whole, but no model server gives such a one: its address is probably another."""


class RejectedError(TransportError):
    """The server answered with an error: its status (200 within a stream), its headers and what it said."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.headers, self.body = status, headers, body


class OversizedAnswerError(TransportError):
    """The answer is larger than its limit; the connection was closed."""


def split_body(body: bytes) -> list[bytes]:
    """Return a whole body as one event, or its events if it is a stream under another name, or an object a line."""
    body = body.removeprefix(BOM_UTF8)
    if body.lstrip()[:1] == b"<":
        raise BrokenAnswerError("a web page came instead; is this the address of a model")
    if not _EVENT.match(body):
        lines = [line for each in body.splitlines() if (line := each.strip())]
        return lines if all(line[:1] == b"{" and line[-1:] == b"}" for line in lines) else [body]  # an object a line
    blocks = (block.splitlines() for block in re.split(rb"(?:\r\n|\n|\r(?!\n)){2}", body))
    events = (b"\n".join(line[5:].strip() for line in block if line.startswith(b"data:")) for block in blocks)
    return [event for event in events if event]


_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")  # an event stream may use each of them


async def split_stream(first: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each event of a stream that begins with `first` and goes on with `parts`."""
    data: list[bytes] = []
    *lines, rest = _LINE_END.split(first.removeprefix(BOM_UTF8))
    while True:
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif data and not line.strip():
                yield b"\n".join(data)
                data.clear()
        part = await anext(parts, None)
        if part is None:
            break
        *lines, rest = _LINE_END.split(rest + part)
    if rest.startswith(b"data:"):
        data.append(rest[5:].strip())
    if data:
        yield b"\n".join(data)


class ChunkDecoder:
    """Decodes a chunked body piece by piece."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.finished = False

    def decode(self, data: bytes) -> bytes:
        """Return the content that is whole so far. Raises `BrokenAnswerError`."""
        buffer = self._buffer
        buffer += data
        parts: list[bytes] = []
        at = 0
        while not self.finished:
            end = buffer.find(b"\r\n", at, at + 200)
            if end < 0 and len(buffer) - at < 200:  # noqa: PLR2004 - no size line is that long
                break
            size = _parse_size(bytes(buffer[at:end]))
            start = end + 2
            if size == 0:
                self.finished = buffer.find(b"\r\n\r\n", end) >= 0  # trailers are skipped
                break
            if len(buffer) < start + size + 2:
                break
            if not buffer.startswith(b"\r\n", start + size):
                raise BrokenAnswerError("a chunk of the answer does not have the length that it states")
            parts.append(bytes(buffer[start : start + size]))
            at = start + size + 2
        del buffer[:at]
        return b"".join(parts)


def _parse_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    try:
        return int(digits, 16) if digits.isalnum() else int("")
    except ValueError:
        raise BrokenAnswerError("a chunk of the answer has no length") from None
