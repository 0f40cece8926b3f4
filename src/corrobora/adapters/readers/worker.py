"""The parser's process: reads documents from stdin and answers on stdout, under limits of memory and CPU time.

Knows one request at a time, and imports a reader when its first document comes. Does not know formats, keys, networks
or databases: its environment holds no secret, and it answers in JSON, because what has read hostile bytes may be
hostile itself.
"""

from __future__ import annotations

import json
import struct
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from importlib import import_module
from typing import BinaryIO

from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS
from corrobora.ports import ParsedDocument


def parse_bytes(read: str, data: bytes, charset: str = "") -> ParsedDocument:
    """Read `data` with the function `read`, written as `module:function`.

    Raises:
        ReadError: with an outcome of the closed set; a document without text is `empty`, never an empty success.
    """
    if not data.strip():
        raise ReadError(ReadOutcome.EMPTY, "The document is empty.")
    module, _, function = read.partition(":")
    parsed: ParsedDocument = getattr(import_module(module), function)(data, charset)
    if not parsed.text.strip():
        raise ReadError(ReadOutcome.EMPTY, "The document has no text.")
    if len(parsed.text) > LIMITS.text_max_chars:
        raise ReadError(ReadOutcome.TOO_LARGE, f"It has {len(parsed.text)} characters (limit {LIMITS.text_max_chars}).")
    return parsed


if sys.platform != "win32":
    import resource

_FRAME = struct.Struct(">II")  # length of the JSON head, length of the bytes
PIECE_CHARS = 250_000  # of a text in one frame of the answer


def main(memory: int, *loads: str) -> None:
    """Import what will be needed, then answer requests until stdin ends."""
    _limit_memory(memory)
    for module in loads:
        with suppress(ImportError):  # told with the first document that needs it
            import_module(module)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while frame := source.read(_FRAME.size):
        head_size, size = _FRAME.unpack(frame)
        head = json.loads(source.read(head_size))
        _limit_cpu(float(head["seconds"]))
        _send_answer(sink, *_parse_request(head, source.read(size)))


def _parse_request(head: dict[str, str], data: bytes) -> tuple[dict[str, object], str]:
    """Return what became of a document, and its text."""
    try:
        parsed = parse_bytes(*_unpack(head, data), head["charset"])
    except ReadError as error:
        return {"outcome": error.outcome, "message": error.message, "next_step": error.next_step}, ""
    except MemoryError:
        return {"outcome": ReadOutcome.TOO_LARGE, "message": "Reading it needs more memory than allowed."}, ""
    except RecursionError:
        return {"outcome": ReadOutcome.BROKEN, "message": "It is nested too deeply."}, ""
    except ImportError as error:
        why = f"A package that reads it is missing or broken ({str(error)[:200]})."
        return {"outcome": ReadOutcome.BROKEN, "message": why, "next_step": "Install Corrobora again."}, ""
    return {"parsed": asdict(replace(parsed, text=""))}, parsed.text


def _unpack(head: dict[str, str], data: bytes) -> tuple[str, bytes]:
    """Return the function that reads a document, and its bytes: of a packed file those in it."""
    if not head.get("packed"):
        return head["read"], data
    from corrobora.adapters.readers.parser import (  # noqa: PLC0415 - rarely needed
        find_reader,
        strip_ending,
        unpack_bytes,
    )

    inner = unpack_bytes(head["packed"], data)
    return find_reader(strip_ending(head["packed"]), inner).read, inner


def _send_answer(sink: BinaryIO, answer: dict[str, object], text: str) -> None:
    """Send frames: the answer, the pieces of the text, and an empty one, so that no side holds the whole twice."""
    _send_frame(sink, json.dumps(answer).encode())
    for at in range(0, len(text), PIECE_CHARS):
        _send_frame(sink, text[at : at + PIECE_CHARS].encode("utf-8", "surrogatepass"))
    _send_frame(sink, b"")
    sink.flush()


def _send_frame(sink: BinaryIO, body: bytes) -> None:
    sink.write(struct.pack(">I", len(body)))
    sink.write(body)


def _limit_memory(size: int) -> None:
    if sys.platform != "win32":
        _set_limit(resource.RLIMIT_AS, size)
        _set_limit(resource.RLIMIT_CORE, 0)


def _limit_cpu(seconds: float) -> None:
    """Allow this document so many seconds of CPU from now; the kernel ends the process after that."""
    if sys.platform != "win32":
        used = resource.getrusage(resource.RUSAGE_SELF)
        _set_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 1)


def _set_limit(which: int, value: int) -> None:
    """Set a limit of this process, or leave it at the lower one that whoever started the program may not pass."""
    if sys.platform != "win32":
        most = resource.getrlimit(which)[1]
        resource.setrlimit(which, (value if most == resource.RLIM_INFINITY else min(value, most), most))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
