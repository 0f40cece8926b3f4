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
_STYLES = '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'


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
