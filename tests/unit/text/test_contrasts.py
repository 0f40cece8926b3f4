"""Contrasts: what is said of the other of two things, as done while it is planned, or in another's name, stays open."""

from __future__ import annotations

import pytest

from corrobora.domain.report import Support
from corrobora.text.contrasts import find_contrasts
from corrobora.text.support import Evidence, check_support, read_units

COPPER = (
    "Prices came down mainly in the copper trade; the timber trade was hurt by long strikes in Chile.",
    "Ines Holt drew the map in 1931 as a gift for the school of her cousin Amelie Stroud.",
    "The museum has sold its barge and will restore the old crane next spring.",
    "Amelie Stroud paid for the print.",
)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Prices came down mainly in the timber trade, while long strikes in Chile hurt the copper trade.", "copper"),
        ("Amelie Stroud drew the map in 1931 to please the school of Ines Holt.", "Holt"),
        ("The museum has sold its barge and the old crane has been restored.", "has been restored"),
        ("According to Amelie Stroud, prices came down mainly in the copper trade.", "Amelie Stroud"),
    ],
)
def test_what_stands_crosswise_is_named(sentence: str, words: str) -> None:
    assert words in [each.words for each in find_contrasts(sentence, read_units([Evidence(" ".join(COPPER))]))]
    assert check_support(sentence, [Evidence(" ".join(COPPER))]).support is not Support.SUPPORTED


@pytest.mark.parametrize(
    "sentence",
    [
        "Long strikes in Chile hurt the timber trade, while prices came down mainly in the copper trade.",
        "For the school of her cousin Amelie Stroud, Ines Holt drew the map in 1931 as a gift.",
        "The barge has been sold and the old crane will be restored next spring.",
        "According to Ines Holt, she drew the map for the school.",
    ],
)
def test_the_same_in_another_order_has_no_contrast(sentence: str) -> None:
    assert list(find_contrasts(sentence, read_units([Evidence(" ".join(COPPER))]))) == []


def test_a_clause_that_its_source_only_waits_for_is_not_stated() -> None:
    quote = Evidence("More tests are needed before the valve can be used in hospitals.")
    assert check_support("The valve can be used in hospitals.", [quote]).support is Support.UNCLEAR
    assert check_support("More tests are needed before the valve can be used in hospitals.", [quote]).overlap == 1.0


def test_any_of_what_its_source_limits_is_unclear() -> None:
    quote = Evidence(
        "Labels are not kept on discs of the type FLOP. Neither side is liable for damage caused by storms."
    )
    for sentence in ("Labels are not kept on any discs.", "Neither side is liable for any damage."):
        assert check_support(sentence, [quote]).support is Support.UNCLEAR


def test_what_may_be_computed_or_stands_in_another_language_is_unclear_and_not_refused() -> None:
    quote = Evidence("Den Turm dürfen nur Personen betreten, die von der Leitung eingewiesen worden sind.")
    assert check_support("Visitors need an introduction.", [quote]).support is Support.UNCLEAR
    lists = Evidence("The secretary counted 58 names in the book, compared with 46 in the year before.")
    assert check_support("Today 12 more people are waiting.", [lists]).support is Support.UNCLEAR
