"""Documents of a word processor and PDF: paragraphs, headings, lists and tables; pages with the words that lines cut.

Knows the parts it needs of DOCX, limits for what a ZIP may unpack to, pdfium, a limit of pages, the page on which each
passage begins, and the ways in which a PDF has nothing to read. Does not run scripts or macros, follow links or open
attachments. Runs in the parser's process, because hostile files are to be expected and may end it.
"""

from __future__ import annotations

import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from corrobora.adapters.readers import TextWriter, fold_spaces
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.limits import LIMITS
from corrobora.ports import ParsedDocument
from corrobora.text.authors import read_byline
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import sanitize_text

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MAX_ENTRIES = 1_000
MAX_UNPACKED = 100_000_000
MAX_RATIO = 100
_SMALL = 1_000_000  # below this the ratio says nothing: XML packs well
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # says again what stands before it
_TEXTS = frozenset({f"{_W}t", f"{_MATH}t"})
_SIGNS = {f"{_W}tab": " ", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_DC = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"


def read_docx(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the text of a DOCX file.

    Raises:
        ReadError: `broken`, `too_large` for a ZIP bomb, `unsupported` for other archives, `empty`.
    """
    del charset  # XML states its own
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            _check_archive(archive)
            names = set(archive.namelist())
            if "word/document.xml" not in names:
                raise ReadError(ReadOutcome.UNSUPPORTED, "The archive is not a DOCX file.")
            document = _parse_xml(archive.read("word/document.xml"))
            styles = _parse_xml(archive.read("word/styles.xml")) if "word/styles.xml" in names else None
            core = _parse_xml(archive.read("docProps/core.xml")) if "docProps/core.xml" in names else None
            notes = {
                (kind, note.get(f"{_W}id")): _element_text(note)
                for kind in ("footnote", "endnote")
                if f"word/{kind}s.xml" in names
                for note in _parse_xml(archive.read(f"word/{kind}s.xml")).iter(f"{_W}{kind}")
            }
    except (zipfile.BadZipFile, ET.ParseError, KeyError, EOFError, ValueError, NotImplementedError, OSError) as error:
        raise ReadError(ReadOutcome.BROKEN, f"The DOCX file is damaged ({type(error).__name__}).") from error
    writer = TextWriter()
    title = _BodyWriter(writer, _heading_levels(styles), notes).write_body(document)
    stated = (core.findtext(f"{_DC}title") or "") if core is not None else ""
    published = (core.findtext(f"{_TERMS}created") or "")[:10] if core is not None else ""
    creator = (core.findtext(f"{_DC}creator") or "") if core is not None else ""
    parsed = writer.build_parsed(stated or title, published=published, authors=read_byline(creator))
    if not parsed.text.strip():
        raise ReadError(ReadOutcome.EMPTY, "The document has no text.")
    return parsed


def _check_archive(archive: zipfile.ZipFile) -> None:
    entries = archive.infolist()
    size = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if len(entries) > MAX_ENTRIES or size > MAX_UNPACKED or (size > _SMALL and size > MAX_RATIO * max(1, packed)):
        raise ReadError(
            ReadOutcome.TOO_LARGE,
            f"The archive unpacks to {size} bytes in {len(entries)} entries "
            f"(limits: {MAX_UNPACKED}, {MAX_ENTRIES}, {MAX_RATIO} times its size).",
        )
    if any(entry.flag_bits & 1 for entry in entries):
        raise ReadError(ReadOutcome.ENCRYPTED, "The archive is encrypted.")


def _parse_xml(data: bytes) -> ET.Element:
    """Parse XML without a document type: no entities, so no expansion and no outside file."""
    if b"\x00" in data or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise ValueError("a document type")
    return ET.fromstring(data)  # noqa: S314 - entities are refused above, and this runs in the limited child


def _heading_levels(styles: ET.Element | None) -> dict[str, int]:
    """Return style id to heading level, by the style's own name (ids are translated, names are not); 0 is the title."""
    found: dict[str, int] = {}
    for style in styles.iter(f"{_W}style") if styles is not None else ():
        label = style.find(f"{_W}name")
        said = (label.get(f"{_W}val") or "").lower() if label is not None else ""
        if said == "title":
            found[style.get(f"{_W}styleId") or ""] = 0
        elif said.startswith("heading ") and said[8:].isdigit():
            found[style.get(f"{_W}styleId") or ""] = int(said[8:])
    return found


class _BodyWriter:
    """Walks paragraphs and tables in order. Notes stand behind the paragraph or table that refers to them."""

    def __init__(self, writer: TextWriter, levels: dict[str, int], notes: dict[tuple[str, str | None], str]) -> None:
        self._writer = writer
        self._levels = levels
        self._notes = notes
        self._title = ""

    def write_body(self, document: ET.Element) -> str:
        """Write the body; return the text of the paragraph in the style "Title", if there is one."""
        body = document.find(f"{_W}body")
        for block in body if body is not None else ():
            if block.tag == f"{_W}p":
                self._write_paragraph(block)
            elif block.tag == f"{_W}tbl":
                self._write_table(block)
            elif block.tag == f"{_W}sdt":
                for inner in block.iter(f"{_W}p"):
                    self._write_paragraph(inner)
            for kind in ("footnote", "endnote"):
                for reference in block.iter(f"{_W}{kind}Reference"):
                    self._writer.add_block(self._notes.pop((kind, reference.get(f"{_W}id")), ""))
        return self._title

    def _write_table(self, table: ET.Element) -> None:
        rows = [[_element_text(cell) for cell in _iter_outer(row, "tc")] for row in _iter_outer(table, "tr")]
        look = table.find(f"{_W}tblPr/{_W}tblLook")
        heads = len(rows) > 1 and (
            table.find(f"{_W}tr/{_W}trPr/{_W}tblHeader") is not None
            or (look is not None and look.get(f"{_W}firstRow") == "1")
        )
        self._writer.add_rows(rows[heads:], rows[0] if heads else ())

    def _write_paragraph(self, paragraph: ET.Element) -> None:
        text = _element_text(paragraph)
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        id_ = (style.get(f"{_W}val") or "") if style is not None else ""
        level = self._levels.get(id_)
        if level is None and id_.lower().startswith("heading") and id_[7:].isdigit():
            level = int(id_[7:])
        if level is None and id_.lower() == "title":
            level = 0
        if level is not None:
            self._title = self._title or (" ".join(text.split()) if level == 0 else "")
            self._writer.add_heading(text, max(1, level))
        elif paragraph.find(f"{_W}pPr/{_W}numPr") is not None:
            self._writer.add_block(f"- {text}" if text.strip() else "", tight=True)
        else:
            self._writer.add_block(text)


def _iter_outer(element: ET.Element, tag: str) -> Iterator[ET.Element]:
    """Yield the elements of a tag that stand in no other such element, as those of a table in a cell do."""
    for child in element:
        if child.tag == f"{_W}{tag}":
            yield child
        else:
            yield from _iter_outer(child, tag)


def _element_text(element: ET.Element) -> str:
    return "".join(_list_pieces(element)).strip("\n")


def _list_pieces(element: ET.Element) -> Iterator[str]:
    """Yield the pieces of an element's text; a paragraph inside ends its line."""
    for node in element:
        if node.tag in _TEXTS:
            yield node.text or ""
        elif node.tag in _SIGNS:
            yield _SIGNS[node.tag]
        elif node.tag != _FALLBACK:
            yield from _list_pieces(node)
            if node.tag == f"{_W}p":
                yield "\n"


_PAGE = "\x01"  # begins each page while lines are joined; no page holds one
_HYPHEN = re.compile(r"(?<=[^\W\d_])(?:\ufffe\n?|[-\u2010\u00ad]\n)(?=\x01?[a-zß-öø-ÿ])")
_CUT = re.compile(r"\ufffe\n?")  # a hyphen at a line end before a capital or a digit stays a hyphen
_NOT_TEXT = re.compile("[\uffff\u00ad]")
_HEADER_BYTES = 1024
_SHORT_LINE = 0.6
_RUNNING_SPAN = 4  # pages from the first to the third at whose edge a line stands that is no part of the text
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")
_LETTERS = re.compile(r"[A-Z\u00c0-\u00de]*[a-z\u00df-\u024f\u0370-\u04ff]*")  # a capital inside begins a word
_GLUED_WORD = 22  # letters; a longer word is nearly always several
_GLUED_SHARE = 0.1  # of all letters


def read_pdf(data: bytes, charset: str = "", *, max_pages: int = LIMITS.pdf_max_pages) -> ParsedDocument:
    """Return the text of at most `max_pages` pages; `truncated` says that there were more.

    The headings are the pages ("p. 12"), each at the first sentence that begins on it.

    Raises:
        ReadError: `broken`, `encrypted`, `too_large` for what unpacks without end, `empty` for scans without text,
            `not_content` for text whose words cannot be told apart.
    """
    del charset
    if b"%PDF" not in data[:_HEADER_BYTES]:
        raise ReadError(ReadOutcome.BROKEN, "It does not begin as a PDF file.")
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415 - paid by those who read PDF

    try:
        document = PdfDocument(data, password="")
        total = len(document)
        pages = _read_pages(document, min(total, max_pages))
        title, published, authors = _read_metadata(document)
    except PdfiumError as error:
        if "password" in str(error).lower():
            raise ReadError(
                ReadOutcome.ENCRYPTED, "It is encrypted.", next_step="Save a copy without the password."
            ) from error
        raise ReadError(ReadOutcome.BROKEN, "The PDF is damaged.") from error
    writer = TextWriter()
    write_pages(drop_running_lines(pages), writer)
    text = writer.build_parsed().text
    if not any(letter.isalnum() for letter in text):
        raise ReadError(
            ReadOutcome.EMPTY, "The PDF has no text; it may be a scan.", next_step="Run text recognition (OCR) on it."
        )
    if (share := measure_glue(text)) > _GLUED_SHARE:
        raise ReadError(
            ReadOutcome.NOT_CONTENT,
            f"Its text is poor: {share:.0%} of the letters stand in words of {_GLUED_WORD} or more letters.",
            next_step="Run text recognition (OCR) on it.",
        )
    return writer.build_parsed(
        title or text.lstrip().split("\n", 1)[0][:150],
        published=published,
        truncated=total > max_pages,
        note=f"only the first {max_pages} of {total} pages were read" if total > max_pages else "",
        authors=authors,
    )


def _read_pages(document: PdfDocument, count: int) -> list[str]:
    """Return the text of the first pages, lines ended by line feeds."""
    pages: list[str] = []
    size = 0
    for number in range(count):
        page = document[number]
        said = page.get_textpage().get_text_range(errors="ignore")
        page.close()
        size += len(said)
        if size > LIMITS.text_max_chars:
            raise ReadError(ReadOutcome.TOO_LARGE, "It unpacks to more than is read of a PDF.")
        pages.append(said.replace("\r\n", "\n").replace("\r", "\n"))
    return pages


def _read_metadata(document: PdfDocument) -> tuple[str, str, list[str]]:
    """Return title, date and authors that the file states of itself."""
    about = document.get_metadata_dict()
    title = about.get("Title", "").strip()
    stated = _DATE.match(about.get("CreationDate", ""))
    published = "-".join(part for part in stated.groups() if part) if stated else ""
    worthless = title.lower().endswith((".doc", ".docx", ".indd", ".tex", ".dvi")) or title.lower() == "untitled"
    return ("" if worthless else title), published, read_byline(about.get("Author", ""))


def drop_running_lines(pages: list[str]) -> list[str]:
    """Leave out the first and last lines that stand on three of five pages: titles, authors and page numbers.

    A number alone is one of a page if it counts on with the pages.
    """
    split = [[line for line in page.split("\n") if line.strip()] for page in pages]
    ends = [[_name_edge(lines[n], at) for n in (0, -1)] if len(lines) > 1 else [] for at, lines in enumerate(split)]
    places: dict[str, list[int]] = defaultdict(list)
    for at, own in enumerate(ends):
        for key in frozenset[str]().union(*own):
            places[key].append(at)
    runs = {key for key, at in places.items() if any(b - a <= _RUNNING_SPAN for a, b in zip(at, at[2:], strict=False))}
    kept: list[str] = []
    for page, lines, own in zip(pages, split, ends, strict=True):
        first, last = (bool(runs & keys) for keys in own) if own else (False, False)
        kept.append("\n".join(lines[first : len(lines) - last]) if first or last else page)
    return kept


def _name_edge(line: str, page: int) -> frozenset[str]:
    """Return a line as it is, and with its first or last number as how far it is from that of its page."""
    text = " ".join(line.split()).casefold()
    numbers = list(re.finditer(r"\d{1,4}", text))
    found = {f"{text[: n.start()]}{int(n[0]) - page:+}{text[n.end() :]}" for n in (*numbers[:1], *numbers[-1:])}
    return frozenset(found if text.isdecimal() else {text, *found})


def write_pages(pages: list[str], writer: TextWriter) -> None:
    """Write the paragraphs, and note each page at the first sentence that begins on it."""
    whole = "\n".join(f"{_PAGE}{sanitize_text(_NOT_TEXT.sub('', page)).strip()}" for page in pages)
    number = 0
    waiting = False  # a page has begun whose first sentence has not
    for block in join_paragraphs(_CUT.sub("-", _HYPHEN.sub("", whole))):
        text, *begun = fold_spaces(block).split(_PAGE)
        borders: list[int] = []
        for part in begun:
            borders.append(len(text))
            text += part if text else part.lstrip()
        start = writer.add_block(text)
        if start < 0:
            number, waiting = number + len(borders), waiting or bool(borders)
            continue
        if waiting:
            writer.note_page(start, number)
        waiting = False
        begins = [span.start for span in split_sentences(text)] if borders else []
        for border in borders:
            number += 1
            first = next((begin for begin in begins if begin >= border), None)
            waiting = first is None
            if first is not None:
                writer.note_page(start + first, number)


def measure_glue(text: str) -> float:
    """Return the share of letters that stand in words of 22 or more letters: words that have lost their spaces."""
    lengths = [len(word) for word in _LETTERS.findall(text)]
    return sum(length for length in lengths if length >= _GLUED_WORD) / max(1, sum(lengths))


def join_paragraphs(text: str) -> list[str]:
    """Join lines into paragraphs: a blank line, a list mark, or a short line before a capital ends a paragraph."""
    lines = [line.strip() for line in text.split("\n")]
    lengths = [len(line) for line in lines if line]
    typical = sum(length**2 for length in lengths) / max(1, sum(lengths))  # of the line a letter stands in
    found: list[list[str]] = [[]]
    for line in lines:
        said = line.removeprefix(_PAGE)
        if not said:
            found.append([line] if line else [])
            continue
        last = found[-1][-1] if found[-1] else ""
        item = said[0] in "•‣◦▪–" and said[1:2] == " "
        short = bool(last.strip(_PAGE)) and len(last) < _SHORT_LINE * typical
        if item or (short and not said[0].islower() and last[-1] != ","):
            found.append([])
        found[-1].append(line)
    return [" ".join(block) for block in found if block]
