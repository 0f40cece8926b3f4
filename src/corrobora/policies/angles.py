"""Angles: the seven canonical research angles of S1, as data, and how many a question deserves.

Knows slugs, titles, guidance and the scaling rules. Does not choose among them: the lead agent does, within the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from corrobora.domain.limits import LIMITS

Tier = Literal["simple", "moderate", "complex"]


@dataclass(frozen=True, slots=True)
class CanonicalAngle:
    """One angle: a slug fit for file names, a title, and what a search from this angle looks for."""

    slug: str
    title: str
    guidance: str


CANONICAL_ANGLES: tuple[CanonicalAngle, ...] = (
    CanonicalAngle(
        "latest-developments",
        "Latest developments and announcements",
        "What changed most recently: announcements, releases, decisions, drafts and dates. Begin with the newest "
        "state of the topic, then narrow to what replaced what, and when.",
    ),
    CanonicalAngle(
        "technical-methods",
        "Technical methods and implementation details",
        "How it works and how it is done: methods, components, procedures, parameters and requirements. Begin with an "
        "overview of the approach, then narrow to single steps and design choices.",
    ),
    CanonicalAngle(
        "limitations-risks",
        "Limitations, risks, and failure modes",
        "What it cannot do and what goes wrong: known limits, hazards, incidents, criticism and trade-offs. Begin "
        "with reported problems, then narrow to causes, conditions and remedies.",
    ),
    CanonicalAngle(
        "ecosystem-implications",
        "Business, product, and ecosystem implications",
        "Who is affected and how: organisations, products, markets, users, cost, adoption and regulation. Begin with "
        "the parties involved, then narrow to the consequences for each.",
    ),
    CanonicalAngle(
        "quantitative-claims",
        "Notable quantitative claims and benchmarks",
        "Numbers with their units, dates and conditions: measurements, benchmarks, statistics and comparisons. Begin "
        "with headline figures, then narrow to how they were obtained and whether others confirm them.",
    ),
    CanonicalAngle(
        "open-questions",
        "Open questions and unresolved debates",
        "Where sources disagree or say that they do not know: disputes, missing evidence, future work. Begin with "
        "stated disagreements, then narrow to the strongest argument of each side.",
    ),
    CanonicalAngle(
        "background",
        "Background and prior work",
        "What came before: definitions, history, origins and earlier work that the topic builds on. Begin with the "
        "standard account, then narrow to the steps that led to the present state.",
    ),
)

ANGLE_SLUGS: tuple[str, ...] = tuple(angle.slug for angle in CANONICAL_ANGLES)

TIERS = ("simple", "moderate", "complex")
_ANGLE_RANGES: dict[str, tuple[int, int]] = {"simple": (1, 1), "moderate": (2, 4), "complex": (5, 7)}


def angle_range(tier: str) -> tuple[int, int]:
    """Return the least and most sub-agents for a tier (S1, requirement 11); an unknown tier allows 1 to 7."""
    return _ANGLE_RANGES.get(tier, (1, LIMITS.sub_agents_max))


def clamp_sub_agents(count: int, tier: str, *, dynamic: bool = False) -> int:
    """Fit a number of sub-agents to its tier; with `dynamic` only the lower end of the range binds."""
    least, most = angle_range(tier)
    return max(least, count) if dynamic else max(least, min(most, count))
