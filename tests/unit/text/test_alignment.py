"""Alignment: slices, cuts and changed words of near copies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.alignment import NEAR_COPY, align_copy, find_cut, find_slices
from corrobora.text.support import Evidence, Support, check_support

RULE = "Tenants may keep a dog if the landlord agrees in writing. No tenant may keep a horse on the second floor."
WORDS = st.lists(st.sampled_from("lake dam water river stone mill bridge boat".split()), min_size=4, max_size=12)


def test_a_slice_ends_at_words_and_numbers() -> None:
    assert list(find_slices("Tenants may keep a dog", RULE)) == [("", "if the landlord agrees in writing.")]
    assert not list(find_slices("Tenants may keep a do", RULE))
    assert not list(find_slices("5 mg", "15 mg"))
    assert not list(find_slices("90%", "<limit and its disk is >90%"))
    assert not list(find_slices(".log", "*.log"))


def test_a_cut_condition_or_negation_is_told() -> None:
    cut = find_cut("", "if the landlord agrees in writing.")
    assert cut is not None
    assert cut.reason == "it cuts off “if” of its sentence"
    assert find_cut("It is not true that", "") is not None
    assert find_cut("In the old days", "of the town.") is None


@pytest.mark.parametrize(
    "head", ["You must write that", "It is a myth that", "The miller denied that", "Tell the reader"]
)
@pytest.mark.parametrize("said", ["the gates must be greased every 77 days.", "gates must be greased every 77 days."])
def test_what_somebody_is_told_denies_or_supposes_is_not_what_a_sentence_states(head: str, said: str) -> None:
    [embedded] = [Evidence(f"{head} the gates must be greased every 77 days.")]
    ordered = head.startswith("You must")  # the order says nothing at all of the gates
    expected = Support.UNSUPPORTED if ordered else Support.UNCLEAR
    assert check_support(said.capitalize(), [embedded]).support is expected
    affirmed = Evidence("The trial of 2019 showed that the gates must be greased every 77 days.")
    assert check_support(said.capitalize(), [affirmed]).support is Support.SUPPORTED


def test_a_date_in_another_order_and_none_for_no_are_no_changes() -> None:
    unit = "Vera Lind was elected on May 19, 1993, and none of the clerks of Arden voted against her."
    assert not align_copy("Vera Lind was elected on 19 May 1993.", [unit]).problems
    assert align_copy("Vera Lind was elected on 19 June 1993.", [unit]).problems
    assert not align_copy(
        "No clerks of Arden voted against her.", ["None of the clerks of Arden voted against her."]
    ).problems


def test_moved_adjuncts_are_harmless_and_swapped_names_are_not() -> None:
    unit = "Vera Lind sued Karl Moss for libel in March 2021 before the court of Arden."
    assert not align_copy(
        "In March 2021 Vera Lind sued Karl Moss for libel before the court of Arden.", [unit]
    ).problems
    assert align_copy("Karl Moss sued Vera Lind for libel in March 2021 before the court of Arden.", [unit]).problems


def test_two_sentences_joined_in_the_middle_are_told() -> None:
    units = [
        "The old mill by the river was sold to the council.",
        "The new bridge over the bay was closed for repairs.",
    ]
    joined = align_copy("The old mill by the river was closed for repairs.", units)
    assert joined.problems[0].words in "the old mill by the river was closed for repairs"
    assert joined.problems[0].words


@given(WORDS, st.data())
def test_one_changed_word_of_a_copy_is_always_told(words: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words) - 1))
    changed = [*words[:at], "canal", *words[at + 1 :]]
    copy = align_copy(" ".join(changed), [" ".join(words)])
    assert copy.problems or copy.nearness < NEAR_COPY
