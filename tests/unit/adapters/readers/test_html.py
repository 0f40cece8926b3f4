"""HTML: the article, and pages that are none (group H)."""

from __future__ import annotations

import re

import pytest

from corrobora.adapters.readers.html import is_placeholder, measure_shape, read_html
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
    PAGE.replace('<meta name="date" content="2020-01-02">', "").replace(
        "<article>", '<article><p class="date">1 January 2024</p>'
    ): "2024-01-01",
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


MANUAL = """<html><head><title>Build options - The manual</title></head><body>
<div id="help"><h2 class="help-title">Keyboard shortcuts</h2><p>Press an arrow key to turn the page.</p></div>
<h1 class="menu-title">The manual</h1><nav><a href="a.html">Start</a> <a href="b.html">Build options</a></nav>
<main><h1 id="build"><a class="header" href="#build">Build options</a></h1>
<p>Every option is passed to the builder on its command line, and a later one wins over an earlier one.</p>
<h2 id="units"><a class="header" href="#units">work-units</a><button>Copy path</button></h2>
<p>The number of units into which a program is split. The default is 16, and 256 for an incremental build.</p>
<h2 id="model">code-model<a class="permalink" href="#model">¶</a></h2>
<div><div>Restricts the range of addresses.</div><div>The small model is the default.</div></div></main>
</body></html>""".encode()


def test_headings_that_are_links_and_the_declared_title_are_kept():
    parsed = read_html(MANUAL)
    assert parsed.title == "Build options - The manual"
    assert [heading.title for heading in parsed.headings] == ["Build options", "work-units", "code-model"]
    assert "addresses.\n\nThe small model" in parsed.text


def section(level: int, title: str, text: str) -> str:
    head = f'<div class="titlepage"><div><div><h{level} class="title">{title}</h{level}></div></div></div>'
    return f'<div class="section">{head}<p>{text}</p></div>'


BOOK = "".join(
    section(
        3 if n % 3 else 2, f"{n}. Topic {n}", f"A sentence of section {n} says which of the keys are valid there. " * 3
    )
    for n in range(12)
)


def test_headings_that_the_extractor_drops_are_put_back_above_their_text():
    page = f"<html><head><title>Keys</title></head><body><h1>Book</h1><h2>Site map</h2>{BOOK}</body></html>"
    parsed = read_html(page.encode())
    assert [each.title for each in parsed.headings] == ["Book", *(f"{n}. Topic {n}" for n in range(12))]
    for n in range(12):
        assert f"{n}. Topic {n}\n\nA sentence of section {n} says" in parsed.text


def test_words_of_neighbouring_blocks_do_not_stick_together():
    cells = ("<code>int</code>", "count(<a>Key</a> key)", "Returns the <a>number</a> of keys that match.")
    rows = "".join(f"<div>{cell}</div>" for cell in cells) * 9
    page = f"<body><main><h1>Store</h1><ul><li><section><h2>Methods</h2>{rows}</section></li></ul></main></body>"
    text = read_html(f"<html>{page}</html>".encode()).text
    assert "Returns the number of keys that match." in text
    assert not re.search(r"intcount|keyReturns|\)Returns|theNumber|thenumber|match\.int", text)


def test_a_title_that_the_page_declares_for_sharing_stays():
    head = "<title>The Daily | Start</title><meta property='og:title' content='Mill closes'>"
    assert read_html(PAGE.replace("<title>Passwords | Site</title>", head).encode()).title == "Mill closes"


@pytest.mark.parametrize(
    "text", ["Just a moment... Verify you are human", "404 Not Found", "Subscribe to continue reading this article"]
)
def test_h20_walls_are_not_content(text):
    assert outcome(f"<html><body><p>{text}</p></body></html>".encode()) == "not_content"


def test_a_long_page_that_mentions_a_wall_is_content():
    assert not is_placeholder(ParsedDocument("", "Just a moment " + "word " * 1_000))


def test_h29_data_uris_are_stripped():
    page = f"<p>Before <img src='data:image/png;base64,{'A' * 50_000}'> after the picture comes text.</p>"
    assert "AAAA" not in read_html(page.encode()).text


@pytest.mark.parametrize("unit", ["<", "<!--", "&", "<a ", "<p", "\0", " ", "</", "<a href='"])
def test_h15_h16_hostile_pages_are_shaped_in_linear_time(unit):
    assert measure_shape(unit * (400_000 // len(unit))).tags >= 0
