"""Documents of a word processor: paragraphs, headings, lists, tables and notes of a DOCX file.

Knows the parts it needs of DOCX and limits for what a ZIP may unpack to. Does not run macros, follow links or open
attachments. Runs in the parser's process, because hostile files are to be expected and may end it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from io import BytesIO
from xml.etree import ElementTree as ET

from corrobora.adapters.readers import TextWriter
from corrobora.adapters.readers.numbering import ListNumbers
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.ports import ParsedDocument
from corrobora.text.authors import read_byline

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
            numbering = _parse_xml(archive.read("word/numbering.xml")) if "word/numbering.xml" in names else None
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
    numbers = ListNumbers(numbering, styles)
    title = _BodyWriter(writer, _heading_levels(styles), notes, numbers).write_body(document)
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

    def __init__(
        self,
        writer: TextWriter,
        levels: dict[str, int],
        notes: dict[tuple[str, str | None], str],
        numbers: ListNumbers,
    ) -> None:
        self._writer = writer
        self._numbers = numbers
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
        label = self._numbers.count_label(paragraph) if text.strip() else None
        if level is not None:
            self._title = self._title or (" ".join(text.split()) if level == 0 else "")
            self._writer.add_heading(text if label in (None, "-") else f"{label} {text}", max(1, level))
        else:
            self._writer.add_block(text if label is None else f"{label} {text}", tight=label is not None)


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
