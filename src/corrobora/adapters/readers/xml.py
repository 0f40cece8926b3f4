"""XML: documents (DocBook, feeds, help files) as paragraphs below their titles, and data as rows of named values.

Knows no vocabulary: what an element is follows from its text. Text beside elements is a paragraph, text in elements
that stand alone is a value, and a title names what holds it. What is not well-formed is read as plain text. Entities
that a document declares are resolved within the limits of expat, none from outside. Runs in the parser's process.
"""

from __future__ import annotations

from html.entities import html5
from xml.etree import ElementTree as ET

from corrobora.adapters.readers import TextWriter, read_text
from corrobora.ports import ParsedDocument

_TITLES = frozenset({"title", "head", "heading"})
_NAMES = ("name", "title", "key", "label")  # attributes by which an element is called
_VERBATIM = frozenset({"programlisting", "screen", "literallayout", "synopsis", "pre", "code", "verbatim"})
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_LEVELS = 6  # of headings
_TERM_CHARS = 200  # of a value that is named rather than a paragraph


def read_xml(data: bytes, charset: str = "") -> ParsedDocument:
    """Return the text of an XML document, titled by its first title. Raises `ReadError` if the bytes are no text."""
    parser = ET.XMLParser()  # noqa: S314 - in the limited child; expat bounds what entities become, and reads no file
    parser.entity.update({name.rstrip(";"): text for name, text in html5.items()})
    writer = TextWriter()
    try:
        parser.feed(data)
        _write_element(parser.close(), writer, 1)
    except (ET.ParseError, LookupError, ValueError, RecursionError):
        return read_text(data, charset)
    parsed = writer.build_parsed()
    return parsed if parsed.text else read_text(data, charset)


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
        writer.add_verbatim("".join(element.itertext()))
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
    named = next((element.get(name, "") for name in _NAMES if element.get(name)), "")
    below = level
    if named and any(text.strip() for text in element.itertext()):
        writer.add_heading(named, min(level, _LEVELS))
        below += 1
    for child in element:
        if _name(child) in _TITLES and all(map(_is_inline, child)):
            writer.add_heading("".join(child.itertext()), min(level, _LEVELS))
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
