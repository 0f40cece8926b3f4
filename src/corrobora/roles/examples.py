"""The imaginary pump: documents, facts and plans that the examples of the roles are made of.

Knows domain values. Does not know roles.
"""

from __future__ import annotations

from corrobora.domain.evidence import Contradiction, Document, Fact, Passage, PassageId, Source, SourceId
from corrobora.domain.plan import Brief, Focus, Node, Subject, SubQuestion
from corrobora.domain.report import Draft
from corrobora.domain.thread import Gap

QUESTION = "How does the pump work?"
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


def make_fact(quote: str, *, answers: tuple[str, ...] = ("sq-1",)) -> Fact:
    """Return a fact of the imaginary manual."""
    found = Fact.from_quote(DOCUMENT, PASSAGES[0], quote, claim=f"It is said: {quote}", answers=answers)
    assert found is not None
    return found


FACTS = (
    make_fact("The pump moves 12.5 litres a minute."),
    make_fact("Operators shall not exceed 4 bar.", answers=("sq-2",)),
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
CHECKS = ("Withheld, because the number 15 is in no quote: It moves 15 litres a minute.",)
