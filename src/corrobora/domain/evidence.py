"""Evidence: sources, passages, quotes, facts, and relations between facts.

Knows that every fact has a quote that stands literally in the snapshot of its source. Does not know where snapshots are
stored or how facts were found.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

SourceId = NewType("SourceId", str)  # "S12": the library's number of a stored source
PassageId = NewType("PassageId", str)  # "C345": the library's number of a stored passage
FactId = NewType("FactId", str)  # "F" + 12 hex digits of source and quote: equal quotes are one fact


class Grade(StrEnum):
    """The three confidence grades (TRIPLET-23); computed, never taken from a model."""

    VERIFIED = "VERIFIED"
    PLAUSIBLE = "PLAUSIBLE"
    UNVERIFIED = "UNVERIFIED"


@dataclass(frozen=True, slots=True)
class Statement:
    """What several facts say alike: copies and paraphrases together, each publisher counted once (TRUTH-4)."""

    facts: tuple[FactId, ...]
    publishers: tuple[str, ...]  # independent ones: hosts, or origins of documents
    grade: Grade


class ReadOutcome(StrEnum):
    """The closed set of outcomes: every requested document has exactly one (TRUTH-5)."""

    READ = "read"
    EMPTY = "empty"
    DRIFTED = "drifted"
    SKIPPED = "skipped"  # over the profile's reads, or already read in this run
    REFUSED = "refused"  # address, scheme, port, policy
    ROBOTS = "robots"
    NOT_FOUND = "not_found"
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    BROKEN = "broken"
    ENCRYPTED = "encrypted"
    NOT_CONTENT = "not_content"
    FAILED = "failed"
    CUT = "cut"  # the reserve was reached first


OPENED = frozenset({ReadOutcome.READ, ReadOutcome.DRIFTED, ReadOutcome.EMPTY})  # outcomes of what could be opened


@dataclass(frozen=True, slots=True)
class Source:
    """A stored source. `origin` is the hash of its text: copies of one origin are a single independent source."""

    id: SourceId
    title: str
    url: str  # a web address, or a file path relative to its library
    snapshot: str  # sha256 of the stored text
    origin: str = ""
    version: str = ""  # as stated by the source: "Revision 3 (June 2017)"
    published: str = ""  # ISO date or year, "" if unknown
    publisher: str = ""  # site, outlet or issuing body, "" if unknown
    kind: str = "document"  # document | web
    primary: bool = False  # an official or first-hand source, as far as code can tell
    authors: tuple[str, ...] = ()  # "Family, Given" of a person, any other name as it is stated


@dataclass(frozen=True, slots=True)
class Passage:
    """A span of a snapshot, about 256 tokens, with the headings above it. `start` and `end` index characters."""

    id: PassageId
    source: SourceId
    text: str
    start: int
    end: int
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """One search in natural language. `site` restricts or suggests a place, as the phase says (TRIPLET-17)."""

    text: str
    site: str = ""
    intent: str = ""
    language: str = ""  # the tag of the language that results are wanted in, "" for any


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. A library hit names its source and passage; a web hit has an address to read."""

    url: str
    title: str
    snippet: str = ""
    score: float = 0.0
    provider: str = ""
    query: str = ""
    published: str = ""
    source: SourceId | None = None
    passage: PassageId | None = None
    linked_from: str = ""  # the title or alias whose mention led here
    identifier: str = ""  # of a work: "doi:10.1000/182", "arXiv:2301.00001v1", "PMID 123"
    authors: tuple[str, ...] = ()  # as a register of works names them

    @property
    def key(self) -> str:
        """What tells hits apart: the address, and the passage of a library hit."""
        return f"{self.url}#{self.passage}" if self.passage else self.url


@dataclass(frozen=True, slots=True)
class Document:
    """What a reader returns for a hit: the stored source, its whole text, and the passages worth reading."""

    source: Source
    text: str
    passages: tuple[Passage, ...]
    truncated: bool = False


def read_file_name(url: str) -> str:
    """Return the words of the path of a document's file, without its ending; "" for a page of the web."""
    return _NO_WORD.sub(" ", FILE_ENDING.sub("", url)).strip() if "." in url and "://" not in url else ""


def fact_id(source: SourceId, quote: str) -> FactId:
    """Derive a fact's id from its source and its quote with white space folded, so that equal quotes are one fact."""
    folded = " ".join(quote.split())
    return FactId("F" + hashlib.sha256(f"{source}\0{folded}".encode()).hexdigest()[:12])


FILE_ENDING = re.compile(r"(?<=[^\d/])\.[^./]*\Z|(?<=\d)\.[A-Za-z][^./]*\Z")  # "terms-1.1" has none
_NO_WORD = re.compile(r"[\W_]+")
LOOK_ALIKES = {  # typographic quotation marks and dashes, and their plain forms
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4`", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
}
INVISIBLE = "\u00ad\u200b\u2060\ufeff"  # soft hyphen, zero-width space, word joiner, byte order mark
_PLAIN_FORMS = {**LOOK_ALIKES, "\u2026": "...", **dict.fromkeys(INVISIBLE, "")}
_FANCY = re.compile(f"[{''.join(_PLAIN_FORMS)}]")


def fold_typography(text: str) -> str:
    """Return a text with plain quotation marks, dashes and dots, and without invisible characters."""
    return text.replace("`", "'") if text.isascii() else _FANCY.sub(lambda found: _PLAIN_FORMS[found[0]], text)


def locate_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Find `quote` in `text`; return its character offsets, or None.

    Runs of white space are equal. Otherwise a quote may differ from the text only in the shape of quotation marks,
    dashes and dots of omission, and in invisible characters (bad-input M20): not in case, and without NFKC (10² must
    not become 102). A blank quote is never found.
    """
    found = _find_literal(quote, text)
    if found is not None or (quote.isascii() and text.isascii()):
        return found
    shown, places = _plain_form(text)
    found = _find_literal(_plain_form(quote)[0], shown)
    if found is None or places is None:
        return found
    return places[found[0]], places[found[1] - 1] + 1


def _plain_form(text: str) -> tuple[str, list[int] | None]:
    """Return the folded text and, if its length changed, the old index of each character."""
    plain = fold_typography(text)
    if len(plain) == len(text) and not any(letter in text for letter in INVISIBLE):
        return plain, None
    return plain, [at for at, letter in enumerate(text) for _ in fold_typography(letter)]


def _find_literal(quote: str, text: str) -> tuple[int, int] | None:
    plain = quote.strip()
    if not plain:
        return None
    at = text.find(plain)
    if at >= 0:
        return at, at + len(plain)
    found = re.search(r"\s+".join(map(re.escape, quote.split())), text)
    return found.span() if found else None


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement with the literal quote that supports it.

    Made by `Fact.from_quote`, which refuses a quote that is not in the text of the snapshot (TRUTH-1).
    """

    id: FactId
    claim: str  # one sentence; equal to the quote for the extractive analyst
    quote: str  # exactly as in the snapshot
    source: SourceId
    passage: PassageId
    start: int
    end: int
    confidence: float = 0.5  # 0..1, what the extractor reports (TREE-29)
    grade: Grade = Grade.UNVERIFIED
    answers: tuple[str, ...] = ()  # ids of the sub-questions it answers
    subjects: tuple[str, ...] = ()
    title: str = ""
    url: str = ""
    origin: str = ""
    version: str = ""
    published: str = ""
    heading: str = ""
    inner_heading: str = ""  # the heading inside its passage below which it stands
    primary: bool = False
    score: float = 0.0  # relevance to the question, on the scale of the ranker
    kind: str = "document"  # document (given by the user) | web: what its source is; used for grading
    publisher: str = ""  # as the source states it

    @classmethod
    def from_quote(  # noqa: PLR0913 - named parts of one value
        cls,
        document: Document,
        passage: Passage,
        quote: str,
        *,
        claim: str = "",
        confidence: float = 0.5,
        answers: tuple[str, ...] = (),
        subjects: tuple[str, ...] = (),
        score: float = 0.0,
    ) -> Fact | None:
        """Make a fact if `quote` occurs literally in the document's text, else return None."""
        found = locate_quote(quote, document.text[passage.start : passage.end])
        shift = passage.start
        if found is None:
            found, shift = locate_quote(quote, document.text), 0
        if found is None:
            return None
        start, end = found[0] + shift, found[1] + shift
        literal = document.text[start:end]
        source = document.source
        return cls(
            id=fact_id(source.id, literal),
            claim=claim or " ".join(literal.split()),
            quote=literal,
            source=source.id,
            passage=passage.id,
            start=start,
            end=end,
            confidence=min(1.0, max(0.0, confidence)),
            answers=answers,
            subjects=subjects,
            title=source.title,
            url=source.url,
            origin=source.origin or source.snapshot,
            version=source.version,
            published=source.published,
            heading=passage.heading,
            primary=source.primary,
            score=score,
            kind=source.kind,
            publisher=source.publisher,
        )

    @property
    def host(self) -> str:
        """The host of a page of the web, "" for a document."""
        return self.url.partition("://")[2].partition("/")[0] if "://" in self.url else ""

    @property
    def place(self) -> str:
        """The path of headings above the quote, with those inside its passage."""
        return " > ".join(filter(None, (self.heading, self.inner_heading)))

    @property
    def marker(self) -> str:
        """The citation marker that writers use: `[S3:C2]`."""
        return f"[{self.source}:{self.passage}]"


class Relation(StrEnum):
    """The relation between two facts (TRUTH-4)."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    QUALIFIES = "qualifies"
    SUPERSEDES = "supersedes"


class Severity(StrEnum):
    """How serious a contradiction is; only HIGH blocks convergence (TRIPLET-40)."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two facts that differ about one claim; both are kept and printed. `scope` says where each holds, if known."""

    claim: str
    a: FactId
    b: FactId
    relation: Relation = Relation.CONTRADICTS
    severity: Severity = Severity.MEDIUM
    resolved: bool = False
    difference: str = ""  # "SHOULD NOT -> SHALL NOT", "8 -> 12 characters"
    scope: str = ""

    @property
    def key(self) -> tuple[frozenset[FactId], str]:
        """What tells contradictions apart: both facts, and the claim where two of their sentences may differ."""
        return frozenset((self.a, self.b)), self.claim if self.difference else ""

    @property
    def blocking(self) -> bool:
        """True for an open contradiction above MEDIUM (TRIPLET-40)."""
        return not self.resolved and self.severity is Severity.HIGH


@dataclass(frozen=True, slots=True)
class LinkedSource:
    """A source mentioned in another source and worth reading (TREE-30)."""

    reference: str
    context: str
    priority: float = 0.5
    answers: tuple[str, ...] = ()  # ids of the sub-questions that a scout chose it for; () for all


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question that a source raises (TREE-30)."""

    question: str
    confidence: float
    rationale: str


class InsightKind(StrEnum):
    """What a source may offer beyond the question (TREE-30)."""

    FOLLOW_UP = "follow_up"  # a question that it raises
    GAP = "gap"  # a limitation or future work that it names
    LINKED = "linked"  # a source that it refers to


@dataclass(frozen=True, slots=True)
class Insight:
    """An optional insight with its citation, as the knowledge base keeps it across runs (TREE-32)."""

    kind: InsightKind
    text: str  # the question, the gap or the reference
    source: SourceId
    why: str = ""  # the rationale, or the words around the reference
    confidence: float = 0.5  # of a question; of a reference, its priority
    title: str = ""  # of the source


@dataclass(frozen=True, slots=True)
class KnownConflict:
    """A fact that differs from a known fact of the brief: it stays open, and both sides are kept (TRIPLET-50)."""

    known: str  # the known fact, as the brief states it
    fact: FactId
    difference: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading one document for one intent, with its single outcome."""

    hit: Hit
    outcome: ReadOutcome
    source: SourceId | None = None
    passages: tuple[PassageId, ...] = ()
    facts: tuple[Fact, ...] = ()
    note: str = ""  # why, if not read; which axis, if drifted
    title: str = ""
    summary: str = ""
    follow_ups: tuple[FollowUp, ...] = ()
    gaps: tuple[str, ...] = ()
    linked: tuple[LinkedSource, ...] = ()
    dropped_quotes: int = 0  # quotes not found in the snapshot, or at no single place of it: never facts
    terms: tuple[str, ...] = ()  # the source's words for what was asked, for the next query
    again: bool = False  # read again with words learned since; nothing was requested
    attempts: int = 1  # requests of the address (TIMED-17)
    drift_checked: bool = False  # checked for drift before facts were taken (TRIPLET-10)
    against: tuple[KnownConflict, ...] = ()  # facts that differ from what the brief takes as known
    others: tuple[Fact, ...] = ()  # facts that answer what other threads of the run ask
    asks: tuple[Hit, ...] = ()  # sections and documents that its reader wants to see next
    missing: tuple[str, ...] = ()  # documents that its reader asked for and nothing here holds
