"""Judge: from a draft and its facts to five scores.

Knows a draft and the facts behind it. Its verdict may lower a status, never raise one; thresholds are kept elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.report import Verdict
from corrobora.ports import Role
from corrobora.roles.critique import Reviewing
from corrobora.roles.forms import CHECKS, DRAFT, FACTS, QUESTION, Score


@dataclass(frozen=True, slots=True)
class WireVerdict:
    """Five scores and why."""

    factual_accuracy: Score
    citation_accuracy: Score
    completeness: Score
    source_quality: Score
    source_diversity: Score
    rationale: str


def convert_verdict(_given: Reviewing, filled: WireVerdict) -> Verdict:
    """Take the scores as they are; whether they pass is computed elsewhere."""
    return Verdict(
        filled.factual_accuracy,
        filled.citation_accuracy,
        filled.completeness,
        filled.source_quality,
        filled.source_diversity,
        filled.rationale,
    )


judge: Role[Reviewing, Verdict] = Role(
    "judge",
    Reviewing,
    Verdict,
    "judge",
    tier="judge",
    wire=WireVerdict,
    convert=convert_verdict,
    example=lambda: Reviewing("root", QUESTION, DRAFT, FACTS, checks=CHECKS),
)
