"""Contradictions between sources or editions, and what else a source says beside its answer (insights).

Knows facts, the order of dated or numbered editions, and the conditions of TREE-30. Does not know which side is right:
both are kept.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from corrobora.analysts.extractive.lines import Line
from corrobora.domain.evidence import Contradiction, Fact, FollowUp, LinkedSource, Relation, Severity
from corrobora.domain.plan import SubQuestion
from corrobora.roles.extract import Excerpt, Extraction, Quote
from corrobora.text.comparison import (
    SAME_SUBJECT_SHARE,
    Aspect,
    Difference,
    ParsedStatement,
    compare_topics,
    find_difference,
    find_differences,
    find_other_time,
    list_statements,
)
from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.quantities import MONTH_NAMES, find_date_prefixes, find_years
from corrobora.text.questions import asks_to_compare, weigh_terms
from corrobora.text.tokens import fold_text, fold_whitespace, stem_text
from corrobora.text.vocabulary import Equivalence, add_aliased_stems, map_aliases

_PERIOD = re.compile(
    r"(?i)\b(?:(?:first|second|third|fourth|1st|2nd|3rd|4th) (?:quarter|half)|q[1-4]|week \d+|(?:\d{1,2}\.? )?"
    rf"(?:{'|'.join(MONTH_NAMES)})(?: \d{{1,2}}\b)?)\b"
)
_DATED = re.compile(  # "as of January 31st, 2023", "in release 3.4": what a statement is limited to
    r"(?i)\b(?:as of|in|for|during|through|throughout|end of|since|until|from|release|version) (?:the |early |late )?"
    rf"((?:(?:{'|'.join(MONTH_NAMES)})\b\.?(?: \d{{1,2}}(?:st|nd|rd|th)?\b)?)?,? ?\d{{4}}\b|"
    rf"(?:{'|'.join(MONTH_NAMES)})\b|q[1-4]\b|v?\d+(?:\.\d+)+)"
)
_INSTANCE = re.compile(r"\d{6,8}(?:[-_]\d{1,2})?|\d{4}[-_/]\d{1,2}(?:[-_/]\d{1,2})?")  # "minutes-2025-03.md"
_CODE = re.compile(r"[A-Za-z]+-?\d")  # "X200", "AAL2"
_YEAR = re.compile(r"\d{4}")
_PAIRS = 40  # contradictions reported at once, weightiest first
_SAME_VERB = 0.1  # what an obligation on the same verb adds to likeness
_COMMON = 60  # a stem in more sentences than this pairs nothing by itself
_WEIGHT = {aspect: at for at, aspect in enumerate(Aspect)}


@dataclass(frozen=True, slots=True)
class ComparedSentence:
    """One parsed sentence of one fact."""

    fact: Fact
    statement: ParsedStatement


def find_contradictions(facts: Sequence[Fact]) -> tuple[Contradiction, ...]:
    """Return the differences between facts of different origins, older edition first, most important first.

    Each sentence is compared only with its closest counterpart in each other edition, and only if that is mutual. A
    pair of sentences is reported once, and the order of the facts does not matter.
    """
    ordered = sorted(facts, key=lambda fact: fact.id)
    said = [ComparedSentence(fact, statement) for fact in ordered for statement in list_statements(fact.quote)]
    found: dict[frozenset[str], tuple[int, float, Contradiction]] = {}
    for alike, first, second in _match_sentences(said):
        made = _build_contradiction(said[first], said[second])
        if made is not None:
            pair = frozenset(" ".join(said[at].statement.text.split()) for at in (first, second))
            found.setdefault(pair, (made[0], -alike, made[1]))
    ranked = sorted(found.values(), key=lambda row: (*row[:2], row[2].a, row[2].b, row[2].claim))
    return tuple(row[2] for row in ranked[:_PAIRS])


def _edition_key(fact: Fact) -> str:
    """Return what a sentence is compared across: its version if one is stated, else its origin."""
    return fact.version or fact.origin or fact.source


def _match_sentences(said: Sequence[ComparedSentence]) -> list[tuple[float, int, int]]:
    """Match sentences of different editions one to one, the most similar first."""
    taken: set[tuple[int, str]] = set()
    matched: list[tuple[float, int, int]] = []
    for alike, first, second in sorted(_similar_pairs(said), key=lambda row: (-row[0], row[1], row[2])):
        ends = ((first, _edition_key(said[second].fact)), (second, _edition_key(said[first].fact)))
        if taken.isdisjoint(ends):
            taken.update(ends)
            matched.append((alike, first, second))
    return matched


def _similar_pairs(said: Sequence[ComparedSentence]) -> list[tuple[float, int, int]]:
    """Return the pairs of sentences of different editions on the same subject."""
    where: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(said):
        for term in one.statement.topic:
            where[term].append(at)
    pairs: set[tuple[int, int]] = set()
    for places in where.values():
        if len(places) <= _COMMON:
            pairs |= {(first, second) for n, first in enumerate(places) for second in places[n + 1 :]}
    found: list[tuple[float, int, int]] = []
    for first, second in sorted(pairs):
        one, other = said[first], said[second]
        if _edition_key(one.fact) == _edition_key(other.fact) or one.fact.source == other.fact.source:
            continue
        if _differ_in_subject(one.fact, other.fact) or _differ_in_period(one, other):
            continue
        alike = compare_topics(one.statement, other.statement)
        if alike >= SAME_SUBJECT_SHARE:
            same = {verb for _, verb in one.statement.duties if verb} & {verb for _, verb in other.statement.duties}
            found.append((alike + (_SAME_VERB if same else 0.0), first, second))
    return found


def _differ_in_subject(one: Fact, other: Fact) -> bool:
    """True if two titles or addresses differ only in an identifier or a period: two meetings contradict nobody."""
    if one.version or other.version:
        return False
    if one.url != other.url and _INSTANCE.sub("", one.url) == _INSTANCE.sub("", other.url):
        return True
    if one.title == other.title:
        return False
    (marks, named), (other_marks, other_named) = _title_identifiers(one.title), _title_identifiers(other.title)
    shared = len(named & other_named)
    apart = marks and other_marks and marks.isdisjoint(other_marks)
    return bool(apart) and 2 * shared >= min(len(named), len(other_named))


def _differ_in_period(one: ComparedSentence, other: ComparedSentence) -> bool:
    """True if each of two statements is limited to a period or release of its own."""
    if one.fact.version and other.fact.version:
        return False
    if find_other_time(one.statement, other.statement):
        return False  # of one event, which happens once
    first, second = _list_periods(one.statement.text), _list_periods(other.statement.text)
    return bool(first and second) and first.isdisjoint(second)


@lru_cache(maxsize=10_000)
def _list_periods(text: str) -> frozenset[str]:
    return frozenset(" ".join(match.group(1).lower().replace(",", " ").split()) for match in _DATED.finditer(text))


@lru_cache(maxsize=10_000)  # asked for every pair of sentences, of which a title has many
def _title_identifiers(title: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the identifiers and periods of a title, and the stems of its words."""
    codes = {m.text for m in find_mentions(title) if m.kind is not MentionKind.QUOTED and _CODE.search(m.text)}
    periods = {match.group().lower() for match in _PERIOD.finditer(title)}
    return frozenset(codes | periods), frozenset(stem_text(title))


def _build_contradiction(one: ComparedSentence, other: ComparedSentence) -> tuple[int, Contradiction] | None:
    first, second = _name_editions(one.fact, other.fact)
    order = compare_versions((first, one.fact.published), (second, other.fact.published))
    older, newer = (other, one) if order > 0 else (one, other)
    editions = bool(first and second and first != second)
    differs = find_difference(older.statement, newer.statement)
    if differs is None:
        return None
    superseded = editions and order != 0
    scope = ""
    if order != 0 or editions:
        scope = " -> ".join(
            label_version(said.fact.version, said.fact.published, said.fact.title) for said in (older, newer)
        )
    return _WEIGHT[differs.aspect], Contradiction(
        claim=_claim_text(older, newer),
        a=older.fact.id,
        b=newer.fact.id,
        relation=Relation.SUPERSEDES if superseded else Relation.CONTRADICTS,
        severity=_rate_severity(differs),
        resolved=superseded,
        difference=differs.text,
        scope=scope,
    )


def _name_editions(one: Fact, other: Fact) -> tuple[str, str]:
    """Return the versions of two facts; of titles that differ in nothing but a year, the years."""
    if not (one.version or other.version) and one.title != other.title:
        years = (find_years(one.title), find_years(other.title))
        if all(years) and _YEAR.sub("", one.title) == _YEAR.sub("", other.title):
            return str(years[0][-1]), str(years[1][-1])
    return one.version, other.version


def _claim_text(older: ComparedSentence, newer: ComparedSentence) -> str:
    """Return the sentence that names the common subject: the older one unless it is too long."""
    return older.statement.text if len(older.statement.text) <= 300 else newer.statement.text[:300]  # noqa: PLR2004 - one line


def _rate_severity(differs: Difference) -> Severity:
    if differs.aspect in (Aspect.NEGATION, Aspect.OBLIGATION) and differs.opposed:
        return Severity.HIGH
    return Severity.MEDIUM


_VERSION_NUMBER = re.compile(
    r"\b(?:revision|rev|version|ver|edition|release|v|draft|part|r)\.?\s?(\d{1,4})(?:\.(\d{1,4}))?"
)

VersionKey = tuple[int, int, int, int, int]


def make_version_key(version: str, published: str) -> VersionKey:
    """Return a key that rises with time: publication date, else the year (month) in the version, then its number."""
    folded = fold_text(version)
    numbered = _VERSION_NUMBER.search(folded)
    major, minor = (int(numbered.group(1)), int(numbered.group(2) or 0)) if numbered else (0, 0)
    dates = [each for text in (published, version) for each in (*find_date_prefixes(text), *map(str, find_years(text)))]
    year, month, day = (*map(int, dates[0].split("-") if dates else ()), 0, 0, 0)[:3]
    return year, month, day, major, minor


def compare_versions(a: tuple[str, str], b: tuple[str, str]) -> int:
    """Compare two (version, published): -1 if `a` is older, 1 if newer, 0 if the order is unknown."""
    first, second = make_version_key(*a), make_version_key(*b)
    for at, until in ((0, 3), (3, 5)):
        if first[at] and second[at] and first[at:until] != second[at:until]:
            return -1 if first[at:until] < second[at:until] else 1
    return 0


def label_version(version: str, published: str, title: str) -> str:
    """Return how an edition is named to a reader: its version, else its date, else its title."""
    return version or published[:10] or title.rstrip(" .:")


_TOPIC_SHARES = {True: 0.5, False: 0.75}  # of a topic that a difference must hold, by whether a change is asked for
_SERIOUS = {Severity.HIGH: 0, Severity.MEDIUM: 1, Severity.LOW: 2}


def filter_contradictions(
    question: str,
    parts: Sequence[SubQuestion],
    found: Sequence[Contradiction],
    pairs: Sequence[Equivalence] = (),
) -> tuple[Contradiction, ...]:
    """Keep the differences relevant to the question, the most serious and relevant first."""
    compares = asks_to_compare(question)
    kept: list[tuple[int, float, int, Contradiction]] = []
    for at, one in enumerate(found):
        near = max((_topic_nearness(one, part, pairs) for part in parts), default=0.0)
        if near >= _TOPIC_SHARES[compares] or (compares and one.severity is Severity.HIGH):
            kept.append((_SERIOUS[one.severity], -near, at, one))
    return tuple(row[3] for row in sorted(kept, key=lambda row: row[:3]))


def _topic_nearness(one: Contradiction, part: SubQuestion, pairs: Sequence[Equivalence]) -> float:
    """Return the share of a sub-question's topic in the differing sentence, other names counted."""
    topic = weigh_terms(part.text).topic
    held = add_aliased_stems(stem_text(one.claim), map_aliases(topic, pairs))
    return len(topic & held) / len(topic) if topic else 1.0


_CONFIDENT = 0.5  # below this, the key claims are weak: a condition of TREE-30
_LIMITATION = re.compile(
    r"(?i)\b(?:limitations?|future (?:work|research|studies)|further (?:research|study|work) (?:is|are)|"
    r"remains? (?:unclear|unknown|open)|"
    r"not (?:yet )?(?:known|addressed|covered|considered)|out of scope|open questions?)\b"
)
_REFERENCE = re.compile(
    r"\[([^\[\]]{2,160})\]\((https?://[^\s()]{4,400})\)|(?<![\w(\[/])(https?://[^\s<>()\[\]\"']{4,400})"
)
_LINKS = 5


def add_insights(
    given: Excerpt, lines: Sequence[Line], quotes: tuple[Quote, ...], terms: tuple[str, ...]
) -> Extraction:
    """Add insights under the conditions of TREE-30: weak claims, limitations, contradictions, discovery."""
    texts = [line.text for line in lines]
    stated = tuple(text for text in texts if _LIMITATION.search(text))[:3]
    against = tuple(_find_conflicts(given.known_facts, quotes))
    best = max((quote.confidence for quote in quotes), default=0.0)
    summary = " ".join(q.claim for q in sorted(quotes, key=lambda q: -q.confidence)[:2])
    if not (given.discovery_intense or best < _CONFIDENT or stated or against):
        return Extraction(quotes, summary, terms=terms)
    answered = {sq for quote in quotes for sq in quote.answers if quote.confidence >= _CONFIDENT}
    ups = tuple(
        FollowUp(part.text, round(1 - best, 3), "the source covers it only in part")
        for part in given.sub_questions
        if part.id not in answered
    )
    return Extraction(
        quotes,
        summary,
        follow_ups=ups,
        gaps=stated,
        linked=_linked_sources(given),
        contradicts_known=against,
        terms=terms,
    )


def _find_conflicts(known: Sequence[str], quotes: Sequence[Quote]) -> list[str]:
    return [
        f"{differs.text}: {quote.claim} (known: {fact})"
        for quote in quotes
        for fact, differs in [(fact, each) for fact in known for each in find_differences(fact, quote.quote)][:1]
    ]


def _linked_sources(given: Excerpt) -> tuple[LinkedSource, ...]:
    """Return the web addresses that the passages link to, with the words around them."""
    found: dict[str, LinkedSource] = {}
    wanted = set(stem_text(given.question))
    for passage in given.passages:
        for match in _REFERENCE.finditer(passage.text):
            address = (match.group(2) or match.group(3)).rstrip(".,;:")
            around = fold_whitespace(passage.text[max(0, match.start() - 80) : match.end() + 40])
            if address not in found:
                shared = len(wanted & set(stem_text(around))) / max(1, len(wanted))
                found[address] = LinkedSource(address, around, round(min(1.0, 0.3 + shared), 3))
    return tuple(sorted(found.values(), key=lambda link: (-link.priority, link.reference))[:_LINKS])
