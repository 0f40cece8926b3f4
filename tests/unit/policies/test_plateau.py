"""Plateau: its levels one by one (TRIPLET-32 to TRIPLET-35), the escapes in their order, and what says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.policies.threads import any_thread, one_round, reading, thread

from corrobora.domain.evidence import Hit, PassageId, Reading, ReadOutcome, SourceId
from corrobora.domain.thread import Escape, Saturation
from corrobora.policies.plateau import (
    PlateauLevel,
    classify_saturation,
    measure_saturation,
    next_escape,
    plateau_level,
    select_informative_rounds,
    signal_level,
    url_overlap,
)


def test_triplet_table_row_1_overlap_of_60_percent_asks_for_reformulation() -> None:
    at_limit = thread(one_round(urls="a b c d e"), one_round(urls="a b c x y", new=2))
    below = thread(one_round(urls="a b c d e"), one_round(urls="a b x y z", new=2))
    assert url_overlap(at_limit) == pytest.approx(0.6)
    assert plateau_level(at_limit) is PlateauLevel.REFORMULATE
    assert plateau_level(below) is PlateauLevel.MOVING


def test_triplet_table_row_2_no_new_facts_for_two_rounds_asks_for_the_next_phase() -> None:
    assert plateau_level(thread(one_round(urls="a"), one_round(urls="b", new=0))) is PlateauLevel.MOVING
    two = thread(one_round(urls="a", new=0), one_round(urls="b", new=0))
    assert plateau_level(two) is PlateauLevel.ADVANCE


def test_triplet_table_row_3_both_signals_in_one_round_stop() -> None:
    assert plateau_level(thread(one_round(urls="a b"), one_round(urls="a b", new=0))) is PlateauLevel.STOP


def test_triplet_table_row_4_a_used_up_budget_is_level_3_but_not_stuck() -> None:
    state = thread(one_round(urls="a"), one_round(urls="b"), max_rounds=2)
    assert plateau_level(state) is PlateauLevel.STOP
    assert signal_level(state) is PlateauLevel.MOVING


def test_overlap_is_measured_against_this_round() -> None:
    """len(current & previous) / max(len(current), 1) (TRIPLET-32)."""
    assert url_overlap(thread(one_round(urls="a b c d"), one_round(urls="a"))) == 1.0
    assert url_overlap(thread(one_round(urls="a"), one_round(urls="a b c d"))) == 0.25
    assert url_overlap(thread(one_round(urls="a"), one_round(urls=""))) == 0.0
    assert url_overlap(thread(one_round(urls="a"))) == 0.0
    assert url_overlap(thread()) == 0.0


def test_what_is_found_again_but_not_read_twice_counts_as_visited() -> None:
    state = thread(one_round(urls="a b c"), one_round(urls="x", found_again="a b c", new=1))
    assert url_overlap(state) == pytest.approx(0.75)
    skipped = replace(one_round(new=0), readings=tuple(reading(u, ReadOutcome.SKIPPED) for u in "abc"))
    assert url_overlap(thread(one_round(urls="a b c"), skipped)) == 1.0


def test_only_as_many_found_again_count_as_a_round_may_read() -> None:
    state = thread(one_round(urls="a b c d e f"), one_round(urls="x y", found_again="a b c d e f"))
    few = replace(state, course=replace(state.course, reads_per_round=2))
    assert url_overlap(few) == pytest.approx(0.5)


def test_a_skipped_address_that_was_never_read_is_not_visited() -> None:
    over = replace(one_round(), readings=(reading("a", ReadOutcome.SKIPPED),))
    assert url_overlap(thread(one_round(urls="b"), over)) == 0.0


def passage(name: str) -> Hit:
    return Hit("book.md", "Book", query="q", source=SourceId("S1"), passage=PassageId(name))


def test_a_passage_read_with_a_neighbour_counts_as_found_again() -> None:
    with_neighbour = Reading(passage("C1"), ReadOutcome.READ, passages=(PassageId("C1"), PassageId("C2")))
    first = replace(one_round(), hits=(passage("C1"),), readings=(with_neighbour,))
    second = replace(one_round(), hits=(passage("C2"),))
    other = replace(one_round(), hits=(passage("C9"),))
    assert url_overlap(thread(first, second)) == 1.0
    assert url_overlap(thread(first, other)) == 0.0


def test_a_round_that_says_nothing_repeats_no_earlier_signal() -> None:
    overlapping = (one_round(urls="a b"), one_round(urls="a b", new=1))
    assert url_overlap(thread(*overlapping, one_round(drifted="x", new=0))) == 0.0


def test_triplet_rounds_in_which_all_results_drifted_are_skipped() -> None:
    stale, drifted = one_round(urls="a", new=0), one_round(drifted="x y", new=0)
    assert signal_level(thread(stale, drifted)) is PlateauLevel.MOVING
    assert signal_level(thread(stale, drifted, one_round(urls="b", new=0))) is PlateauLevel.ADVANCE
    assert len(select_informative_rounds(thread(stale, drifted))) == 1


@pytest.mark.parametrize("silent", [{"cut": True}, {"failures": ("search is down",)}])
def test_rounds_that_could_not_look_say_nothing(silent) -> None:
    assert signal_level(thread(one_round(urls="a", new=0), one_round(new=0, **silent))) is PlateauLevel.MOVING


def test_triplet_escapes_come_in_order() -> None:
    assert [escape.value for escape in Escape] == [
        "query_reformulation",
        "source_type_shift",
        "lateral_search",
        "negative_search",
        "community_pivot",
        "fractal_exploration",
    ]
    used: list[Escape] = []
    while (escape := next_escape(thread(used=used))) is not None:
        used.append(escape)
    assert used == list(Escape)


def test_triplet_every_signal_with_an_exhausted_ladder_stops() -> None:
    one = (one_round(urls="a b"), one_round(urls="a b", new=3))
    two = (one_round(urls="a", new=0), one_round(urls="b", new=0))
    for signal in (one, two):
        assert signal_level(thread(*signal, used=tuple(Escape))) is PlateauLevel.STOP
        assert signal_level(thread(*signal, used=tuple(Escape)[1:])) is not PlateauLevel.STOP
    assert signal_level(thread(*one, used=tuple(Escape), escapes=False)) is PlateauLevel.REFORMULATE


@pytest.mark.parametrize(
    ("new", "level"),
    [(0, "HIGH"), (1, "HIGH"), (2, "MEDIUM"), (4, "MEDIUM"), (5, "LOW"), (50, "LOW")],
)
def test_triplet_saturation_assessment(new: int, level: str) -> None:
    assert classify_saturation(new) == level
    assert measure_saturation(thread(one_round(urls="a", new=new))) == level


def test_triplet_saturation_before_and_beside_productive_rounds() -> None:
    assert measure_saturation(thread()) is Saturation.FIRST_ROUND
    assert measure_saturation(thread(one_round(drifted="a", new=0))) is Saturation.FIRST_ROUND
    assert measure_saturation(thread(one_round(urls="a", new=5), one_round(drifted="b", new=0))) is Saturation.LOW


@given(any_thread())
def test_overlap_is_a_share_and_levels_are_ordered(state) -> None:
    assert 0.0 <= url_overlap(state) <= 1.0
    assert PlateauLevel.MOVING <= signal_level(state) <= plateau_level(state) <= PlateauLevel.STOP


@given(any_thread(), st.sets(st.sampled_from(list(Escape))))
def test_using_more_escapes_never_lowers_the_level(state, more) -> None:
    wider = replace(state, escapes_used=tuple({*state.escapes_used, *more}))
    assert signal_level(wider) >= signal_level(state)


@given(any_thread())
def test_the_next_escape_was_not_used_and_none_before_it_is_free(state) -> None:
    escape = next_escape(state)
    ladder = list(Escape)
    if escape is None:
        assert set(state.escapes_used) == set(ladder)
    else:
        assert escape not in state.escapes_used
        assert set(ladder[: ladder.index(escape)]) <= set(state.escapes_used)
