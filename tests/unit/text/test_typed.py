"""Typed comparison: each kind of difference is told with its words, and none where there is none."""

from __future__ import annotations

import pytest

from corrobora.text.typed import compare_sentence, read_evidence

UNITS = (
    "The clinic treated 40 women between 3 May and 9 June 2020, and most of them may have been infected abroad.",
    "According to the ministry, the wells were closed unless they had been tested by a laboratory.",
)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("The clinic treated 40 men.", "men"),
        ("All of the 40 women were treated.", "All"),
        ("The clinic treated 40 women in July 2020.", "July 2020"),
        ("The clinic treated 40 women on 4 May 2020.", "4 May 2020"),
        ("The clinic of Torrin treated 40 women.", "Torrin"),
        ("The clinic treated 44 women.", "44"),
    ],
)
def test_what_differs_is_named(sentence: str, words: str) -> None:
    found = compare_sentence(sentence, read_evidence(UNITS, ""))
    assert words in [problem.words for problem in found]


@pytest.mark.parametrize("left", ["According to", "unless"])
def test_a_speaker_or_condition_that_is_left_out_is_told(left: str) -> None:
    found = compare_sentence("The wells were closed.", read_evidence(UNITS, ""))
    assert f"it leaves out “{left}”" in [problem.reason for problem in found]


def test_a_true_restatement_has_no_problem() -> None:
    sentence = "The clinic treated forty women from 3 May to 9 June 2020."
    assert [problem for problem in compare_sentence(sentence, read_evidence(UNITS, "")) if problem.false] == []


def test_a_compound_is_compared_clause_by_clause() -> None:
    sentence = "The wells were closed unless they had been tested, and the clinic treated 400 women."
    assert any(problem.false for problem in compare_sentence(sentence, read_evidence(UNITS, "")))
