"""Sections: which parts of a long document are worth reading, and in which pieces.

Knows the passages of one document with their headings, and what is looked for. Does not know who reads them, nor
whether they were read before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence
from itertools import groupby

from corrobora.domain.evidence import Passage, PassageId
from corrobora.text.tokens import stem_text

READ_CHARS = 24_000  # of one document in one call: about 6,000 tokens
_MIN_SHARE = 0.5  # of the best passage's score that another one must have to be read beside it
_SNIPPET_WEIGHT = 0.3  # the snippet shows where the provider found something; the query says what is looked for
_SATURATION = 1.2  # BM25's k1


def score_passages(passages: Sequence[Passage], query: str, snippet: str = "") -> list[float]:
    """Score the passages of one document by the words, rare in it, that they share with query and snippet."""
    texts = [Counter(stem_text(f"{passage.heading} {passage.text}")) for passage in passages]
    wanted = dict.fromkeys(stem_text(snippet), _SNIPPET_WEIGHT) | dict.fromkeys(stem_text(query), 1.0)
    spread = Counter(word for text in texts for word in text)
    weights = {
        word: weight * math.log(1 + (len(texts) - spread[word] + 0.5) / (spread[word] + 0.5))
        for word, weight in wanted.items()
        if spread[word]
    }
    return [
        sum(weight * text[word] / (text[word] + _SATURATION) for word, weight in weights.items() if text[word])
        for text in texts
    ]


def select_sections(
    passages: Sequence[Passage], found: Sequence[PassageId], query: str, *, most: int = READ_CHARS
) -> tuple[Passage, ...]:
    """Return the passages of one document to be read in one call, in reading order: at most `most` characters.

    A short document is read as a whole. Of a long one: the sections of what a search found, best first, then those
    that speak to the query nearly as well as the best. A section too long for what is left is read around its passage.
    """
    if sum(len(passage.text) for passage in passages) <= most:
        return tuple(passages)
    scores = score_passages(passages, query)
    places = {passage.id: at for at, passage in enumerate(passages)}
    least = max(scores, default=0.0) * _MIN_SHARE
    others = sorted((at for at, score in enumerate(scores) if score >= least), key=lambda at: (-scores[at], at))
    chosen: set[int] = set()
    for at in dict.fromkeys((*(places[each] for each in found if each in places), *others)):
        if at not in chosen:
            most -= _add_section(at, passages, chosen, most)
    return tuple(passages[at] for at in sorted(chosen))


def _add_section(at: int, passages: Sequence[Passage], chosen: set[int], most: int) -> int:
    """Choose a passage with its neighbours and its section, nearest first; return the characters that this takes."""
    below = above = at
    while below and passages[below - 1].heading == passages[at].heading:
        below -= 1
    while above + 1 < len(passages) and passages[above + 1].heading == passages[at].heading:
        above += 1
    places = range(max(0, min(below, at - 1)), min(len(passages), max(above, at + 1) + 1))
    taken = 0
    for place in sorted(places, key=lambda place: (abs(place - at), place)):
        size = 0 if place in chosen else len(passages[place].text)
        if taken + size > most:
            break
        taken += size
        chosen.add(place)
    return taken


def list_other_sections(passages: Sequence[Passage], read: Container[PassageId], most: int) -> tuple[Passage, ...]:
    """Return the first passage of each section of which nothing was read, in reading order."""
    sections = [tuple(section) for _, section in groupby(passages, key=lambda passage: passage.heading)]
    unread = [section[0] for section in sections if not any(passage.id in read for passage in section)]
    return tuple(unread[:most])


def read_section(passages: Sequence[Passage], first: PassageId, *, most: int = READ_CHARS) -> tuple[Passage, ...]:
    """Return a section from its first passage on, and what follows it while there is room."""
    places = {passage.id: at for at, passage in enumerate(passages)}
    chosen: list[Passage] = []
    for passage in passages[places.get(first, len(passages)) :]:
        most -= len(passage.text)
        if chosen and (most < 0 or passage.heading != chosen[0].heading):
            break
        chosen.append(passage)
    return tuple(chosen)
