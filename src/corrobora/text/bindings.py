"""Bindings: what belongs to what in a sentence and in its evidence.

Knows which part of a sentence a number stands in, and words that have changed places after prepositions ("from A to
B"). Does not know what a sentence means: another binding leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from corrobora.text.measures import find_measures
from corrobora.text.quantities import find_dates
from corrobora.text.reading import Problem
from corrobora.text.tokens import split_words, stem_text, stem_word
from corrobora.text.vocabulary import weigh_stem

_PREPOSITIONS = frozenset("from to of by in on into onto with for at against than over under through".split())
_ARTICLES = frozenset("a an the its their his her this that these those it our your".split())
_PART = re.compile(r"[,;]\s(?!\d)|\s(?:and|but|while|whereas)\s")
_ALIEN = 2.0  # how much heavier the words of another part must be than those of the part that has a number


def find_rebindings(sentence: str, units: Sequence[str]) -> Iterator[Problem]:
    """Find two things that have changed places, and a number that belongs to something else in the evidence."""
    places = (_cross_places(_read_prepositions(sentence), _read_prepositions(unit)) for unit in units)
    if crossed := next(filter(None, places), None):
        yield Problem(f"its sources have “{crossed[0]}” and “{crossed[1]}” the other way round", crossed[0])
    yield from _compare_parts(sentence, units)


@lru_cache(maxsize=4_000)
def _read_prepositions(text: str) -> Mapping[str, frozenset[str]]:
    """Map each preposition to the stems of the words that it governs."""
    found: dict[str, frozenset[str]] = {}
    words = split_words(text)
    for at, word in enumerate(words):
        if word in _PREPOSITIONS:
            governed = next((stem_word(each) for each in words[at + 1 : at + 4] if each not in _ARTICLES), "")
            found[word] = found.get(word, frozenset()) | frozenset(filter(None, (governed,)))
    return found


def _cross_places(said: Mapping[str, frozenset[str]], theirs: Mapping[str, frozenset[str]]) -> tuple[str, str] | None:
    """Return two things that stand in each other's place."""
    moved = {place: said[place] - theirs[place] for place in said if place in theirs}
    for one, other in combinations(moved, 2):
        here, there = moved[one] & theirs[other], moved[other] & theirs[one]
        if here - said[other] and there - said[one]:
            return min(here - said[other]), min(there - said[one])
    return None


def _compare_parts(sentence: str, units: Sequence[str]) -> Iterator[Problem]:
    """Find a number that the evidence gives for something else: the words beside it stand beside another number.

    Within one sentence of the evidence the parts share a subject: there, a part counts that says nothing of the number.
    """
    parts = [
        (at, _list_words(part), find_measures(find_dates(part)[1]))
        for at, u in enumerate(units)
        for part in _PART.split(u)
    ]
    for said, measure in (
        (_list_words(p), m) for p in _PART.split(sentence) for m in find_measures(find_dates(p)[1]) if not m.vague
    ):
        held = [(at, words) for at, words, found in parts if any(measure.equals(other) for other in found)]
        own = frozenset[str]().union(*(words for _, words in held))
        told = frozenset[str]().union(*(words for at, words, _ in parts if at in {at for at, _ in held}))
        for at, words, found in parts if held and all(words for _, words in held) else ():
            if not any(other.dimension == measure.dimension for other in found) or (at, words) in held:
                continue
            near = any(at == other for other, _ in held)
            if (near and _weigh(said & words - own) > _ALIEN * _weigh(said & own - words)) or (
                not near and _weigh(said & words - told) > _weigh(said & told - words)
            ):
                yield Problem(f"its sources give {measure.text} for something else", measure.text)
                break


def _list_words(text: str) -> frozenset[str]:
    return frozenset(stem for stem in stem_text(text) if not stem[0].isdigit())


def _weigh(stems: frozenset[str]) -> float:
    return float(sum(map(weigh_stem, sorted(stems))))
