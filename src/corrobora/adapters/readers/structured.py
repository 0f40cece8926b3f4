"""JSON and XML: values below the names of what holds them, notebooks, and documents (DocBook, feeds, help files).

Knows JSON, JSON Lines, the cells of Jupyter notebooks and well-formed XML; what is none is read as plain text. Does not
know schemas or vocabularies: what an element is follows from its text. Text beside elements is a paragraph, text in
elements that stand alone is a value, and a title names what holds it. Entities that a document declares are resolved
within the limits of expat, none from outside. Runs in the parser's process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.entities import html5
from typing import cast
from xml.etree import ElementTree as ET

from corrobora.adapters.readers import TextWriter, decode_text, read_text
from corrobora.adapters.readers.html import find_own_set, read_tags
from corrobora.adapters.readers.markup import write_markdown
from corrobora.domain.limits import LIMITS
from corrobora.ports import ParsedDocument

_LEVELS = 6  # of headings
_NAMES = ("title", "name", "id", "key")  # by which an object in a list is called

Object = Mapping[str, object]


def read_json(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the values of a JSON document, of JSON Lines or of a notebook. Raises `ReadError` if it is no text."""
    text = decode_text(data, charset)
    writer = TextWriter()
    try:
        value = _load_json(text)
        about = _as_object(value)
        if "nbformat" in about and _as_list(about.get("cells")):
            _write_notebook(about, writer)
            return writer.build_parsed()
        _write_value(value, "", writer, 1)
    except (ValueError, RecursionError):
        return read_text(data, charset)
    title = about.get("title")
    return replace(writer.build_parsed(), title=" ".join(title.split()) if isinstance(title, str) else "")


def _load_json(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except ValueError:
        lines: list[object] = [json.loads(line, strict=False) for line in text.split("\n") if line.strip()]
        if not all(map(_holds_others, lines)):
            raise
        return lines


def _as_object(value: object) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}


def _as_list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def _holds_others(value: object) -> bool:
    return isinstance(value, dict | list)


def _write_value(value: object, name: str, writer: TextWriter, depth: int) -> None:
    """Write a value; what an object or a list holds stands below its name, plain values first."""
    if depth > LIMITS.json_max_depth or not _holds_others(value):
        said = json.dumps(value, ensure_ascii=False) if _holds_others(value) else _plain_text(value)
        writer.add_block(f"{name}: {said}" if name and said else said, tight=bool(name))
        return
    if name:
        writer.add_heading(name, min(depth - 1, _LEVELS))
    known, held = _as_object(value), _as_list(value)
    for key in sorted(known, key=lambda key: _holds_others(known[key])):
        _write_value(known[key], key, writer, depth + 1)
    rows = list(map(_as_object, held)) if all(isinstance(each, dict) for each in held) else []
    if len(rows) == len(held) and not any(_holds_others(each) for row in rows for each in row.values()):
        heads = list(dict.fromkeys(key for row in rows for key in row))
        writer.add_rows([[_plain_text(row.get(head)) for head in heads] for row in rows], heads)
        return
    for at, each in enumerate(held, start=1):
        if _holds_others(each):
            _write_value(each, _name_object(_as_object(each)) or f"{name} {at}".strip(), writer, depth + 1)
        else:
            writer.add_block(f"- {_plain_text(each)}", tight=True)


def _name_object(known: Object) -> str:
    names = (known.get(key) for key in _NAMES)
    return next((name for name in names if isinstance(name, str) and name.strip()), "")


def _plain_text(value: object) -> str:
    if isinstance(value, str):
        return "\n".join(value.splitlines())
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _write_notebook(notebook: Object, writer: TextWriter) -> None:
    """Write the cells of a notebook: Markdown as such, code and what it printed as they are."""
    for cell in map(_as_object, _as_list(notebook.get("cells"))):
        source = _join_lines(cell.get("source"))
        if cell.get("cell_type") == "markdown":
            write_markdown(source, writer)
            continue
        writer.add_verbatim(source)
        for output in map(_as_object, _as_list(cell.get("outputs"))):
            shown = _join_lines(output.get("text") or _as_object(output.get("data")).get("text/plain"))
            writer.add_verbatim(shown, code=False)


def _join_lines(value: object) -> str:
    """Return a text that is written as one string or as a list of lines."""
    return _plain_text("".join(each for each in _as_list(value) or (value,) if isinstance(each, str)))


_TITLES = frozenset({"title", "head", "heading"})
_CALLED_BY = ("name", "title", "key", "label")  # attributes by which an element is called
_VERBATIM = frozenset({"programlisting", "screen", "literallayout", "synopsis", "pre", "code", "verbatim"})
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_DEEPEST = 6  # of headings
_FEEDS = frozenset({"rss", "feed", "RDF"})
_MARKUP = re.compile(r"</[a-zA-Z][a-zA-Z0-9]{0,20}>|<(?:br|hr|img|p)\b[^<>]{0,500}>|&[a-z]{2,8};|&#\d{1,6};")
_TERM_CHARS = 200  # of a value that is named rather than a paragraph


def read_xml(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the text of an XML document, titled by its first title. Raises `ReadError` if the bytes are no text."""
    parser = ET.XMLParser()  # noqa: S314 - in the limited child; expat bounds what entities become, and reads no file
    parser.entity.update({name.rstrip(";"): text for name, text in html5.items()})
    writer = TextWriter()
    try:
        parser.feed(decode_text(data, charset, find_own_set(data)))
        root = parser.close()
        if _name(root) in _FEEDS:
            _unpack_markup(root)
        _write_element(root, writer, 1)
    except (ET.ParseError, LookupError, ValueError, RecursionError):
        return read_text(data, charset)
    parsed = writer.build_parsed()
    return parsed if parsed.text else read_text(data, charset)


def _unpack_markup(feed: ET.Element) -> None:
    """Put its text in the place of HTML that an element of a feed holds as text."""
    for element in feed.iter():
        if len(element) == 0 and element.text and _MARKUP.search(element.text):
            element.text = read_tags(element.text)[0].build_parsed().text
            element.set(_SPACE, "preserve")


def _name(element: ET.Element) -> str:
    return _local(element.tag)


def _local(name: str) -> str:
    return name.rpartition("}")[2]  # without its namespace


def _has_own_text(element: ET.Element) -> bool:
    return bool((element.text or "").strip()) or any((each.tail or "").strip() for each in element)


def _is_value(element: ET.Element) -> bool:
    """True for an element that holds nothing but a short text, or nothing."""
    return len(element) == 0 and len((element.text or "").strip()) <= _TERM_CHARS and _name(element) not in _VERBATIM


def _is_inline(element: ET.Element) -> bool:
    """True for an element that belongs to the sentence around it: all that it holds is text."""
    verbatim = _name(element) in _VERBATIM and "\n" in "".join(element.itertext())
    return not verbatim and (len(element) == 0 or (_has_own_text(element) and all(map(_is_inline, element))))


def _write_element(element: ET.Element, writer: TextWriter, level: int) -> None:
    if _name(element) in _VERBATIM or element.get(_SPACE) == "preserve":
        writer.add_verbatim("".join(element.itertext()), code=None if _name(element) in _VERBATIM else False)
    elif _has_own_text(element):
        _write_mixed(element, writer, level)
    elif len(element) == 0:
        _write_row(element, [], writer)
    elif len(element) > 1 and all(map(_is_value, element)) and not _TITLES.intersection(map(_name, element)):
        _write_row(element, list(element), writer)
    else:
        _write_section(element, writer, level)


def _write_mixed(element: ET.Element, writer: TextWriter, level: int) -> None:
    """Write the sentences of an element, and between them what it holds of blocks."""
    said = [element.text or ""]
    for child in element:
        if _is_inline(child):
            said.append("".join(child.itertext()))
        else:
            writer.add_block(_join(said))
            said = []
            _write_element(child, writer, level)
        said.append(child.tail or "")
    writer.add_block(_join(said))


def _join(said: list[str]) -> str:
    return " ".join("".join(said).split())


def _write_section(element: ET.Element, writer: TextWriter, level: int) -> None:
    named = next((element.get(name, "") for name in _CALLED_BY if element.get(name)), "")
    below = level
    if named and any(text.strip() for text in element.itertext()):
        writer.add_heading(named, min(level, _DEEPEST))
        below += 1
    for child in element:
        if _name(child) in _TITLES and all(map(_is_inline, child)):
            writer.add_heading("".join(child.itertext()), min(level, _DEEPEST))
            below = level + 1
        else:
            _write_element(child, writer, below)


def _write_row(element: ET.Element, values: list[ET.Element], writer: TextWriter) -> None:
    """Write the attributes of an element and the values that it holds, named unless all have one name."""
    cells = [(_local(name), value) for name, value in element.attrib.items()] if not values else []
    cells += [(_name(value), value.text or "") for value in values]
    cells = [(name, " ".join(text.split())) for name, text in cells if text.strip()]
    alike = len({name for name, _ in cells}) == 1 and len(cells) > 1
    if cells:
        writer.add_rows([[text for _, text in cells]], [] if alike else [name for name, _ in cells])
