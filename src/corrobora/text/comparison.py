"""Conflict: what differs between two statements about the same thing.

Knows words of obligation (the ladder of RFC 2119 and its everyday forms), negation, quantities, dates and wording.
Does not know which statement is right, nor which source is to be believed.

Support: does a sentence say what its quotes say?

Knows words, numbers, names and negation of both. Token overlap is a floor, not a verdict: a changed number, an
inverted negation or a foreign name lowers the status whatever the overlap (TRUTH-3). Does not know sources.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from corrobora.domain.report import Support
from corrobora.text.markup import quote_to_prose, strip_markup
from corrobora.text.mentions import MentionKind, Quantity, find_dates, find_mentions, find_quantities
from corrobora.text.ranking import jaccard_similarity, overlap_coefficient
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import fold_text, split_words, stem_text, stem_word


class Aspect(StrEnum):
    """In what two statements differ."""

    OBLIGATION = "obligation"
    NEGATION = "negation"
    QUANTITY = "quantity"
    DATE = "date"
    WORDING = "wording"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: in what, and the two readings, first statement first."""

    aspect: Aspect
    before: str
    after: str

    @property
    def text(self) -> str:
        """The difference as it is printed: "SHOULD NOT -> SHALL NOT"."""
        return f"{self.before} -> {self.after}"

    @property
    def opposed(self) -> bool:
        """True if both cannot hold at once; a stronger word or another wording may."""
        if self.aspect is Aspect.OBLIGATION:
            return (_rank_obligation(self.before) > 0) != (_rank_obligation(self.after) > 0)
        return self.aspect is not Aspect.WORDING


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence taken apart for comparison. Build it with `statement`."""

    text: str
    topic: frozenset[str]  # stems without obligation, negation and numbers
    duties: tuple[tuple[str, str], ...]  # (words of obligation, stem of the verb after them)
    negations: int
    amounts: tuple[Quantity, ...]
    days: tuple[str, ...]

    @property
    def force(self) -> int:
        """How strongly it binds, 0 (not at all) to 3 (must, must not)."""
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
_OBLIGATION_STEMS = frozenset(
    stem_word(part) for word in _OBLIGATION_RANKS for part in word.split() if stem_word(part)
) | {
    "must",
    "shall",
    "should",
    "may",
}
_MONTHS = frozenset(
    stem_word(m)
    for m in "january february march april may june july august september october november december".split()
)
_DIGIT = re.compile(r"\d")
SAME_SUBJECT_SHARE = 0.5  # share of common topic stems from which two statements speak of the same thing
CLOSE_SUBJECT_SHARE = 0.62
IDENTICAL_SUBJECT_SHARE = 0.75
_MIN_TOPIC = 2


def _rank_obligation(duty: str) -> int:
    return _OBLIGATION_RANKS.get(" ".join(fold_text(duty).split()), 0)


@lru_cache(maxsize=4_000)  # a fact is compared with every other one of its thread
def parse_statement(text: str) -> Statement:
    """Take a plain sentence apart."""
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
    """Say how far two statements speak of the same thing, 0 to 1: common topic stems, a short one inside a long one."""
    if min(len(a.topic), len(b.topic)) < _MIN_TOPIC:
        return 0.0
    return 0.7 * jaccard_similarity(a.topic, b.topic) + 0.3 * overlap_coefficient(a.topic, b.topic)


def find_difference(a: Statement, b: Statement, *, editions: bool = False) -> Difference | None:
    """Return the weightiest difference between two statements that are `ALIKE`, or None.

    `editions` says that they come from two editions of one document: only then is a mere change of words a difference.
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
    """Return the two sentences of two quotes that differ as `told`; the quotes whole, if no two do.

    Example:
        >>> told_apart("It is red. It must be shut.", "It is blue. It may be shut.", "must -> may")
        ('It must be shut.', 'It may be shut.')
    """
    found: list[tuple[float, str, str]] = []
    for mine in _parse_statements(one):
        for yours in _parse_statements(other):
            differs = find_difference(mine, yours, editions=True)
            if differs is not None and differs.text == told:
                found.append((compare_topics(mine, yours), mine.text, yours.text))
    best = max(found, key=lambda row: row[0], default=None)
    return (best[1], best[2]) if best is not None else (one, other)


def _parse_statements(quote: str) -> list[Statement]:
    read = strip_markup(quote)
    return [parse_statement(read[span.start : span.end]) for span in split_sentences(read)]


def _obligation_difference(a: Statement, b: Statement) -> Difference | None:
    """Compare obligations that stand before the same verb; with one on each side, compare those."""
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
    """Compare quantities of one unit, if each side has exactly one value for it."""
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
    """Return the one run of words that was replaced, if the sentences are equal before and after it."""
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
        return None  # it ends in a function word: a turn of phrase, not a term
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


FULL_OVERLAP = 0.6
PART_OVERLAP = 0.35
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATING_WORDS = frozenset(
    "not no never neither nor none nobody nothing without cannot lack lacks lacked fail fails failed".split()
)


@dataclass(frozen=True, slots=True)
class SupportCheck:
    """The status of one sentence, the share of its content words in its quotes, and what lowered the status."""

    support: Support
    overlap: float
    reasons: tuple[str, ...] = ()


def check_support(sentence: str, quotes: Sequence[str]) -> SupportCheck:
    """Check a sentence (without its markers) against the quotes it cites.

    A sentence that stands in a quote, or whose words do so one after another, is supported. Else every number and name
    of the sentence must occur in a quote, negation must agree with the best sentence of the quotes, and enough of its
    content words must be there.
    """
    if not quotes:
        return SupportCheck(Support.UNCITED, 0.0)
    folded = " ".join(fold_text(sentence).split()).rstrip(".!?")
    if any(folded in " ".join(fold_text(quote).split()) for quote in quotes) or _is_word_sequence(sentence, quotes):
        return SupportCheck(Support.SUPPORTED, 1.0)
    everything = "\n".join(
        (*quotes, *(quote_to_prose(quote) for quote in quotes if "\n" in quote))
    )  # values parted by commas
    overlap = token_overlap(sentence, everything)
    reasons: list[str] = []
    foreign = find_numbers(sentence) - find_numbers(everything)
    if foreign:
        reasons.append(f"numbers not in the quotes: {', '.join(sorted(foreign))}")
    names = _foreign_names(sentence, everything)
    if names:
        reasons.append(f"names not in the quotes: {', '.join(names)}")
    said = [quote[span.start : span.end] for quote in quotes for span in split_sentences(quote)] or list(quotes)
    best = max(said, key=lambda each: token_overlap(sentence, each))  # of a long quote, the sentence that speaks of it
    inverted = is_negated(sentence) != is_negated(best) and overlap >= FULL_OVERLAP and not _has_mixed_polarity(best)
    if inverted:
        reasons.append("negation differs from the quote")
    return SupportCheck(
        _classify_support(overlap, foreign=bool(foreign), names=bool(names), inverted=inverted), overlap, tuple(reasons)
    )


def _is_word_sequence(sentence: str, quotes: Sequence[str]) -> bool:
    """True if the words of a sentence stand in a quote one after another, as a list does that is told in one line."""
    said = f" {' '.join(split_words(sentence))} "
    return bool(said.strip()) and any(said in f" {' '.join(split_words(strip_markup(quote)))} " for quote in quotes)


def _classify_support(overlap: float, *, foreign: bool, names: bool, inverted: bool) -> Support:
    if inverted:
        return Support.CONTRADICTED
    if foreign or overlap < PART_OVERLAP:
        return Support.UNSUPPORTED
    if names or overlap < FULL_OVERLAP:
        return Support.PARTLY
    return Support.SUPPORTED


def find_numbers(text: str) -> frozenset[str]:
    """Numbers of a text in one spelling: thousands separators and trailing zeros of decimals dropped."""
    found: set[str] = set()
    for match in _NUMBER.finditer(text):
        plain = match.group().rstrip(".,")
        whole = (
            plain.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain) else plain.replace(",", ".")
        )
        found.add(whole.rstrip("0").rstrip(".") if "." in whole else whole)
    return frozenset(found)


def is_negated(text: str) -> bool:
    """Say whether a text negates, by an odd number of negating words."""
    return sum(word in _NEGATING_WORDS or word.endswith("n't") for word in _split_plain_words(text)) % 2 == 1


def _has_mixed_polarity(quote: str) -> bool:
    """A long quote with a negated and a plain clause says nothing about the polarity of one of them."""
    return len(split_words(quote)) > 40 and is_negated(quote)  # noqa: PLR2004 - words of two clauses


def _split_plain_words(text: str) -> list[str]:
    return fold_text(text).replace("’", "'").replace(",", " ").replace(".", " ").split()


def _foreign_names(sentence: str, evidence: str) -> tuple[str, ...]:
    """Names whose last part, or most of whose parts, the evidence never says: "Lake Bellow" is not "Lake Arden"."""
    known = frozenset(stem_text(evidence))
    found: list[str] = []
    for mention in find_mentions(sentence):
        parts = stem_text(mention.text)
        missing = [part for part in parts if part not in known]
        foreign = parts and (parts[-1] in missing or 2 * len(missing) > len(parts))
        if mention.kind is not MentionKind.QUOTED and foreign:
            found.append(mention.text)
    return tuple(dict.fromkeys(found))


def token_overlap(sentence: str, evidence: str) -> float:
    """Share of the sentence's content words that occur in the evidence (ANGLES-31)."""
    wanted = frozenset(stem_text(sentence))
    return len(wanted & frozenset(stem_text(evidence))) / len(wanted) if wanted else 0.0
