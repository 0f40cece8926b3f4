"""Dates that a text names, in figures and in English words."""

from __future__ import annotations

import pytest

from corrobora.text.quantities import find_date_prefixes, find_dates, find_days, find_releases, find_told_dates


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("It opened on 2020-05-03.", (2020, 5, 3)),
        ("It opened on 3 May 2020.", (2020, 5, 3)),
        ("It opened on the 3rd of May.", (0, 5, 3)),
        ("It opened on May 3, 2020.", (2020, 5, 3)),
        ("It opened in May 2020.", (2020, 5, 0)),
        ("It has been open since March.", (0, 3, 0)),
    ],
)
def test_dates_are_read_with_what_they_leave_open(text: str, date: tuple[int, int, int]) -> None:
    found, rest = find_dates(text)
    assert [each[:3] for each in found] == [date]
    assert len(rest) == len(text)
    assert not any(map(str.isdigit, rest))


def test_what_may_happen_is_no_month() -> None:
    assert find_dates("It may open on 12 sites.") == ((), "It may open on 12 sites.")


@pytest.mark.parametrize("text", ["Marketing 12 sites", "The Decade 2020 report", "Version 12 2023", "Juniper 2021"])
def test_a_word_that_begins_like_a_month_is_no_date(text: str) -> None:
    assert find_dates(text)[0] == ()
    assert find_date_prefixes(text) == ()


def test_days_are_read_in_any_case_and_impossible_ones_are_left_out() -> None:
    assert find_days("on 7 october 2023, on 99 June 2000 and in May 2021") == ("2023-10-07",)
    assert find_date_prefixes("on OCTOBER 7, 2023, that is in October 2023, and in may 2021") == (
        "2021-05",
        "2023-10-07",
    )


def test_days_in_digits_are_read_and_where_a_day_may_be_a_month_both_are_possible() -> None:
    assert find_days("6/13/2019, 13.6.2019, 13/6/2019 and 2019/06/13") == ("2019-06-13",)
    assert find_days("5/2/2019") == ()
    assert find_date_prefixes("5/2/2019") == ("2019-02-05", "2019-05-02")
    assert find_date_prefixes("on June 13th", bare=True) == ("-06-13",)
    assert find_releases("1.12.2019, 3.1.2 and 10.4.2019.1") == ("3.1.2", "10.4.2019.1")
    assert find_days("40/13/2019, 13/40/2019 and 1.2.20193") == ()
    assert find_told_dates("What was said on June 13th?", "Minutes > 6/13/2019") == "June 13th"
    assert find_told_dates("What was said in July 2019?", "Minutes > 6/13/2019") == ""


def test_a_release_joined_to_a_name_is_one() -> None:
    assert find_releases("harbour-6.4.20 (released 2021-07-28)") == ("6.4.20",)
    assert find_releases("between 3-1.5 metres") == ()
