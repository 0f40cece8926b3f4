"""Fields: every field has a rule, every rule refuses what it must, and messages name key, value and range."""

from __future__ import annotations

from dataclasses import fields as dataclass_fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.errors import UserError
from corrobora.domain.thread import Phase
from corrobora.profiles import Profile, Review, load_profile, profile_names
from corrobora.profiles.fields import PHASE, PROFILE, REVIEW, read_fields

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def test_every_field_of_a_profile_has_a_rule() -> None:
    assert {f.name for f in dataclass_fields(Profile)} == {*PROFILE, "phases", "review", "notes"}
    assert {f.name for f in dataclass_fields(Phase)} == set(PHASE)
    assert {f.name for f in dataclass_fields(Review)} == set(REVIEW)


@pytest.mark.parametrize("name", profile_names())
def test_presets_hold_only_values_that_their_rules_allow(name: str) -> None:
    profile = load_profile(name)
    for key, rule in PROFILE.items():
        value = getattr(profile, key)
        assert value is None or rule.read(value) == value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_rounds", 0),
        ("max_rounds", 101),
        ("max_rounds", True),
        ("max_rounds", 3.0),
        ("max_rounds", "3"),
        ("max_depth", 4),
        ("minutes", 0),
        ("minutes", -1),
        ("minutes", float("nan")),
        ("minutes", float("inf")),
        ("minutes", "5m"),
        ("minutes", True),
        ("reserve_minutes", -0.1),
        ("drift", 1),
        ("drift", "true"),
        ("split", "forest"),
        ("advance", "sometimes"),
        ("stop", []),
        ("stop", "max_rounds"),
        ("stop", ["max_rounds", "max_rounds"]),
        ("stop", ["max_round"]),
        ("artifacts", ["everything"]),
        ("artifacts", [1]),
        ("phrase", "x" * 201),
        ("summary", 5),
        ("pause_seconds", 61),
    ],
)
def test_c04_a_wrong_value_is_refused_with_key_value_and_range(key: str, value: object) -> None:
    with pytest.raises(UserError, match=rf"here: {key} is .*allowed: ") as caught:
        read_fields({key: value}, PROFILE, where="here")
    assert caught.value.code == "profile_bad_value"


def test_a_misspelt_word_gets_the_nearest_one() -> None:
    with pytest.raises(UserError, match=r"Did you mean max_rounds\?"):
        read_fields({"stop": ["max_round"]}, PROFILE, where="here")
    with pytest.raises(UserError, match=r"Did you mean angles\?"):
        read_fields({"split": "angels"}, PROFILE, where="here")


def test_c03_an_unknown_key_gets_the_nearest_one_and_its_value_is_never_shown() -> None:
    with pytest.raises(UserError, match=r"Did you mean minutes\?") as caught:
        read_fields({"minuts": "sk-secret"}, PROFILE, where="here")
    assert caught.value.code == "profile_unknown_key"
    assert "sk-secret" not in str(caught.value)


def test_unlimited_is_a_time() -> None:
    assert read_fields({"minutes": "unlimited"}, PROFILE, where="here") == {"minutes": None}
    assert read_fields({"minutes": 5}, PROFILE, where="here") == {"minutes": 5.0}


@given(st.sampled_from(sorted(PROFILE)), ANYTHING)
def test_any_value_is_taken_or_refused_in_one_way(key: str, value: object) -> None:
    try:
        found = read_fields({key: value}, PROFILE, where="here")
    except UserError as error:
        assert (error.code, key in str(error)) == ("profile_bad_value", True)  # noqa: PT017 - either outcome is legal
    else:
        assert list(found) == [key]
