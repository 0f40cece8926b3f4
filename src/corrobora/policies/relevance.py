"""Relevance: how far a sentence speaks to a question.

Knows stems, their rarity in what is read, neighbours and headings. Does not know any index of a library: the only
statistics are those of the text at hand, so that the same text always ranks the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

_FAMILY, _ENDING = 5, 3  # letters that words of one family share at least, and letters in which they may differ
_HEADING_SHARE = 0.35
_NEIGHBOUR_SHARE = 0.25
_TITLE_SHARE = 0.6
_SATURATION = 0.5  # a word said twice in one sentence says little more
_LENGTH = 22.0  # stems of a usual sentence


@dataclass(frozen=True, slots=True)
class SentenceTerms:
    """A sentence to be ranked: its stems, those of the headings above it, and its paragraph (neighbours share one)."""

    stems: tuple[str, ...]
    heading: frozenset[str] = frozenset()
    paragraph: int = 0


@dataclass(frozen=True, slots=True)
class RelevanceScore:
    """`total` ranks; `coverage` is the share of the question's weight that the sentence itself or its heading holds."""

    total: float
    coverage: float
    own: float  # share held by the sentence itself


def is_same_family(one: str, other: str) -> bool:
    """True if two stems are of one family of words: "direct" and "director", "nation" and "national"."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= _FAMILY and long.startswith(short) and len(long) - len(short) <= _ENDING


def compute_rarity(texts: Iterable[Iterable[str]]) -> dict[str, float]:
    """Return for each stem of `texts` its inverse document frequency, always above 0."""
    count: Counter[str] = Counter()
    total = 0
    for text in texts:
        total += 1
        count.update(set(text))
    return {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) + 0.3 for term, n in count.items()}


def weigh_by_rarity(wanted: Mapping[str, float], rare: Mapping[str, float]) -> dict[str, float]:
    """Multiply each wanted stem by its rarity, damped: what is rare in a short text is often rare by chance.

    A stem that is nowhere counts as a common one: it ranks nothing, and must not hide what is there.
    """
    top = max(rare.values(), default=1.0)
    return {term: weight * (0.5 + 0.5 * rare.get(term, 0.5 * top) / top) for term, weight in wanted.items()}


def damp_title_terms(weights: Mapping[str, float], title: Collection[str]) -> dict[str, float]:
    """Lower what the title of a source says: all of it is about that, and a sentence tells little by repeating it.

    Where the title holds all that is asked, nothing is lowered.
    """
    held = {term for term in weights if term in title}
    if len(held) == len(weights):
        return dict(weights)
    return {term: weight * (_TITLE_SHARE if term in held else 1.0) for term, weight in weights.items()}


def score_sentences(units: Sequence[SentenceTerms], weights: Mapping[str, float]) -> tuple[RelevanceScore, ...]:
    """Score every unit against weighted stems: BM25-like saturation by length, headings and neighbours of a paragraph.

    Returns one score for each unit, in their order; all totals are 0.0 where nothing matches.
    """
    mass = sum(weights.values()) or 1.0
    own = [_score_own_terms(unit, weights) for unit in units]
    scores: list[RelevanceScore] = []
    for at, unit in enumerate(units):
        mine = set(unit.stems)
        held = sum(weight for term, weight in weights.items() if term in mine)
        above = sum(weight for term, weight in weights.items() if term in unit.heading and term not in mine)
        around = max(
            (
                own[near]
                for near in (at - 1, at + 1)
                if 0 <= near < len(units) and units[near].paragraph == unit.paragraph
            ),
            default=0.0,
        )
        total = own[at] + _HEADING_SHARE * above + _NEIGHBOUR_SHARE * around
        scores.append(RelevanceScore(total / mass, (held + above) / mass, held / mass))
    return tuple(scores)


def _score_own_terms(unit: SentenceTerms, weights: Mapping[str, float]) -> float:
    norm = 0.5 + 0.5 * len(unit.stems) / _LENGTH
    counts = Counter(unit.stems)
    top = 1 + _SATURATION
    return sum(w * counts[t] * top / (counts[t] + _SATURATION * norm) for t, w in weights.items() if counts[t])
