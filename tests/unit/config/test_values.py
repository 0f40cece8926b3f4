"""Kinds of values: ranges, forms, what is refused (bad-input C04, C08, C10)."""

from __future__ import annotations

from typing import Any

import pytest

C04_VALUES = {
    "wrong type": ("deep = 3", "deep"),
    "list for text": ("profile = ['a']", "profile"),
    "below the range": ("max_rounds = 0", "max_rounds"),
    "above the range": ("[verify]\nmin_score = 1.5", "verify.min_score"),
    "not a number": ("[limits]\nusd = nan", "limits.usd"),
    "infinite": ("[limits]\nusd = inf", "limits.usd"),
    "negative budget": ("[limits]\nusd = -1", "limits.usd"),
    "tiny budget": ("[limits]\nusd = 1e-9", "limits.usd"),
    "zero time": ("time = 0", "time"),
    "negative time": ("time = -5", "time"),
    "half a round": ("max_rounds = 1.5", "max_rounds"),
    "true as a number": ("max_rounds = true", "max_rounds"),
    "table for a value": ("[deep]\nx = 1", "deep"),
    "value for a table": ("limits = 3", "limits"),
    "model without provider": ("[models]\nlead = 'gpt'", "models.lead"),
    "endpoint without address": ("[models.endpoints.x]\nkind = 'openai'", "models.endpoints.x"),
    "address of a file": ("[models.endpoints.x]\nbase_url = 'file:///etc'", "base_url"),
    "seven angles and one": ("angles = 8", "angles"),
}


@pytest.mark.parametrize("what", C04_VALUES)
def test_c04_a_wrong_value_names_the_key(loading: Any, what: str) -> None:
    toml, name = C04_VALUES[what]
    assert name in str(loading.refused(toml))


C08_TIMES = {"0": None, "-5": None, "abc": None, "1e9": None, "5d": None, "nan": None, "inf": None, "": None, "٥": None}


@pytest.mark.parametrize(
    "text", [*C08_TIMES, "5", "0.5", "unlimited", " UNLIMITED ", "1e1", "5m", "90 s", "1.5h", "2 MIN"]
)
def test_c08_time_follows_its_grammar(loading: Any, text: str) -> None:
    flags = {"time": (text, "--time")}
    if text in C08_TIMES:
        error = loading.refused(flags=flags)
        assert "a time above 0" in str(error)
        assert "unlimited" in str(error)
    else:
        expected = {"5": 5.0, "0.5": 0.5, "1e1": 10.0, "5m": 5.0, "90 s": 1.5, "1.5h": 90.0, "2 MIN": 2.0}.get(
            text, "unlimited"
        )
        assert loading(flags=flags).minutes == expected


@pytest.mark.parametrize("value", ["-1", "nan", "1e-9", "0.001"])
def test_c10_budgets_that_make_no_sense_are_refused_and_zero_is_not(loading: Any, value: str) -> None:
    loading.refused(flags={"limits.usd": (value, "--max-cost")})
    assert loading(flags={"limits.usd": ("0", "--max-cost")}).max_usd == 0.0
