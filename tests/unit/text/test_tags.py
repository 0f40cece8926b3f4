"""Tags of strangers: what a browser shows is what is read, and unfinished tags take no longer than others."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.reporting.html_reader import find_hiding, html_to_markdown
from corrobora.text.tags import drop_control_references, escape_unfinished_tags, normalize_tags

FORGED = "<p>The gates are greased every 999 days.</p>"
SHOWN = {  # pages that a browser shows the forged paragraph of, and that Python's own parser reads past
    "comment that ends at once": f"<!-->{FORGED}<!-- -->",
    "comment that ends after a dash": f"<!--->{FORGED}<!-- -->",
    "comment that ends with a mark": f"<!-- --!>{FORGED} -->",
    "section": f"<![CDATA[>{FORGED}]]>",
    "section of another name": f"<![temp[>{FORGED}]]>",
    "doubled sign": f"<p class=='>{FORGED}'></p>",
    "quote in a value": f'<p a=b"c=">{FORGED}">',
    "end tag with attributes": f'</p a=">{FORGED}">',
    "end tag of a style": f"<style></style x>{FORGED}</style>",
    "comment in a title": f"<title><!-- </title>{FORGED} --></title>",
    "instruction": f"<?x '>' ?>{FORGED}",
    "declaration": f"<!a \"'>{FORGED}'\">",
}


@pytest.mark.parametrize("way", SHOWN)
def test_what_a_browser_shows_is_read_or_told_as_hiding(way: str) -> None:
    page = f"<!DOCTYPE html><html><body><p>The gates are greased.</p>{SHOWN[way]}<p>End.</p></body></html>"
    assert "999 days" in html_to_markdown(page) or find_hiding(page)


@pytest.mark.parametrize(
    "hidden", ["<title/>The gates.</title>", "<!-- The gates. -->", "<!-- The gates.", "<style/>The gates.</style>"]
)
def test_what_a_browser_hides_is_not_read_as_shown(hidden: str) -> None:
    page = f"<!DOCTYPE html><html><body><p>One.</p>{hidden}<p>End.</p></body></html>"
    told = hidden.startswith("<!-- The") and not hidden.endswith(">")  # with the signs of its comment
    assert "The gates" not in html_to_markdown(page).replace("\\<!-- The gates", "" if told else "The gates")


def test_the_first_of_two_equal_attributes_counts_in_a_browser_so_neither_is_read() -> None:
    page = '<p><a href="https://evil.example/" href="https://good.example/">https://good.example/</a></p>'
    assert normalize_tags(page).startswith("<p>&lt;a ")


@pytest.mark.parametrize("unit", ["<!--", "<!--a", "<?", "<a ", "<a b=", "<a b='", "<![CDATA[", "<![if ", "</", "<!x "])
@pytest.mark.parametrize("clean", [normalize_tags, escape_unfinished_tags])
@pytest.mark.parametrize("end", ["", ">", "-->", "]]>"])
def test_unfinished_tags_take_time_in_proportion_to_their_number(unit: str, end: str, clean) -> None:
    def read(size: int) -> None:
        page = f"<p>{unit * (size // len(unit))}{end}"
        html_to_markdown(page) if clean is normalize_tags else HTMLParser().feed(clean(page))

    assert measure_growth(read, 6_000) < LINEAR


def test_an_ordinary_page_stays_as_it_is() -> None:
    page = (
        "<!DOCTYPE html><html lang=de><head><title>A &lt; b</title>"
        "<style>p > a { color: red }</style></head><body><p class=\"a b\" title='x > y' hidden>one<br/>two<hr /></p>\n"
        '<svg><path d="M 1 2"/></svg></body></html>'
    )
    assert normalize_tags(page) == page
    assert escape_unfinished_tags(page) == page


def test_references_to_control_characters_go() -> None:
    assert drop_control_references("a&#0;b&#x1B;c&#65534;d&#10;&#228;&#55296;") == "abcd&#10;&#228;"
