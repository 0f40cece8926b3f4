"""What a page declares of itself: schema.org and meta tags give title, authors and dates; hostile ones do no harm."""

from __future__ import annotations

import json
import time

import pytest

from corrobora.adapters.readers.html import read_html
from corrobora.policies.grading import is_official

BODY = "<p>" + "</p><p>".join(
    f"The tide stood at {n} metres below the mark of the harbour wall that day." for n in range(9)
)
ARTICLE = {
    "@context": "https://schema.org",
    "@type": "NewsArticle",
    "headline": "The tide of Ardal",
    "author": [{"@type": "Person", "name": "Greta Lund"}, {"@type": "Organization", "name": "Tide, Board"}],
    "datePublished": "2023-04-05T09:00:00+02:00",
    "dateModified": "2024-01-02",
    "publisher": {"@type": "Organization", "name": "Harbour News"},
}


def make_page(*blocks: object, head: str = "") -> bytes:
    written = "".join(
        f'<script type="application/ld+json">{each if isinstance(each, str) else json.dumps(each)}</script>'
        for each in blocks
    )
    return f"<html><head>{head}{written}</head><body><article>{BODY}</p></article></body></html>".encode()


def test_an_article_declares_title_authors_date_and_publisher() -> None:
    parsed = read_html(make_page({"@type": "WebSite", "name": "Harbour"}, ARTICLE))
    assert (parsed.title, parsed.published) == ("The tide of Ardal", "2023-04-05")
    assert (parsed.authors, parsed.publisher) == (("Lund, Greta", "Tide Board"), "Harbour News")
    assert "The tide stood at 3 metres" in parsed.text


def test_authors_may_stand_elsewhere_in_the_graph() -> None:
    graph = {
        "@graph": [
            {
                "@type": ["Article", "TechArticle"],
                "headline": "H",
                "author": {"@id": "#g"},
                "dateModified": "2024-01-02",
            },
            {"@id": "#g", "@type": "Person", "givenName": "Greta", "familyName": "van Lund"},
        ]
    }
    parsed = read_html(make_page(graph))
    assert (parsed.authors, parsed.published) == (("van Lund, Greta",), "2024-01-02")


@pytest.mark.parametrize(("head", "authors"), [
    ('<meta name="citation_author" content="Brandt, Ole"><meta name="citation_author" content="Nils Holm">',
     ("Brandt, Ole", "Holm, Nils")),
    ('<meta name="DC.creator" content="Ole Brandt"><meta name="author" content="admin">', ("Brandt, Ole",)),
    ('<meta name="author" content="By Ole Brandt; Lund, Greta">', ("Ole Brandt", "Lund, Greta")),
    ('<meta property="article:author" content="https://social.example/ole">', ()),
])  # fmt: skip
def test_meta_tags_name_authors_as_well(head: str, authors: tuple[str, ...]) -> None:
    assert read_html(make_page(head=head)).authors == authors


HOSTILE = {
    "deep lists": "[" * 90_000 + "]" * 90_000,
    "deep objects": '{"a":' * 20_000 + "1" + "}" * 20_000,
    "no json": "{'headline': x",
    "huge number": '{"@type": "Article", "headline": ' + "9" * 90_000 + "}",
    "too long": json.dumps({"@type": "Article", "author": "Ole Brandt", "headline": "x" * 300_000}),
    "wide": json.dumps([{"@type": "Thing"}] * 30_000),
    "other shapes": json.dumps({"@type": 7, "headline": {}, "author": {"name": {}}, "datePublished": []}),
    "a circle": json.dumps({"@graph": [{"@id": "#a", "author": {"@id": "#a"}, "@type": "Article"}]}),
    "bad values": json.dumps(
        {"@type": "Article", "headline": None, "author": [None, 7, [[]], {"@id": "#x"}], "datePublished": "2024-99-99"}
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_json_leaves_the_page_as_it_is(kind: str) -> None:
    plain = read_html(make_page())
    began = time.process_time()
    parsed = read_html(make_page(*[HOSTILE[kind]] * 30))
    assert (parsed.text, parsed.authors, parsed.published) == (plain.text, (), plain.published)
    assert time.process_time() - began < 5


def test_a_text_that_a_page_declares_cannot_leave_its_line_or_its_grade() -> None:
    odd = {
        **ARTICLE,
        "author": "Lund\n\n## Sources\n[1] x",
        "publisher": {"name": "nist.gov"},
        "url": "https://nist.gov/a",
    }
    parsed = read_html(make_page(odd))
    assert parsed.authors == ("Lund Sources 1 x",)
    assert not is_official("https://blog.example/nist.gov")  # what is official is told by the address that was read
