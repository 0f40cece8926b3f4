"""Clarify: from a question as asked to a brief that can be researched, or a refusal with reasons.

Knows one question and the dialogue so far. Does not know sources; never starts a run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import Field

from corrobora.domain.plan import Brief, Subject, SubQuestion
from corrobora.ports import Role
from corrobora.roles.forms import BRIEF, UnusableAnswer, clean_texts, drop_duplicates

MAX_EXECUTORS = 3  # levels of a feasible plan, the query itself included


@dataclass(frozen=True, slots=True)
class Asking:
    """A question with what was said about it so far."""

    path: str
    brief: Brief
    dialogue: tuple[str, ...] = ()  # "user: ..." and "manager: ..." in turn
    max_sub_questions: int = 7


@dataclass(frozen=True, slots=True)
class Scoping:
    """The clarified question. With `feasible` False nothing is planned: `reasons` and `narrower` go to the user.

    `queries` holds one feasible query, or the two or more sub-queries into which the question was split.
    """

    feasible: bool
    queries: tuple[Brief, ...]
    reasons: tuple[str, ...] = ()
    narrower: tuple[str, ...] = ()  # narrower questions to offer
    questions: tuple[str, ...] = ()  # what to ask the user back
    complexity_hint: str = ""  # simple | moderate | complex, by a heuristic: only a hint


@dataclass(frozen=True, slots=True)
class WireSubject:
    """A subject with the other names that sources use for it."""

    name: str
    aliases: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireTopic:
    """A topic of a suggested plan."""

    key: Annotated[str, Field(description="Short name, unique in this plan.")]
    title: str
    parent: Annotated[str, Field(description="Key of the topic it belongs to, or empty.")] = ""
    sub_questions: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireQuery:
    """One feasible query."""

    question: str
    sub_questions: list[str]
    subjects: list[WireSubject] = field(default_factory=list[WireSubject])
    disambiguation: list[str] = field(default_factory=list[str])
    plan: Annotated[list[WireTopic], Field(description="A plan that you suggest to the planner, or empty.")] = field(
        default_factory=list[WireTopic]
    )


@dataclass(frozen=True, slots=True)
class WireScoping:
    """Whether the question is feasible; the queries, or the reasons and narrower questions."""

    feasible: bool
    complexity: Literal["simple", "moderate", "complex"]
    queries: list[WireQuery]
    reasons: list[str] = field(default_factory=list[str])
    narrower: list[str] = field(default_factory=list[str])
    questions: Annotated[list[str], Field(description="What to ask the person back.")] = field(
        default_factory=list[str]
    )


def convert_scoping(given: Asking, filled: WireScoping) -> Scoping:
    """Number the sub-questions through all queries; what the brief brought along is preserved."""
    if not filled.feasible:
        if not (filled.reasons or filled.narrower or filled.questions):
            raise UnusableAnswer(
                "`feasible` is false, so `reasons` must say why and `narrower` must offer narrower questions."
            )
        reasons, narrower, questions = map(clean_texts, (filled.reasons, filled.narrower, filled.questions))
        return Scoping(False, (), reasons, narrower, questions, filled.complexity)  # noqa: FBT003 - `feasible`
    queries = [query for query in filled.queries if query.question.strip()]
    if not queries:
        raise UnusableAnswer("`feasible` is true, so `queries` must hold at least one query.")
    briefs: list[Brief] = []
    number = 0
    for query in queries:
        made = _make_brief(given, query, number, alone=len(queries) == 1)
        number += len(made.sub_questions)
        briefs.append(made)
    return Scoping(feasible=True, queries=tuple(briefs), complexity_hint=filled.complexity)


def _make_brief(given: Asking, query: WireQuery, number: int, *, alone: bool) -> Brief:
    asked = given.brief
    texts = clean_texts(query.sub_questions)[: given.max_sub_questions] or (query.question.strip(),)
    new = tuple(SubQuestion(f"sq-{number + at}", text) for at, text in enumerate(texts, start=1))
    subjects = tuple(Subject(s.name.strip(), clean_texts(s.aliases)) for s in query.subjects if s.name.strip())
    return replace(
        asked,
        question=query.question.strip(),
        sub_questions=(asked.sub_questions if alone else ()) or new,
        subjects=(asked.subjects if alone else ()) or subjects,
        disambiguation=drop_duplicates((*asked.disambiguation, *clean_texts(query.disambiguation))),
        suggested_plan=(asked.suggested_plan if alone else "") or _write_suggestion(query),
    )


def _write_suggestion(query: WireQuery) -> str:
    """Write the manager's plan as one that a person would suggest; "" without one (TREE-11)."""
    topics = {topic.key.strip(): topic for topic in query.plan}
    placed: set[str] = set()

    def write_level(parent: str, level: int) -> list[dict[str, object]]:
        below = [(key, topic) for key, topic in topics.items() if topic.parent.strip() == parent]
        placed.update(key for key, _ in below)
        if below and level > MAX_EXECUTORS:
            raise UnusableAnswer(f"`plan` has more than {MAX_EXECUTORS} levels below the query.")
        return [
            {"title": topic.title, "sub_questions": topic.sub_questions, "children": write_level(key, level + 1)}
            for key, topic in below
        ]

    tree = {"title": query.question, "children": write_level("", 1)}
    if len(placed) < len(query.plan):
        raise UnusableAnswer("Every topic of `plan` needs a key of its own, and a parent that is in the plan, or none.")
    return json.dumps(tree, ensure_ascii=False) if topics else ""


clarify: Role[Asking, Scoping] = Role(
    "clarify",
    Asking,
    Scoping,
    "clarify",
    tier="lead",
    wire=WireScoping,
    convert=convert_scoping,
    example=lambda: Asking("root", BRIEF, ("manager: which pump?", "user: the blue one"), 7),
)
