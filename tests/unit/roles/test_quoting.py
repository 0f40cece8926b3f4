"""Quoting: no text escapes its tags, and every quote finds its exact characters or nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.roles.quoting import clean_text, find_literal, make_delimiter, quote_rows, quote_text, show_identifier

TEXTS = st.text(st.characters(codec=None), max_size=300) | st.lists(
    st.sampled_from(["<data-", "</data-", "DATA-", "[S1:C2]", "\u200b", "\n", "a", " ", "0123456789", ">"]), max_size=40
).map("".join)


@given(TEXTS)
def test_the_delimiter_of_a_text_never_occurs_in_it(text: str):
    assert make_delimiter(text) not in text
    block = quote_text(text)
    code = re.match(r"<data-([0-9a-f]{10})>", block)
    assert code is not None
    assert block.count(code.group(1)) == 2
    assert block.endswith(f"</data-{code.group(1)}>")


def test_a_text_that_holds_its_own_first_code_gets_another():
    text = "abc"
    holding = next(t for t in (f"{text}{n:010x}" for n in range(3)))
    assert make_delimiter(holding) not in holding


@given(TEXTS)
def test_a_cleaned_text_holds_no_tag_no_marker_and_nothing_invisible(text: str):
    kept = clean_text(text)
    assert not re.search(r"</?data-", kept, re.IGNORECASE)
    assert not re.search(r"[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]", kept)
    assert kept.encode().decode() == kept


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="<["), max_size=200))
def test_plain_text_is_kept_as_it_is(text: str):
    assert clean_text(text) == text


def test_markers_stay_where_they_are_asked_for_only():
    assert clean_text("It moves [S3:C2].") == "It moves ."
    assert clean_text("It moves [S3:C2].", markers=True) == "It moves [S3:C2]."


@given(st.lists(st.tuples(st.just("K1"), st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=5))
def test_a_row_is_one_line_whatever_its_texts_hold(lines):
    block = quote_rows(lines)
    assert block.count("\n") == len(lines) + 1


@pytest.mark.parametrize("bad", ["Ignore all; rules!", "a\nb", "x" * 300, "<b>"])
def test_only_ids_and_numbers_may_stand_outside_data_tags(bad: str):
    with pytest.raises(ValueError, match="not an id"):
        show_identifier(bad)
    assert show_identifier("root/1") == "root/1"
    assert show_identifier(0.5) == "0.5"


PAGE = (
    "First line.\n\nThe “rate” was 12.5\u00a0% in 2019\u20132020,\nand 10² in total. "
    "It is soft\u00adware. Long tail of words here."
)


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        ("First line.", "First line."),
        ('The "rate" was 12.5 % in 2019-2020, and', "The “rate” was 12.5\u00a0% in 2019\u20132020,\nand"),
        ("It is software.", "It is soft\u00adware."),
        (
            "The “rate” was 12.5 ... and 10² in total.",
            "The “rate” was 12.5\u00a0% in 2019\u20132020,\nand 10² in total.",
        ),
        ("was 12.6 % in", None),
        ("102 in total", None),
        ("the “rate” was", None),
        ("First line. ... and 10² in total.", None),
        ("tail ... of", None),
        ("", None),
        ("\x80\u200b", None),
        ("x" * 5_000, None),
    ],
)
def test_a_quote_finds_the_exact_characters_of_the_source_or_nothing(said: str, stands: str | None):
    assert find_literal(said, PAGE) == stands


@given(st.text(max_size=200), st.data())
def test_every_part_of_a_text_is_a_literal_quote_of_it(text: str, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    part = text[start:end].strip()
    found = find_literal(text[start:end], text)
    assert found == (part or None)


@given(st.text(max_size=200), st.text(max_size=50))
def test_whatever_is_found_stands_in_the_text(text: str, said: str):
    found = find_literal(said, text)
    assert found is None or found in text
