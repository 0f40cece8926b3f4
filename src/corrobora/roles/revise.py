"""Revise: from a draft and its critique to a better draft.

Knows the draft, the critique and the facts. Finds no new facts.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import Fact
from corrobora.domain.report import Critique, Draft
from corrobora.ports import Role
from corrobora.roles.forms import DRAFT, FACTS, QUESTION
from corrobora.roles.synthesize import WireDraft, convert_draft


@dataclass(frozen=True, slots=True)
class Revising:
    """A draft to be revised after a critique."""

    path: str
    question: str
    draft: Draft
    critique: Critique
    facts: tuple[Fact, ...]
    words_min: int = 0
    words_max: int = 1_500


revise: Role[Revising, Draft] = Role(
    "revise",
    Revising,
    Draft,
    "revise",
    tier="lead",
    wire=WireDraft,
    convert=convert_draft,
    example=lambda: Revising("root", QUESTION, DRAFT, Critique(("units",), "good"), FACTS, 100),
)
