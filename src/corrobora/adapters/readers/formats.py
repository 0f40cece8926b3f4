"""Formats: which reader reads a document, by its name and its first bytes.

Knows all readers and loads each only when it is needed. Does not know where bytes come from.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS
from corrobora.domain.parsed import ParsedDocument

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
            from corrobora.adapters.readers.markdown import read_markdown  # noqa: PLC0415

            return read_markdown(data, name)
        case "html":
            from corrobora.adapters.readers.html import read_html  # noqa: PLC0415

            return read_html(data, name, charset)
        case "rst":
            from corrobora.adapters.readers.rst import read_rst  # noqa: PLC0415

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
