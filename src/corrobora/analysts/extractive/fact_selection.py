"""Facts for a text: which fit best, without repetition.

Knows facts and questions; the worth of a fact is that of its best sentence. Keeps two editions of one statement apart:
that both say it, or differ, is a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from corrobora.analysts.extractive.lines import find_shown_code, is_turn, stem_heading
from corrobora.analysts.extractive.ranker import Ranked, Sentence, find_exchanges, rank_sentences, split_joined_names
from corrobora.domain.evidence import Fact, read_file_name
from corrobora.text.answers import FITS_KIND
from corrobora.text.entries import read_terms
from corrobora.text.ranking import jaccard_similarity
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import (
    LIST_ITEM,
    fold_whitespace,
    stem_text,
)
from corrobora.text.vocabulary import collect_equivalences, map_names

_SAME = 0.8  # share of common stems from which two statements of one edition are one


@dataclass(frozen=True, slots=True)
class RankedFact:
    """A fact with its worth for one text."""

    fact: Fact
    worth: float
    stems: frozenset[str]
    core: str = ""  # its sentence that speaks best
    share: float = 0.0  # of the topic of the text that it holds, with its headings
    fits: bool = False  # a sentence of it is of the very kind that is asked for
    said: frozenset[str] = frozenset()  # words of the question in its best sentence


@lru_cache(maxsize=2_000)
def _split_fact(fact: Fact, *, spoken: bool) -> tuple[Sentence, ...]:
    """Take a fact apart into its sentences."""
    above = frozenset(
        stem_text(split_joined_names(f"{fact.title} {fact.place} {fact.version} {read_file_name(fact.url)}"))
    )
    heading = stem_heading(fact.place)
    spans = split_sentences(fact.quote)
    texts = [fact.quote[span.start : span.end] for span in spans]
    said = [stem_text(split_joined_names(text)) for text in texts]
    paragraphs = [(0, fact.quote.count("\n\n", 0, span.start)) for span in spans]
    asked = find_exchanges(list(zip(texts, paragraphs, strict=True)))
    asking = {each for own in asked.values() for each in own}
    terms = read_terms(fact.quote, spans)
    code = find_shown_code(fact.quote, spans)
    shown = [frozenset(stems) if led else frozenset[str]() for stems, led in zip(said[1:], code[1:], strict=True)]
    return tuple(
        Sentence(
            text,
            tuple(stem for each in (*asked.get(at, ()), at) for stem in said[each]),
            above.union(stem_text(split_joined_names(terms[at])), *shown[at : at + 1]),
            str(fact.passage),
            spoken,
            LIST_ITEM.match(text) is not None,
            at in asking or code[at],
            score=fact.score,
            heading=heading,
            place=fact.place,
            term=terms[at],
            source=f"{fact.title} > {fact.published}",
        )
        for at, text in enumerate(texts)
    )


def is_heading_of(fact: Fact, sentence: str) -> bool:
    """True for a heading above a fact, with which its quote may begin: it names what is stated and states nothing.

    A question or what ends in a colon is none: without it, nobody understands what stands below.
    """
    said = fold_whitespace(sentence)
    return said[-1:] not in "?:" and any(said == fold_whitespace(part) for part in fact.heading.split(" > "))


def _states_something(fact: Fact, one: Sentence) -> bool:
    """False for a heading, a question with its answer, and an item that leads in a list: what follows says more."""
    return not (one.bare or is_heading_of(fact, one.text) or (one.listed and one.text.endswith(":")))


def rank_facts(text: str, facts: Sequence[Fact]) -> tuple[RankedFact, ...]:
    """Rank facts for `text`, best first; ties go to the lower id, so that the order of the input does not matter."""
    distinct = sorted({fact.id: fact for fact in facts}.values(), key=lambda f: (f.source, f.passage, f.start, f.id))
    return _rank_distinct(split_joined_names(text), tuple(distinct))


@lru_cache(maxsize=32)  # summary and report rank the same facts for the same questions
def _rank_distinct(text: str, distinct: tuple[Fact, ...]) -> tuple[RankedFact, ...]:
    pairs = collect_equivalences((), (fact.quote for fact in distinct))
    spoken = _find_conversations(distinct)
    split = [_split_fact(fact, spoken=fact.source in spoken) for fact in distinct]
    ranked = iter(rank_sentences(text, [one for own in split for one in own], map_names(text, pairs)))
    found: list[RankedFact] = []
    for fact, own in zip(distinct, split, strict=True):
        worths: list[tuple[Ranked, Sentence]] = [(next(ranked), one) for one in own]
        if not worths:
            continue
        best, core = max(worths, key=lambda row: row[0].worth)
        if not _states_something(fact, core):
            core = max(worths, key=lambda row: (_states_something(fact, row[1]), row[0].worth))[1]
        found.append(
            RankedFact(
                fact,
                best.worth,
                frozenset(stem for one in own for stem in one.stems),
                core.text,
                max(one.topic for one, _ in worths),
                any(one.fits >= FITS_KIND for one, _ in worths),
                best.said,
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.worth, one.fact.id)))


def _find_conversations(facts: Sequence[Fact]) -> frozenset[str]:
    """Return the sources of which at least half of the facts begin with the name of a speaker."""
    turns = Counter(fact.source for fact in facts if is_turn(fact.quote))
    return frozenset(source for source, n in Counter(fact.source for fact in facts).items() if 2 * turns[source] >= n)


def select_diverse(items: Sequence[RankedFact], limit: int, *, compares: bool = True) -> tuple[RankedFact, ...]:
    """Select at most `limit` facts in order, without repetitions in one edition.

    A copy without version and date is no edition of its own, unless the question `compares` editions.
    """
    kept: list[RankedFact] = []
    for one in items:
        if len(kept) >= limit:
            break
        same = {_fact_edition(one), *(() if compares else ("",))}
        rivals = kept if same == {""} and not compares else [each for each in kept if _fact_edition(each) in same]
        if not any(jaccard_similarity(one.stems, other.stems) >= _SAME for other in rivals):
            kept.append(one)
    return tuple(kept)


def _fact_edition(one: RankedFact) -> str:
    return one.fact.version or one.fact.published
