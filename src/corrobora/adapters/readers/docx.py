"""DOCX: paragraphs, headings, lists and tables of a word processor's file.

Knows the parts it needs of the format, and limits for what a ZIP may unpack to. Does not follow external relations,
run macros or open embedded files. Runs in the parser's process.
"""

from __future__ import annotations

import zipfile
from io import BytesIO
from xml.etree import ElementTree as ET

from corrobora.adapters.readers.text import TextWriter
from corrobora.domain.documents import ParsedDocument
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome

MAX_ENTRIES = 1_000
MAX_UNPACKED = 100_000_000
MAX_RATIO = 100
_SMALL = 1_000_000  # below this the ratio says nothing: XML packs well
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
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
                raise ReadError(ReadOutcome.UNSUPPORTED, "The archive is no DOCX file.")
            document = _parse_xml(archive.read("word/document.xml"))
            styles = _parse_xml(archive.read("word/styles.xml")) if "word/styles.xml" in names else None
            core = _parse_xml(archive.read("docProps/core.xml")) if "docProps/core.xml" in names else None
    except (zipfile.BadZipFile, ET.ParseError, KeyError, EOFError, ValueError, NotImplementedError, OSError) as error:
        raise ReadError(ReadOutcome.BROKEN, f"The DOCX file is damaged ({type(error).__name__}).") from error
    writer = TextWriter()
    title = _BodyWriter(writer, _heading_levels(styles)).write_body(document)
    stated = (core.findtext(f"{_DC}title") or "") if core is not None else ""
    published = (core.findtext(f"{_TERMS}created") or "")[:10] if core is not None else ""
    parsed = writer.build_parsed(stated or title, published=published)
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
    """Walks paragraphs and tables in order."""

    def __init__(self, writer: TextWriter, levels: dict[str, int]) -> None:
        self._writer = writer
        self._levels = levels
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
        return self._title

    def _write_table(self, table: ET.Element) -> None:
        rows = [[_element_text(cell) for cell in row.iter(f"{_W}tc")] for row in table.iter(f"{_W}tr")]
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


def _element_text(element: ET.Element) -> str:
    parts: list[str] = []
    for node in element.iter():
        if node.tag == f"{_W}t":
            parts.append(node.text or "")
        elif node.tag == f"{_W}tab":
            parts.append(" ")
        elif node.tag in {f"{_W}br", f"{_W}cr"}:
            parts.append("\n")
    return "".join(parts)
