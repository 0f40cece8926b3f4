"""Extract: from passages of one source, or of several short ones, to facts with literal quotes.

Knows documents and what is asked of them. Has no tools, and its quotes are checked in `engine/sections.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from corrobora.domain.evidence import FollowUp, LinkedSource, Passage, PassageId
from corrobora.domain.plan import Subject, SubQuestion
from corrobora.ports import Role
from corrobora.roles.forms import (
    PASSAGES,
    QUESTION,
    QUESTIONS,
    SOURCE,
    SUBJECTS,
    Score,
    choose_from,
    clean_texts,
    drop_duplicates,
    find_literal,
    match_subjects,
)

_PLACE = re.compile(r"[\[(\s]{0,3}(?:S\d{1,9}:)?(C\d{1,9})[\])\s:,|-]{1,4}")  # the passage that a text begins with
_NAME = r"[\[(*]{0,3}S\d{1,9}[\])*]{0,3}"
_SOURCE_IDS = re.compile(
    rf"(?:^|(?<=\s)){_NAME}(?:(?:,? and|,? und|[,;]) {_NAME}){{0,40}}:[ *]"
)  # before what is said of them
_ANY_ID = re.compile(r"S\d{1,9}")
_MAX_NEXT = 3  # sections and documents that one reader may ask for


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What an extractor reads: passages of one source, and the questions. `spec` is a planner's task spec, verbatim.

    `beside` are short sources that are read in the same call; only their passages and what tells of them are shown.
    """

    path: str
    title: str
    version: str
    published: str
    passages: tuple[Passage, ...]
    question: str
    sub_questions: tuple[SubQuestion, ...]
    subjects: tuple[Subject, ...] = ()
    guidance: str = ""  # the phase's reading prompt, filled
    spec: str = ""
    rubric: str = ""  # composed by code where no spec is given: scope, spans, target confidence
    discovery_intense: bool = False
    known_facts: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()  # words learned from earlier rounds for what is asked
    publisher: str = ""
    host: str = ""  # of its address, "" for a stored document without one
    tasks: tuple[str, ...] = ()  # what the lines of research want that are served by this reading
    elsewhere: tuple[Passage, ...] = ()  # the first passage of each section of this source that is not shown
    source: str = ""
    beside: tuple[Excerpt, ...] = ()
    missing: tuple[str, ...] = ()  # what earlier rounds left open, in words

    @property
    def documents(self) -> tuple[Excerpt, ...]:
        """All sources that are read, this one first."""
        return (self, *self.beside)


def map_copies(passages: Sequence[Passage]) -> dict[PassageId, PassageId]:
    """Map passages to an earlier one with the same words: editions, and the parts of a series, share whole sections."""
    first = {passage.text: passage.id for passage in reversed(passages)}
    return {each.id: first[each.text] for each in passages if first[each.text] != each.id}


@dataclass(frozen=True, slots=True)
class Quote:
    """One fact as extracted: a claim and the words of the passage that carry it."""

    passage: str  # "C12"
    quote: str
    claim: str
    confidence: float
    answers: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    inner_heading: str = ""  # the heading inside its passage below which it stands, if the analyst says it


@dataclass(frozen=True, slots=True)
class Extraction:
    """What one source gave. The optional insights count under four conditions only: see `engine/sections.py`."""

    quotes: tuple[Quote, ...]
    summary: str = ""
    follow_ups: tuple[FollowUp, ...] = ()
    gaps: tuple[str, ...] = ()
    linked: tuple[LinkedSource, ...] = ()
    contradicts_known: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()  # the source's own words for what was asked
    read_next: tuple[str, ...] = ()  # ids of sections that were listed, else names of documents
    source: str = ""
    beside: tuple[Extraction, ...] = ()  # what the sources beside the first one gave

    def list_parts(self, source: str) -> tuple[Extraction, ...]:
        """Return what this reading gave of one source; all of it if it was the only one."""
        return tuple(each for each in (self, *self.beside) if each.source == source) if self.beside else (self,)


@dataclass(frozen=True, slots=True)
class WireQuote:
    """One fact: words copied letter for letter from a passage, and what they say."""

    passage: str
    quote: str
    confidence: Score = 0.5
    claim: str = ""
    answers: list[Annotated[str, choose_from("sub_questions")]] = field(default_factory=list[str])
    subjects: list[Annotated[str, choose_from("subjects")]] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class WireFollowUp:
    """A question that the source raises."""

    question: str
    confidence: Score
    rationale: str
    passage: str = ""


@dataclass(frozen=True, slots=True)
class WireLinked:
    """A document that the source names."""

    reference: str
    context: str
    priority: Score = 0.5
    passage: str = ""


@dataclass(frozen=True, slots=True)
class WireExtraction:
    """What was found."""

    quotes: list[WireQuote]
    summary: str = ""
    terms: list[str] = field(default_factory=list[str])
    read_next: list[str] = field(default_factory=list[str])
    contradicts_known: list[str] = field(default_factory=list[str])
    gaps: list[str] = field(default_factory=list[str])
    follow_ups: list[WireFollowUp] = field(default_factory=list[WireFollowUp])
    linked: list[WireLinked] = field(default_factory=list[WireLinked])


def convert_extraction(given: Excerpt, filled: WireExtraction) -> Extraction:
    """Give each quote the exact characters of its passage, and each source what was said of it."""
    sources = given.documents
    owners = {str(p.id): at for at, each in enumerate(sources) for p in (*each.passages, *each.elsewhere)}
    quotes = _locate_quotes(given, filled.quotes)
    summaries = _split_summary(filled.summary)
    main = next((owners[quote.passage] for quote in quotes if quote.passage in owners), 0)
    placed = [_split_place(text) for text in filled.gaps]

    def find_owner(place: str) -> int:
        return owners.get(_read_id(place), main)

    def select_read_next(at: int) -> list[str]:
        return [name for name in filled.read_next if find_owner(name.partition(" ")[0]) == at]

    parts = tuple(
        Extraction(
            quotes=tuple(quote for quote in quotes if owners.get(quote.passage, main) == at),
            summary=summaries.get(each.source, "") or (summaries.get("", "") if at == main else ""),
            follow_ups=tuple(
                FollowUp(f.question, f.confidence, f.rationale)
                for f in filled.follow_ups
                if find_owner(f.passage) == at and f.question.strip()
            ),
            gaps=clean_texts([text for place, text in placed if find_owner(place) == at]),
            linked=tuple(
                LinkedSource(x.reference, x.context, x.priority)
                for x in filled.linked
                if find_owner(x.passage) == at and x.reference.strip()
            ),
            contradicts_known=clean_texts(filled.contradicts_known),
            terms=drop_duplicates(clean_texts(filled.terms)),
            read_next=drop_duplicates(clean_texts(select_read_next(at)))[:_MAX_NEXT],
            source=each.source,
        )
        for at, each in enumerate(sources)
    )
    return replace(parts[0], beside=parts[1:])


def _locate_quotes(given: Excerpt, filled: Sequence[WireQuote]) -> list[Quote]:
    """Return the quotes as they stand in their passages, each once, also for passages with the same words."""
    shown = [passage for each in given.documents for passage in each.passages]
    passages = {str(passage.id): passage for passage in shown}
    listed = {str(p.id): str(each.passages[0].id) for each in reversed(given.documents) for p in each.elsewhere}
    ids = {question.id for question in given.sub_questions}
    quotes: list[Quote] = []
    for found in filled:
        passage, text = _locate_quote(found, passages)
        passage = passage if passage in passages else listed.get(passage, str(shown[0].id))  # where it is refused
        answers = tuple(each for each in drop_duplicates(found.answers) if each in ids)
        subjects = match_subjects(found.subjects, given.subjects)
        quotes.append(Quote(passage, text, " ".join(found.claim.split()), found.confidence, answers, subjects))
    copies = map_copies(shown)
    copied = [replace(each, passage=own) for own, first in copies.items() for each in quotes if each.passage == first]
    return [*{(each.passage, each.quote): each for each in (*copied, *quotes)}.values()]


def _read_id(text: str) -> str:
    """Return the id of a passage as it is shown, however it was put: "C12" for "[S3:C12]"."""
    return text.strip().strip("[]").rpartition(":")[2]


def _split_summary(text: str) -> dict[str, str]:
    """Split "S3: ... S4, S5: ..." by source; what stands before the first id belongs to none."""
    found = list(_SOURCE_IDS.finditer(text))
    said = {"": text[: found[0].start() if found else len(text)].strip()}
    for one, end in zip(found, [*(each.start() for each in found[1:]), len(text)], strict=False):
        said |= dict.fromkeys(_ANY_ID.findall(one[0]), text[one.end() : end].strip())
    return said


def _split_place(text: str) -> tuple[str, str]:
    """Split a text that begins with the id of its passage into both."""
    found = _PLACE.match(text)
    return (found.group(1), text[found.end() :]) if found else ("", text)


def _locate_quote(found: WireQuote, passages: Mapping[str, Passage]) -> tuple[str, str]:
    """Find the quote in its passage, else in another that was shown; one that is nowhere goes on, to be counted."""
    named = _read_id(found.passage)
    for each in sorted(passages, key=lambda each: each != named):
        text = find_literal(found.quote, passages[each].text)
        if text is not None:
            return each, text
    return named, found.quote


def _make_example() -> Excerpt:
    only = Excerpt(
        "root/1",
        SOURCE.title,
        SOURCE.version,
        SOURCE.published,
        PASSAGES,
        QUESTION,
        QUESTIONS,
        SUBJECTS,
        "find figures",
        "questions: flow",
        "target confidence 0.7",
        discovery_intense=True,
        known_facts=("It is blue.",),
        terms=("displacement",),
        publisher="Pump makers",
        host="example.org",
        tasks=("Find the flow",),
        elsewhere=PASSAGES[1:],
        source="S3",
    )
    return replace(only, beside=(replace(only, title="Valve manual", version="", passages=PASSAGES[1:], source="S4"),))


extract: Role[Excerpt, Extraction] = Role(
    "extract", Excerpt, Extraction, "extract", wire=WireExtraction, convert=convert_extraction, example=_make_example
)
