"""Entries: which sentences stand below a term."""

from __future__ import annotations

import pytest

from corrobora.text.entries import find_entries, find_item_mark, find_term, read_terms
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import TERM_GAP

LISTED = f"""The options are few.

       -a{TERM_GAP}Take all of them. None is left.

              Not even the last one is left.

       -b N{TERM_GAP}Take N.
              They are the first ones.

       Both may be given. They add up."""


def test_a_sentence_stands_below_a_term_as_long_as_the_text_is_indented_deeper():
    spans = split_sentences(LISTED)
    assert read_terms(LISTED, spans) == ["", "-a", "-a", "-a", "-b N", "-b N", "", ""]
    assert find_entries(LISTED, spans) == [-1, -1, 1, 1, -1, 4, -1, -1]


def test_the_entry_that_opens_a_text_was_cut_out_without_its_indentation():
    cut = LISTED[LISTED.index("-a") :]
    assert read_terms(cut, split_sentences(cut)) == ["-a", "-a", "-a", "-b N", "-b N", "", ""]
    alone = LISTED[LISTED.index("-a") : LISTED.index("       -b")]
    assert read_terms(alone, split_sentences(alone)) == ["-a", "-a", "-a"]


def test_the_second_item_of_a_list_does_not_stand_below_the_term_of_the_first() -> None:
    listed = "- hold: Time to wait. It is 240.\n- keepalive: Time between two. It is 80."
    assert read_terms(listed, split_sentences(listed)) == ["- hold", "- hold", "- keepalive", "- keepalive"]
    assert find_entries(listed, split_sentences(listed)) == [-1, 0, -1, 2]


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("- depth: Levels. It is 12.", "- depth"),
        ("* depth – levels", "* depth"),
        ("depth: levels", ""),
        ("- It may be called twice. Note: not more.", ""),
        (f"depth N{TERM_GAP}Levels.", "depth N"),
    ],
)
def test_a_term_is_what_an_item_names_before_a_colon_or_a_dash(text: str, term: str):
    assert text[: find_term(text, 0)] == term


def test_the_mark_of_an_item_is_found_before_its_words():
    text = "One.\n  - two: three"
    assert find_item_mark(text, text.index("two")) == text.index("-")
    assert find_item_mark(text, text.index("three")) == text.index("three")


def test_an_item_names_what_is_listed_below_it() -> None:
    text = (
        "It has these:\n\n- blobs folder\n  - It MAY be empty.\n- layout\n  - It MUST exist.\n  - It is small.\n- lid"
    )
    spans = split_sentences(text)
    terms = dict(zip((text[span.start : span.end] for span in spans), read_terms(text, spans), strict=True))
    assert terms["- It MAY be empty."] == "- blobs folder"
    assert terms["- It MUST exist."] == terms["- It is small."] == "- layout"
    assert terms["- lid"] == ""
