"""Threads: a fold over rounds. Each change returns a new value, and only code closes a thread."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.evidence import (
    Fact,
    FactId,
    Hit,
    KnownConflict,
    PassageId,
    Query,
    Reading,
    ReadOutcome,
    SourceId,
    Statement,
    fact_id,
)
from corrobora.domain.limits import Allowance, Meter
from corrobora.domain.plan import Brief, Coverage, Node, Subject, SubQuestion, SubQuestionStatus, TaskSpec
from corrobora.domain.thread import (
    Assessment,
    Course,
    Escape,
    Gap,
    Intent,
    Phase,
    Proposal,
    Round,
    StopReason,
    ThreadState,
    Transition,
)

COURSE = Course((Phase("orient"), Phase("deepen"), Phase("validate")), max_rounds=3)
BRIEF = Brief("What is asked?", (SubQuestion("sq-9", "From the brief?"),), (Subject("From the brief"),))
NODE = Node("root/2", "Lakes", "find their fish", sub_questions=(SubQuestion("sq-1", "Which?"),))
PROPOSAL = Proposal("learned", (Gap("depth", "sq-1"),), done=True)


def fact(quote: str) -> Fact:
    source = SourceId("S1")
    return Fact(fact_id(source, quote), quote, quote, source, PassageId("C1"), 0, len(quote))


def reading(url: str, outcome: ReadOutcome = ReadOutcome.READ, *facts: Fact, **more: object) -> Reading:
    return replace(Reading(Hit(url, url), outcome, facts=facts), **more)


def done(number: int = 1, *readings: Reading, queries: tuple[str, ...] = ("a query",)) -> Round:
    return Round(number, "orient", Intent("goal", tuple(map(Query, queries))), readings=readings)


def standings(state: ThreadState, *facts: Fact) -> Assessment:
    """Every fact is a statement of its own."""
    alone = tuple(Statement((each.id,), (each.source,), each.grade) for each in facts)
    return Assessment(facts, state.sub_questions, state.subjects, state.contradictions, alone)


def opened() -> ThreadState:
    return ThreadState.open_thread(NODE, BRIEF, COURSE)


def after(*rounds: Round) -> ThreadState:
    """A thread that has absorbed rounds and what they found."""
    state = opened()
    for one in rounds:
        found = {each.id: each for each in (*state.facts, *(f for r in one.readings for f in r.facts))}
        state = state.add_round(one, standings(state, *found.values()))
    return state


def test_a_thread_takes_what_its_leaf_gives_and_the_rest_from_the_brief() -> None:
    spec = TaskSpec(("Which fish?",), verbatim="as written")
    leaf = replace(NODE, max_rounds=7, queries=("broad",), specs=(spec,), sources=("https://a.example",))
    state = ThreadState.open_thread(leaf, BRIEF, COURSE)
    assert (state.path, state.title, state.objective) == ("root/2", "Lakes", "find their fish")
    assert state.sub_questions == leaf.sub_questions
    assert state.subjects == BRIEF.subjects
    assert state.course == replace(COURSE, max_rounds=7)
    assert (state.suggested, state.specs, state.sources) == (("broad",), (spec,), ("https://a.example",))
    bare = ThreadState.open_thread(replace(NODE, sub_questions=()), BRIEF, COURSE)
    assert bare.sub_questions == BRIEF.sub_questions
    assert bare.course == COURSE


def test_a_new_thread_is_open_in_its_first_phase_and_first_round() -> None:
    state = opened()
    assert (state.open, state.number, state.phase.name, state.last, state.gaps) == (True, 0, "orient", None, ())
    assert state.round_path == "root/2/round/1"


def test_absorb_adds_one_round_and_counts_what_was_new() -> None:
    old, new = fact("Perch live there."), fact("Pike live there.")
    state = after(done(1, reading("a", ReadOutcome.READ, old)), done(2, reading("b", ReadOutcome.READ, old, new)))
    assert [(one.new_facts, one.confirming_facts) for one in state.rounds] == [(1, 0), (1, 1)]
    assert state.facts == (old, new)
    assert (state.round_path, state.last_path) == ("root/2/round/3", "root/2/round/2")


def test_absorb_leaves_the_earlier_state_alone_and_uses_up_the_escape() -> None:
    before = replace(opened(), escape=Escape.LATERAL)
    state = before.add_round(done(), standings(before))
    assert (before.number, before.escape) == (0, Escape.LATERAL)
    assert (state.number, state.escape) == (1, None)


def test_absorb_keeps_what_the_subjects_were_before_the_round() -> None:
    state = replace(opened(), subjects=(Subject("Lakes"),))
    covered = replace(standings(state), subjects=(Subject("Lakes", coverage=Coverage.COVERED),))
    state = state.add_round(done(), covered)
    assert state.rounds[0].prior == (("Lakes", "UNCOVERED"),)
    assert state.subjects[0].coverage is Coverage.COVERED


def test_absorb_takes_what_policies_made_of_the_sub_questions() -> None:
    state = opened()
    answered = (SubQuestion("sq-1", "Which?", SubQuestionStatus.ANSWERED),)
    assert state.add_round(done(), replace(standings(state), sub_questions=answered)).sub_questions == answered


@pytest.mark.parametrize(("seconds", "remaining"), [(None, None), (100.0, 60.0), (30.0, 0.0)])
def test_timed_6_a_proposal_is_recorded_with_the_meter_and_decides_nothing(
    seconds: float | None, remaining: float | None
) -> None:
    state = after(done()).record_proposal(PROPOSAL, Meter(Allowance(seconds), 40.0))
    assert state.open, "the analyst said done: it proposes, it does not decide"
    decision = state.rounds[-1].decision
    assert decision is not None
    assert (decision.iteration, decision.proposal, decision.stop) == (1, PROPOSAL, None)
    assert (decision.elapsed_seconds, decision.remaining_seconds) == (40.0, remaining)
    assert state.gaps == PROPOSAL.gaps


@pytest.mark.parametrize("stop", [None, *StopReason])
def test_code_decides_and_the_rule_is_recorded(stop: StopReason | None) -> None:
    proposed = after(done()).record_proposal(PROPOSAL, Meter(Allowance()))
    state = proposed.record_decision(stop, "rule")
    assert state.open == (stop is None)
    assert state.stop == stop
    decision = state.rounds[-1].decision
    assert decision is not None
    assert (decision.stop, decision.rule, decision.proposal) == (stop, "rule", PROPOSAL)
    assert proposed.open


def test_a_decision_without_a_proposal_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="recorded proposal"):
        after(done()).record_decision(None, "rule")


def test_a_turn_takes_the_next_phase_and_remembers_since_when() -> None:
    state = after(done()).apply_transition(Transition(1, note="saturated"))
    assert (state.phase.name, state.phase_since, state.notes) == ("deepen", 1, ("saturated",))
    stays = state.apply_transition(Transition(1))
    assert (stays.phase_since, stays.notes) == (1, ("saturated",))


def test_the_last_phase_repeats() -> None:
    assert replace(opened(), phase_index=9).phase.name == "validate"


def test_triplet_escapes_are_remembered_in_order_and_an_exhausted_ladder_stops() -> None:
    state = (
        after(done())
        .apply_transition(Transition(0, Escape.REFORMULATE, 1))
        .apply_transition(Transition(0, Escape.SHIFT_SOURCES, 2))
    )
    assert (state.escape, state.plateau_level) == (Escape.SHIFT_SOURCES, 2)
    assert state.escapes_used == (Escape.REFORMULATE, Escape.SHIFT_SOURCES)
    over = state.apply_transition(Transition(0, None, 3, StopReason.PLATEAU))
    assert (over.open, over.stop, over.escapes_used) == (False, StopReason.PLATEAU, state.escapes_used)


@given(st.sampled_from(StopReason), st.integers(0, 2), st.sampled_from([None, *Escape]), st.integers(0, 3))
def test_nothing_opens_a_closed_thread(stop: StopReason, phase: int, escape: Escape | None, level: int) -> None:
    closed = replace(after(done()), stop=stop, plateau_level=1)
    state = closed.apply_transition(Transition(phase, escape, level, None, "later"))
    assert state == replace(closed, plateau_level=max(1, level))


def test_past_queries_passages_and_conflicts_are_those_of_all_rounds() -> None:
    conflict = KnownConflict("It is blue.", FactId("F1"), "blue -> red")
    read = reading("a", passages=(PassageId("C1"), PassageId("C2")), against=(conflict,))
    state = after(done(1, read, queries=("one", "two")), done(2, replace(read, passages=()), queries=("three",)))
    assert state.past_queries == ("one", "two", "three")
    assert state.read_passages == {"C1", "C2"}
    assert state.known_conflicts == (conflict,)


@pytest.mark.parametrize(
    ("outcomes", "drifted"),
    [
        ((), False),
        ((ReadOutcome.DRIFTED,), True),
        ((ReadOutcome.DRIFTED, ReadOutcome.NOT_FOUND), True),
        ((ReadOutcome.DRIFTED, ReadOutcome.READ), False),
        ((ReadOutcome.NOT_FOUND,), False),
    ],
)
def test_triplet_a_round_drifted_if_all_that_was_read_did(outcomes: tuple[ReadOutcome, ...], *, drifted: bool) -> None:
    assert done(1, *(reading(str(at), outcome) for at, outcome in enumerate(outcomes))).all_drifted == drifted


@given(st.lists(st.sets(st.sampled_from("abcdefg"), max_size=4), max_size=6))
def test_new_facts_of_all_rounds_add_up_to_the_facts(found: list[set[str]]) -> None:
    rounds = [
        done(number, reading("a", ReadOutcome.READ, *map(fact, sorted(names)))) for number, names in enumerate(found, 1)
    ]
    state = after(*rounds)
    assert sum(one.new_facts for one in state.rounds) == len(state.facts) == len(set[str]().union(*found))
    assert [one.new_facts + one.confirming_facts for one in state.rounds] == [len(names) for names in found]


def test_a_copy_of_what_is_known_confirms_and_is_not_new() -> None:
    old, copy = fact("Perch live there."), replace(fact("Perch live there."), id=FactId("F2"), source=SourceId("S2"))
    state = after(done(1, reading("a", ReadOutcome.READ, old)))
    both = Statement((old.id, copy.id), ("S1", "S2"), old.grade)
    state = state.add_round(
        done(2, reading("b", ReadOutcome.READ, copy)),
        Assessment((old, copy), state.sub_questions, state.subjects, (), (both,)),
    )
    assert (state.rounds[-1].new_facts, state.rounds[-1].confirming_facts) == (0, 1)
