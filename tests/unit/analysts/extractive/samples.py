"""Small documents of our own, in two editions, and the loop's values made from them."""

from __future__ import annotations

import asyncio

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.domain.evidence import Document, Fact, Passage, PassageId, Source, SourceId
from corrobora.domain.plan import Brief, SubQuestion
from corrobora.domain.thread import Phase, Saturation, ScopeInput
from corrobora.ports import I, O, Role
from corrobora.roles.extract import Excerpt, extract

OLD = (
    "Kiln Rules\n\n"
    "A thermal chamber — commonly referred to as a kiln — is a box that holds heat for ceramic work.\n\n"
    "Operators SHOULD NOT open a thermal chamber above 200 degrees. Operators SHOULD log each firing in a book.\n\n"
    "Thermal chambers SHALL be inspected every 12 months by a licensed fitter. The purpose is safety of the workshop."
)
NEW = (
    "Kiln Rules\n\n"
    "A thermal chamber — commonly referred to as a kiln — is a box that holds heat for ceramic work.\n\n"
    "Operators SHALL NOT open a thermal chamber above 200 degrees. Operators SHOULD log each firing in a book.\n\n"
    "Thermal chambers SHALL be inspected every 6 months by a licensed fitter. The purpose is safety of the workshop."
)
BIRDS = (
    "Harbour Birds\n\n"
    "Herring gulls nest on the roofs of the harbour. In 2019 the ornithologist Marta Lindqvist counted 412 nests."
)
QUESTION = "How did the rules on kiln opening and inspection change between the 2015 edition and the 2021 edition?"
PARTS = (
    SubQuestion("sq-1", "How did the rules on kiln opening change?"),
    SubQuestion("sq-2", "How did kiln inspection change?"),
)


def document(number: int, title: str, text: str, version: str = "", published: str = "") -> Document:
    source = Source(SourceId(f"S{number}"), title, f"doc-{number}.md", f"h{number}", f"h{number}", version, published)
    passage = Passage(PassageId(f"C{number}"), source.id, text, 0, len(text), title)
    return Document(source, text, (passage,))


OLD_DOCUMENT = document(1, "Kiln Rules", OLD, "2015 edition", "2015-03-01")
NEW_DOCUMENT = document(2, "Kiln Rules", NEW, "2021 edition", "2021-06-01")
BIRD_DOCUMENT = document(3, "Harbour Birds", BIRDS)


def play(role: Role[I, O], given: I) -> O:
    return asyncio.run(ExtractiveAnalyst().play(role, given)).value


def excerpt(of: Document, question: str = QUESTION, parts: tuple[SubQuestion, ...] = PARTS, **more: object) -> Excerpt:
    source = of.source
    return Excerpt("x", source.title, source.version, source.published, of.passages, question, parts, **more)  # type: ignore[arg-type]


def facts_of(
    *documents: Document, question: str = QUESTION, parts: tuple[SubQuestion, ...] = PARTS
) -> tuple[Fact, ...]:
    found: list[Fact] = []
    for of in documents:
        for quote in play(extract, excerpt(of, question, parts)).quotes:
            fact = Fact.from_quote(
                of, of.passages[0], quote.quote, claim=quote.claim, confidence=quote.confidence, answers=quote.answers
            )
            assert fact is not None
            found.append(fact)
    return tuple(found)


def needs(question: str = QUESTION, **more: object) -> ScopeInput:
    values: dict[str, object] = {
        "path": "root/round/1", "question": question, "objective": "", "round": 1, "phase": Phase("research"),
        "open_questions": (), "uncovered": (), "gaps": (), "saturation": Saturation.FIRST_ROUND, "escape": None,
        "past_queries": (), "terms": (), "disambiguation": (), "focus_since": None, "focus_until": None,
        "forced_subject": "", "suggested": (), "known": (), "next_topic": "", "out_of_scope": "",
    }  # fmt: skip
    return ScopeInput(**{**values, **more})  # type: ignore[arg-type]


def brief(question: str = QUESTION) -> Brief:
    return Brief(question)
