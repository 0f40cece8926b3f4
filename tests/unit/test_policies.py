"""The presets: each setting, method by method, and what follows from fields."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.config.profiles import list_presets, load_profile
from corrobora.domain.thread import Course
from corrobora.policies import Profile, derive_allowance, derive_numbers, resolve_advance, resolve_rules, stop


@pytest.mark.parametrize("name", list_presets())
def test_rules_keep_the_order_of_the_profile(name: str) -> None:
    profile = load_profile(name)
    assert resolve_rules(profile) == tuple((rule, getattr(stop, rule)) for rule in profile.stop)
    assert resolve_advance(profile) is getattr(stop, profile.advance)


def test_another_order_is_another_meaning() -> None:
    turned = load_profile("timed", [("stop", '["max_rounds", "no_gaps"]')])
    assert [name for name, _ in resolve_rules(turned)] == ["max_rounds", "no_gaps"]


def test_the_allowance_is_the_profiles_time_and_the_users_limits() -> None:
    found = derive_allowance(load_profile("timed"), tokens=5, dollars=0.5, searches=3)
    assert (found.seconds, found.reserve_seconds) == (300.0, 90.0)
    assert (found.tokens, found.dollars, found.searches) == (5, 0.5, 3)
    assert derive_allowance(load_profile("triplet")).seconds is None
    assert derive_allowance(load_profile("rounds")).reserve_seconds == 150.0


def test_the_numbers_of_an_estimate_follow_the_profile() -> None:
    found = derive_numbers(load_profile("angles"))
    assert (found.reviews, found.leaves_in_turn, found.minutes) == (3, False, None)
    timed = derive_numbers(load_profile("timed"))
    assert (timed.reviews, timed.leaves_in_turn, timed.minutes) == (0, True, 5.0)
    assert timed.course == load_profile("timed").course


TREE, ANGLES, TIMED, ROUNDS, TRIPLET, FULL = (
    load_profile(name) for name in ("tree", "angles", "timed", "rounds", "triplet", "full")
)

# One line for each setting, one column for each method (docs/reference/profiles.md).
TABLE = {
    "split": ("tree", "angles", "questions", "leaf", "given"),
    "authorize": ("human", "auto", "auto", "auto", "auto"),
    "phrase": ("Authorized to execute", "", "", "", ""),
    "pause_between_rounds": (False, False, False, False, False),
    "advance": ("stay", "each_round", "stay", "each_round", "on_saturation"),
    "leaves_in_turn": (False, False, True, True, True),
    "queries_in_turn": (False, True, False, True, True),
    "pause_seconds": (0.0, 0.0, 0.0, 0.3, 0.0),
    "max_rounds": (3, 3, 3, 3, 10),
    "minutes": (None, None, 5.0, 15.0, None),
    "attempts": (3, 1, 3, 1, 1),
    "exhaust": (True, False, True, False, False),
    "whole_documents": (False, False, False, True, False),
    "drift": (False, False, True, False, True),
    "escapes": (False, False, True, False, True),
    "coverage": (False, False, True, False, True),
    "layout": ("questions", "angles", "questions", "words", "completion"),
    "words_min": (0, 0, 0, 2000, 0),
    "share_facts": (True, False, False, False, False),
    "recall_facts": (True, False, False, False, False),
    "artifacts": (
        ("plan",),
        ("plan", "subagents"),
        ("phase_state",),
        ("rounds",),
        ("micro_reports", "completion"),
    ),
    "stop": (
        ("criteria_met", "limit_spent", "reserve_reached", "max_rounds"),
        ("model_done", "limit_spent", "max_rounds"),
        ("no_gaps", "reserve_reached", "all_exhausted", "plateau", "limit_spent", "max_rounds"),
        ("limit_spent", "max_rounds"),
        ("plateau", "converged", "limit_spent", "max_rounds"),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_presets_are_those_of_the_methods(name: str) -> None:
    found = tuple(getattr(profile, name) for profile in (TREE, ANGLES, TIMED, ROUNDS, TRIPLET))
    assert found == TABLE[name]


def test_the_presets_are_the_five_methods_and_full() -> None:
    assert list_presets() == ("angles", "full", "rounds", "timed", "tree", "triplet")
    assert all(load_profile(name).name == name and load_profile(name).summary for name in list_presets())


def test_s1_phases_are_broad_then_narrow_on_the_library() -> None:
    assert [(p.name, p.min_queries, p.max_queries, p.providers) for p in ANGLES.phases] == [
        ("broad", 1, 1, ()),
        ("narrow", 1, 1, ()),
    ]
    assert (ANGLES.max_leaves, ANGLES.max_concurrency, ANGLES.dynamic_angles) == (7, 7, False)
    assert ANGLES.review.critique
    assert ANGLES.review.revise
    assert ANGLES.review.judge
    assert ANGLES.review.min_score == 0.70


def test_s2_fr2_three_rounds_or_seven_when_deep() -> None:
    assert (TIMED.max_rounds, TIMED.deep_rounds, TIMED.attempts) == (3, 7, 3)


def test_s3_phases_queries_providers_and_minutes() -> None:
    found = [(p.name, p.min_queries, p.max_queries, p.providers, p.rotation, p.minutes) for p in ROUNDS.phases]
    assert found == [
        ("orient", 3, 3, ("tavily",), "all", 4.0),  # of 2 or 3: 8 to 12 searches in all are expected (ROUNDS-15)
        ("deepen", 3, 4, ("tavily", "exa"), "alternate", 5.0),
        ("validate", 2, 3, ("tavily",), "all", 3.5),
    ]
    assert ROUNDS.reserve_minutes == 2.5
    assert sum(p.minutes or 0 for p in ROUNDS.phases) + (ROUNDS.reserve_minutes or 0) == ROUNDS.minutes
    assert (ROUNDS.words_min, ROUNDS.words_max) == (2000, 4000)


def test_rounds_60_to_80_hits_can_be_found_and_20_to_30_read() -> None:
    assert sum(p.min_queries for p in ROUNDS.phases) * ROUNDS.hits_per_query >= 60
    assert sum(p.min_queries for p in ROUNDS.phases) >= 8
    assert 20 <= ROUNDS.reads_per_round * 3 <= 80


def test_s4_phases_rounds_hints_and_reading_prompts() -> None:
    assert [(p.name, p.min_rounds, p.max_rounds) for p in TRIPLET.phases] == [
        ("SURVEY", 1, 2),
        ("EXTRACT", 1, 3),
        ("DIVERSIFY", 1, 2),
        ("VERIFY", 1, None),
    ]
    survey, extract, diversify, verify = TRIPLET.phases
    assert survey.query_hints == ("site:gov", "site:org", "site:edu")
    assert {"records", "data"} <= set(extract.query_hints)
    assert set(diversify.query_hints) == {
        "site:reddit.com",
        "site:news.ycombinator.com",
        "experience with",
        "has anyone",
    }
    assert verify.query_hints == ("official",)
    assert survey.reading_prompt == (
        "Extract the official process, requirements, definitions, and contact information for ${TOPIC}. "
        "Focus on authoritative statements of fact."
    )
    assert extract.reading_prompt == (
        "Find specific records, entries, data points, or structured information matching ${CRITERIA}. "
        "Extract exact values, dates, and identifiers."
    )
    assert diversify.reading_prompt == (
        "Extract practical experiences, workarounds, gotchas, real timelines, and community consensus about ${TOPIC}. "
        "Focus on firsthand accounts."
    )
    assert verify.reading_prompt == (
        "Verify whether ${SPECIFIC_CLAIM} is supported by this source. "
        "Quote the exact passage that confirms or contradicts the claim."
    )


def test_s4_one_query_and_at_most_five_reads_a_round() -> None:
    assert all((p.min_queries, p.max_queries) == (1, 1) for p in TRIPLET.phases)
    assert TRIPLET.reads_per_round == 5


def test_full_is_tree_with_triplet_leaves_critique_and_judge() -> None:
    assert FULL.phases == TRIPLET.phases
    for name in ("split", "authorize", "phrase", "max_depth", "leaves_in_turn", "share_facts", "recall_facts"):
        assert getattr(FULL, name) == getattr(TREE, name)
    for name in ("advance", "drift", "escapes", "coverage", "reads_per_round"):
        assert getattr(FULL, name) == getattr(TRIPLET, name)
    assert FULL.review.critique
    assert FULL.review.judge


def test_a_thread_is_given_every_number_of_its_profile() -> None:
    odd = replace(
        TIMED,
        phases=ROUNDS.phases,
        max_rounds=91,
        attempts=92,
        reads_per_round=93,
        hits_per_query=94,
        whole_documents=True,
        queries_in_turn=True,
        pause_seconds=9.5,
        drift=False,
        escapes=False,
        exhaust=False,
        coverage=False,
        publishers=("example.org",),
    )
    for field in fields(Course):
        assert getattr(odd.course, field.name) == getattr(odd, field.name), field.name
        assert getattr(odd.course, field.name) != getattr(TIMED.course, field.name), field.name


@given(st.none() | st.floats(0.01, 10_000), st.none() | st.floats(0, 100))
def test_s2_fr1_the_reserve_is_the_formula_unless_it_is_given(minutes, given_) -> None:
    kept = Profile("p", minutes=minutes, reserve_minutes=given_).reserve_seconds
    formula = 1.5 if minutes is None else min(1.5, 0.3 * minutes)
    assert kept == pytest.approx(60 * (formula if given_ is None else given_))
