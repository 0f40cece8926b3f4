"""Documents that are packages: sheets of XLSX, slides of PPTX, texts, sheets and slides of OpenDocument, EPUB books.

Knows which parts of each package hold text and in which order they are shown (ECMA-376, OpenDocument 1.3, EPUB 3).
Does not compute formulas, run macros, follow links or open attachments; hidden sheets are not read. Runs in the
parser's process, because hostile files are to be expected and may end it.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from io import BytesIO
from itertools import groupby, islice
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from corrobora.adapters.readers import TextWriter, decode_text, may_be_heads
from corrobora.adapters.readers.html import read_tags
from corrobora.adapters.readers.office import Properties, build_document, open_package, parse_xml, read_properties
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.ports import ParsedDocument
from corrobora.text.tags import drop_control_references

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_RELATED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_SLIDES, _CONTAINER = "ppt/presentation.xml", "META-INF/container.xml"
_MOST_CELLS = 1_000  # of a row: an OpenDocument sheet repeats its last empty cell to the end of the sheet
_MOST_EMPTY = 10_000  # rows in a row
_SAID = (f"{_A}t", f"{_A}br")
_ITEMS = 2  # paragraphs from which those of a box on a slide are a list


def read_xlsx(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the visible sheets of a workbook, each below its name, with the values that were last computed.

    Raises:
        ReadError: as `open_package`; `empty`.
    """
    del charset
    from openpyxl import load_workbook  # noqa: PLC0415 - a tenth of a second, for workbooks only

    writer = TextWriter()
    with open_package(data, "XLSX", "xl/workbook.xml") as archive:
        properties = read_properties(archive)
        book: Any = load_workbook(BytesIO(data), read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets:
            if sheet.sheet_state == "visible":
                sheet.reset_dimensions()  # what a sheet says of its own size may be wrong, and is paid for
                rows = ([_format_value(cell.value, cell.number_format) for cell in row] for row in sheet.iter_rows())
                _write_sheet(writer, sheet.title, rows)
    return build_document(writer, properties)


def _format_value(value: Any, form: str) -> str:
    """Write a value of a cell as a sheet shows it, with all its digits."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case int() | float():
            percent = form.split(";", maxsplit=1)[0].endswith("%")
            return f"{value * 100 if percent else value:.15g}{'%' if percent else ''}"
        case datetime():
            return (
                f"{value:%Y-%m-%d}"
                if value == datetime.combine(value, datetime.min.time())
                else f"{value:%Y-%m-%d %H:%M}"
            )
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _write_sheet(writer: TextWriter, name: str, rows: Iterable[Sequence[str]]) -> None:
    """Write a sheet below its name: blocks of rows with an empty row between them are tables of their own."""
    named = False
    for filled, own in groupby(rows, key=any):
        if filled:
            if not named:
                writer.add_heading(name, 1)
            _write_block(writer, list(own))
            named = True
        elif sum(1 for _ in islice(own, _MOST_EMPTY)) == _MOST_EMPTY:
            return  # a cell far below may be a mistake, or meant to keep a reader busy


def _write_block(writer: TextWriter, rows: Sequence[Sequence[str]]) -> None:
    """Write a table: single cells above it are lines of text, and a first row of words alone names the columns."""
    width = max(map(len, rows), default=0)
    padded = [(*row, *("",) * (width - len(row))) for row in rows]
    used = [at for at in range(width) if any(row[at] for row in padded)]
    table = [[row[at] for at in used] for row in padded]
    above = 0
    while above < len(table) and sum(map(bool, table[above])) == 1 and len(used) > 1:
        writer.add_block("".join(table[above]))
        above += 1
    table = table[above:]
    names = len(table) > 1 and all(table[0]) and not any(_is_number(cell) for cell in table[0])
    writer.add_rows(table[names:], table[0] if names else ())


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit() or (cell[:1] in "+-.,(" and cell[1:2].isdigit())


def read_pptx(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the slides of a presentation in their order, each below its title, with its notes.

    Raises:
        ReadError: as `read_xlsx`.
    """
    del charset
    writer = TextWriter()
    with open_package(data, "PPTX", _SLIDES) as archive:
        properties = read_properties(archive)
        slides = _read_relations(archive, _SLIDES)
        for each in parse_xml(archive.read(_SLIDES)).iter(f"{_P}sldId"):
            path = slides[each.get(_RELATED) or ""]
            _write_slide(writer, parse_xml(archive.read(path)))
            for part in _read_relations(archive, path).values():
                if "/notesSlides/" in part:
                    _write_slide(writer, parse_xml(archive.read(part)), notes=True)
    return build_document(writer, properties)


def _read_relations(archive: zipfile.ZipFile, path: str) -> dict[str, str]:
    """Map the ids by which a part of an Office package names others to their paths."""
    folder, name = posixpath.split(path)
    stored = f"{folder}/_rels/{name}.rels"
    if stored not in archive.namelist():
        return {}
    return {
        each.get("Id") or "": posixpath.normpath(posixpath.join("/", folder, each.get("Target") or "")).lstrip("/")
        for each in parse_xml(archive.read(stored))
        if each.get("TargetMode") != "External"
    }


def _write_slide(writer: TextWriter, slide: ET.Element, *, notes: bool = False) -> None:
    """Write the title of a slide first, then its boxes and tables in their order; of notes, what the speaker wrote."""
    titles: list[str] = []
    boxes: list[ET.Element] = []
    for shape in slide.iter():
        if shape.tag == f"{_P}sp":
            place = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
            kind = (place.get("type") or "body") if place is not None else ""
            if kind in ("title", "ctrTitle") and not notes:
                titles.append(" ".join(text for text, _ in _read_paragraphs(shape)))
            elif kind not in ("sldNum", "dt", "ftr", "hdr", "sldImg") and (kind == "body" or not notes):
                boxes.append(shape)
        elif shape.tag == f"{_A}tbl":
            boxes.append(shape)
    for title in titles:
        writer.add_heading(title, 1)
    for box in boxes:
        if box.tag == f"{_A}tbl":
            rows = [
                [" ".join(text for text, _ in _read_paragraphs(cell)) for cell in row] for row in box.iter(f"{_A}tr")
            ]
            look = box.find(f"{_A}tblPr")
            heads = len(rows) > 1 and look is not None and look.get("firstRow") in ("1", "true")
            heads = heads and may_be_heads(rows[0])
            writer.add_rows(rows[heads:], rows[0] if heads else ())
            continue
        said = [(text, depth) for text, depth in _read_paragraphs(box) if text.strip()]
        listed = len(said) >= _ITEMS and not notes
        for text, depth in said:
            writer.add_block(f"- {text}" if listed else text, tight=listed, depth=depth if listed else 0)


def _read_paragraphs(shape: ET.Element) -> Iterator[tuple[str, int]]:
    for paragraph in shape.iter(f"{_A}p"):
        look = paragraph.find(f"{_A}pPr")
        depth = look.get("lvl") or "0" if look is not None else "0"
        said = (" " if each.tag == f"{_A}br" else each.text or "" for each in paragraph.iter() if each.tag in _SAID)
        yield "".join(said), int(depth) if depth.isdigit() else 0


def read_opendocument(data: bytes, charset: str = "") -> ParsedDocument:
    """Return a text, the sheets of a workbook or the slides of a presentation in the OpenDocument format.

    Raises:
        ReadError: as `read_xlsx`.
    """
    del charset
    writer = TextWriter()
    with open_package(data, "OpenDocument", "content.xml") as archive:
        names = archive.namelist()
        if "META-INF/manifest.xml" in names and b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise ReadError(ReadOutcome.ENCRYPTED, "The file is encrypted.")
        stated = _read_stated(parse_xml(archive.read("meta.xml"))) if "meta.xml" in names else {}
        content = parse_xml(archive.read("content.xml"))
    body = next((each for each in content if _local(each) == "body"), content)
    _write_blocks(writer, body)
    published = (stated.get("creation-date") or stated.get("date") or "")[:10]
    creator = stated.get("initial-creator") or stated.get("creator") or ""
    return build_document(writer, Properties(stated.get("title", ""), published, creator))


def _read_stated(root: ET.Element) -> dict[str, str]:
    return {_local(each): each.text or "" for each in reversed(list(root.iter()))}


def _local(element: ET.Element) -> str:
    """Return the name of an element without its namespace: those of OpenDocument do not clash."""
    return element.tag.rpartition("}")[2]


def _attribute(element: ET.Element, name: str) -> str:
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


_UNSHOWN = frozenset(  # or a list of places in the same text
    "tracked-changes forms sequence-decls variable-decls annotation settings table-of-content alphabetical-index "
    "illustration-index table-index object-index".split()
)
_APART = ("text-box", "note")


def _write_blocks(writer: TextWriter, parent: ET.Element, depth: int = -1) -> None:
    """Write headings, paragraphs, lists and tables in order; `depth` is that of the list around them, -1 for none."""
    for each in parent:
        name = _local(each)
        if name == "h":
            level = _attribute(each, "outline-level")
            writer.add_heading(_read_inline(each), int(level) if level.isdigit() else 1)
        elif name == "p":
            text, listed = _read_inline(each), depth >= 0
            writer.add_block(f"- {text}" if listed and text else text, tight=listed, depth=max(0, depth))
            for inner in _find_apart(each):
                _write_blocks(writer, inner)
        elif name in _WRITERS:
            _WRITERS[name](writer, each)
        elif name not in _UNSHOWN:
            _write_blocks(writer, each, depth + (name == "list"))


def _write_text_table(writer: TextWriter, table: ET.Element) -> None:
    heads = [row for head in table if _local(head) == "table-header-rows" for row in head]
    rows = [_read_row(row) for row in _find_rows(table)]
    writer.add_rows(rows[len(heads) :], rows[0] if len(heads) == 1 else ())


def _write_workbook(writer: TextWriter, workbook: ET.Element) -> None:
    for sheet in workbook:
        if _local(sheet) == "table":
            _write_sheet(writer, _attribute(sheet, "name"), map(_read_row, _find_rows(sheet)))


def _write_page(writer: TextWriter, page: ET.Element) -> None:
    """Write the title of a slide first, then the rest in its order."""
    for frame in sorted(page, key=lambda frame: _attribute(frame, "class") != "title"):
        if _attribute(frame, "class") == "title":
            writer.add_heading(" ".join(_read_inline(each) for each in frame.iter() if _local(each) == "p"), 1)
        else:
            _write_blocks(writer, frame)


_WRITERS = {"table": _write_text_table, "spreadsheet": _write_workbook, "page": _write_page}


def _find_apart(element: ET.Element) -> Iterator[ET.Element]:
    """Yield what stands in a paragraph and is read after it: boxes of text and notes."""
    for child in element:
        if _local(child) in _APART:
            yield child
        else:
            yield from _find_apart(child)


def _find_rows(table: ET.Element) -> Iterator[ET.Element]:
    """Yield the rows of a table, those in groups and heads, too, and not those of tables in its cells."""
    for child in table:
        if _local(child) == "table-row":
            yield child
        elif _local(child) in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _find_rows(child)


def _read_row(row: ET.Element) -> list[str]:
    cells: list[str] = []
    for cell in row:
        if _local(cell) in ("table-cell", "covered-table-cell"):
            text = " ".join(_read_inline(each) for each in cell.iter() if _local(each) in ("p", "h"))
            again = _attribute(cell, "number-columns-repeated")
            times = int(again) if again.isdigit() and len(again) < 9 else 1  # noqa: PLR2004 - no sheet is wider
            cells += [text] * min(times, _MOST_CELLS - len(cells))
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _read_inline(element: ET.Element) -> str:
    return "".join(_list_pieces(element))


def _list_pieces(element: ET.Element) -> Iterator[str]:
    """Yield the pieces of a paragraph's text without what is read after it."""
    yield element.text or ""
    for child in element:
        name = _local(child)
        if name in ("s", "tab"):
            yield " "
        elif name == "line-break":
            yield "\n"
        elif name not in _APART and name not in _UNSHOWN:
            yield from _list_pieces(child)
        yield child.tail or ""


def read_epub(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the chapters of a book in the order of its spine.

    Raises:
        ReadError: as `read_xlsx`.
    """
    del charset
    writer = TextWriter()
    with open_package(data, "EPUB", _CONTAINER) as archive:
        names = set(archive.namelist())
        roots = parse_xml(archive.read(_CONTAINER)).iter()
        path = next(_attribute(each, "full-path") for each in roots if _local(each) == "rootfile")
        package = parse_xml(archive.read(path))
        stated = _read_stated(package)
        parts = {each.get("id"): unquote(each.get("href") or "") for each in package.iter() if _local(each) == "item"}
        named = [parts.get(each.get("idref"), "") for each in package.iter() if _local(each) == "itemref"]
        chapters = [posixpath.normpath(posixpath.join(posixpath.dirname(path), each)) for each in named]
        encrypted = archive.read("META-INF/encryption.xml") if "META-INF/encryption.xml" in names else b""
        for chapter in chapters:
            if f'"{chapter}"'.encode() in encrypted:  # where fonts alone are named, the text can be read
                raise ReadError(ReadOutcome.ENCRYPTED, "The book is encrypted.")
            if chapter in names:
                read_tags(drop_control_references(decode_text(archive.read(chapter))), writer)
    properties = Properties(stated.get("title", ""), stated.get("date", "")[:10], stated.get("creator", ""))
    return build_document(writer, properties)
