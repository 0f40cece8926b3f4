"""Selection: which facts fit a text best without repetition.

Knows facts and questions; the worth of a fact is that of its best sentence. Keeps two editions of one statement apart:
that both say it, or differ, is a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from corrobora.analysts.extractive.extract import map_categories, map_names
from corrobora.analysts.extractive.lines import is_turn, split_joined_names
from corrobora.analysts.extractive.ranker import Ranked, Sentence, rank_sentences
from corrobora.domain.evidence import Fact
from corrobora.text.answers import FITS_KIND
from corrobora.text.markup import LIST_ITEM
from corrobora.text.ranking import jaccard_similarity, overlap_coefficient
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import stem_text
from corrobora.text.vocabulary import Equivalence, find_equivalences, find_expansions

_SAME = 0.8  # share of common stems from which two statements of one edition are one
_INSIDE, _LEAST_STEMS = 0.95, 5  # or of the shorter one's stems, where it has as many


@dataclass(frozen=True, slots=True)
class RankedFact:
    """A fact with its worth for one text."""

    fact: Fact
    worth: float
    stems: frozenset[str]
    core: str = ""  # its sentence that speaks best
    share: float = 0.0  # of the topic of the text that it holds, with its headings
    fits: bool = False  # a sentence of it is of the very kind that is asked for


@lru_cache(maxsize=2_000)
def _split_fact(fact: Fact, *, spoken: bool) -> tuple[Sentence, ...]:
    """Take a fact apart into its sentences."""
    above = frozenset(stem_text(split_joined_names(f"{fact.title} {fact.heading} {fact.version}")))
    found: list[Sentence] = []
    for span in split_sentences(fact.quote):
        text = fact.quote[span.start : span.end]
        listed = LIST_ITEM.match(text) is not None
        stems = stem_text(split_joined_names(text))
        found.append(Sentence(text, stems, above, str(fact.passage), spoken, listed, score=fact.score))
    return tuple(found)


def rank_facts(text: str, facts: Sequence[Fact]) -> tuple[RankedFact, ...]:
    """Rank facts for `text`, best first; ties go to the lower id, so that the order of the input does not matter."""
    text = split_joined_names(text)
    distinct = sorted({fact.id: fact for fact in facts}.values(), key=lambda f: (f.source, f.passage, f.start, f.id))
    pairs = [
        *fact_equivalences(distinct),
        *(p for f in distinct for p in find_expansions(f"{f.quote} {f.title}", text)),
    ]
    spoken = _find_conversations(distinct)
    split = [_split_fact(fact, spoken=fact.source in spoken) for fact in distinct]
    names = {**map_names(text, pairs), **map_categories(text, [fact.quote for fact in distinct])}
    ranked = iter(rank_sentences(text, [one for own in split for one in own], names))
    found: list[RankedFact] = []
    for fact, own in zip(distinct, split, strict=True):
        worths: list[tuple[Ranked, Sentence]] = [(next(ranked), one) for one in own]
        if not worths:
            continue
        best, core = max(worths, key=lambda row: row[0].worth)
        found.append(
            RankedFact(
                fact,
                best.worth,
                frozenset(stem for one in own for stem in one.stems),
                core.text,
                max(one.topic for one, _ in worths),
                any(one.fits >= FITS_KIND for one, _ in worths),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.worth, one.fact.id)))


def _find_conversations(facts: Sequence[Fact]) -> frozenset[str]:
    """Return the sources of which at least half of the facts begin with the name of a speaker."""
    turns = Counter(fact.source for fact in facts if is_turn(fact.quote))
    return frozenset(source for source, n in Counter(fact.source for fact in facts).items() if 2 * turns[source] >= n)


@lru_cache(maxsize=2_000)
def _fact_pairs(quote: str) -> tuple[Equivalence, ...]:
    return find_equivalences(quote)


def fact_equivalences(facts: Sequence[Fact]) -> list[Equivalence]:
    """Return the equivalences that the facts themselves state."""
    return list(dict.fromkeys(pair for fact in facts for pair in _fact_pairs(fact.quote)))


def select_diverse(items: Sequence[RankedFact], limit: int) -> tuple[RankedFact, ...]:
    """Select at most `limit` facts in order, without repetitions in one edition."""
    kept: list[RankedFact] = []
    for one in items:
        if len(kept) >= limit:
            break
        if not any(_fact_edition(one) == _fact_edition(other) and is_repetition(one, other) for other in kept):
            kept.append(one)
    return tuple(kept)


def is_repetition(one: RankedFact, other: RankedFact) -> bool:
    """True if two statements are nearly equal, or one adds little to the other."""
    inside = (
        min(len(one.stems), len(other.stems)) >= _LEAST_STEMS and overlap_coefficient(one.stems, other.stems) >= _INSIDE
    )
    return inside or jaccard_similarity(one.stems, other.stems) >= _SAME


def _fact_edition(one: RankedFact) -> str:
    return one.fact.version or one.fact.published
