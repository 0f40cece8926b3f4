"""Scope: from what a thread does not know to the queries of one round.

Knows one thread's needs. Does not know the clock or the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from corrobora.domain.evidence import Query
from corrobora.domain.thread import Escape, Intent, Phase, Saturation, ScopeInput
from corrobora.ports import Role
from corrobora.roles.forms import (
    GAPS,
    QUESTION,
    QUESTIONS,
    RECORD,
    SUBJECTS,
    UnusableAnswer,
    choose_from,
    clean_query,
    drop_duplicates,
    match_subjects,
)


@dataclass(frozen=True, slots=True)
class WireSearch:
    """One query. `site` is one of the phase's hints, or empty."""

    text: str
    site: str = ""


@dataclass(frozen=True, slots=True)
class WireIntent:
    """What the round looks for and why, then the queries."""

    reasoning: str
    goal: str
    queries: list[WireSearch]
    targets: Annotated[list[Annotated[str, choose_from("open_questions")]], Field(description="Ids as shown.")] = field(
        default_factory=list[str]
    )
    subjects: Annotated[list[Annotated[str, choose_from("uncovered")]], Field(description="Names as shown.")] = field(
        default_factory=list[str]
    )


def convert_intent(given: ScopeInput, filled: WireIntent) -> Intent:
    """Take as many queries as the phase allows, each once; ids and names must have been shown."""
    phase = given.phase
    sites = {hint.strip().removeprefix("site:") for hint in phase.query_hints if hint.strip().startswith("site:")}
    queries: dict[str, Query] = {}
    for search in filled.queries:
        if text := clean_query(search.text):
            site = search.site.strip().removeprefix("site:")
            queries.setdefault(text.casefold(), Query(text, site if site in sites else "", filled.goal))
    if len(queries) < max(1, phase.min_queries):
        raise UnusableAnswer(f"This phase needs {phase.min_queries} to {phase.max_queries} different queries.")
    ids = {question.id for question in given.open_questions}
    subjects = match_subjects(filled.subjects, given.uncovered)
    forced = given.forced_subject
    return Intent(
        goal=filled.goal,
        queries=tuple(queries.values())[: max(1, phase.max_queries)],
        targets=tuple(each for each in drop_duplicates(filled.targets) if each in ids),
        subjects=drop_duplicates((forced, *subjects)) if forced else subjects,
        reasoning=filled.reasoning,
        forced=f"subject {forced} has had no round" if forced else "",
    )


def _make_example() -> ScopeInput:
    return ScopeInput(
        path="root/1",
        question=QUESTION,
        objective="Find the flow",
        round=2,
        phase=Phase("deepen", "find figures", 1, 3, query_hints=("site:gov", "records")),
        open_questions=QUESTIONS,
        uncovered=SUBJECTS,
        gaps=GAPS,
        saturation=Saturation.HIGH,
        escape=Escape.REFORMULATE,
        past_queries=("pump flow",),
        terms=("displacement",),
        disambiguation=("industrial",),
        focus_since=2010,
        focus_until=2020,
        forced_subject="Valve",
        suggested=("pump flow rate",),
        known=("It is blue.",),
        next_topic="valve",
        out_of_scope="price",
        url="https://example.org/pump",
        record=RECORD,
    )


scope: Role[ScopeInput, Intent] = Role(
    "scope", ScopeInput, Intent, "scope", wire=WireIntent, convert=convert_intent, example=_make_example
)
