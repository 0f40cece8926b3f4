"""Polarity: "only A" is no contradiction of "not B", and what is denied in other words proves nothing false."""

from __future__ import annotations

import pytest

from corrobora.domain.report import Support
from corrobora.text.reading import read_evidence
from corrobora.text.support import Evidence, SupportCheck, check_support
from corrobora.text.typed import compare_sentence


def check(said: str, quote: str) -> SupportCheck:
    return check_support(said, [Evidence(quote)])


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("The leak exposed only letters in drawers of the clerk.",
         "The leak never exposed letters outside of the clerk's drawers."),
        ("It exposed only letters in open drawers.", "The fault did not expose letters outside of open drawers."),
        ("It did not expose letters outside of open drawers.", "The fault exposed only letters in open drawers."),
    ],
)  # fmt: skip
def test_truth_3_a_restriction_is_not_refuted_by_the_denial_of_the_rest(said: str, quote: str) -> None:
    found = check(said, quote)
    assert not found.withholds
    assert found.support is not Support.CONTRADICTED


@pytest.mark.parametrize(
    ("said", "quote"),
    [
        ("The leak exposed the letters.", "The leak did not expose the letters."),
        ("The leak exposed the letters of the clerk only.", "The leak exposed no letters of the clerk."),
        ("The bells will ring on 5 April.", "The bells will not ring on 5 April."),
    ],
)
def test_truth_3_a_dropped_negation_is_never_supported(said: str, quote: str) -> None:
    assert check(said, quote).support is not Support.SUPPORTED


def test_a_negation_of_what_the_other_side_does_not_say_is_counted_and_does_not_decide() -> None:
    reading = read_evidence(("The keepers will not move the buoys on 5 April.",), "")
    other, same = "The keepers leave the buoys alone on 5 April.", "The keepers shift and move the buoys on 5 April."
    assert [each.scored for each in compare_sentence(other, reading)] == [True]
    assert any(not each.scored for each in compare_sentence(same, reading))
