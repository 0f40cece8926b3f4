"""Comparison of statements: in which respect two of them differ.

Knows words of obligation (RFC 2119 and everyday forms), negation, quantities, dates and word overlap. Does not know
which statement is right or which source to believe.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from corrobora.text.quantities import MONTH_NAMES, Quantity, find_dates, find_quantities
from corrobora.text.ranking import jaccard_similarity, overlap_coefficient
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import fold_text, fold_whitespace, split_words, stem_word


class Aspect(StrEnum):
    """The respect in which two statements differ."""

    OBLIGATION = "obligation"
    NEGATION = "negation"
    QUANTITY = "quantity"
    DATE = "date"
    WORDING = "wording"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: its aspect and the two readings, in the order of the statements."""

    aspect: Aspect
    before: str
    after: str

    @property
    def text(self) -> str:
        """The difference as printed: "SHOULD NOT -> SHALL NOT"."""
        return f"{self.before} -> {self.after}"

    @property
    def opposed(self) -> bool:
        """True if the two readings exclude each other; a stronger obligation or another wording does not."""
        if self.aspect is Aspect.OBLIGATION:
            return (_rank_obligation(self.before) > 0) != (_rank_obligation(self.after) > 0)
        return self.aspect is not Aspect.WORDING


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence parsed for comparison; made by `parse_statement`."""

    text: str
    topic: frozenset[str]  # stems without obligation, negation and numbers
    duties: tuple[tuple[str, str], ...]  # (words of obligation, stem of the verb after them)
    negations: int
    amounts: tuple[Quantity, ...]
    days: tuple[str, ...]

    @property
    def force(self) -> int:
        """The strength of its strongest obligation, from 0 (none) to 3 (must, must not)."""
        return max((abs(_rank_obligation(duty)) for duty, _ in self.duties), default=0)


_OBLIGATION_RANKS = {
    "must": 3, "shall": 3, "required": 3, "mandatory": 3, "should": 2, "recommended": 2, "may": 1, "optional": 1,
    "permitted": 1, "allowed": 1, "acceptable": 1,
    "should not": -2, "not recommended": -2, "discouraged": -2, "must not": -3, "shall not": -3, "may not": -3,
    "cannot": -3, "can not": -3, "prohibited": -3, "forbidden": -3, "not permitted": -3, "not allowed": -3,
    "not acceptable": -3, "not required": 1, "deprecated": -2,
}  # fmt: skip
_OBLIGATION = re.compile(
    r"(?i)\b(?:(must|shall|should|may)(?:\s+(not)\b)?|(cannot|can not)|"
    r"(not\s+)?(?:(?:be|been|being|is|are|was|were)\s+)?"
    r"\b(required|mandatory|recommended|optional|permitted|allowed|acceptable|discouraged|prohibited|forbidden|deprecated))\b"
)
_NEGATION_WORDS = frozenset(
    "not no never none neither nor without cannot isn aren wasn weren don doesn didn won wouldn hasn haven".split()
)
_OBLIGATION_STEMS = frozenset(map(stem_word, " ".join(_OBLIGATION_RANKS).split())) | {"must", "shall", "should", "may"}
_MONTHS = frozenset(map(stem_word, MONTH_NAMES))
_DIGIT = re.compile(r"\d")
SAME_SUBJECT_SHARE = 0.5  # share of common topic stems from which two statements have the same subject
CLOSE_SUBJECT_SHARE = 0.62
IDENTICAL_SUBJECT_SHARE = 0.75
_MIN_TOPIC = 2


def _rank_obligation(duty: str) -> int:
    return _OBLIGATION_RANKS.get(" ".join(fold_text(duty).split()), 0)


@lru_cache(maxsize=4_000)  # a fact is compared with every other one of its thread
def parse_statement(text: str) -> Statement:
    """Parse a plain sentence for comparison."""
    found: list[tuple[str, str]] = []
    for match in _OBLIGATION.finditer(text):
        modal, modal_not, cannot, adjective_not, adjective = match.groups()
        said = " ".join(part for part in (modal, modal_not, cannot) if part) or f"{adjective_not or ''}{adjective}"
        following = [stem_word(word) for word in split_words(text[match.end() : match.end() + 40])[:3]]
        found.append((" ".join(said.split()), next((word for word in following if word), "")))
    folded = split_words(text)
    topic = frozenset(
        s
        for word in folded
        if (s := stem_word(word)) and s not in _OBLIGATION_STEMS and s not in _MONTHS and _DIGIT.search(s) is None
    )
    negations = sum(1 for word in folded if word in _NEGATION_WORDS)
    return Statement(text, topic, tuple(found), negations, find_quantities(text), find_dates(text))


def compare_topics(a: Statement, b: Statement) -> float:
    """Return how similar the topics of two statements are, 0 to 1; a short topic inside a long one counts extra."""
    if min(len(a.topic), len(b.topic)) < _MIN_TOPIC:
        return 0.0
    return 0.7 * jaccard_similarity(a.topic, b.topic) + 0.3 * overlap_coefficient(a.topic, b.topic)


def find_difference(a: Statement, b: Statement, *, editions: bool = False) -> Difference | None:
    """Return the most important difference between two statements on the same subject, or None.

    With `editions` the statements come from two editions of one document; only then does a mere change of wording
    count.
    """
    alike = compare_topics(a, b)
    if alike < SAME_SUBJECT_SHARE:
        return None
    found = _obligation_difference(a, b)
    if found is not None:
        return found
    if alike < CLOSE_SUBJECT_SHARE:
        return None
    same_duties = {verb for _, verb in a.duties} == {verb for _, verb in b.duties}
    found = _date_difference(a, b) or (_amount_difference(a, b) if same_duties else None)
    if found is not None:
        return found
    if not a.duties and not b.duties and a.negations % 2 != b.negations % 2:
        return Difference(Aspect.NEGATION, _find_negation_word(a), _find_negation_word(b))
    return _wording_difference(a, b) if editions else None


def find_differing_sentences(one: str, other: str, told: str) -> tuple[str, str]:
    """Return the sentences of two quotes that show the difference `told`, or the whole quotes if none do."""
    found: list[tuple[float, str, str]] = []
    for mine in _parse_statements(one):
        for yours in _parse_statements(other):
            differs = find_difference(mine, yours, editions=True)
            if differs is not None and differs.text == told:
                found.append((compare_topics(mine, yours), mine.text, yours.text))
    best = max(found, key=lambda row: row[0], default=None)
    return (best[1], best[2]) if best is not None else (one, other)


def _parse_statements(quote: str) -> list[Statement]:
    read = fold_whitespace(quote)
    return [parse_statement(read[span.start : span.end]) for span in split_sentences(read)]


def _obligation_difference(a: Statement, b: Statement) -> Difference | None:
    """Compare obligations on the same verb, or the only obligation of each side if the subject is identical."""
    pairs = [(mine, yours) for mine, verb in a.duties for yours, other in b.duties if verb and verb == other]
    if (
        not pairs
        and len(a.duties) == len(b.duties) == 1
        and compare_topics(a, b) >= IDENTICAL_SUBJECT_SHARE
        and _same_amounts(a, b)
    ):
        pairs = [(a.duties[0][0], b.duties[0][0])]
    kept = {_rank_obligation(mine) for mine, yours in pairs if _rank_obligation(mine) == _rank_obligation(yours)}
    for mine, yours in pairs:
        first, second = _rank_obligation(mine), _rank_obligation(yours)
        if first != second and first not in kept and second not in kept:
            return Difference(Aspect.OBLIGATION, mine, yours)
    return None


def _same_amounts(a: Statement, b: Statement) -> bool:
    return {(q.value, q.unit) for q in a.amounts} == {(q.value, q.unit) for q in b.amounts}


def _amount_difference(a: Statement, b: Statement) -> Difference | None:
    """Compare quantities of the same unit if each side states exactly one value for it."""
    for unit in dict.fromkeys(q.unit for q in a.amounts):
        mine = {q.value: q for q in a.amounts if q.unit == unit}
        yours = {q.value: q for q in b.amounts if q.unit == unit}
        if len(mine) == len(yours) == 1 and mine.keys() != yours.keys():
            first, second = next(iter(mine.values())), next(iter(yours.values()))
            return Difference(Aspect.QUANTITY, first.text, second.text)
    return None


def _date_difference(a: Statement, b: Statement) -> Difference | None:
    if len(a.days) == len(b.days) == 1 and a.days != b.days:
        return Difference(Aspect.DATE, a.days[0], b.days[0])
    return None


def _find_negation_word(one: Statement) -> str:
    return next((word for word in split_words(one.text) if word in _NEGATION_WORDS), "affirmed")


def _wording_difference(a: Statement, b: Statement) -> Difference | None:
    """Return the single run of words that was replaced, if the sentences agree before and after it."""
    mine, yours = a.text.split(), b.text.split()
    start = 0
    while start < min(len(mine), len(yours)) and fold_text(mine[start]) == fold_text(yours[start]):
        start += 1
    end = 0
    while end < min(len(mine), len(yours)) - start and fold_text(mine[-1 - end]) == fold_text(yours[-1 - end]):
        end += 1
    before, after = mine[start : len(mine) - end], yours[start : len(yours) - end]
    same = start + end
    if not (1 <= len(before) <= 4 and 1 <= len(after) <= 4) or same < 8:  # noqa: PLR2004 - a term, in a whole sentence
        return None
    if stem_word(fold_text(before[-1].strip(".,;:"))) == "" or stem_word(fold_text(after[-1].strip(".,;:"))) == "":
        return None  # it ends in a function word: an idiom, not a term
    first, second = (" ".join(said).strip('.,;:"“”‘’()') for said in (before, after))
    if {stem_word(w) for w in split_words(first)} == {stem_word(w) for w in split_words(second)} or _DIGIT.search(
        first + second
    ):
        return None
    if fold_text(first).startswith(fold_text(second)) or fold_text(second).startswith(
        fold_text(first)
    ):  # "Section" and "Sec"
        return None
    return Difference(Aspect.WORDING, first, second)
