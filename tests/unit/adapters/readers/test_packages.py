"""Packages: sheets, slides, OpenDocument texts and books read as they are shown; hidden, damaged and hostile ones."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from datetime import datetime

import pytest
from openpyxl import Workbook

from corrobora.adapters.readers.packages import read_epub, read_opendocument, read_pptx, read_xlsx
from corrobora.adapters.readers.parser import DOCX, EPUB, OPENDOCUMENT, PPTX, TEXT, XLSX, find_reader
from corrobora.domain.errors import ReadError

_DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_SLIDES = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
_IDS = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_TYPES = "http://schemas.openxmlformats.org/package/2006/relationships"
_OPEN = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{path}:1.0"'
    for name, path in (
        *(("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("meta", "meta")),
        ("presentation", "presentation"),
    )
)

_KILNS = (("Kiln", "Height"), ("North", "4 m"))
_BRICKS = (("Year", "Bricks"), ("2020", "1,200"))


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data, zipfile.ZIP_STORED if name == "mimetype" else None)
    return out.getvalue()


def workbook() -> bytes:
    book = Workbook()
    book.remove(book.worksheets[0])
    sheet = book.create_sheet("Budget")
    for row in (
        ["Budget of the harbour", None],
        ["Amounts in crowns", None],
        ["Item", "Cost", "Share", "Due"],
        ["Dredging", 120000.5, 0.125, datetime(2026, 3, 1)],  # noqa: DTZ001 - a sheet knows no zone
        ["Lights", 0.1 + 0.2, 0.3, datetime(2026, 5, 7, 14, 30)],  # noqa: DTZ001
        [],
        ["Paid", True],
    ):
        sheet.append(row)
    for row in (4, 5):
        sheet.cell(row, 3).number_format = "0%"
    hidden = book.create_sheet("Drafts")
    hidden.append(["secret", 1])
    hidden.sheet_state = "hidden"
    book.create_sheet("Empty")
    book.create_sheet("Staff").append(["Ann"])
    book.properties.title, book.properties.creator = "The budget", "Ann Berg"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def slide(*shapes: str) -> str:
    return f"<p:sld {_DRAWING} {_SLIDES}>{''.join(shapes)}</p:sld>"


def box(kind: str, *paragraphs: str) -> str:
    place = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>' if kind else ""
    return f"<p:sp>{place}<p:txBody>{''.join(paragraphs)}</p:txBody></p:sp>"


def said(text: str, depth: int = 0) -> str:
    return f'<a:p><a:pPr lvl="{depth}"/><a:r><a:t>{text}</a:t></a:r></a:p>'


def presentation() -> bytes:
    def relate(*targets: str) -> str:
        rows = (f'<Relationship Id="r{n}" Target="{each}"/>' for n, each in enumerate(targets, start=1))
        return f'<Relationships xmlns="{_TYPES}">{"".join(rows)}</Relationships>'

    cells = [
        f"<a:tr>{''.join(f'<a:tc>{said(cell)}</a:tc>' for cell in row)}</a:tr>"
        for row in (("Crane", "Load"), ("K1", "40 t"))
    ]
    order = '<p:sldId r:id="r2"/><p:sldId r:id="r1"/>'
    return packed(
        {
            "ppt/presentation.xml": f"<p:presentation {_SLIDES} {_IDS}>{order}</p:presentation>",
            "ppt/_rels/presentation.xml.rels": relate("slides/slide1.xml", "/ppt/slides/slide2.xml"),
            "ppt/slides/slide1.xml": slide(
                f'<a:tbl><a:tblPr firstRow="1"/>{"".join(cells)}</a:tbl>', box("title", said("Fleet"))
            ),
            "ppt/slides/slide2.xml": slide(
                box("", said("Stop at 20 m/s"), said("Secure the boom", 1)),
                box("sldNum", said("7")),
                box("ctrTitle", said("Wind limits")),
            ),
            "ppt/slides/_rels/slide2.xml.rels": relate("../notesSlides/notesSlide1.xml"),
            "ppt/notesSlides/notesSlide1.xml": slide(
                box("sldImg", said("x")), box("body", said("Ask the duty officer."))
            ),
        }
    )


def opendocument(body: str, **more: str) -> bytes:
    content = f"<office:document-content {_OPEN}><office:body>{body}</office:body></office:document-content>"
    kind = "application/vnd.oasis.opendocument.text"
    return packed({"mimetype": kind, "content.xml": content, **more})


def book(*, encryption: str = "") -> bytes:
    package = """<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
    <dc:title>The kiln</dc:title><dc:creator>Ann Berg</dc:creator><dc:date>2019-05-02T00:00</dc:date></metadata>
    <manifest><item id="a" href="text/first%20one.xhtml"/><item id="b" href="text/second.xhtml"/>
    <item id="c" href="gone.xhtml"/></manifest>
    <spine><itemref idref="b"/><itemref idref="a"/><itemref idref="c"/></spine></package>"""
    root = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    page = "<!DOCTYPE html><html><head><title>x</title></head><body><h1>{}</h1><p>{}</p></body></html>"
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": root,
        "OPS/book.opf": package,
        "OPS/text/first one.xhtml": page.format("Firing", "It takes two days."),
        "OPS/text/second.xhtml": page.format("Drying", "Dry &amp; turn it."),
    }
    return packed(parts | ({"META-INF/encryption.xml": encryption} if encryption else {}))


def test_the_visible_sheets_of_a_workbook_are_tables_below_their_names():
    parsed = read_xlsx(workbook())
    assert parsed.text == (
        "Budget\n\nBudget of the harbour\n\nAmounts in crowns\n\n"
        "Item: Dredging; Cost: 120000.5; Share: 12.5%; Due: 2026-03-01.\n"
        "Item: Lights; Cost: 0.3; Share: 30%; Due: 2026-05-07 14:30.\n"
        "Paid | TRUE\n\nStaff\n\nAnn"
    )
    assert (parsed.title, parsed.authors) == ("The budget", ("Ann Berg",))
    assert [each.title for each in parsed.headings] == ["Budget", "Staff"]


def test_a_sheet_with_a_cell_far_below_is_read_to_the_gap():
    out, book = io.BytesIO(), Workbook()
    sheet = book.worksheets[0]
    sheet.append(["near"])
    sheet.cell(1_000_000, 1, "far")
    book.save(out)
    assert read_xlsx(out.getvalue()).text == "Sheet\n\nnear"


def test_the_slides_of_a_presentation_are_read_in_their_order_below_their_titles_with_notes():
    parsed = read_pptx(presentation())
    assert parsed.text == (
        "Wind limits\n\n- Stop at 20 m/s\n  - Secure the boom\n\nAsk the duty officer.\n\n"
        "Fleet\n\nCrane: K1; Load: 40 t."
    )
    assert [each.title for each in parsed.headings] == ["Wind limits", "Fleet"]


def test_a_text_of_opendocument_is_read_with_headings_lists_tables_and_notes():
    cells = [[f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row] for row in _KILNS]
    head, row = (f"<table:table-row>{''.join(each)}</table:table-row>" for each in cells)
    table = f"<table:table><table:table-header-rows>{head}</table:table-header-rows>{row}</table:table>"
    body = (
        "<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        "<text:table-of-content><text:index-body><text:p>Kilns 1</text:p></text:index-body></text:table-of-content>"
        '<text:h text:outline-level="2">Kilns</text:h><text:p>Fired<text:s/>at <text:span>900 degrees</text:span>'
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Once.</text:p></text:note-body>"
        "</text:note>.</text:p><text:list><text:list-item><text:p>Dry it.</text:p><text:list><text:list-item>"
        f"<text:p>Turn it.</text:p></text:list-item></text:list></text:list-item></text:list>{table}</office:text>"
    )
    stated = (
        "<meta:initial-creator>Ann Berg</meta:initial-creator><meta:creation-date>2019-05-02T10:00</meta:creation-date>"
    )
    meta = f"<office:document-meta {_OPEN}>{stated}</office:document-meta>"
    parsed = read_opendocument(opendocument(body, **{"meta.xml": meta}))
    assert parsed.text == (
        "Kilns\n\nFired at 900 degrees.\n\nOnce.\n\n- Dry it.\n  - Turn it.\n\nKiln: North; Height: 4 m."
    )
    assert (parsed.headings[0].level, parsed.published, parsed.authors) == (2, "2019-05-02", ("Ann Berg",))


def test_sheets_and_slides_of_opendocument_are_read():
    empty = '<table:table-cell table:number-columns-repeated="99999999"/>'
    cells = [[f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row] for row in _BRICKS]
    rows = "".join(f"<table:table-row>{''.join(each)}{empty}</table:table-row>" for each in cells)
    sheet = f'<office:spreadsheet><table:table table:name="Output">{rows}</table:table></office:spreadsheet>'
    assert read_opendocument(opendocument(sheet)).text == "Output\n\nYear: 2020; Bricks: 1,200."
    wide = sheet.replace(empty, empty.replace("/>", "><text:p>far</text:p></table:table-cell>"))
    assert read_opendocument(opendocument(wide)).text.count("far") < 5_000, "a row is not as wide as a file says"
    page = (
        "<office:presentation><draw:page><draw:frame><draw:text-box><text:p>First dry.</text:p></draw:text-box>"
        '</draw:frame><draw:frame presentation:class="title"><draw:text-box><text:p>Drying</text:p></draw:text-box>'
        "</draw:frame></draw:page></office:presentation>"
    )
    assert read_opendocument(opendocument(page)).text == "Drying\n\nFirst dry."


def test_the_chapters_of_a_book_are_read_in_the_order_of_its_spine():
    parsed = read_epub(book())
    assert parsed.text == "Drying\n\nDry & turn it.\n\nFiring\n\nIt takes two days."
    assert (parsed.title, parsed.published, parsed.authors) == ("The kiln", "2019-05-02", ("Ann Berg",))


def test_an_encrypted_book_or_text_is_told_and_encrypted_fonts_hide_nothing():
    named = '<x><CipherReference URI="{}"/></x>'
    with pytest.raises(ReadError) as caught:
        read_epub(book(encryption=named.format("OPS/text/second.xhtml")))
    assert caught.value.outcome == "encrypted"
    assert read_epub(book(encryption=named.format("OPS/font.otf"))).text
    with pytest.raises(ReadError) as caught:
        read_opendocument(opendocument("", **{"META-INF/manifest.xml": "<x><manifest:encryption-data/></x>"}))
    assert caught.value.outcome == "encrypted"


@pytest.mark.parametrize(
    ("read", "whole"),
    [(read_xlsx, workbook()), (read_pptx, presentation()), (read_opendocument, opendocument("")), (read_epub, book())],
)
def test_damaged_packages_and_bombs_are_refused(read, whole):
    outcomes = []
    bomb = packed({"x": b"\0" * 50_000_000})
    for data in (b"", whole[: len(whole) // 2], packed({"mimetype": "x"}), bomb):
        with pytest.raises(ReadError) as caught:
            read(data)
        outcomes.append(str(caught.value.outcome))
    assert outcomes[:2] == ["broken", "broken"]
    assert outcomes[2] in ("broken", "unsupported")
    assert outcomes[3] == "too_large"


def test_a_package_is_read_by_what_it_holds_whatever_its_name():
    for data, reader in (
        (workbook(), XLSX),
        (presentation(), PPTX),
        (opendocument(""), OPENDOCUMENT),
        (book(), EPUB),
        (packed({"word/document.xml": "x"}), DOCX),
    ):
        assert find_reader("file.bin", data) == reader
        assert find_reader("file.docx", data) == reader
    assert find_reader("file.zip", packed({"a.txt": "x"})) == TEXT
    assert find_reader("file.xlsx", b"<html><body>Sign in</body></html>").read.endswith("read_html")
