"""Waits: what Retry-After asks for, within a minute (bad-input S15, F21)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.http import parse_retry_after

NOW = "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("value", "seconds"),
    {
        "0": 0.0,
        "7": 7.0,
        " 59 ": 59.0,
        "61": 60.0,
        "9" * 5_000: 60.0,
        "Thu, 01 Jan 2026 00:00:30 GMT": 30.0,
        "Thu, 01 Jan 2026 00:00:30 -0000": 30.0,
        "Thu, 01 Jan 2026 01:00:20 +0100": 20.0,
        "Fri, 31 Dec 2100 00:00:00 GMT": 60.0,
        "Thu, 01 Jan 2026 00:00:00 GMT": None,
        "Mon, 01 Jan 1990 00:00:00 GMT": None,
        "-5": None,
        "1.5": 1.5,
        "61.25": 60.0,
        "1.5s": None,
        "1.2.3": None,
        "1e9": None,
        "soon": None,
        "": None,
        "²": None,
        "99 Foo 9999 99:99:99 GMT": None,
    }.items(),
)
def test_s15_seconds_and_dates(value: str, seconds: float | None):
    assert parse_retry_after(value, NOW) == seconds


@given(st.text(max_size=60))
def test_any_text_is_a_wait_of_at_most_a_minute_or_none(value: str):
    found = parse_retry_after(value, NOW)
    assert found is None or 0 <= found <= 60
