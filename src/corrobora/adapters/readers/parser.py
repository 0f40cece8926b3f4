"""The parser: untrusted bytes are read by the reader of their format, in a process that can be killed.

Knows which readers are installed and what each accepts, what gzip, bzip2 and xz have packed, and limits of wall time,
CPU time and memory; starts a fresh process after some documents, a kill or a crash. Does not know how a format is read.
"""

from __future__ import annotations

import asyncio
import bz2
import contextlib
import gzip
import json
import lzma
import os
import re
import struct
import sys
import zlib
from asyncio import StreamReader
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import BufferedIOBase, BytesIO
from pathlib import PurePosixPath
from typing import Any, Self

from corrobora.adapters.readers.declared import date_by_releases
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS
from corrobora.ports import Heading, ParsedDocument
from corrobora.registry import list_parts, load_part
from corrobora.text.authors import clean_authors

DOCUMENTS_PER_PROCESS = 1_000  # a fresh process takes a third of a second of CPU for its imports
_START_SECONDS = 60.0  # a cold start with its imports, on a busy machine, is no fault of the document
_WALL_FACTOR = 4.0  # times the CPU time that a document may take: on a busy machine a process gets its CPU slowly
_EXIT_SECONDS = 5.0  # the kernel takes back the memory of a process that it ended
_ANSWER_BYTES = 500_000_000
_PIECE_BYTES = 1 << 20
_PASSED_VARIABLES = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR")


@dataclass(frozen=True, slots=True)
class FormatReader:
    """The reader of a format, as an entry point of the group `corrobora.readers` names it.

    Attributes:
        read: `module:function`, imported in the parser's process only. It is called with the bytes and the
            character set that the sender declared, "" if none, and returns a `ParsedDocument` or raises `ReadError`.
        suffixes: the endings of files, in lower case and with the dot.
        types: the media types of pages.
        whole: a part of such a document cannot be read, so that a longer page is refused and not cut.
        cpu_seconds: what one document may take.
    """

    read: str
    suffixes: tuple[str, ...]
    types: tuple[str, ...]
    whole: bool = False
    cpu_seconds: float = LIMITS.parse_html_seconds


MARKDOWN = FormatReader(
    "corrobora.adapters.readers.markup:read_markdown",
    (".md", ".markdown", ".mdown", ".mkd"),
    ("text/markdown", "text/x-markdown", "text/x-web-markdown"),
)
HTML = FormatReader(
    "corrobora.adapters.readers.html:read_html", (".html", ".htm", ".xhtml"), ("text/html", "application/xhtml+xml")
)
XML = FormatReader(
    "corrobora.adapters.readers.structured:read_xml",
    (".xml", ".docbook", ".dbk", ".rss", ".atom"),
    ("application/xml", "text/xml", "application/rss+xml", "application/atom+xml"),
    whole=True,
)
RST = FormatReader("corrobora.adapters.readers.rst:read_rst", (".rst", ".rest"), ("text/x-rst",))
TEXT = FormatReader("corrobora.adapters.readers:read_text", (".txt", ".text"), ("text/plain",))
CSV = FormatReader("corrobora.adapters.readers:read_csv", (".csv", ".tsv"), ("text/csv", "text/tab-separated-values"))
JSON = FormatReader(
    "corrobora.adapters.readers.structured:read_json",
    (".json", ".jsonl", ".ndjson", ".geojson", ".ipynb"),
    tuple(f"application/{kind}" for kind in ("json", "jsonl", "x-ndjson", "ld+json", "vnd.api+json", "x-ipynb+json")),
)
PDF = FormatReader(
    "corrobora.adapters.readers.pdf:read_pdf",
    (".pdf",),
    ("application/pdf",),
    whole=True,
    cpu_seconds=LIMITS.parse_pdf_seconds,
)
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."


def _read_package(read: str, suffixes: tuple[str, ...], *types: str) -> FormatReader:
    return FormatReader(read, suffixes, types, whole=True, cpu_seconds=LIMITS.parse_pdf_seconds)


DOCX = _read_package("corrobora.adapters.readers.office:read_docx", (".docx",), f"{_OFFICE}wordprocessingml.document")
XLSX = _read_package(
    "corrobora.adapters.readers.packages:read_xlsx", (".xlsx", ".xlsm"), f"{_OFFICE}spreadsheetml.sheet"
)
PPTX = _read_package(
    "corrobora.adapters.readers.packages:read_pptx", (".pptx", ".ppsx"), f"{_OFFICE}presentationml.presentation"
)
OPENDOCUMENT = _read_package(
    *("corrobora.adapters.readers.packages:read_opendocument", (".odt", ".ods", ".odp")),
    *(f"{_OPEN}{kind}" for kind in ("text", "spreadsheet", "presentation")),
)
EPUB = _read_package("corrobora.adapters.readers.packages:read_epub", (".epub",), "application/epub+zip")
_PACKAGES = (  # what tells the format of a ZIP archive, whatever its name
    (b"mimetypeapplication/epub+zip", EPUB),
    (b"mimetypeapplication/vnd.oasis.opendocument", OPENDOCUMENT),
    (b"ppt/presentation.xml", PPTX),
    (b"xl/workbook.xml", XLSX),
    (b"word/document.xml", DOCX),
)
MAIL = FormatReader(
    "corrobora.adapters.readers.mail:read_mail",
    (".eml", ".mbox", ".mbx", ".mht", ".mhtml"),
    ("message/rfc822", "application/mbox"),
)
MANUAL = FormatReader(
    "corrobora.adapters.readers.manual:read_manual", (".man", ".mdoc"), ("text/troff", "application/x-troff-man")
)
_SOURCES = (  # of programs, by how their comments begin
    FormatReader(
        "corrobora.adapters.readers.source:read_hash_source",
        tuple(".py .pyi .sh .bash .zsh .rb .pl .pm .r .jl .ex .exs .tcl .nim .cr".split()),
        ("text/x-python", "application/x-sh"),
    ),
    FormatReader(
        "corrobora.adapters.readers.source:read_slash_source",
        tuple(
            ".c .h .cc .cpp .cxx .hh .hpp .java .js .mjs .cjs .jsx .ts .tsx .go .rs .kt .kts .swift .scala .cs .dart "
            ".m .mm .groovy .proto .zig".split()
        ),
        ("text/javascript", "application/javascript", "text/x-c", "text/x-java"),
    ),
    FormatReader("corrobora.adapters.readers.source:read_dash_source", (".sql", ".lua", ".hs", ".elm"), ()),
)
_ROFF_BYTES = 100_000  # in which the first macro of a manual page is looked for, behind what the page defines
_ROFF = re.compile(rb"(?=[.'\\])(?:[^\n]*\n)*?[.'][ \t]*(?:TH|Dd|so)[ \t]+\S")
_HEADERS = re.compile(rb"(?:From [^\n]{1,300}\n)?(?:[!-9;-~]{1,80}:[^\n]*\n(?:[ \t][^\n]*\n)*){3,}")
_FEED = re.compile(rb"<(?:rss|feed|rdf:RDF)[\s>]")
_OF_MAIL = re.compile(rb"^(?:message-id|received|mime-version):", re.IGNORECASE | re.MULTILINE)


@cache
def map_types() -> Mapping[str, FormatReader]:
    """Return the readers of all installed formats by media type and by suffix."""
    readers: list[FormatReader] = [*_SOURCES, *(load_part("readers", name) for name in reversed(list_parts("readers")))]
    return {each: reader for reader in readers for each in (*reader.types, *reader.suffixes)}


def find_reader(name: str, data: bytes, content_type: str = "") -> FormatReader:
    """Choose a reader by the content type, else by the suffix; what the first bytes prove wins.

    Anything unknown is read as text, which refuses what is no text.
    """
    if data[:1024].lstrip()[:5] == b"%PDF-":
        return PDF
    known = map_types()
    path = PurePosixPath(name.replace("\\", "/").lower())
    found = known.get(content_type.split(";", 1)[0].strip().lower()) or known.get(path.suffix, TEXT)
    inner = known.get(PurePosixPath(path.stem).suffix, TEXT) if found is TEXT else TEXT
    found = inner if inner in (MARKDOWN, RST) else found  # "guide.rst.txt": the source that Sphinx publishes as text
    start = data[:512].lstrip().lower()
    declared = start.startswith(b"<?xml")
    if start.startswith((b"<!doctype html", b"<html")) or (declared and b"<html" in data[:2_048].lower()):
        found = HTML if found.whole or found is TEXT else found
    elif declared and (found is TEXT or (found is HTML and _FEED.search(data[:2_048]))):
        found = XML
    if data.startswith(b"PK\x03\x04") and (found is TEXT or found.whole):
        return next((reader for mark, reader in _PACKAGES if mark in data), found)
    if found is TEXT and _ROFF.match(data[:_ROFF_BYTES].lstrip()):  # "ls.1" has an ending of its own for each section
        return MANUAL
    headers = _HEADERS.match(data[:20_000].replace(b"\r\n", b"\n").lstrip()) if found is TEXT else None
    return MAIL if headers is not None and _OF_MAIL.search(headers[0]) else found  # as in the folders of a Maildir


class ParserProcess:
    """One worker process, started when it is first needed; documents wait for each other.

    Cancelling `parse` kills the process at once. Close it when done, or use it as a context.
    """

    def __init__(
        self,
        *,
        memory_bytes: int = LIMITS.parse_memory_bytes,
        documents: int = DOCUMENTS_PER_PROCESS,
        seconds: float | None = None,
        loads: Sequence[str] = (),
    ) -> None:
        """`loads` are modules that the process imports when it starts, and not with its first document."""
        self._memory = memory_bytes
        self._documents = documents
        self._seconds = seconds
        self._loads = loads
        self._process: Process | None = None
        self._served = 0
        self._lock = asyncio.Lock()

    async def parse_document(
        self, data: bytes, *, name: str = "", content_type: str = "", charset: str = ""
    ) -> ParsedDocument:
        """Read a document in the child.

        Raises:
            ReadError: what the reader found, `timeout` at the limit of time, `broken` if the process crashed, or was
                killed twice.
        """
        if len(data) > LIMITS.file_max_bytes:
            raise ReadError(ReadOutcome.TOO_LARGE, f"It has {len(data)} bytes (limit {LIMITS.file_max_bytes}).")
        inner = strip_ending(name)  # what a packed file holds is read as a file of that name
        reader = find_reader(inner, data, content_type)
        about = {"read": reader.read, "charset": charset, "packed": name if inner != name else ""}
        async with self._lock:
            answer = await self._request_answer(reader, about, data)
        if "parsed" in answer:
            return load_parsed(answer["parsed"])
        raise ReadError(
            ReadOutcome(answer["outcome"]), str(answer["message"]), next_step=str(answer.get("next_step", ""))
        )

    async def start(self) -> None:
        """Start the process before its first document."""
        async with self._lock:
            await self._ensure_process()

    async def _request_answer(
        self, reader: FormatReader, about: Mapping[str, str], data: bytes, *, again: bool = False
    ) -> dict[str, Any]:
        """Have a document read; once more by a fresh process if this one was killed, which may not be its fault."""
        seconds = self._seconds or reader.cpu_seconds
        process = await self._ensure_process()
        fresh = not self._served
        head = json.dumps({**about, "seconds": seconds}).encode()
        try:
            async with asyncio.timeout(_WALL_FACTOR * seconds + (_START_SECONDS if fresh else 1.0)):
                answer = await _exchange_frames(process, head, data)
        except TimeoutError:
            await self._kill_process()
            raise ReadError(ReadOutcome.TIMEOUT, f"Reading it took longer than {seconds:g} s.") from None
        except (asyncio.IncompleteReadError, ConnectionError, ValueError) as error:
            code = await self._await_exit()
            if code is not None and -code == _SIGXCPU:
                raise ReadError(ReadOutcome.TIMEOUT, f"Reading it took more than {seconds:g} s of CPU.") from error
            if code is not None and -code == _SIGKILL and not again:
                return await self._request_answer(reader, about, data, again=True)
            raise ReadError(ReadOutcome.BROKEN, self._explain_end(code)) from error
        except asyncio.CancelledError:
            await self._kill_process()
            raise
        self._served += 1
        if self._served >= self._documents:
            await self._kill_process()
        return answer

    def _explain_end(self, code: int | None) -> str:
        """Say how a reader ended without an answer: what finds no memory within the limit ends itself."""
        if code is not None and -code in (_SIGABRT, _SIGTRAP):
            return f"The reader gave up on it, most likely at its limit of {self._memory >> 20} MB of memory."
        if code is not None and -code == _SIGKILL:
            return "The reader was killed twice, perhaps because the machine has no memory left."
        return "The reader crashed on it."

    async def _ensure_process(self) -> Process:
        if self._process is None:
            self._served = 0
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # the current folder may be a stranger's: no module is taken from it
                *("-m", "corrobora.adapters.readers.worker", str(self._memory), *self._loads),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ},
            )
        return self._process

    async def _await_exit(self) -> int | None:
        """Wait for a process that closed its answer, and return how it ended by itself.

        To kill it at once could take that away: who sends a signal to a dead process may be told nothing of its end.
        """
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EXIT_SECONDS):
                    await self._process.wait()
        return await self._kill_process()

    async def _kill_process(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        if process.stdin is not None:
            process.stdin.close()
        return await asyncio.shield(process.wait())

    async def close(self) -> None:
        await self._kill_process()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


_SIGTRAP, _SIGABRT, _SIGKILL, _SIGXCPU = 5, 6, 9, 24


async def _exchange_frames(process: Process, head: bytes, data: bytes) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(struct.pack(">II", len(head), len(data)) + head)
    for at in range(0, len(data), _PIECE_BYTES):  # in pieces, because what the pipe does not take at once is copied
        process.stdin.write(data[at : at + _PIECE_BYTES])
        await process.stdin.drain()
    answer = json.loads(await _read_frame(process.stdout, _ANSWER_BYTES))
    if not isinstance(answer, dict):
        raise TypeError("answer")
    pieces: list[str] = []
    left = _ANSWER_BYTES
    while piece := await _read_frame(process.stdout, left):
        left -= len(piece)
        pieces.append(piece.decode("utf-8", "surrogatepass"))
    if "parsed" in answer:
        answer["parsed"]["text"] = "".join(pieces)
    return answer  # pyright: ignore[reportUnknownVariableType] - checked where it is used


async def _read_frame(stream: StreamReader, most: int) -> bytes:
    (size,) = struct.unpack(">I", await stream.readexactly(4))
    if size > most:
        raise ValueError("answer")
    return await stream.readexactly(size)


def load_parsed(raw: dict[str, Any]) -> ParsedDocument:
    """Build the value from the child's answer, which is not trusted: headings must lie in the text, in order."""
    text = str(raw["text"])
    headings = [
        Heading(int(each["start"]), int(each["level"]), str(each["title"]))
        for each in raw["headings"]
        if 0 <= int(each["start"]) < len(text)
    ]
    return ParsedDocument(
        title=str(raw["title"]),
        text=text,
        headings=tuple(sorted(headings, key=lambda heading: heading.start)),
        published=date_by_releases(headings, str(raw["published"])),
        version=str(raw["version"]),
        publisher=str(raw["publisher"]),
        truncated=bool(raw["truncated"]),
        note=str(raw["note"]),
        authors=clean_authors(map(str, raw["authors"])),
    )


_OPENERS: Mapping[str, Callable[[BytesIO], BufferedIOBase]] = {
    ".gz": lambda packed: gzip.GzipFile(fileobj=packed),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
ENDINGS = tuple(_OPENERS)


def strip_ending(name: str) -> str:
    """Return the name of the file inside a packed one: "NEWS.md" for "NEWS.md.gz"; another name as it is."""
    ending = next((each for each in ENDINGS if name.lower().endswith(each)), "")
    return name[: len(name) - len(ending)]


def unpack_bytes(name: str, data: bytes) -> bytes:
    """Return what a packed file holds.

    Raises:
        ReadError: `too_large` for more than a file may have, `broken` for damaged data.
    """
    limit = LIMITS.file_max_bytes
    try:
        with _OPENERS[PurePosixPath(name.lower()).suffix](BytesIO(data)) as packed:
            found = packed.read(limit + 1)
    except EOFError:
        raise ReadError(ReadOutcome.BROKEN, "It cannot be unpacked whole: it ends early.") from None
    except (zlib.error, lzma.LZMAError, OSError) as error:
        raise ReadError(ReadOutcome.BROKEN, f"It cannot be unpacked ({error}).") from error
    if len(found) > limit:
        raise ReadError(ReadOutcome.TOO_LARGE, f"Unpacked it has more than {limit} bytes, the limit.")
    return found
