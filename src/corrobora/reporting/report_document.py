"""A report as a document of blocks, and this document as a PDF, set by Typst, or as a Word document.

Knows how the Markdown of a report is read, and which numbers in brackets lead to which source; the markup of Typst,
which text enters as string literals only, so that none is ever read as markup; and the parts of a Word document:
styles, tables, bookmarks at the sources and links to them. Equal reports give equal bytes (a PDF on machines with the
same fonts). The formats need the extra `corrobora[export]`.

Citations of a Word document are numbers that link to the numbered source with its quotes, and no footnotes: python-docx
(1.2) makes none, so the parts, separators, styles and relationships of footnotes would be XML of our own; and a number
that is cited ten times would need ten footnotes with the same quotes, where one entry serves all of them.
"""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from corrobora.domain.errors import UserError
from corrobora.reporting.evidence import make_parser
from corrobora.text.tokens import sanitize_text

if TYPE_CHECKING:
    from markdown_it.token import Token

BlockKind = Literal["heading", "paragraph", "item", "quote", "code", "table", "rule"]
_LINKED = re.compile(r"\[(\d{1,5})\]|(https?://[^\s<>\"]*[^\s<>\".,;:)])")
_REFERENCE = re.compile(r"\[(\d{1,5})\] .*`sha256:[0-9a-f]{2,64}`")  # an entry of the list of sources
_LANGUAGE = re.compile("[a-z]{2,3}(?:-|$)")
_INVALID = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # in XML


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of text in one style; `href` is a web address, `source` the number of the source that it leads to."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    href: str = ""
    source: int = 0


@dataclass(frozen=True, slots=True)
class TextBlock:
    """One block. `level` is that of a heading; `number` of an item of an ordered list; `source` the entry it begins."""

    kind: BlockKind
    runs: tuple[Run, ...] = ()
    level: int = 0
    number: int = 0
    source: int = 0
    rows: tuple[tuple[tuple[Run, ...], ...], ...] = ()  # of a table, the head first


@dataclass
class _Reading:
    """Where the reading of a report stands."""

    sources: frozenset[int]
    quoted: int = 0
    numbers: list[int] = field(default_factory=list[int])  # of the open lists: the next number, 0 without numbers
    first: bool = False  # the next paragraph begins an item
    addresses: bool = False  # become links: those of the list of sources, not those that a source or a model wrote


def strip_invalid(text: str) -> str:
    """Return a text without characters that no document may hold."""
    return _INVALID.sub("", sanitize_text(text))


def _runs_leftwards(runs: Sequence[Run]) -> bool:
    """True if the first letter of a text belongs to a script that is written from right to left."""
    classes = (unicodedata.bidirectional(letter) for run in runs for letter in run.text)
    return next((each for each in classes if each in ("L", "R", "AL")), "L") != "L"


def read_document(markdown: str, numbers: Sequence[int]) -> tuple[TextBlock, ...]:
    """Return the blocks of a report; `numbers` are those of its citations."""
    tokens = make_parser().parse(strip_invalid(markdown))
    return tuple(_iter_blocks(tokens, _Reading(frozenset(numbers))))


def _iter_blocks(tokens: Sequence[Token], reading: _Reading) -> Iterator[TextBlock]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        match token.type:
            case "heading_open":
                yield TextBlock("heading", _read_inline(tokens[at + 1], reading), level=int(token.tag[1]))
                at += 2
            case "paragraph_open":
                yield _make_paragraph(tokens[at + 1], reading)
                at += 2
            case "fence" | "code_block":
                yield TextBlock("code", (Run(token.content.rstrip("\n"), code=True),))
            case "hr":
                yield TextBlock("rule")
            case "table_open":
                end = next(n for n in range(at, len(tokens)) if tokens[n].type == "table_close")
                yield TextBlock("table", rows=_read_rows(tokens[at:end], reading))
                at = end
            case _:
                _follow_nesting(token, reading)
        at += 1


def _follow_nesting(token: Token, reading: _Reading) -> None:
    match token.type:
        case "blockquote_open":
            reading.quoted += 1
        case "blockquote_close":
            reading.quoted -= 1
        case "bullet_list_open":
            reading.numbers.append(0)
        case "ordered_list_open":
            reading.numbers.append(int(token.attrGet("start") or 1))
        case "bullet_list_close" | "ordered_list_close":
            reading.numbers.pop()
        case "list_item_open":
            reading.first = True
        case _:
            pass


def _make_paragraph(inline: Token, reading: _Reading) -> TextBlock:
    found = None if reading.quoted else _REFERENCE.fullmatch(inline.content)
    number = int(found.group(1)) if found else 0
    if number in reading.sources:
        return TextBlock("paragraph", _read_inline(inline, _Reading(frozenset(), addresses=True)), source=number)
    if reading.quoted:  # what a source says cites nothing of this report
        return TextBlock("quote", _read_inline(inline, _Reading(frozenset())))
    runs = _read_inline(inline, reading)
    if reading.numbers and reading.first:
        reading.first = False
        at = reading.numbers[-1]
        reading.numbers[-1] += bool(at)
        return TextBlock("item", runs, number=at)
    return TextBlock("paragraph", runs)


def _read_rows(tokens: Sequence[Token], reading: _Reading) -> tuple[tuple[tuple[Run, ...], ...], ...]:
    rows: list[list[tuple[Run, ...]]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_read_inline(token, reading))
    return tuple(tuple(row) for row in rows)


def _read_inline(inline: Token, reading: _Reading) -> tuple[Run, ...]:
    runs: list[Run] = []
    bold = italic = 0
    href = ""
    for child in inline.children or ():
        match child.type:
            case "strong_open" | "strong_close":
                bold += child.nesting
            case "em_open" | "em_close":
                italic += child.nesting
            case "link_open":
                href = str(child.attrGet("href") or "")
            case "link_close":
                href = ""
            case "code_inline":
                runs.append(Run(child.content, code=True))
            case "softbreak" | "hardbreak":
                runs.append(Run(" "))
            case _:
                plain = Run(child.content, bold=bold > 0, italic=italic > 0, href=href)
                runs += _split_links(plain, reading)
    return tuple(run for run in runs if run.text)


def _split_links(run: Run, reading: _Reading) -> Iterator[Run]:
    """Yield a run in pieces, each `[n]` that leads to a source, and each address, as a piece of its own."""
    at = 0
    for found in _LINKED.finditer(run.text if not run.href else ""):
        number, address = int(found.group(1) or 0), found.group(2) or ""
        if number in reading.sources or (address and reading.addresses):
            yield Run(run.text[at : found.start()], run.bold, run.italic)
            yield Run(found.group(), run.bold, run.italic, href=address, source=number)
            at = found.end()
    yield Run(run.text[at:], run.bold, run.italic, href=run.href)


_HEAD = """#set page(paper: "a4", margin: (x: 24mm, y: 22mm), numbering: "1")
#set text(size: 10.5pt)
#set par(justify: false, leading: 0.62em, spacing: 1em)
#set table(stroke: 0.4pt + luma(160), inset: 5pt)
#show heading: set block(above: 1.4em, below: 0.7em)
#show heading.where(level: 1): set text(size: 17pt)
#show link: set text(fill: rgb("#0a5aa8"))
#show table.cell: set text(size: 8.5pt)
#let quoted(body) = block(
  inset: (left: 8pt, y: 2pt), stroke: (left: 1.5pt + luma(170)), above: 0.8em, below: 0.8em, body)
"""


def write_pdf(title: str, blocks: Sequence[TextBlock], language: str = "en") -> bytes:
    """Return the PDF. Raises `UserError` `export_extra` where typst is not installed."""
    try:
        import typst  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError.missing_extra("export_extra", error, "export") from None
    return typst.compile(write_typst(title, blocks, language).encode())


def write_typst(title: str, blocks: Sequence[TextBlock], language: str = "en") -> str:
    """Return the document in the markup of Typst."""
    known = {block.source for block in blocks}
    about = f"#set document(title: {_quote(strip_invalid(title))}, author: {_quote('Corrobora')}, date: none)\n"
    if _LANGUAGE.match(language):
        about += f"#set text(lang: {_quote(language.partition('-')[0])}, dir: ltr)\n"
    return about + _HEAD + "\n\n".join(_write_turned(block, known) for block in blocks) + "\n"


def _write_turned(block: TextBlock, known: set[int]) -> str:
    written = _write_block(block, known)
    return f"#[#set text(dir: rtl)\n{written}]" if _runs_leftwards(block.runs) else written


def _write_block(block: TextBlock, known: set[int]) -> str:
    inner = _write_runs(block.runs, known)
    match block.kind:
        case "heading":
            return f"#heading(level: {block.level})[{inner}]"
        case "item":
            return f"#enum(start: {block.number})[{inner}]" if block.number else f"#list[{inner}]"
        case "quote":
            return f"#quoted[{inner}]"
        case "code":
            return f"#raw(block: true, {_quote(''.join(run.text for run in block.runs))})"
        case "rule":
            return "#line(length: 100%, stroke: 0.4pt + luma(160))"
        case "table":
            columns = max((len(row) for row in block.rows), default=1)
            filled = [(*row, *([()] * (columns - len(row)))) for row in block.rows]
            head, *body = (", ".join(f"[{_write_runs(cell, known)}]" for cell in row) for row in filled or [()])
            return f"#table(columns: {columns}, {', '.join((f'table.header({head})', *body))})"
        case _:
            label = f" <source{block.source}>" if block.source else ""
            return f"#block[{inner}]{label}" if label else f"#par[{inner}]"


def _write_runs(runs: Sequence[Run], known: set[int]) -> str:
    return "".join(_write_run(run, known) for run in runs)


def _write_run(run: Run, known: set[int]) -> str:
    said = f"#raw({_quote(run.text)})" if run.code else f"#text({_quote(run.text)})"
    said = f"#strong[{said}]" if run.bold else said
    said = f"#emph[{said}]" if run.italic else said
    if run.source in known and run.source:
        return f"#link(<source{run.source}>)[{said}]"
    return f"#link({_quote(run.href)})[{said}]" if run.href else said


def _quote(text: str) -> str:
    """Return a text as a string literal of Typst: nothing in it can end it."""
    written = (f"\\u{{{ord(letter):x}}}" if letter in '"\\' or letter < " " else letter for letter in text)
    return f'"{"".join(written)}"'


_STYLES = {"quote": "Quote", "code": "No Spacing"}  # of a kind of block; the others have the default style
_LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
_LINK_COLOUR = "0A5AA8"
_INDENT = 360_000  # of a quote, in the unit of Word: 1 cm
_DATE = datetime(2000, 1, 1, tzinfo=UTC)  # of the file: a report says itself what it is of


def write_docx(title: str, blocks: Sequence[TextBlock], language: str = "en") -> bytes:
    """Return the document. Raises `UserError` `export_extra` where python-docx is not installed."""
    try:
        import docx  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError.missing_extra("export_extra", error, "export") from None
    document: Any = docx.Document()
    about = document.core_properties
    about.title, about.author, about.comments = strip_invalid(title)[:255], "Corrobora", ""
    about.created = about.modified = _DATE.replace(tzinfo=None)
    document.styles["Quote"].paragraph_format.left_indent = _INDENT
    _set_language(document, language)
    for number, block in enumerate(blocks):
        _add_block(document, block, number)
    out = io.BytesIO()
    document.save(out)
    return _fix_dates(out.getvalue())


def _set_language(document: Any, language: str) -> None:
    """Say in which language the document is: its spelling is checked, and it is read aloud, in this one."""
    document.core_properties.language = language
    names: Any = import_module("docx.oxml.ns")
    (default,) = document.styles.element.xpath("w:docDefaults/w:rPrDefault/w:rPr/w:lang")
    for script in ("val", "eastAsia", "bidi"):
        default.set(names.qn(f"w:{script}"), language)


def _add_block(document: Any, block: TextBlock, number: int) -> None:
    match block.kind:
        case "heading":
            paragraph = document.add_heading(level=min(block.level, 6) - 1)
        case "table":
            _add_table(document, block)
            return
        case "rule":
            document.add_paragraph("* * *").alignment = 1  # in the middle
            return
        case "item":
            paragraph = _add_paragraph(document, "List Number" if block.number else "List Bullet")
        case _:
            paragraph = _add_paragraph(document, _STYLES.get(block.kind, ""))
    if _runs_leftwards(block.runs):
        _append(paragraph._p.get_or_add_pPr(), "w:bidi")  # noqa: SLF001 - its XML element
    if block.source:
        _add_bookmark(paragraph, block.source, number)
    _add_runs(paragraph, block.runs)


def _add_paragraph(document: Any, style: str) -> Any:
    """Add a paragraph with a style by its id: python-docx would read all styles for each paragraph."""
    paragraph = document.add_paragraph()
    if style:
        paragraph._p.style = document.styles[style].style_id  # noqa: SLF001 - its XML element
    return paragraph


def _add_table(document: Any, block: TextBlock) -> None:
    columns = max((len(row) for row in block.rows), default=1)
    table = document.add_table(rows=len(block.rows), cols=columns, style="Table Grid")
    for row in table.rows[:1]:  # on each page, and named to who hears it
        _append(row._tr.get_or_add_trPr(), "w:tblHeader")  # noqa: SLF001 - its XML element
    for row, cells in enumerate(block.rows):
        for column, runs in enumerate(cells):
            _add_runs(table.cell(row, column).paragraphs[0], runs, bold=row == 0)
    document.add_paragraph()


def _add_runs(paragraph: Any, runs: Sequence[Run], *, bold: bool = False) -> None:
    for run in runs:
        parent = _open_link(paragraph, run) if run.href or run.source else paragraph._p  # noqa: SLF001 - its XML element
        added = paragraph.add_run(run.text)
        added.bold, added.italic = run.bold or bold or None, run.italic or None
        added.font.rtl = _runs_leftwards((run,)) or None
        if run.code:
            added.font.name = "Consolas"
        if parent is not paragraph._p:  # noqa: SLF001 - as above
            added.font.color.rgb = import_module("docx.shared").RGBColor.from_string(_LINK_COLOUR)
            added.underline = bool(run.href) or None
            parent.append(added._r)  # noqa: SLF001 - as above


def _open_link(paragraph: Any, run: Run) -> Any:
    """Add a link, to a bookmark of this document or to an address, and return it."""
    if run.source:
        return _append(paragraph._p, "w:hyperlink", {"w:anchor": f"source{run.source}"})  # noqa: SLF001 - as above
    address = paragraph.part.relate_to(run.href, _LINK, is_external=True)
    return _append(paragraph._p, "w:hyperlink", {"r:id": address})  # noqa: SLF001 - as above


def _add_bookmark(paragraph: Any, source: int, number: int) -> None:
    parent = paragraph._p  # noqa: SLF001 - its XML element
    _append(parent, "w:bookmarkStart", {"w:id": str(number), "w:name": f"source{source}"})
    _append(parent, "w:bookmarkEnd", {"w:id": str(number)})


def _append(parent: Any, tag: str, attributes: Mapping[str, str] = MappingProxyType({})) -> Any:
    """Append an element for which python-docx has no method."""
    oxml: Any = import_module("docx.oxml")
    names: Any = import_module("docx.oxml.ns")
    element = oxml.OxmlElement(tag)
    for name, value in attributes.items():
        element.set(names.qn(name), value)
    parent.append(element)
    return element


def _fix_dates(data: bytes) -> bytes:
    """Return the archive with one date for all members: that of the writing would make every copy another file."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as written:
        for each in given.infolist():
            written.writestr(
                zipfile.ZipInfo(each.filename, (1980, 1, 1, 0, 0, 0)), given.read(each), zipfile.ZIP_DEFLATED
            )
    return out.getvalue()
