"""Advance: order of the phases, reactions to empty rounds, and the three ways to take phases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from tests.unit.policies.threads import S4_PHASES, any_thread, one_round, reading, thread

from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.thread import Escape, Phase, StopReason
from corrobora.policies.plateau import ADVANCE_RULES, choose_escape, each_round, on_saturation, stay

SURVEY, EXTRACT, DIVERSIFY, VERIFY = range(4)


def s4(*rounds, index: int = 0, since: int = 0, **more):
    return thread(*rounds, phases=S4_PHASES, phase_index=index, phase_since=since, **more)


def productive(*names: str):
    return [one_round(urls=name, new=3) for name in names]


@pytest.mark.parametrize(
    ("index", "rounds", "then"),
    [
        (SURVEY, 1, SURVEY),  # 1-2 rounds of institutional results ...
        (SURVEY, 2, EXTRACT),
        (EXTRACT, 2, EXTRACT),  # 1-3 rounds of database results ...
        (EXTRACT, 3, DIVERSIFY),
        (DIVERSIFY, 1, DIVERSIFY),  # 1-2 rounds of community results ...
        (DIVERSIFY, 2, VERIFY),
        (VERIFY, 3, VERIFY),  # until all is answered or the budget is used
    ],
)
def test_triplet_phase_table_exit_by_rounds(index: int, rounds: int, then: int) -> None:
    assert on_saturation(s4(*productive(*"abcdefg"[:rounds]), index=index)).phase == then


@pytest.mark.parametrize(
    ("index", "then"), [(SURVEY, EXTRACT), (EXTRACT, DIVERSIFY), (DIVERSIFY, VERIFY), (VERIFY, VERIFY)]
)
def test_triplet_phase_table_exit_by_saturation_high(index: int, then: int) -> None:
    assert on_saturation(s4(one_round(urls="a", new=1), index=index)).phase == then  # HIGH: 0-1 new facts
    assert on_saturation(s4(one_round(urls="a", new=2), index=index)).phase == index  # MEDIUM stays


def test_triplet_rounds_of_an_earlier_phase_do_not_count() -> None:
    rounds = productive("a", "b", "c")
    assert on_saturation(s4(*rounds, index=EXTRACT, since=2)).phase == EXTRACT
    assert on_saturation(s4(*rounds, index=DIVERSIFY, since=1)).phase == VERIFY


def test_triplet_a_round_of_drift_is_no_productive_round() -> None:
    assert on_saturation(s4(*productive("a"), one_round(drifted="x", new=0))).phase == SURVEY


def test_triplet_level_2_forces_the_next_phase_and_takes_the_next_escape() -> None:
    phases = (Phase("SURVEY", min_rounds=5, max_rounds=9), *S4_PHASES[1:])
    stale = thread(one_round(urls="a", new=0), one_round(urls="b", new=0), phases=phases)
    turn = on_saturation(stale)
    assert (turn.phase, turn.escape, turn.plateau_level) == (EXTRACT, Escape.REFORMULATE, 2)


def test_triplet_level_1_takes_the_next_escape_and_keeps_the_phase() -> None:
    state = s4(one_round(urls="a b"), one_round(urls="a b", new=3), index=EXTRACT)
    turn = on_saturation(state)
    assert (turn.phase, turn.escape, turn.plateau_level) == (EXTRACT, Escape.REFORMULATE, 1)


def test_triplet_escape_2_advances_the_phase_regardless_of_saturation() -> None:
    state = s4(one_round(urls="a b"), one_round(urls="a b", new=9), index=EXTRACT, used=(Escape.REFORMULATE,))
    turn = on_saturation(state)
    assert (turn.phase, turn.escape) == (DIVERSIFY, Escape.SHIFT_SOURCES)


def test_triplet_both_signals_stop_the_thread() -> None:
    for advance in ADVANCE_RULES.values():
        turn = advance(s4(one_round(urls="a"), one_round(urls="a", new=0)))
        assert (turn.stop, turn.escape, turn.plateau_level) == (StopReason.PLATEAU, None, 3)


def test_triplet_an_exhausted_ladder_stops_the_thread() -> None:
    state = s4(one_round(urls="a"), one_round(urls="a", new=9), used=tuple(Escape))
    assert on_saturation(state).stop is StopReason.PLATEAU
    assert on_saturation(replace(state, escapes_used=tuple(Escape)[:-1])).escape is Escape.FRACTAL


def test_triplet_each_signal_takes_the_next_escape_in_order() -> None:
    taken = []
    state = s4(one_round(urls="a b"), one_round(urls="a b", new=2))
    while (turn := on_saturation(state)).stop is None:
        taken.append(turn.escape)
        state = replace(state, escapes_used=(*state.escapes_used, turn.escape))
    assert taken == list(Escape)


def test_triplet_error_table_no_results_reformulates_once_then_advances() -> None:
    empty = one_round(new=0)
    first = on_saturation(s4(empty))
    assert (first.phase, first.escape) == (SURVEY, Escape.REFORMULATE)
    second = on_saturation(s4(empty, empty))
    assert (second.phase, second.escape) == (EXTRACT, Escape.SHIFT_SOURCES)
    third = on_saturation(s4(empty, empty, empty, used=(Escape.REFORMULATE, Escape.SHIFT_SOURCES)))
    assert third.escape is Escape.LATERAL


def test_triplet_three_drifts_in_a_row_reformulate_at_once() -> None:
    state = s4(one_round(urls="a", new=3), one_round(drifted="x y z", new=0))
    assert choose_escape(state)[0] is Escape.REFORMULATE
    assert choose_escape(s4(one_round(urls="a", new=3), one_round(drifted="x y", new=0)))[0] is None


def test_a_failed_search_is_not_an_empty_one() -> None:
    assert choose_escape(s4(one_round(new=0, failures=("down",))))[0] is None


def test_a_cut_round_and_one_that_found_only_known_pages_are_not_empty() -> None:
    assert choose_escape(s4(one_round(new=0, cut=True)))[0] is None
    assert choose_escape(s4(one_round(new=2, found_again="a")))[0] is None


def test_timed_stay_takes_escapes_but_no_phase() -> None:
    stale = s4(one_round(urls="a", new=0), one_round(urls="b", new=0))
    assert (stay(stale).phase, stay(stale).escape, stay(stale).plateau_level) == (SURVEY, Escape.REFORMULATE, 2)
    shifted = s4(one_round(urls="a"), one_round(urls="a", new=1), used=(Escape.REFORMULATE,))
    assert (stay(shifted).phase, stay(shifted).escape) == (SURVEY, Escape.SHIFT_SOURCES)


def test_without_escapes_a_course_takes_none() -> None:
    state = s4(one_round(urls="a"), one_round(urls="a", new=0), escapes=False)
    turn = each_round(state)
    assert (turn.escape, turn.stop) == (None, None)


def test_angles_14_and_rounds_4_each_round_takes_the_next_phase_and_the_last_repeats() -> None:
    phases = (Phase("broad"), Phase("narrow"))
    assert each_round(thread(one_round(urls="a"), phases=phases)).phase == 1
    assert each_round(thread(one_round(urls="a"), one_round(urls="b"), phases=phases, phase_index=1)).phase == 1
    slow = (Phase("broad", min_rounds=2), Phase("narrow"))
    assert each_round(thread(one_round(urls="a"), phases=slow)).phase == 0


def test_timed_stay_keeps_the_phase() -> None:
    assert stay(s4(*productive("a", "b", "c"), index=1)).phase == 1


def test_given_sources_count_as_results() -> None:
    only_read = replace(one_round(urls="a", new=1), hits=())
    assert on_saturation(s4(only_read)).phase == EXTRACT
    assert choose_escape(s4(replace(only_read, readings=(reading("a", ReadOutcome.READ),))))[0] is None


@given(any_thread())
def test_phases_never_go_back_or_skip_and_turns_are_consistent(state) -> None:
    for advance in ADVANCE_RULES.values():
        turn = advance(state)
        assert state.phase_index <= turn.phase <= min(state.phase_index + 1, len(state.course.phases) - 1)
        assert turn.stop in (None, StopReason.PLATEAU)
        assert turn.stop is None or turn.plateau_level == 3
        assert state.course.escapes or turn.escape is None
        assert bool(turn.note) == (turn.escape is not None or turn.stop is not None)
