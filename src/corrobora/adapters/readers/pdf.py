"""PDF: the text of the pages, with words joined that line ends had cut.

Knows pypdf, a limit of pages, and the ways in which a PDF has nothing to read. Does not run scripts, follow links or
open attachments. Runs in the parser's process, because hostile files are to be expected.
"""

from __future__ import annotations

import logging
import re
from io import BytesIO
from typing import TYPE_CHECKING

from corrobora.adapters.readers.text import TextWriter
from corrobora.domain.documents import ParsedDocument
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS

if TYPE_CHECKING:
    from pypdf import PdfReader

_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad\ufffe]\n(?=[a-zß-öø-ÿ])")
_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff\u00ad]")
_HEADER_BYTES = 1024
_SHORT_LINE = 0.6
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")


def read_pdf(data: bytes, charset: str = "", *, max_pages: int = LIMITS.pdf_max_pages) -> ParsedDocument:
    """Return the text of at most `max_pages` pages; `truncated` says that there were more.

    Raises:
        ReadError: `broken`, `encrypted`, `too_large` for what unpacks without end, `empty` for scans without text.
    """
    del charset
    if b"%PDF" not in data[:_HEADER_BYTES]:
        raise ReadError(ReadOutcome.BROKEN, "It does not begin as a PDF file.")
    from pypdf import PdfReader  # noqa: PLC0415 - paid by those who read PDF
    from pypdf.errors import LimitReachedError, PyPdfError  # noqa: PLC0415

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise ReadError(ReadOutcome.ENCRYPTED, "It is encrypted.", next_step="Save a copy without the password.")
        total = len(reader.pages)
        pages = [reader.pages[number].extract_text() or "" for number in range(min(total, max_pages))]
        title, published = _read_metadata(reader)
    except LimitReachedError as error:
        raise ReadError(ReadOutcome.TOO_LARGE, "It unpacks to more than is read of a PDF.") from error
    except (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OSError) as error:
        raise ReadError(ReadOutcome.BROKEN, f"The PDF is damaged ({type(error).__name__}).") from error
    writer = TextWriter()
    for block in join_paragraphs(
        "\n".join(_NOT_TEXT.sub("", _HYPHEN.sub("", _unify_newlines(page))) for page in pages)
    ):
        writer.add_block(block)
    text = writer.build_parsed().text
    if not any(letter.isalnum() for letter in text):
        raise ReadError(
            ReadOutcome.EMPTY, "The PDF has no text; it may be a scan.", next_step="Run a text recognition over it."
        )
    return writer.build_parsed(
        title or _first_line(text),
        published=published,
        truncated=total > max_pages,
        note=f"only the first {max_pages} of {total} pages were read" if total > max_pages else "",
    )


def _unify_newlines(page: str) -> str:
    return page.replace("\r\n", "\n").replace("\r", "\n")


def _read_metadata(reader: PdfReader) -> tuple[str, str]:
    """Return title and date that the file states of itself."""
    about = reader.metadata
    if about is None:
        return "", ""
    title = str(about.get("/Title") or "").strip()
    stated = _DATE.match(str(about.get("/CreationDate") or ""))
    published = "-".join(part for part in stated.groups() if part) if stated else ""
    worthless = title.lower().endswith((".doc", ".docx", ".indd", ".tex", ".dvi")) or title.lower() == "untitled"
    return ("" if worthless else title), published


def join_paragraphs(text: str) -> list[str]:
    """Join lines into paragraphs: a blank line, a list mark, or a short line before a capital ends a paragraph."""
    lines = [line.strip() for line in text.split("\n")]
    lengths = [len(line) for line in lines if line]
    typical = sum(length**2 for length in lengths) / max(1, sum(lengths))  # of the line a letter stands in
    found: list[list[str]] = [[]]
    for line in lines:
        if not line:
            found.append([])
            continue
        last = found[-1][-1] if found[-1] else ""
        item = line[0] in "•‣◦▪–" and line[1:2] == " "
        if item or (last and len(last) < _SHORT_LINE * typical and not line[0].islower() and last[-1] != ","):
            found.append([])
        found[-1].append(line)
    return [" ".join(block) for block in found if block]


def _first_line(text: str) -> str:
    return text.lstrip().split("\n", 1)[0][:150]
