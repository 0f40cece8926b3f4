"""Word vectors: synonyms are near and antonyms are not, rare stems weigh more, and a slice needs no table."""

from __future__ import annotations

import subprocess
import sys

import pytest

from corrobora.domain.report import Support
from corrobora.text.support import Evidence, check_support
from corrobora.text.tokens import stem_word
from corrobora.text.word_vectors import compare_stems, is_common, is_near, weigh_stem


def measure_nearness(one: str, other: str) -> float:
    return float(compare_stems([stem_word(one)], [stem_word(other)])[0, 0])


@pytest.mark.parametrize(("word", "synonym", "antonym"), [
    ("begin", "start", "end"),
    ("large", "big", "small"),
    ("often", "frequently", "rarely"),
    ("increase", "growth", "decrease"),
])  # fmt: skip
def test_a_synonym_is_nearer_than_an_antonym(word: str, synonym: str, antonym: str) -> None:
    assert measure_nearness(word, synonym) > 0.6 > measure_nearness(word, antonym)


def test_the_same_word_and_its_family_are_one() -> None:
    assert measure_nearness("quux", "quux") == 1.0
    assert measure_nearness("director", "direct") == 1.0
    assert measure_nearness("quux", "water") == 0.0


def test_synonyms_are_told_from_words_without_a_vector() -> None:
    assert is_near(stem_word("therapy"), stem_word("treatment"))
    assert not is_near(stem_word("cancer"), stem_word("stroke"))


def test_a_rare_stem_weighs_more_than_a_common_one_and_an_unknown_one_most() -> None:
    assert weigh_stem("year") < weigh_stem("harbor") < weigh_stem("xqzzy") == 1.0


@pytest.mark.parametrize(
    ("word", "common"), [("Schools", True), ("Asking", True), ("Nobody", True), ("Lisbon", False), ("Alice", False)]
)
def test_a_capital_makes_no_name_of_a_common_word(word: str, common: bool) -> None:
    assert is_common(stem_word(word.lower())) is common


@pytest.mark.parametrize(("quote", "paraphrase", "invented"), [
    (
        "Doctors in the valley start the treatment of babies after ten days.",
        "Physicians in the valley begin the treatment of infants after ten days.",
        "Lamps in the valley reflect the treatment of rivers after ten days.",
    ),
    (
        "The flood destroyed two bridges, and homes close to the river were harmed.",
        "The flood damaged houses near the river and wrecked two bridges.",
        "The flood painted engines near the river and wrecked two bridges.",
    ),
])  # fmt: skip
def test_truth_3_other_words_for_the_same_are_supported_and_other_things_are_not(
    quote: str, paraphrase: str, invented: str
) -> None:
    assert check_support(paraphrase, [Evidence(quote)]).support is Support.SUPPORTED
    assert check_support(invented, [Evidence(quote)]).support is not Support.SUPPORTED


def test_a_slice_needs_no_table() -> None:
    code = (
        "import sys; from corrobora.text.support import Evidence, check_support\n"
        "check_support('The dam is old.', [Evidence('The dam is old.')]); sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
