"""Documents of a word processor: paragraphs, headings, lists, tables and notes of a DOCX file.

Knows the parts it needs of DOCX, how lists and headings are numbered (a label is counted as a word processor counts it;
one of a form that is not known is a dash), and limits for what a ZIP may unpack to. Does not run macros, follow links
or open attachments. Runs in the parser's process, because hostile files are to be expected and may end it.
"""

from __future__ import annotations

import contextlib
import re
import zipfile
from collections.abc import Generator, Iterable, Iterator
from io import BytesIO
from typing import NamedTuple
from xml.etree import ElementTree as ET

from corrobora.adapters.readers import TextWriter, may_be_heads
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import ReadOutcome
from corrobora.ports import ParsedDocument
from corrobora.text.authors import read_byline

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DASH = "-"
_PLACE = re.compile(r"%([1-9])")
_LEVELS = 9
_ROMAN = tuple(
    zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "m cm d cd c xc l xl x ix v iv i".split(), strict=True)
)


class _Level(NamedTuple):
    """A level of a list: its form, what stands around the number, where it starts and whether it is all in digits."""

    form: str = "bullet"
    text: str = ""
    start: int = 1
    legal: bool = False


class ListNumbers:
    """Counts the paragraphs of the lists of one document."""

    def __init__(self, numbering: ET.Element | None, styles: ET.Element | None) -> None:
        self._shared: dict[str, str] = {}  # list to the definition whose counts it shares
        self._levels: dict[str, dict[int, _Level]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._styled = {style.get(f"{_W}styleId"): style for style in _find_all(styles, "style")}
        forms = {each.get(f"{_W}abstractNumId"): each for each in _find_all(numbering, "abstractNum")}
        for each in _find_all(numbering, "num"):
            name, shared = each.get(f"{_W}numId") or "", _value(each, "abstractNumId")
            changed = each.findall(f"{_W}lvlOverride")
            self._shared[name] = name if changed else f"={shared}"
            levels = _read_levels(forms.get(shared))
            for change in changed:
                levels |= _read_levels(change)
                start, at = _value(change, "startOverride"), _read_number(change.get(f"{_W}ilvl"))
                levels[at] = levels.get(at, _Level())._replace(**({"start": _read_number(start)} if start else {}))
            self._levels[name] = levels

    def count_label(self, paragraph: ET.Element) -> str | None:
        """Count a paragraph and return what stands before it: "2.1", "b)", "-" for a bullet; None outside lists."""
        name, at = self._find_list(paragraph)
        if name is None or name == "0":
            return None
        levels = self._levels.get(name, {})
        level = levels.get(at, _Level())
        counts = self._counts.setdefault(self._shared.get(name, name), {})
        counts[at] = counts.get(at, level.start - 1) + 1
        for below in [each for each in counts if each > at]:
            del counts[below]
        if level.form in ("bullet", "none") or not _PLACE.search(level.text):
            return _DASH if level.form == "bullet" else level.text

        def write(place: re.Match[str]) -> str:
            of = int(place[1]) - 1
            own = levels.get(of, _Level())
            form = "decimal" if level.legal else own.form
            return _write_number(counts.setdefault(of, own.start), form)

        return _PLACE.sub(write, level.text)

    def _find_list(self, paragraph: ET.Element) -> tuple[str | None, int]:
        """Return the list and the level of a paragraph: its own, or those of its style or of what it is based on."""
        own = paragraph.find(f"{_W}pPr")
        name = level = ""
        listed = False
        style = _value(own, "pStyle") if own is not None else ""
        for _ in range(_LEVELS + 1):
            numbering = own.find(f"{_W}numPr") if own is not None else None
            listed = listed or numbering is not None
            name, level = name or _value(numbering, "numId"), level or _value(numbering, "ilvl")
            based = self._styled.get(style)
            if name or based is None:
                break
            own, style = based.find(f"{_W}pPr"), _value(based, "basedOn")
        return name or (_DASH if listed else None), min(_read_number(level), _LEVELS - 1)


def _read_levels(definition: ET.Element | None) -> dict[int, _Level]:
    return {
        _read_number(each.get(f"{_W}ilvl")): _Level(
            _value(each, "numFmt") or "decimal",
            _value(each, "lvlText"),
            _read_number(_value(each, "start") or "0"),
            each.find(f"{_W}isLgl") is not None,
        )
        for each in _find_all(definition, "lvl")
    }


def _write_number(number: int, form: str) -> str:
    """Write a number in the form of a list; one that is not known is written in digits."""
    if form in ("lowerLetter", "upperLetter") and number > 0:
        letters = chr(ord("a") + (number - 1) % 26) * min(1 + (number - 1) // 26, 9)
        return letters if form == "lowerLetter" else letters.upper()
    if form in ("lowerRoman", "upperRoman") and 0 < number < 4000:  # noqa: PLR2004 - no larger ones are written
        written = ""
        for worth, sign in _ROMAN:
            written += sign * (number // worth)
            number %= worth
        return written if form == "lowerRoman" else written.upper()
    return f"{number:02}" if form == "decimalZero" else str(number)


def _find_all(element: ET.Element | None, tag: str) -> Iterable[ET.Element]:
    return element.findall(f"{_W}{tag}") if element is not None else ()


def _value(element: ET.Element | None, tag: str) -> str:
    found = element.find(f"{_W}{tag}") if element is not None else None
    return (found.get(f"{_W}val") or "") if found is not None else ""


def _read_number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else 0  # noqa: PLR2004


MAX_ENTRIES = 1_000
MAX_UNPACKED = 100_000_000
MAX_RATIO = 100
_SMALL = 1_000_000  # below this the ratio says nothing: XML packs well
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
    with open_package(data, "DOCX", "word/document.xml") as archive:
        names = set(archive.namelist())
        document = parse_xml(archive.read("word/document.xml"))
        styles = parse_xml(archive.read("word/styles.xml")) if "word/styles.xml" in names else None
        numbering = parse_xml(archive.read("word/numbering.xml")) if "word/numbering.xml" in names else None
        properties = read_properties(archive)
        notes = {
            (kind, note.get(f"{_W}id")): _element_text(note)
            for kind in ("footnote", "endnote")
            if f"word/{kind}s.xml" in names
            for note in parse_xml(archive.read(f"word/{kind}s.xml")).iter(f"{_W}{kind}")
        }
    writer = TextWriter()
    numbers = ListNumbers(numbering, styles)
    title = _BodyWriter(writer, _heading_levels(styles), notes, numbers).write_body(document)
    return build_document(writer, properties, title)


_TEMPLATE_DATES = ("2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z")  # of what python-docx and python-pptx start from


class Properties(NamedTuple):
    """What a package states of its document; "" is unknown."""

    title: str = ""
    published: str = ""
    creator: str = ""


def read_properties(archive: zipfile.ZipFile) -> Properties:
    """Return what the core properties of an Office package state, nothing if it has none (ECMA-376, part 2)."""
    if "docProps/core.xml" not in archive.namelist():
        return Properties()
    core = parse_xml(archive.read("docProps/core.xml"))
    created = core.findtext(f"{_TERMS}created") or ""
    return Properties(
        core.findtext(f"{_DC}title") or "",
        "" if created in _TEMPLATE_DATES else created[:10],
        core.findtext(f"{_DC}creator") or "",
    )


def build_document(writer: TextWriter, stated: Properties, title: str = "") -> ParsedDocument:
    """Return what was written, titled as stated, else by `title`. Raises `ReadError` `empty` if nothing was."""
    parsed = writer.build_parsed(stated.title or title, published=stated.published, authors=read_byline(stated.creator))
    if not parsed.text.strip():
        raise ReadError(ReadOutcome.EMPTY, "The document has no text.")
    return parsed


_DAMAGES = (  # what readers of archives, of XML (a `SyntaxError`) and of workbooks raise on a damaged file
    *(zipfile.BadZipFile, EOFError, OSError, NotImplementedError, SyntaxError),
    *(LookupError, ValueError, TypeError, ArithmeticError),
)


@contextlib.contextmanager
def open_package(data: bytes, kind: str, part: str) -> Generator[zipfile.ZipFile]:
    """Open a document that is a ZIP archive; what goes wrong while its parts are read is told as a damaged file.

    Raises:
        ReadError: `broken`, `too_large` for a ZIP bomb, `encrypted`; `unsupported` for an archive without the `part`
            that all documents of this kind have.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            _check_archive(archive)
            if part not in archive.namelist():
                raise ReadError(ReadOutcome.UNSUPPORTED, f"The archive is not in the {kind} format.")
            yield archive
    except _DAMAGES as error:
        raise ReadError(ReadOutcome.BROKEN, f"The {kind} file is damaged ({type(error).__name__}).") from error


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


def parse_xml(data: bytes) -> ET.Element:
    """Parse XML without a document type: no entities, so no expansion and no outside file."""
    if b"\x00" in data or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise ValueError("a document type")
    return ET.fromstring(data)  # noqa: S314 - entities are refused above, and this runs in the limited child


_LISTS_PLACES = re.compile(r"toc (?:\d|heading)|table of (?:figures|authorities)|index (?:\d|heading)")
_CONTENTS = -1


def _heading_levels(styles: ET.Element | None) -> dict[str, int]:
    """Return style id to heading level, by the style's own name (ids are translated, names are not).

    0 is the title, and `_CONTENTS` an entry of a table of contents or an index, which is no text.
    """
    found: dict[str, int] = {}
    for style in styles.iter(f"{_W}style") if styles is not None else ():
        label = style.find(f"{_W}name")
        said = (label.get(f"{_W}val") or "").lower() if label is not None else ""
        if said == "title":
            found[style.get(f"{_W}styleId") or ""] = 0
        elif said.startswith("heading ") and (level := _read_number(said[8:])):
            found[style.get(f"{_W}styleId") or ""] = level
        elif _LISTS_PLACES.match(said):
            found[style.get(f"{_W}styleId") or ""] = _CONTENTS
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
            or (look is not None and look.get(f"{_W}firstRow") == "1" and may_be_heads(rows[0]))
        )
        self._writer.add_rows(rows[heads:], rows[0] if heads else ())

    def _write_paragraph(self, paragraph: ET.Element) -> None:
        text = _element_text(paragraph)
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        id_ = (style.get(f"{_W}val") or "") if style is not None else ""
        level = self._levels.get(id_)
        if level is None and id_.lower().startswith("heading"):
            level = _read_number(id_[7:]) or None
        if level is None and id_.lower() == "title":
            level = 0
        if level == _CONTENTS:
            return
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
