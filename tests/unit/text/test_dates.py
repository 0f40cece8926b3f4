"""Dates that a text names, in figures and in English words."""

from __future__ import annotations

import pytest

from corrobora.text.dates import find_dates


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
    assert find_dates("It may open on 12 sites.") == ([], "It may open on 12 sites.")
