"""Samples: one full input for every role, about an imaginary pump, with every field filled.

Knows the inputs' types. Does not know analysts. For conformance suites, prompt tests and measurements.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from corrobora.domain.evidence import (
    Contradiction,
    Document,
    Fact,
    LinkedSource,
    Passage,
    PassageId,
    Source,
    SourceId,
)
from corrobora.domain.plan import Brief, Focus, Node, Subject, SubQuestion
from corrobora.domain.report import Critique, Draft
from corrobora.domain.thread import Escape, Gap, Phase, Saturation, ScopeInput
from corrobora.ports import Role
from corrobora.roles.clarify import Asking, clarify
from corrobora.roles.extract import Excerpt, extract
from corrobora.roles.plan import Angle, Planning, Shortfall, plan, refine
from corrobora.roles.reflect import Learned, reflect
from corrobora.roles.review import Reviewing, Revising, critique, judge, revise
from corrobora.roles.scope import scope
from corrobora.roles.scout import Candidate, Sweep, scout
from corrobora.roles.synthesize import Material, Part, summarize, synthesize

TEXT = "The pump moves 12.5 litres a minute. Operators shall not exceed 4 bar.\n\nIt was changed in 2017."
SOURCE = Source(SourceId("S3"), "Pump manual", "manual.md", "0" * 64, version="Edition 2", published="2017-06")
PASSAGES = (
    Passage(PassageId("C7"), SourceId("S3"), TEXT, 0, len(TEXT), heading="Limits"),
    Passage(PassageId("C8"), SourceId("S3"), "It was changed in 2017.", 72, len(TEXT)),
)
DOCUMENT = Document(SOURCE, TEXT, PASSAGES)
QUESTIONS = (
    SubQuestion("sq-1", "How much does the pump move?"),
    SubQuestion("sq-2", "Which pressure is allowed?", finding="at most 4 bar"),
)
SUBJECTS = (Subject("Pump", aliases=("P-1",)), Subject("Valve"))


def sample_fact(quote: str, *, answers: tuple[str, ...] = ("sq-1",)) -> Fact:
    """Return a fact of the imaginary manual."""
    found = Fact.from_quote(DOCUMENT, PASSAGES[0], quote, claim=f"It is said: {quote}", answers=answers)
    assert found is not None
    return found


FACTS = (
    sample_fact("The pump moves 12.5 litres a minute."),
    sample_fact("Operators shall not exceed 4 bar.", answers=("sq-2",)),
)
CONFLICT = Contradiction("pressure", FACTS[0].id, FACTS[1].id, difference="4 -> 5 bar", scope="by edition")
BRIEF = Brief(
    "How does the pump work, and what are its limits?",
    QUESTIONS,
    SUBJECTS,
    ("industrial pump",),
    ("It is blue.",),
    Focus(since=2010, until=2020),
    '{"root": []}',
)
NODE = Node(
    "root/1",
    "Pump",
    "Find its limits",
    (Node("root/1/1", "Flow", "Find the flow"), Node("root/1/2", "Pressure", "Find the pressure")),
)
GAPS = (Gap("date of the change", "sq-2"),)
DRAFT = Draft("The pump", "It moves 12.5 litres a minute [S3:C7]. It shall not exceed 4 bar [S3:C7].")

_BEFORE_WRITING: tuple[tuple[Role[Any, Any], Any], ...] = (
    (clarify, Asking("root", BRIEF, ("manager: which pump?", "user: the blue one"), 7)),
    (
        plan,
        Planning(
            "root",
            BRIEF,
            "angles",
            (Angle("background", "Background", "History of it"), Angle("risks", "Risks", "What fails")),
            complexity_hint="moderate",
            dynamic_angles=True,
            discovery=True,
            suggested_plan="first the flow",
        ),
    ),
    (
        refine,
        Shortfall("root/1", NODE, 2, ("two sources",), GAPS, (LinkedSource("Manual 3", "see Manual 3"),), ("pump",)),
    ),
    (
        scope,
        ScopeInput(
            path="root/1",
            question="How does the pump work?",
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
        ),
    ),
    (
        scout,
        Sweep(
            "root",
            "Find manuals",
            ("limits",),
            (
                Candidate("https://example.org/a", "Manual A", "about A", "A scan", "2017", "Maker", ("pump",), 1),
                Candidate("S3", "Manual B", "about B"),
            ),
            5,
        ),
    ),
    (
        extract,
        Excerpt(
            "root/1",
            "Pump manual",
            "Edition 2",
            "2017-06",
            PASSAGES,
            "How does the pump work?",
            QUESTIONS,
            SUBJECTS,
            "find figures",
            "questions: flow",
            "target confidence 0.7",
            discovery_intense=True,
            known_facts=("It is blue.",),
            terms=("displacement",),
        ),
    ),
    (
        reflect,
        Learned(
            "root/1",
            "How does the pump work?",
            "Find the flow",
            2,
            QUESTIONS,
            SUBJECTS,
            FACTS,
            (CONFLICT,),
            ("pump flow",),
            ("displacement",),
            2,
            "a table",
        ),
    ),
)

MATERIAL = Material(
    "root",
    "report",
    "How does the pump work?",
    "The pump",
    (
        Part("root/1", "Flow", "It moves [S3:C7].", FACTS, ("date",), angle="background"),
        Part("root/2", "Price", "", (), failed="search down"),
    ),
    QUESTIONS,
    (CONFLICT,),
    GAPS,
    words_min=100,
    uncovered=("risks",),
    output_format="a report",
)
SAMPLES: tuple[tuple[Role[Any, Any], Any], ...] = (
    *_BEFORE_WRITING,
    (synthesize, MATERIAL),
    (summarize, MATERIAL),
    (critique, Reviewing("root", "How does the pump work?", DRAFT, FACTS, 100)),
    (revise, Revising("root", "How does the pump work?", DRAFT, Critique(("units",), "good"), FACTS, 100)),
    (judge, Reviewing("root", "How does the pump work?", DRAFT, FACTS)),
)


def field_names(role: Role[Any, Any]) -> frozenset[str]:
    """Return the names of the fields of a role's input."""
    return frozenset(each.name for each in fields(role.takes))
