"""Stop rules: each fires when it must, holds when it must not, and the first one is the one told."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.policies.threads import any_thread, asked, decided, meter, one_round, subject, thread

from corrobora.domain.evidence import Contradiction, FactId, Grade, Severity
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Coverage, SubQuestionStatus
from corrobora.domain.thread import Escape, Gap, Phase, StopReason
from corrobora.policies.stop import STOP_RULES, find_first_stop


def fires(name: str, state, reading=None):
    return STOP_RULES[name](state, reading or meter())


def test_timed_7_empty_gaps_stop() -> None:
    assert fires("no_gaps", thread(one_round(decision=decided()))) is StopReason.GAPS_EMPTY
    assert fires("no_gaps", thread(one_round(decision=decided("a gap")))) is None


def test_m11_a_model_that_wants_to_continue_without_gaps_is_stopped() -> None:
    wish = decided(done=False)
    assert fires("no_gaps", thread(one_round(decision=wish))) is StopReason.GAPS_EMPTY


def test_no_gaps_waits_for_a_reflection() -> None:
    assert fires("no_gaps", thread()) is None
    assert fires("no_gaps", thread(one_round())) is None


@pytest.mark.parametrize(
    ("total", "reserve", "elapsed", "stops"),
    [
        (300.0, 90.0, 209.0, False),  # 5 minutes: 3.5 of research
        (300.0, 90.0, 210.0, False),  # exactly the reserve is left: the rule is "less than"
        (300.0, 90.0, 210.1, True),
        (600.0, 90.0, 509.0, False),  # 10 minutes: 8.5 of research
        (600.0, 90.0, 511.0, True),
        (30.0, 9.0, 22.0, True),  # half a minute: reserve 0.3 T
    ],
)
def test_timed_9_reserve_stops_when_less_than_the_reserve_is_left(
    total: float, reserve: float, elapsed: float, stops: bool
) -> None:
    found = fires("reserve_reached", thread(one_round()), meter(elapsed, seconds=total, reserve=reserve))
    assert (found is StopReason.TIME_RESERVE) is stops


@given(st.floats(0, 1e9))
def test_timed_1_unlimited_time_never_reaches_the_reserve(elapsed: float) -> None:
    assert fires("reserve_reached", thread(one_round()), meter(elapsed, seconds=None)) is None


def test_a_round_cut_by_the_reserve_stops_even_on_the_very_instant() -> None:
    assert fires("reserve_reached", thread(one_round(cut=True)), meter(210.0)) is StopReason.TIME_RESERVE


def test_timed_10_all_remaining_gaps_exhausted_stop() -> None:
    questions = (asked(1, SubQuestionStatus.EXHAUSTED), asked(2, SubQuestionStatus.ANSWERED, Grade.PLAUSIBLE))
    gone = decided(Gap("still unknown", "sq-1"))
    assert fires("all_exhausted", thread(one_round(decision=gone), sub_questions=questions)) is StopReason.ALL_EXHAUSTED


@pytest.mark.parametrize("gap", [Gap("x", "sq-2"), Gap("x", "Ardal"), Gap("x")])
def test_timed_10_a_gap_that_is_not_given_up_keeps_the_thread_open(gap: Gap) -> None:
    questions = (asked(1, SubQuestionStatus.EXHAUSTED), asked(2))
    state = thread(
        one_round(decision=decided(Gap("y", "sq-1"), gap)), sub_questions=questions, subjects=(subject("Ardal"),)
    )
    assert fires("all_exhausted", state) is None


def test_no_round_is_spent_on_what_a_library_is_unlikely_to_answer_in_the_words_of_its_sources() -> None:
    unlikely = replace(asked(1), text="How high is the tower?", likely=0.2)
    gone = decided(Gap("unknown", "sq-1"))
    assert fires("all_exhausted", thread(one_round(decision=gone), sub_questions=(unlikely,))) is StopReason.UNLIKELY
    renamed = replace(gone, proposal=replace(gone.proposal, terms=("belfry (tower)",)))
    assert fires("all_exhausted", thread(one_round(decision=renamed), sub_questions=(unlikely,))) is None
    likely = replace(unlikely, likely=0.8)
    assert fires("all_exhausted", thread(one_round(decision=gone), sub_questions=(likely,))) is None
    fitting = replace(likely, standing=SubQuestionStatus.PARTIAL)  # more statements would tell no more than these
    assert fires("all_exhausted", thread(one_round(decision=gone), sub_questions=(fitting,))) is StopReason.UNLIKELY


def test_a_gap_without_target_falls_with_the_last_sub_question() -> None:
    state = thread(one_round(decision=decided("anything")), sub_questions=(asked(1, SubQuestionStatus.EXHAUSTED),))
    assert fires("all_exhausted", state) is StopReason.ALL_EXHAUSTED


@pytest.mark.parametrize(("cap", "rounds", "stops"), [(3, 2, False), (3, 3, True), (7, 6, False), (7, 7, True)])
def test_timed_4_iteration_cap_even_if_gaps_remain(cap: int, rounds: int, stops: bool) -> None:
    state = thread(*[one_round(decision=decided("a gap"))] * rounds, max_rounds=cap)
    assert (fires("max_rounds", state) is StopReason.ITERATION_CAP) is stops


def test_angles_13_a_satisfied_evaluation_stops_after_the_narrow_round() -> None:
    phases = (Phase("broad"), Phase("narrow"))
    wide = one_round(decision=decided(done=True))
    assert fires("model_done", thread(wide, phases=phases)) is None  # wide first, then narrow (ANGLES-14)
    assert fires("model_done", thread(wide, wide, phases=phases)) is StopReason.MODEL_DONE
    assert fires("model_done", thread(wide, one_round(decision=decided("gap")), phases=phases)) is None


def test_triplet_40_converged_needs_a_round_of_its_own_for_each_subject() -> None:
    done = asked(1, SubQuestionStatus.ANSWERED, Grade.PLAUSIBLE)
    assert fires("converged", thread(sub_questions=(done,), subjects=(subject(rounds=1),))) is StopReason.CRITERIA_MET
    assert fires("converged", thread(sub_questions=(done,), subjects=(subject(rounds=0),))) is None


def test_tree_criteria_met_needs_coverage_but_no_round_of_its_own() -> None:
    done, covered = asked(1, SubQuestionStatus.ANSWERED, Grade.VERIFIED), subject(coverage=Coverage.COVERED)
    assert fires("criteria_met", thread(sub_questions=(done,), subjects=(covered,))) is StopReason.CRITERIA_MET
    assert fires("criteria_met", thread(sub_questions=(done,), subjects=(subject(),))) is None
    assert fires("criteria_met", thread(subjects=(covered,))) is StopReason.CRITERIA_MET
    assert fires("criteria_met", thread(sub_questions=(asked(1),))) is None
    assert fires("criteria_met", thread()) is None


def test_tree_an_open_grave_contradiction_blocks_the_criteria() -> None:
    state = thread(sub_questions=(asked(1, SubQuestionStatus.ANSWERED, Grade.VERIFIED),))
    conflict = Contradiction("x", FactId("F1"), FactId("F2"), severity=Severity.HIGH)
    assert fires("criteria_met", replace(state, contradictions=(conflict,))) is None


def test_triplet_34_level_3_stops() -> None:
    both = thread(one_round(urls="a b"), one_round(urls="a b", new=0))
    assert fires("plateau", both) is StopReason.PLATEAU
    assert fires("plateau", thread(one_round(urls="a b"), one_round(urls="a b", new=1))) is None


def test_triplet_an_exhausted_ladder_is_level_3() -> None:
    stuck = (one_round(urls="a b"), one_round(urls="a b", new=1))
    assert fires("plateau", thread(*stuck, used=tuple(Escape))) is StopReason.PLATEAU
    assert fires("plateau", thread(*stuck, used=tuple(Escape)[:5])) is None


@pytest.mark.parametrize(
    "reading",
    [
        meter(tokens=10, usage=Usage(6, 4)),
        meter(dollars=0.5, usage=Usage(dollars=0.5)),
        meter(searches=1, searched=1),
    ],
)
def test_a_spent_limit_stops(reading) -> None:
    assert fires("limit_spent", thread(one_round()), reading) is StopReason.LIMIT
    assert fires("limit_spent", thread(one_round()), meter()) is None


def test_the_first_rule_in_order_is_the_one_told() -> None:
    state = thread(one_round(decision=decided()), max_rounds=1)
    rules = [(name, STOP_RULES[name]) for name in ("no_gaps", "max_rounds")]
    assert find_first_stop(rules, state, meter()) == (StopReason.GAPS_EMPTY, "no_gaps")
    assert find_first_stop(rules[::-1], state, meter()) == (StopReason.ITERATION_CAP, "max_rounds")
    assert find_first_stop([], state, meter()) == (None, "")


@given(any_thread(), st.floats(0, 1_000))
def test_no_rule_ever_raises_and_each_tells_a_reason_or_nothing(state, elapsed: float) -> None:
    for rule in STOP_RULES.values():
        assert rule(state, meter(elapsed)) in (None, *StopReason)


@given(any_thread(), st.booleans(), st.text(max_size=20))
def test_m12_a_model_can_never_extend_a_run(state, wish, topic: str) -> None:
    """Whatever the model wishes beside its gaps, code decides the same."""
    if state.last is None or state.last.decision is None:
        return
    decision = state.last.decision
    wished = replace(decision, proposal=replace(decision.proposal, done=wish, next_topic=topic))
    other = replace(state, rounds=(*state.rounds[:-1], replace(state.last, decision=wished)))
    rules = tuple(STOP_RULES.items())
    assert find_first_stop(rules, other, meter()) == find_first_stop(rules, state, meter())


@given(any_thread())
def test_the_cap_holds_whatever_else_is_true(state) -> None:
    stopped = find_first_stop(tuple(STOP_RULES.items()), state, meter(seconds=None))[0]
    assert stopped is not None or state.number < state.course.max_rounds
    assert math.isinf(meter(seconds=None).remaining_seconds)
