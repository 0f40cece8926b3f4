"""Markup of pages: no element, attribute or style sheet shows other words than the text that is checked."""

from __future__ import annotations

import re
from hashlib import sha256
from importlib.resources import files

import pytest

from corrobora.reporting.bundle_check import find_foreign_text
from corrobora.reporting.html_reader import compare_markup, find_hiding

PLAIN = (
    '<!doctype html><html lang="en"><head><title>T</title></head><body><h1>T</h1>'
    '<p>Users must <em>not</em> enter. <a href="https://a.example/b">https://a.example/b</a></p></body></html>'
)
HIDING = {
    "style attribute": ("<em>", '<em style="display:none">'),
    "hidden": ("<em>", "<em hidden>"),
    "struck out": ("<em>not</em>", "<del>not</del>"),
    "direction": ("<em>not</em>", '<bdo dir="rtl">not</bdo>'),
    "style sheet": ("</head>", "<style>em{display:none}</style></head>"),
    "linked style sheet": ("</head>", '<link rel="stylesheet" href="a.css"></head>'),
    "script": ("</body>", "<script>document.body.textContent = 'x'</script></body>"),
    "event": ("<p>", '<p onclick="alert(1)">'),
    "picture of words": ("</p>", '<img alt="They must." src="data:,"></p>'),
    "field": ("</p>", '<input value="They must."></p>'),
    "frame": ("</p>", '<iframe srcdoc="They must."></iframe></p>'),
    "turning away": ("<head>", '<head><meta http-equiv="refresh" content="0;url=https://b.example">'),
    "popover": ("<p>", "<p popover>"),
    "link elsewhere": ('href="https://a.example/b"', 'href="https://evil.example/b"'),
}


def test_a_plain_page_hides_nothing() -> None:
    assert find_hiding(PLAIN) == []


@pytest.mark.parametrize("kind", HIDING)
def test_what_may_show_other_words_is_found_alone_and_beside_the_stored_page(kind: str) -> None:
    old, new = HIDING[kind]
    forged = PLAIN.replace(old, new, 1)
    assert forged != PLAIN
    assert find_hiding(forged)
    assert compare_markup(forged, PLAIN)


def test_what_a_browser_changes_when_it_saves_a_page_is_no_difference() -> None:
    saved = PLAIN.replace("<head>", '<!-- saved --><head><meta http-equiv="Content-Type" content="text/html">')
    assert compare_markup(saved.replace("<p>", "<p >"), PLAIN) == []


def test_elements_in_another_order_are_a_difference() -> None:
    assert compare_markup("<p><b>a</b><i>b</i></p>", "<p><i>a</i><b>b</b></p>")


def test_the_style_sheet_of_this_version_is_in_the_list_of_all() -> None:
    folder = files("corrobora.reporting")
    text = "\n".join((folder / name).read_text().strip() for name in ("page.css", "evidence.css"))
    digest = sha256(re.sub(r"\s+", " ", text).strip().encode()).hexdigest()
    last = (folder / "styles.txt").read_text().splitlines()[-1]
    assert last == digest, "append the digest of the changed style sheet to reporting/styles.txt"


def test_a_page_holds_what_its_markdown_says_and_nothing_else() -> None:
    text = "# T\n\nUsers must *not* enter. https://a.example/b\n"
    assert find_foreign_text(PLAIN, text, []) == ""
    assert find_foreign_text(PLAIN.replace("Users", "Guests"), text, [])
    assert find_foreign_text(PLAIN, text + "\nThey may leave.\n", []) == "They may leave."
    noted = PLAIN.replace("</body>", '<section id="evidence"><blockquote>They may.</blockquote></section></body>')
    assert find_foreign_text(noted, text, ["It is said. They may. And more."]) == ""
    assert find_foreign_text(noted, text, ["It is said. They must."])
