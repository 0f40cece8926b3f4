"""Layout: marks of list items and rows that name their heads."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from corrobora.reporting.verify import normalize_markers
from corrobora.text.tokens import (
    count_stems,
    escape_text,
    find_literals,
    find_stems,
    fold_whitespace,
    holds_literal,
    is_table_row,
    read_inline,
    sanitize_json,
    sanitize_text,
    skip_item_mark,
    stem_text,
)


def test_the_words_of_an_item_begin_after_its_mark_and_those_of_a_clause_with_its_letter() -> None:
    assert skip_item_mark("- a rope of hemp", 0) == 2
    assert skip_item_mark("(a) the keeper shall", 0) == 0
    assert skip_item_mark("A rope of hemp", 0) == 0


def test_a_row_names_its_heads() -> None:
    assert is_table_row("Plan: Basic; Price: 5.")
    assert not is_table_row("Ole: I shall come.")


SIGNS = st.text(st.sampled_from([*"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ 19aSsCcé日［］“\n"]), max_size=40)
VIEWER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@given(SIGNS)
def test_every_viewer_shows_the_characters_of_the_source(text: str) -> None:
    line = escape_text(text)
    shown = fold_whitespace(text)
    assert read_inline(line) == shown
    tokens = VIEWER.parse(line)
    assert [token.type for token in tokens] == (["paragraph_open", "inline", "paragraph_close"] if shown else [])


@given(st.text(st.sampled_from([*"[](){}［］SsCc12:, ^!ab\\"]), max_size=30))
def test_no_text_of_a_source_becomes_a_citation(text: str) -> None:
    line = escape_text(text)
    assert normalize_markers(line) == line
    assert not re.search(r"(?<!\\)\[\^?\d+\]|\[S\d+:C\d+\]", line)


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**Keep** `*.log` and \\*.tmp", "Keep *.log and *.tmp"),
        ("a *b* [c](https://d.example) &amp; e", "a b c & e"),
        ("snake_case_name and 2 * 3", "snake_case_name and 2 * 3"),
    ],
)
def test_a_line_is_read_as_a_viewer_shows_it(markdown: str, shown: str) -> None:
    assert read_inline(markdown) == shown


OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
TEXTS = st.text(
    st.sampled_from([*'ab é日\u200d\n\t"\\\x1b[3m]\x07\x9b\x85\r\u202e\u2066\u200f\ufeff\x00\x7f']), max_size=30
)


@given(TEXTS)
def test_no_control_or_direction_character_is_left(text: str) -> None:
    clean = sanitize_text(text)
    assert not OBEYED.search(clean)
    assert sanitize_text(clean) == clean
    if not OBEYED.search(text):
        assert clean == text


@given(TEXTS)
def test_a_json_document_keeps_everything_else(text: str) -> None:
    for ascii_only in (True, False):
        value = json.loads(sanitize_json(json.dumps({"text": text}, ensure_ascii=ascii_only)))["text"]
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", value)
    if not OBEYED.search(text):
        assert value == text


@given(st.lists(st.text("aeiostydngmc ", max_size=60), max_size=4), st.text("aeiostydngmc ", max_size=30))
def test_wanted_stems_are_counted_as_if_every_word_was_stemmed(texts, wanted):
    stems = frozenset(stem_text(wanted))
    counted = [Counter(stem for stem in stem_text(text) if stem in stems) for text in texts]
    assert count_stems(texts, stems) == counted
    assert find_stems(texts, stems) == [set(each) for each in counted]


def test_code_is_told_from_words_as_it_is_spelled() -> None:
    found = find_literals("Do set -e, mail_check (--mail-check) and ~/.millrc obey the key g on HTTP/2 or UTF-8?")
    assert found == ("-e", "mail_check", "--mail-check", "~/.millrc", "g", "HTTP/2", "UTF-8")
    assert find_literals("Is J. Vetch a he/she, i.e. 3rd of 24/7 e-mail, and at https://mill.example/a_b?") == ()
    assert holds_literal("The -e, --end option", "-e")
    assert not holds_literal("The -E, --mail-e option of e", "-e")
    assert not holds_literal("HTTP/20", "HTTP/2")


def test_an_irregular_form_has_the_stem_of_its_verb_and_is_counted_as_one() -> None:
    assert stem_text("built held overwritten") == stem_text("build hold overwrite")
    assert stem_text("found left") != stem_text("find leave")  # other words as well
    assert count_stems(["They held two and built one."], stem_text("hold build")) == [Counter(stem_text("hold build"))]


def test_the_sign_of_a_trade_mark_is_no_letter_of_the_name():
    assert stem_text("Debian\u2122 and Ubuntu\u00ae") == stem_text("Debian and Ubuntu")
