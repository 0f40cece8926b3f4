"""Crossings: two things of a sentence that have changed places against its evidence.

Knows names that stand together in one part of a sentence, prepositions ("from A to B"), and who stands before which
verb or after its "by". Does not know what a sentence means: a crossing leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from corrobora.text.measures import find_identifiers
from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.reading import Problem
from corrobora.text.tokens import fold_text, split_words, stem_text, stem_word

_PART = re.compile(r"[,;:]\s|\s(?:and|but|then|while|whereas|although|when|which|before|after)\s")
_PREPOSITIONS = frozenset("from to of by in on into onto with for at against than over under through".split())
_ARTICLES = frozenset("a an the its their his her this that these those our your".split())


def find_crossings(sentence: str, units: Sequence[str]) -> Iterator[Problem]:
    """Find things that have changed places against the sentences of the evidence."""
    if crossed := _cross_names(sentence, units):
        yield Problem(f"its sources do not say “{crossed[0]}” of “{crossed[1]}”", crossed[1])
    for unit in units:
        for read in (_read_prepositions, _read_agents):
            if crossed := _cross_places(read(sentence), read(unit)):
                yield Problem(f"its sources have “{crossed[0]}” and “{crossed[1]}” the other way round", crossed[0])
                return


@lru_cache(maxsize=4_000)  # every sentence is compared with the same quotes
def _list_parts(text: str) -> tuple[frozenset[str], ...]:
    """Return the names and identifiers of each part of a text."""
    return tuple(
        frozenset(
            fold_text(name)
            for name in (
                *(each.text for each in find_mentions(part) if each.kind is not MentionKind.QUOTED),
                *find_identifiers(part),
            )
            if stem_text(name)
        )
        for part in _PART.split(text)
        if part
    )


def _cross_names(sentence: str, units: Sequence[str]) -> tuple[str, str] | None:
    """Return two names of one part that the evidence has in two parts, each beside another name of the sentence."""
    parts = _list_parts(sentence)
    said = frozenset[str]().union(*parts)
    theirs = [part & said for unit in units for part in _list_parts(unit)]
    for part in parts:
        for one, other in combinations(sorted(part), 2):
            if one in other or other in one or any({one, other} <= each for each in theirs):
                continue
            beside = [any(name in each and len(each) > 1 for each in theirs) for name in (one, other)]
            if all(beside):
                return one, other
    return None


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


@lru_cache(maxsize=4_000)
def _read_agents(text: str) -> Mapping[str, frozenset[str]]:
    """Map each stem to the content words right before it, or after its "by"."""
    words = [word for word in split_words(text) if word not in _ARTICLES]
    stems = [stem_word(word) for word in words]
    found: dict[str, frozenset[str]] = {}
    for at in range(1, len(words)):
        by = words[at] == "by" and at + 1 < len(words)
        place, agent = (stems[at - 1], stems[at + 1]) if by else (stems[at], stems[at - 1])
        if place and agent:
            found[place] = found.get(place, frozenset()) | {agent}
    return found


def _cross_places(said: Mapping[str, frozenset[str]], theirs: Mapping[str, frozenset[str]]) -> tuple[str, str] | None:
    """Return two things that stand in each other's place."""
    moved = {place: said[place] - theirs[place] for place in said if place in theirs}
    for one, other in combinations(moved, 2):
        here, there = moved[one] & theirs[other], moved[other] & theirs[one]
        if here - said[other] and there - said[one]:
            return min(here - said[other]), min(there - said[one])
    return None
