"""Contrasts: what a sentence and its evidence say the other way round, as done or planned, or in another's name.

Knows the two sides of a sentence, words of plans, and who is named as saying something: each such difference leaves the
sentence open. Does not know what the words mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from corrobora.text.clauses import find_word, parse_clause
from corrobora.text.measures import find_unit
from corrobora.text.mentions import find_mentions
from corrobora.text.reading import Discrepancy, ParsedEvidence, find_nearest
from corrobora.text.tokens import is_same_family, is_table_row, split_words, stem_text, stem_word
from corrobora.text.vocabulary import compare_stems

_SIDE = re.compile(r"[,;:(]\s(?!\d)|\s(?:and|but|while|whereas|though|although|than|against)\s")
_BREAK = re.compile(r"[,;:(]\s(?!\d)|\s(?:and|but|for|by|as|to|with|than|against|because|which|who|while|whereas)\s")
_COMPANIONS = 2  # words that stand with each of two names before they can be told apart
_KIN = 0.5  # nearness of two stems that may say the same of a side
_PLANNED = re.compile(
    r"(?i)\b(?:will(?!ing)|going to|(?:plan|intend|propose|expect|hope|schedule|aim)(?:n?ed|d|s|n?ing)? (?:to|for))"
    r"(?: (?:not|only|also|soon|then|be|have|been|now|still)\b)* (\w+)"
)
_DONE = re.compile(
    r"(?i)\b(?:has|have|had|was|were)(?: (?:not|also|already|now|since|just|been|recently|finally)\b)* (\w+)"
)
_SPEAKER = re.compile(r"(?i)\b(?:according to|in the (?:view|opinion|words) of)\s+(?:the\s+)?")


def find_contrasts(sentence: str, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Find what the evidence says crosswise, of the future, or does not say in the name that a sentence gives."""
    units = [unit.text for unit in reading.units if not is_table_row(unit.text)]
    yield from _find_crossed(sentence, units)
    yield from _find_undone(sentence, reading)
    yield from _find_speakers(sentence, reading)


def _find_crossed(sentence: str, units: Sequence[str]) -> Iterator[Discrepancy]:
    """Find two things that have changed their places: each stands with what the evidence says of the other one.

    Of two sides in the evidence, the sentence has words of both on each of its own two sides.
    """
    found: list[str] = []
    for unit in units:
        for own in combinations(_split_sides(sentence), 2):
            for theirs in combinations(_split_sides(unit), 2):
                found += [stem for stem in (_find_swapped(own, theirs),) if stem]
        names = _list_names(sentence) | _list_names(unit)
        for own in _split_in_two(sentence) if names else ():
            for theirs in _split_in_two(unit):
                found += [stem for stem in (_find_swapped(own, theirs, names),) if stem]
    for stem in found[:1]:
        word = find_word(parse_clause(sentence), stem)
        yield Discrepancy(f"its sources say this of another one than “{word}”", word)


@lru_cache(maxsize=4_000)  # every sentence is compared with the same quotes
def _split_sides(text: str) -> tuple[frozenset[str], ...]:
    return tuple(filter(None, (frozenset(stem_text(part)) for part in _SIDE.split(text))))


@lru_cache(maxsize=4_000)
def _split_in_two(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return what stands before and after each place where a text may be parted."""
    cuts = [(match.start(), match.end()) for match in _BREAK.finditer(text)]
    return tuple((frozenset(stem_text(text[:start])), frozenset(stem_text(text[end:]))) for start, end in cuts)


@lru_cache(maxsize=4_000)
def _list_names(text: str) -> frozenset[str]:
    return frozenset(stem for mention in find_mentions(text) if mention.start for stem in stem_text(mention.text))


def _find_swapped(
    own: Sequence[frozenset[str]], theirs: Sequence[frozenset[str]], names: frozenset[str] | None = None
) -> str:
    """Return a stem that stands on the other of two sides, or "", if its companions did not change sides with it.

    With `names`, only names can be swapped, and each needs several companions.
    """
    mine, others = (own[0] - own[1], own[1] - own[0]), (theirs[0] - theirs[1], theirs[1] - theirs[0])
    first, second = others[0] & mine[1], others[1] & mine[0]
    if names is not None:
        first, second = first & names, second & names
    first, second = ({stem for stem in each if find_unit(stem) is None} for each in (first, second))
    if not first or not second:
        return ""
    moved = first | second | (names or frozenset())
    stayed = [_count_kin(mine[at] - moved, others[at] - moved) for at in (0, 1)]
    least = _COMPANIONS if names is not None else 1
    return min(first) if min(stayed) >= least else ""


def _count_kin(stems: frozenset[str], others: frozenset[str]) -> int:
    """Count the stems that stand among others in the same or a similar word."""
    left = sorted(stems - others)
    near = compare_stems(left, sorted(others)).max(axis=1) if left and others else ()
    return len(stems & others) + sum(float(each) >= _KIN for each in near)


def _find_undone(sentence: str, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Find what a sentence tells as done and its evidence only as planned: "has been sold" for "will be sold"."""
    for match in _DONE.finditer(sentence):
        stem = stem_word(match.group(1).lower())
        for unit in reading.units if stem else ():
            planned = [stem_word(each.lower()) for each in _PLANNED.findall(unit.text)]
            if any(is_same_family(stem, each) for each in filter(None, planned)) and not _is_told(stem, reading):
                yield Discrepancy(f"its sources speak of “{match.group(1)}” as planned", match.group())


def _is_told(stem: str, reading: ParsedEvidence) -> bool:
    """True if the evidence has a verb outside of what it tells as planned."""
    words = (word for unit in reading.units for word in split_words(_PLANNED.sub(" ", unit.text)))
    return any(is_same_family(stem, own) for word in words if (own := stem_word(word)))


def _find_speakers(sentence: str, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Find a name in which the evidence does not say what a sentence says: neither there nor in the sentence before."""
    for match in _SPEAKER.finditer(sentence):
        name = next((each for each in find_mentions(sentence) if each.start == match.end()), None)
        stems = frozenset(stem_text(name.text)) if name is not None else frozenset[str]()
        rest = parse_clause(sentence.replace(sentence[match.start() : name.end], "")) if name is not None else None
        if rest is None or not stems:
            continue
        about = reading.everything[len("\n".join(unit.text for unit in reading.units)) :]
        near = find_nearest(rest, reading.units)
        places = [reading.units.index(unit) for unit in near]
        said = [unit.stems for at in places for unit in reading.units[max(0, at - 1) : at + 1]]
        if name is not None and near and not any(stems & each for each in (*said, frozenset(stem_text(about)))):
            yield Discrepancy(f"its sources do not say this in the name of {name.text}", name.text)
