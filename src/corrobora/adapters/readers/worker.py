"""Formats: which reader reads a document, by its name and its first bytes.

Knows all readers and loads each only when it is needed. Does not know where bytes come from.

The parser child's inside: reads documents from stdin, answers on stdout, under limits of memory and CPU time.

Knows one request at a time. Does not know keys, networks or databases: its environment holds none, and it answers in
JSON, because what has read hostile bytes may itself be hostile.
"""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import BinaryIO, Literal, cast

from corrobora.domain.documents import ParsedDocument
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS

Format = Literal["markdown", "html", "rst", "text", "pdf", "docx"]

_SUFFIXES: dict[str, Format] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".mkd": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".rst": "rst",
    ".rest": "rst",
    ".txt": "text",
    ".text": "text",
    ".pdf": "pdf",
    ".docx": "docx",
}
_TYPES: dict[str, Format] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/x-rst": "rst",
    "text/plain": "text",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
}
IN_CHILD: frozenset[Format] = frozenset({"html", "pdf", "docx"})


def format_of(name: str, data: bytes, content_type: str = "") -> Format:
    """Name the format: by the content type, else the ending; what the first bytes prove wins.

    Anything unknown is read as text, which refuses what is no text.
    """
    if data[:1024].lstrip()[:5] == b"%PDF-":
        return "pdf"
    told = _TYPES.get(content_type.split(";", 1)[0].strip().lower())
    found = told or _SUFFIXES.get(PurePosixPath(name.replace("\\", "/")).suffix.lower(), "text")
    start = data[:512].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")) and found in {"pdf", "docx", "text"}:
        return "html"
    return found


def parse_bytes(format_: Format, data: bytes, name: str = "", charset: str = "") -> ParsedDocument:
    """Read `data` as `format_`.

    Raises:
        ReadError: with an outcome of the closed set; a document without text is `empty`, never an empty success.
    """
    if not data.strip():
        raise ReadError(ReadOutcome.EMPTY, "The document is empty.")
    parsed = _read_format(format_, data, name, charset)
    if not parsed.text.strip():
        raise ReadError(ReadOutcome.EMPTY, "The document has no text.")
    if len(parsed.text) > LIMITS.text_max_chars:
        raise ReadError(ReadOutcome.TOO_LARGE, f"It has {len(parsed.text)} characters (limit {LIMITS.text_max_chars}).")
    return parsed


def _read_format(
    format_: Format, data: bytes, name: str, charset: str
) -> ParsedDocument:  # one import per format, on demand
    match format_:
        case "markdown":
            from corrobora.adapters.readers.markup import read_markdown  # noqa: PLC0415

            return read_markdown(data, name)
        case "html":
            from corrobora.adapters.readers.html import read_html  # noqa: PLC0415

            return read_html(data, name, charset)
        case "rst":
            from corrobora.adapters.readers.markup import read_rst  # noqa: PLC0415

            return read_rst(data, name)
        case "pdf":
            from corrobora.adapters.readers.pdf import read_pdf  # noqa: PLC0415

            return read_pdf(data, name)
        case "docx":
            from corrobora.adapters.readers.docx import read_docx  # noqa: PLC0415

            return read_docx(data, name)
        case "text":
            from corrobora.adapters.readers.text import read_text  # noqa: PLC0415

            return read_text(data, name)


if sys.platform != "win32":
    import resource

_FRAME = struct.Struct(">II")  # length of the JSON head, length of the bytes


def main(memory: int) -> None:
    """Answer requests until stdin ends."""
    _limit_memory(memory)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while frame := source.read(_FRAME.size):
        head_size, size = _FRAME.unpack(frame)
        head = json.loads(source.read(head_size))
        _limit_cpu(float(head["seconds"]))
        _send_answer(sink, _parse_request(head, source.read(size)))


def _parse_request(head: dict[str, str], data: bytes) -> dict[str, object]:
    try:
        parsed = parse_bytes(cast("Format", head["format"]), data, head["name"], head["charset"])
    except ReadError as error:
        return {"outcome": error.outcome, "message": error.message, "next_step": error.next_step}
    except MemoryError:
        return {"outcome": ReadOutcome.TOO_LARGE, "message": "Reading it needs more memory than allowed."}
    except RecursionError:
        return {"outcome": ReadOutcome.BROKEN, "message": "It is nested too deeply."}
    return {"parsed": asdict(parsed)}


def _send_answer(sink: BinaryIO, answer: dict[str, object]) -> None:
    body = json.dumps(answer).encode()
    sink.write(struct.pack(">I", len(body)))
    sink.write(body)
    sink.flush()


def _limit_memory(size: int) -> None:
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_cpu(seconds: float) -> None:
    """Allow this document so many seconds of CPU from now; the kernel ends the process after that."""
    if sys.platform != "win32":
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main(int(sys.argv[1]))
