"""Footnotes and numbers of lines of HTML pages: they stand beside the text, and not in it."""

from __future__ import annotations

import pytest
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.adapters.readers.html import read_html

LIT = "The kilns of the works are lit in autumn, when the wind comes from the sea, and burn until the first snow"
WHY = "Rationale: no smoke reaches the village while the wind comes from there."


def read(body: str, title: str = "Kilns") -> str:
    return read_html(f"<html><head><title>{title}</title></head><body>{body}</body></html>".encode()).text


@pytest.mark.parametrize(
    ("mark", "note"),
    [
        (
            '<a class="footnote-reference brackets" href="#n1" id="m1">1</a>',
            f"""<dl class="footnote brackets"><dt class="label" id="n1"><span class="brackets">
            <a class="fn-backref" href="#m1">1</a></span></dt><dd><p>{WHY}</p></dd></dl>""",
        ),
        (
            '<a href="#n1" id="m1" role="doc-noteref"><span>[</span>1<span>]</span></a>',
            f"""<aside id="n1" role="doc-footnote"><span class="label"><span>[</span>
            <a role="doc-backlink" href="#m1">1</a><span>]</span></span><p>{WHY}</p></aside>""",
        ),
        (
            '<sup id="m1"><a href="#n1">1</a></sup>',
            f'<div class="x"><hr><ol><li id="n1"><p>{WHY} <a href="#m1">↩</a></p></li></ol></div>',
        ),
    ],
)
def test_footnotes_have_a_heading_of_their_own_and_leave_no_mark_in_sentences(mark: str, note: str):
    page = f"<h1>Kilns</h1><p>{LIT} {mark}, each year.</p><h2>Doors</h2><p>Doors are shut <sup>2</sup>.</p>{note}"
    text = read(page)
    assert f"{LIT}, each year.\n\nDoors\n\n" in text
    assert text.removesuffix(WHY).removesuffix("- ").endswith(".\n\nFootnotes\n\n")


def test_the_numbers_of_the_lines_of_a_listing_are_no_text():
    numbers = "<pre>9\n10</pre>"
    code = '<pre><span class="linenos">1</span>light(kiln)\n<span class="linenos">2</span>  wait(10)</pre>'
    listing = f"<table><tr><td>{numbers}</td><td>{code}</td></tr></table>"
    assert read(f"<p>{LIT}, as follows:</p>{listing}<p>{LIT}.</p>").split("\n\n")[1:-1] == [
        "\u2002light(kiln)\n\u2002  wait(10)"
    ]


def test_what_navigates_is_no_text_and_a_title_is_said_once():
    menu = '<div role="navigation"><h3>Navigation</h3><ul><li><a href="b.html">next</a> |</li></ul></div>'
    page = f"{menu}<h1>Kilns</h1><p>They are lit.</p>{menu}"
    assert "Navigation" not in read(page)
    parsed = read_html(f"<html><head><title>The Kilns: The Kilns</title></head><body><p>{LIT}.</p></body>".encode())
    assert parsed.title == "The Kilns"


@pytest.mark.parametrize("unit", ['<sup><a href="#n" id="m">1</a></sup>', "<tr><td><pre>1</pre></td></tr>"])
def test_hostile_notes_are_read_in_linear_time(unit: str):
    page = "<p id='n'>a</p>{}"
    assert measure_growth(lambda size: read_html(page.format(unit * (size // 40)).encode()), 8_000) < LINEAR


def test_the_title_of_a_box_ends_no_section():
    """The columns of a file behind a warning in one of them were listed under "Warning"."""
    box = '<div class="warning"><h3>Warning</h3><p>Kilns are counted in letters.</p></div>'
    columns = f"<ul><li><p>KILN: {LIT}.</p>{box}</li><li><p>HEAT: {LIT}.</p></li></ul>"
    page = f"<html><head><title>Kilns</title></head><body><h1>Kilns</h1><p>{LIT}.</p><h2>Columns</h2>{columns}"
    parsed = read_html(f"{page}<h2>Doors</h2><p>{LIT}.</p></body></html>".encode())
    assert [each.title for each in parsed.headings if each.level > 1] == ["Columns", "Doors"]
    assert "Warning" in parsed.text
    section = page.replace('class="warning"', 'class="section"')
    assert "Warning" in [each.title for each in read_html(f"{section}</body></html>".encode()).headings]


def test_the_name_of_a_site_that_links_to_its_first_page_is_the_title_of_none():
    head = "<html><head><title>Doors - Parts - Kilns - all about them</title></head><body>"
    body = f"<h1><a href='{{}}'>Kilns</a></h1><h2>Doors</h2><p>{LIT}.</p><p>{LIT} again.</p></body></html>"
    assert read_html((head + body.format("index.html")).encode()).title == "Doors - Parts"
    assert read_html((head + body.format("#top")).encode()).title == "Kilns"
