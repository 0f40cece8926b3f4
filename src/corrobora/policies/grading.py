"""Grading: what a fact is worth, and which facts are independent witnesses of each other.

Knows sources, origins and the words of quotes. Does not know what a model thinks of its own findings: a grade is
computed from who says it and who else says it, never taken from an answer.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from urllib.parse import urlsplit

from corrobora.domain.evidence import Fact, Grade
from corrobora.text.tokens import split_words, stem_text

GRADE_RANK: Mapping[Grade, int] = MappingProxyType({Grade.UNVERIFIED: 0, Grade.PLAUSIBLE: 1, Grade.VERIFIED: 2})
MIN_AGREEMENT = 0.6  # share of the shorter statement's stems that both must have
MIN_AGREEING_STEMS = 3
COPY_SHARE_ABOVE = 0.9  # statements that share more of their words than this ...
MIN_COPIED_STEMS = 8  # ... and are this long were copied from each other

_OFFICIAL_LABELS = frozenset({"gov", "mil", "edu", "int", "gob", "gouv", "govt"})
_BELOW_COUNTRY = frozenset({"ac", "edu", "gov", "gob", "gouv", "govt", "mil"})  # gov.uk, ac.jp
_STANDARDS = frozenset(
    {"ietf.org", "rfc-editor.org", "w3.org", "iso.org", "iec.ch", "ieee.org", "ecma-international.org", "etsi.org"}
    | {"unicode.org", "itu.int", "oasis-open.org", "europa.eu", "un.org"}
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_STANCE_WORDS = frozenset("not no never nor cannot without neither none should shall must may".split())


def is_official(url: str) -> bool:
    """True for addresses of governments, universities, treaty bodies and standards bodies, as far as a name tells."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return False
    labels = host.split(".")
    if len(labels) < 2:  # noqa: PLR2004 - a name without a dot belongs to nobody
        return False
    below_country = len(labels[-1]) == 2 and labels[-2] in _BELOW_COUNTRY  # noqa: PLR2004 - country codes
    known = any(host == name or host.endswith(f".{name}") for name in _STANDARDS)
    return labels[-1] in _OFFICIAL_LABELS or below_country or known


def identify_witness(fact: Fact) -> str:
    """Name the witness behind a fact: its web host, else the origin of its text. Copies share one (TRUTH-4)."""
    if fact.kind == "web":
        try:
            host = (urlsplit(fact.url).hostname or "").removeprefix("www.")
        except ValueError:
            host = ""
        if host:
            return f"host:{host}"
    return f"origin:{fact.origin or fact.source}"


def corroborates(other: Fact, fact: Fact) -> bool:
    """True if `other` is an independent witness of the same statement, with the same numbers and the same stance."""
    return _is_independent(other, fact) and _is_agreement(
        _QuoteFeatures.from_fact(other), _QuoteFeatures.from_fact(fact)
    )


def count_witnesses(fact: Fact, all_facts: Iterable[Fact]) -> int:
    """Count the independent witnesses of a fact, itself included."""
    return len({identify_witness(fact)} | {identify_witness(each) for each in all_facts if corroborates(each, fact)})


def grade_fact(fact: Fact, all_facts: Iterable[Fact]) -> Grade:
    """Grade one fact (TRIPLET-23).

    VERIFIED: a primary or official source, or independent agreement. PLAUSIBLE: a document that the user gave, a
    credible secondary source. UNVERIFIED: a single web page of unknown standing.
    """
    if _grade_by_source(fact) is Grade.VERIFIED:
        return Grade.VERIFIED
    return Grade.VERIFIED if any(corroborates(each, fact) for each in all_facts) else _grade_by_source(fact)


def grade_facts(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Grade all facts of a thread at once, in their order; equal to `grade` on each, but compares likely pairs only."""
    statements = [_QuoteFeatures.from_fact(fact) for fact in facts]
    having: dict[str, list[int]] = {}
    for at, statement in enumerate(statements):
        for stem in statement.stems:
            having.setdefault(stem, []).append(at)
    result: list[Fact] = []
    for at, fact in enumerate(facts):
        found = _grade_by_source(fact)
        if found is not Grade.VERIFIED:
            shared = Counter(other for stem in statements[at].stems for other in having[stem])
            likely = (other for other, count in shared.items() if count >= MIN_AGREEING_STEMS)
            if any(_is_independent(facts[k], fact) and _is_agreement(statements[k], statements[at]) for k in likely):
                found = Grade.VERIFIED
        result.append(fact if fact.grade is found else replace(fact, grade=found))
    return tuple(result)


def sort_by_grade(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Order facts by grade, confidence and relevance; facts that are equal in all keep their order."""
    return tuple(sorted(facts, key=lambda fact: (-GRADE_RANK[fact.grade], -fact.confidence, -fact.score)))


def best_grade(facts: Iterable[Fact]) -> Grade | None:
    """Return the best grade among facts, None if there are none."""
    return max((fact.grade for fact in facts), key=GRADE_RANK.__getitem__, default=None)


def combine_confidence(facts: Iterable[Fact]) -> float:
    """Combine the numeric confidence of facts about one thing, in [0, 1] (TREE-18).

    Independent witnesses add up (one minus the product of doubts); of one witness only the surest fact counts.
    """
    surest: dict[str, float] = {}
    for fact in facts:
        surest[identify_witness(fact)] = max(
            surest.get(identify_witness(fact), 0.0), min(1.0, max(0.0, fact.confidence))
        )
    doubt = 1.0
    for each in surest.values():
        doubt *= 1.0 - each
    return 1.0 - doubt


@dataclass(frozen=True, slots=True)
class _QuoteFeatures:
    """What two facts are compared by: stems, numbers, and words of negation and obligation."""

    stems: frozenset[str]
    numbers: frozenset[str]
    stance: frozenset[str]

    @classmethod
    def from_fact(cls, fact: Fact) -> _QuoteFeatures:
        """Read the quote, not the claim: a claim is a model's wording."""
        return _read_features(fact.quote)


@functools.lru_cache(maxsize=4_096)  # every round compares all facts of its thread anew
def _read_features(quote: str) -> _QuoteFeatures:
    stance = frozenset(split_words(quote)) & _STANCE_WORDS
    if "n't" in quote or "n’t" in quote:
        stance |= {"not"}
    return _QuoteFeatures(frozenset(stem_text(quote)), frozenset(_NUMBER.findall(quote)), stance)


def _grade_by_source(fact: Fact) -> Grade:
    """Grade a fact by its source alone."""
    if fact.primary or is_official(fact.url):
        return Grade.VERIFIED
    return Grade.UNVERIFIED if fact.kind == "web" else Grade.PLAUSIBLE


def _is_independent(other: Fact, fact: Fact) -> bool:
    same_origin = bool(fact.origin) and fact.origin == other.origin
    return not same_origin and identify_witness(other) != identify_witness(fact)


def _is_agreement(other: _QuoteFeatures, fact: _QuoteFeatures) -> bool:
    shared = len(other.stems & fact.stems)
    shorter = min(len(other.stems), len(fact.stems))
    if shared < MIN_AGREEING_STEMS or shared < MIN_AGREEMENT * shorter:
        return False
    if not fact.numbers <= other.numbers or other.stance != fact.stance:
        return False
    both = len(other.stems | fact.stems)
    copied = shorter >= MIN_COPIED_STEMS and shared >= COPY_SHARE_ABOVE * both
    return not copied
