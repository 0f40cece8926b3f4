"""Numbers of DOCX lists and headings: counted as a word processor counts them."""

from __future__ import annotations

import io
import zipfile

from corrobora.adapters.readers.office import read_docx

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def numbered(*paragraphs: tuple[str, str], style: str = "") -> str:
    """Paragraphs of `list/level` ("" for none) and text."""
    found = ""
    for place, text in paragraphs:
        of, _, level = place.partition("/")
        number = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{of}"/></w:numPr>' if of else ""
        found += f"<w:p><w:pPr>{number}{style}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
    return found


def level(at: int, form: str, text: str, start: int = 1) -> str:
    inside = f'<w:start w:val="{start}"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/>'
    return f'<w:lvl w:ilvl="{at}">{inside}</w:lvl>'


_NUMBERING = f"""<w:numbering {_W}>
<w:abstractNum w:abstractNumId="1">{level(0, "decimal", "%1.")}{level(1, "lowerLetter", "%2)")}</w:abstractNum>
<w:abstractNum w:abstractNumId="2">{level(0, "bullet", "o")}</w:abstractNum>
<w:abstractNum w:abstractNumId="3">{level(0, "upperRoman", "Art. %1", 4)}{level(1, "decimal", "%1.%2")}</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="3"/></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="1"/>
<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num></w:numbering>""".encode()


def packed(document: str, styles: str = "<styles/>") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document {_W}><w:body>{document}</w:body></w:document>")
        archive.writestr("word/styles.xml", styles)
        archive.writestr("word/numbering.xml", _NUMBERING)
    return out.getvalue()


def test_the_numbers_of_lists_are_those_that_the_page_shows():
    body = numbered(("1/0", "one"), ("1/1", "inner"), ("1/1", "inner"), ("", "between"), ("1/0", "two"), ("1/1", "new"))
    body += numbered(
        ("4/0", "seven"), ("4/0", "eight"), ("2/0", "dot"), ("3/0", "art"), ("3/1", "sub"), ("0/0", "none")
    )
    text = read_docx(packed(body)).text
    assert text.split() == (
        "1. one a) inner b) inner between 2. two a) new 7. seven 8. eight - dot Art. IV art IV.1 sub none".split()
    )


def test_the_numbers_of_headings_come_from_their_style():
    number = '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'
    first = f'<w:style w:styleId="h1"><w:name w:val="heading 1"/>{number}</w:style>'
    second = '<w:style w:styleId="h2"><w:name w:val="heading 1"/><w:basedOn w:val="h1"/></w:style>'
    styles = f"<w:styles {_W}>{first}{second}</w:styles>"
    body = numbered(("", "Scope"), style='<w:pStyle w:val="h1"/>') + numbered(
        ("", "Terms"), style='<w:pStyle w:val="h2"/>'
    )
    parsed = read_docx(packed(body, styles))
    assert [each.title for each in parsed.headings] == ["1. Scope", "2. Terms"]
