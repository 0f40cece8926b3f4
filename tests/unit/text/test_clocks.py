"""Clock times: digits and words are one time of day, and a range of counts is none."""

from __future__ import annotations

import pytest

from corrobora.text.measures import find_measures
from corrobora.text.quantities import find_clocks


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at half past ten", "by 22:30"),
        ("a quarter to nine", "8:45 a.m."),
        ("closed at noon", "12:00"),
        ("a minimum four hour wait", "at least 240 minutes"),
    ],
)
def test_times_of_day_and_bounds_are_read_in_words(one: str, other: str) -> None:
    assert any(a.equals(b) and a.bound == b.bound for a in find_measures(one) for b in find_measures(other))


def test_a_range_of_counts_is_no_time_and_year_round_is_no_year() -> None:
    assert {each.dimension for each in find_measures("ten to twelve boats from five to nine islands")} == {""}
    assert [each.dimension for each in find_measures("it stays at -03 year-round")] == [""]


def test_an_hour_without_half_day_may_be_either() -> None:
    assert [each.vague for each in find_clocks("at 7:40, at half past six, at 19:40 and at noon")] == [
        True,
        False,
        True,
        False,
    ]


def test_a_time_has_the_number_that_is_written_only_if_that_is_an_hour_alone() -> None:
    assert [each.number for each in find_clocks("at 7 pm and at 7:40 pm")] == [7.0, 70_800.0]
