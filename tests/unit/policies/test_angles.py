"""Angles: the seven, and the scaling rules."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.policies.intake import ANGLE_SLUGS, CANONICAL_ANGLES, angle_range, clamp_sub_agents


def test_angles_8_the_seven_canonical_angles() -> None:
    assert [angle.title for angle in CANONICAL_ANGLES] == [
        "Latest developments and announcements",
        "Technical methods and implementation details",
        "Limitations, risks, and failure modes",
        "Business, product, and ecosystem implications",
        "Notable quantitative claims and benchmarks",
        "Open questions and unresolved debates",
        "Background and prior work",
    ]


def test_slugs_are_file_names_and_every_angle_has_guidance_from_wide_to_narrow() -> None:
    assert len(set(ANGLE_SLUGS)) == 7
    for angle in CANONICAL_ANGLES:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", angle.slug)
        assert "Begin with" in angle.guidance
        assert "narrow" in angle.guidance


@pytest.mark.parametrize(
    ("tier", "found"), [("simple", (1, 1)), ("moderate", (2, 4)), ("complex", (5, 7)), ("", (1, 7))]
)
def test_angles_5_scaling_rules(tier: str, found: tuple[int, int]) -> None:
    assert angle_range(tier) == found


@given(st.integers(-5, 50), st.sampled_from(["simple", "moderate", "complex", "unknown"]))
def test_a_fitted_number_lies_in_its_range_and_dynamic_lifts_only_the_top(count: int, tier: str) -> None:
    least, most = angle_range(tier)
    assert least <= clamp_sub_agents(count, tier) <= most
    assert clamp_sub_agents(count, tier, dynamic=True) == max(least, count)
