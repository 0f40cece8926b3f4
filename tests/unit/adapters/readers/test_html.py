"""HTML: the article, and pages that are none (group H)."""

from __future__ import annotations

import pytest
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.adapters.readers.html import is_placeholder, measure_shape, read_html, read_tags
from corrobora.domain.errors import ReadError
from corrobora.ports import ParsedDocument

ARTICLE = "<p>" + "</p><p>".join(
    f"The committee met for the {n}th time and decided on the length of passwords in federal systems." for n in range(9)
)
PAGE = f"""<html><head><title>Passwords | Site</title><meta name="date" content="2020-01-02"></head><body>
<nav><a href="/">Home</a> <a href="/x">Login</a></nav><article><h1>Passwords</h1>{ARTICLE}</p>
<h2>Numbers</h2><p>The table says what holds for all of them from now on.</p>
<table><tr><td>minimum</td><td>8</td></tr></table></article><footer>Imprint</footer></body></html>"""


def outcome(data):
    with pytest.raises(ReadError) as caught:
        read_html(data)
    return caught.value.outcome


def test_the_article_is_read_with_title_headings_and_table():
    parsed = read_html(PAGE.encode())
    assert parsed.title.startswith("Passwords")
    assert "decided on the length of passwords" in parsed.text
    assert "Imprint" not in parsed.text
    assert "minimum | 8" in parsed.text
    for heading in parsed.headings:
        assert parsed.text.startswith(heading.title, heading.start)
    assert "Numbers" in [heading.title for heading in parsed.headings]


DATES = {
    PAGE: "2020-01-02",
    PAGE.replace("2020-01-02", "2024-01-01"): "2024-01-01",
    PAGE.replace('<meta name="date" content="2020-01-02">', "").replace(
        "<article>", "<article><p>In 2024 all</p>"
    ): "",  # a year in the text is not the date of the page
    PAGE.replace("2020-01-02", "2024-03"): "2024",
    PAGE.replace("2020-01-02", "2024-02-30").replace("<article>", "<article><p>Part 1 of many</p>"): "2024",
    PAGE.replace('<meta name="date" content="2020-01-02">', "").replace(
        "<article>", '<article><p class="date">1 January 2024</p>'
    ): "2024-01-01",
    PAGE.replace('<meta name="date" content="2020-01-02">', "<title>2.5.12. Ropes - Manual</title>"): "",  # a chapter
}


@pytest.mark.parametrize("page", DATES)
def test_h28_a_day_that_the_page_does_not_state_is_no_date(page):
    assert read_html(page.encode()).published == DATES[page]


@pytest.mark.parametrize("data", [b"<html></html>", b" \n ", b"<script>x</script>"])
def test_h01_a_page_without_text_is_empty(data):
    assert outcome(data) == "empty"


@pytest.mark.parametrize("data", [b"%PDF-1.4", b"\x89PNG\r\n\x1a\n", b"PK\x03\x04"])
def test_h02_what_only_claims_to_be_html_is_unsupported(data):
    assert outcome(data) == "unsupported"


def test_h12_deep_nesting_loses_no_text():
    page = "<html><body>" + "<div>" * 300 + ARTICLE + "</div>" * 300
    assert "for the 8th time" in read_html(page.encode()).text


def test_h13_many_attributes_go_to_the_second_parser():
    page = "<p " + " ".join(f"a{n}=1" for n in range(40_000)) + ">The text stays.</p>"
    assert read_html(page.encode()).text == "The text stays."
    assert not measure_shape(page).safe


def test_h11_more_tags_than_any_page_needs_are_too_large():
    assert outcome(b"<i>a</i>" * 150_000) == "too_large"


@pytest.mark.parametrize(
    "text",
    [
        "Just a moment... Verify you are human",
        "404 Not Found",
        "Subscribe to continue reading this article",
        "Before you continue to the site: we use cookies and data.",
        "Oops! We can't find that page.",
        "Seite nicht gefunden. Die von Ihnen gesuchte Seite existiert leider nicht.",
        "Your browser does not support frames.",
    ],
)
def test_h20_walls_are_not_content(text):
    assert outcome(f"<html><body><p>{text}</p></body></html>".encode()) == "not_content"


FORM = "<form>Passwort vergessen? <input name=a><input id=p type='password'></form>"


@pytest.mark.parametrize(
    ("markup", "why"),
    [
        ('<meta http-equiv="refresh" content="0; URL=/new">Click here.', "leads to another address"),
        (FORM, "asks for a password"),
        ("<script src=app.js></script><div id=root>Loading...</div>", "runs scripts"),
        (
            f"<script src=menu.js></script><nav>{'<a href=/>Pumps of the club</a> ' * 20}</nav><h1>Limits</h1>",
            "hardly any",
        ),
    ],
)
def test_h20_what_stands_in_for_a_text_is_told_by_its_markup(markup: str, why: str):
    page = f"<html><head><title>Cranes</title></head><body>{markup}%s</body></html>"
    with pytest.raises(ReadError, match=why):
        read_html((page % "").encode())
    assert "for the 8th time" in read_html((page % ARTICLE).encode()).text


def test_a_long_page_that_mentions_a_wall_is_content():
    assert not is_placeholder(ParsedDocument("", "Just a moment " + "word " * 1_000))


def test_h29_data_uris_are_stripped():
    page = f"<p>Before <img src='data:image/png;base64,{'A' * 50_000}'> after the picture comes text.</p>"
    assert "AAAA" not in read_html(page.encode()).text


@pytest.mark.parametrize("unit", ["<", "<!--", "&", "<a ", "<p", "\0", " ", "</", "<a href='"])
def test_h15_h16_hostile_pages_are_shaped_in_linear_time(unit):
    assert measure_growth(lambda size: measure_shape(unit * (size // len(unit))), 40_000) < LINEAR


def test_a_page_that_leaves_items_and_paragraphs_open_is_not_nested_deeply():
    rows = "".join(f"<dt><b>key {n}</b><dd><p>Says what the key {n} does in the program.<p>" for n in range(900))
    page = f"<html><body><dl>{rows}</dl></body></html>"
    assert measure_shape(page).depth < 6
    assert "- key 7: Says what the key 7 does in the program." in read_html(page.encode()).text


HIDES = ['style="display: none"', "style='color:red;VISIBILITY:hidden'", "hidden", 'style="opacity:0"']


@pytest.mark.parametrize("hides", HIDES)
def test_what_a_page_does_not_show_is_not_read(hides: str):
    article = f"<p>{'The mill pond is 12 feet deep in every month of the year. ' * 5}</p>"
    body = f"<article>{article}<p {hides}>The mill is closed.<b>x</b></p><p>It runs.</p></article>"
    page = f"<title>Mill</title><body>{body}"
    parsed = read_html(page.encode())
    assert "closed" not in parsed.text
    assert "It runs." in parsed.text
    written = read_tags(f"<div {hides}><div>The mill</div> is closed.</div><p {hides}>Shut.<p>It runs.</p>")[0]
    assert written.build_parsed("").text.strip() == "It runs."


def test_what_a_page_only_styles_is_read():
    text = (
        read_tags('<p style="overflow:hidden; opacity:0.5">It runs.</p><p aria-hidden="true">Now.</p>')[0]
        .build_parsed("")
        .text
    )
    assert text.split() == ["It", "runs.", "Now."]


def test_a_reference_to_a_control_character_costs_no_page():
    parsed = read_html(
        PAGE.replace("Passwords</h1>", "Pass&#27;words&#x9b;</h1>").replace("minimum", "min&#7;imum").encode()
    )
    assert "decided on the length of passwords" in parsed.text
    assert "minimum: 8" in parsed.text or "minimum | 8" in parsed.text
