"""Support: a sentence against its quotes; changed numbers, foreign names and inverted negation never pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.report import Support
from corrobora.text.support import Evidence, check_support, find_numbers, is_negated, token_overlap

QUOTE = "The reservoir at Lake Arden held 4,200 million litres in March 2021, after 18 months of drought."


def test_a_literal_sentence_is_supported() -> None:
    assert check_support(QUOTE, [Evidence(QUOTE)]).support is Support.SUPPORTED
    assert (
        check_support("the reservoir at lake arden held 4,200 million litres", [Evidence(QUOTE)]).support
        is Support.SUPPORTED
    )


def test_without_a_quote_it_is_uncited() -> None:
    assert check_support("Anything at all.", []).support is Support.UNCITED


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("In March 2021 Lake Arden held 4,200 million litres after drought.", Support.SUPPORTED),
        ("In March 2021 Lake Arden held 4,300 million litres after drought.", Support.UNSUPPORTED),
        ("In March 2022 Lake Arden held 4,200 million litres after drought.", Support.UNSUPPORTED),
        ("The mayor of Torrin resigned over a scandal.", Support.UNSUPPORTED),
    ],
)
def test_truth_3_numbers_must_stand_in_a_quote(sentence: str, expected: Support) -> None:
    assert check_support(sentence, [Evidence(QUOTE)]).support is expected


def test_truth_3_a_foreign_name_lowers_the_status() -> None:
    result = check_support("The reservoir at Lake Bellow held 4,200 million litres in March 2021.", [Evidence(QUOTE)])
    assert result.support is not Support.SUPPORTED
    assert any("names" in reason for reason in result.reasons)


def test_truth_3_inverted_negation_contradicts() -> None:
    quote = "The committee did not approve the new bridge."
    assert check_support("The committee did approve the new bridge.", [Evidence(quote)]).support is Support.CONTRADICTED
    assert check_support("The committee did not approve the bridge.", [Evidence(quote)]).support is Support.SUPPORTED


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("4,200 and 4200", {"4200"}),
        ("12.50 %", {"12.5"}),
        ("8 to 12.", {"8", "12"}),
        ("1.000,5", {"1.000.5"}),
        ("none", set()),
    ],
)
def test_numbers_have_one_spelling(text: str, found: set[str]) -> None:
    assert find_numbers(text) == found


def test_negation_is_counted() -> None:
    assert is_negated("It isn't so.")
    assert not is_negated("It is not without reason.")


@given(st.text(max_size=300), st.lists(st.text(max_size=300), max_size=3))
def test_any_text_has_a_status_and_a_share(sentence: str, quotes: list[str]) -> None:
    result = check_support(sentence, [Evidence(quote) for quote in quotes])
    assert 0.0 <= result.overlap <= 1.0
    assert (result.support is Support.UNCITED) == (not quotes)


@given(st.text(max_size=200))
def test_a_text_overlaps_itself_wholly_or_says_nothing(text: str) -> None:
    assert token_overlap(text, text) in (0.0, 1.0)
