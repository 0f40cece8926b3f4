"""Disambiguation: candidates are supported or eliminated by what was read; where sources differ, nothing is decided."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.policies.threads import fact, hit, one_round, thread

from corrobora.domain.evidence import Fact, KnownConflict, Reading, ReadOutcome, SourceId
from corrobora.domain.plan import Brief
from corrobora.domain.thread import ThreadState
from corrobora.policies.drift import CandidateStatus, assess_candidates, select_remaining_terms


def read(
    *facts: Fact, drifted: tuple[tuple[str, str], ...] = (), against: tuple[KnownConflict, ...] = ()
) -> ThreadState:
    """A thread on one question with two namesakes, after one round."""
    brief = Brief(
        "How tall is the tower?", disambiguation=("Oldby", "Newby"), known_facts=("The tower was built in 1902.",)
    )
    skipped = [
        Reading(hit(url), ReadOutcome.DRIFTED, SourceId(url), title=title, note="place: speaks of Weil")
        for url, title in drifted
    ]
    done = replace(one_round(), readings=(Reading(hit("a"), ReadOutcome.READ, facts=facts, against=against), *skipped))
    return replace(thread(), brief=brief, facts=facts, rounds=(done,))


def status(state: ThreadState) -> dict[str, str]:
    return {each.name: str(each.status) for each in assess_candidates(state)}


def test_triplet_a_candidate_that_facts_name_is_supported_and_one_that_none_names_is_open() -> None:
    state = read(fact("The tower of Oldby is 31 metres tall."))
    assert status(state) == {"Oldby": "SUPPORTED", "Newby": "UNCONFIRMED"}


@pytest.mark.parametrize(
    "quote",
    [
        "The tower of Oldby is 31 metres tall, not to be confused with Newby.",
        "It stands at Oldby rather than Newby.",
        "The tower stands in Oldby, not Newby.",
        "Newby has nothing to do with the tower.",
        "The keeper of Oldby is unrelated to Newby.",
    ],
)
def test_triplet_a_candidate_that_a_source_denies_is_eliminated_with_its_words(quote: str) -> None:
    found = {each.name: each for each in assess_candidates(read(fact(quote)))}
    assert found["Newby"].status is CandidateStatus.ELIMINATED
    assert "newby" in found["Newby"].why


def test_triplet_a_negation_about_something_else_eliminates_nobody() -> None:
    assert status(read(fact("Newby was not damaged in the storm.")))["Newby"] == "SUPPORTED"


def test_triplet_a_candidate_whose_source_differs_from_a_known_fact_is_eliminated() -> None:
    other = fact("The tower of Newby was built in 1931.", source="S2")
    conflict = KnownConflict("The tower was built in 1902.", other.id, "1902 -> 1931")
    state = read(fact("The tower of Oldby is 31 metres tall."), other, against=(conflict,))
    assert status(state) == {"Oldby": "SUPPORTED", "Newby": "ELIMINATED"}
    assert "built in 1902" in assess_candidates(state)[1].why
    assert select_remaining_terms(state) == ("Oldby",), "no later query asks for it"


def test_triplet_a_contradiction_about_the_candidate_itself_does_not_eliminate_it() -> None:
    other = fact("The tower of Newby was built in 1931.")
    state = read(other, against=(KnownConflict("The tower of Newby was built in 1902.", other.id, "1902 -> 1931"),))
    assert status(state)["Newby"] == "SUPPORTED"


def test_triplet_a_candidate_of_which_every_result_lies_outside_is_eliminated() -> None:
    state = read(fact("The tower of Oldby is 31 metres tall."), drifted=(("b", "Newby in Weil"),))
    assert status(state)["Newby"] == "ELIMINATED"
    assert "speaks of Weil" in assess_candidates(state)[1].why


def test_triplet_where_sources_disagree_nothing_is_concluded() -> None:
    state = read(fact("It stands at Oldby rather than Newby."), fact("The tower of Newby is tall.", source="S2"))
    assert status(state)["Newby"] == "UNCONFIRMED"


def test_triplet_terms_are_never_all_taken_away() -> None:
    state = read(fact("It is unrelated to Newby."), fact("It is unrelated to Oldby."))
    assert set(status(state).values()) == {"ELIMINATED"}
    assert select_remaining_terms(state) == ("Oldby", "Newby")
    assert select_remaining_terms(replace(state, rounds=())) == ("Oldby", "Newby")
