"""DOCX: paragraphs, headings, tables; bombs and external entities refused."""

from __future__ import annotations

import io
import zipfile

import pytest

from corrobora.adapters.readers.office import MAX_ENTRIES, read_docx
from corrobora.domain.errors import ReadError

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_BODY = """<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>Rules</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Passwords have </w:t></w:r><w:r><w:b/><w:t>eight characters.</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"""
_NAMES = {"berschrift1": "heading 1", "Verzeichnis1": "toc 1", "Abbildungen": "table of figures"}
_STYLES = "".join(f'<w:style w:styleId="{id_}"><w:name w:val="{name}"/></w:style>' for id_, name in _NAMES.items())


def packed(document: str = _BODY, *, prefix: str = "", extra: dict[str, bytes] | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"{prefix}<w:document {_W}><w:body>{document}</w:body></w:document>")
        archive.writestr("word/styles.xml", f"<w:styles {_W}>{_STYLES}</w:styles>")
        for name, data in (extra or {}).items():
            archive.writestr(name, data)
    return out.getvalue()


def outcome(data):
    with pytest.raises(ReadError) as caught:
        read_docx(data)
    return caught.value.outcome


def test_the_document_reads_as_a_person_would():
    parsed = read_docx(packed())
    assert parsed.text == "Rules\n\nPasswords have eight characters.\n\n- item\n\na | b"
    assert (parsed.title, parsed.headings[0].level) == ("Rules", 1)


def test_the_authors_are_those_that_the_file_states():
    core = '<x xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>{}</dc:creator></x>'
    said = {"Lund, Greta; Ole Brandt": ("Lund, Greta", "Ole Brandt"), "Microsoft Office User": ()}
    for creator, authors in said.items():
        assert read_docx(packed(extra={"docProps/core.xml": core.format(creator).encode()})).authors == authors


def test_the_date_of_a_library_s_empty_template_is_no_date_of_the_document():
    """What python-docx and python-pptx write keeps the day of the file that they start from, unless it is set."""
    core = '<x xmlns:t="http://purl.org/dc/terms/"><t:created>{}</t:created></x>'
    for created, published in (("2013-12-23T23:15:00Z", ""), ("2013-12-23T10:00:00Z", "2013-12-23")):
        assert read_docx(packed(extra={"docProps/core.xml": core.format(created).encode()})).published == published


def test_d10_a_bomb_is_too_large():
    assert outcome(packed(extra={"word/media/x": b"\0" * 50_000_000})) == "too_large"
    assert outcome(packed(extra={f"x{n}": b"" for n in range(MAX_ENTRIES)})) == "too_large"


def test_d11_entities_are_refused():
    assert outcome(packed(prefix='<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>')) == "broken"


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"nothing", packed()[:200]])
def test_damaged_files_are_broken(data):
    assert outcome(data) == "broken"


def test_another_archive_is_unsupported_and_no_text_is_empty():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "x")
    assert outcome(out.getvalue()) == "unsupported"
    assert outcome(packed("")) == "empty"


_NOTES = f"""<w:footnotes {_W}><w:footnote w:id="0"><w:p/></w:footnote><w:footnote w:id="2"><w:p><w:r>
<w:t>Closed in 1987.</w:t></w:r></w:p></w:footnote></w:footnotes>"""
_TWO = "<w:p><w:r><w:t>first line</w:t></w:r></w:p><w:p><w:r><w:t>second line</w:t></w:r></w:p>"
_COMPATIBLE = 'xmlns:x="http://schemas.openxmlformats.org/markup-compatibility/2006"'
_INNER = "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>inner</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"


def text_of(document: str, **more: object) -> str:
    return read_docx(packed(document, **more)).text  # type: ignore[arg-type]


def test_a_note_stands_behind_the_paragraph_that_refers_to_it():
    said = '<w:p><w:r><w:t>The road is long.</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
    said += "<w:p><w:r><w:t>End.</w:t></w:r></w:p>"
    text = text_of(said, extra={"word/footnotes.xml": _NOTES.encode()})
    assert text == "The road is long.\n\nClosed in 1987.\n\nEnd."


_FORMULA = """<w:p><w:r><w:t xml:space="preserve">A is </w:t></w:r><m:oMath
xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:r><m:t>A=b·c</m:t></m:r></m:oMath></w:p>"""
_TWICE = f"""<w:p><x:AlternateContent {_COMPATIBLE}><x:Choice>{_TWO}</x:Choice><x:Fallback>{_TWO}</x:Fallback>
</x:AlternateContent></w:p>"""


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (
            f"<w:tbl><w:tr><w:tc>{_TWO}</w:tc><w:tc><w:p/>{_INNER}</w:tc></w:tr></w:tbl>",
            "first line second line | inner",
        ),
        ("<w:p><w:r><w:t>re</w:t><w:noBreakHyphen/><w:t>sign</w:t></w:r></w:p>", "re-sign"),
        (_FORMULA, "A is A=b·c"),
        (_TWICE, "first line\nsecond line"),
    ],
)
def test_no_word_is_lost_glued_or_doubled(document: str, text: str):
    assert text_of(document) == text


@pytest.mark.parametrize("level", ["²", "9" * 5_000])
def test_a_style_of_no_level_is_no_heading(level: str):
    styled = f'<w:p><w:pPr><w:pStyle w:val="heading{level}"/></w:pPr><w:r><w:t>Said.</w:t></w:r></w:p>'
    assert read_docx(packed(styled)).headings == ()


def test_entries_of_tables_of_contents_and_figures_are_no_text():
    listed = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>Rules</w:t><w:tab/><w:t>3</w:t></w:r></w:p>'
        for style in ("Verzeichnis1", "Abbildungen")
    )
    assert text_of(f"<w:sdt><w:sdtContent>{listed}</w:sdtContent></w:sdt>{listed}{_BODY}") == text_of(_BODY)


def _table(*rows: tuple[str, ...]) -> str:
    cells = ("".join(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in row) for row in rows)
    look = '<w:tblPr><w:tblLook w:firstRow="1"/></w:tblPr>'
    return f"<w:tbl>{look}{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def test_a_table_that_pairs_names_with_what_they_stand_for_has_no_heads():
    """It read "Equipment: Core hours; One laptop and one screen are provided: 10:00 to 15:00."."""
    pairs = (("Equipment", "One laptop and one screen are provided"), ("Core hours", "10:00 to 15:00"))
    assert text_of(_table(*pairs)).split("\n") == [" | ".join(pair) for pair in pairs]
    assert text_of(_table(*pairs[::-1])).split("\n") == [" | ".join(pair) for pair in pairs[::-1]]
    assert text_of(_table(("Country", "Rate"), ("Japan", "62"))) == "Country: Japan; Rate: 62."
