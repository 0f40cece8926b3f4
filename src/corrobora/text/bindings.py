"""Bindings: what belongs to what in a sentence and in its evidence.

Knows who does what (by name), which part of a sentence a number stands in, and words that have changed places after
prepositions ("from A to B"). Does not know what a sentence means: another binding leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from corrobora.text.measures import find_measures
from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.quantities import find_dates
from corrobora.text.reading import Problem
from corrobora.text.tokens import split_words, stem_text, stem_word
from corrobora.text.vocabulary import is_akin, weigh_stem

_PREPOSITIONS = frozenset("from to of by in on into onto with for at against than over under through".split())
_ARTICLES = frozenset("a an the its their his her this that these those it our your".split())
_PART = re.compile(r"[,;]\s(?!\d)|\s(?:and|but|while|whereas)\s")
_BETWEEN = frozenset(
    "himself herself itself themselves has have had also already then was were is are be been first later jointly "
    "who".split()
)
_APPOSITION = re.compile(r"^,\s[^,;.]{1,80},(?=\s)")  # "Ann Lee, who leads the union, called"
_PASSIVE = re.compile(r"([^\W\d_]{3,})(?:\s[^\W\d_]+ly)?\s+by\s+(?:the\s+)?$")
_SAYS = re.compile(
    r"(?i)\b(?:sa(?:id|ys?)|tells?|told|states?|stated|claim(?:s|ed)?|argue[sd]?|believe[sd]?|thinks?|thought|suggest(?:s|ed)?"
    r"|shows?|showed|finds?|found|report(?:s|ed)?|conclude[sd]?|answer(?:s|ed)?|expect(?:s|ed)?|estime|pense|affirme"
    r"|meint|sagt|glaubt)(?:\s\w+){0,2}?,?\s(?:that|whether|que|qu['’]|dass)\b"
)
_ACCORDING = re.compile(r"(?i)\b(?:according to|in the (?:view|opinion) of|selon|laut)\s+([^,;.]{2,60}?),")
_ALIEN = 2.0  # how much heavier the words of another part must be than those of the part that has a number


def find_rebindings(sentence: str, units: Sequence[str]) -> Iterator[Problem]:
    """Find things that have changed places, and a name or number that belongs to something else in the evidence."""
    places = (_cross_places(_read_prepositions(sentence), _read_prepositions(unit)) for unit in units)
    if crossed := next(filter(None, places), None):
        yield Problem(f"its sources have “{crossed[0]}” and “{crossed[1]}” the other way round", crossed[0])
    yield from _compare_agents(sentence, units)
    yield from _compare_speakers(sentence, units)
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


@lru_cache(maxsize=4_000)
def _read_agents(text: str) -> tuple[tuple[str, frozenset[str], str], ...]:
    """Return verbs with the stems and the text of the names that do them: "Smith founded", "founded by Smith"."""
    found: list[tuple[str, frozenset[str], str]] = []
    for mention in find_mentions(text):
        if mention.kind is MentionKind.QUOTED or not (stems := frozenset(stem_text(mention.text))):
            continue
        if passive := _PASSIVE.search(text[: mention.start]):
            found.append((stem_word(passive.group(1).lower()), stems, mention.text))
            continue
        rest = _APPOSITION.sub("", text[mention.start + len(mention.text) :], count=1)
        following = split_words(_PART.split(rest[:60])[0]) if rest[:1] == " " else []
        verb = next((word for word in following if word not in _BETWEEN and not word.endswith("ly")), "")
        passive = any(word in ("was", "were", "is", "are", "been") for word in following[:2])
        if verb and not passive and (stem := stem_word(verb)):
            found.append((stem, stems, mention.text))
    return tuple((verb, stems, name) for verb, stems, name in found if verb)


def _compare_agents(sentence: str, units: Sequence[str]) -> Iterator[Problem]:
    """Find a name that does what the evidence says only another name does, or to which that one does it."""
    known = [(unit, agent) for unit in units for agent in _read_agents(unit)]
    own = _read_agents(sentence)
    doing = frozenset[str]().union(*(stems for _, stems, _ in own))
    idle = not any(theirs & doing for _, (_, theirs, _) in known)
    for verb, stems, name in own:
        doers = [
            (theirs, other)
            for unit, (act, theirs, other) in known
            if is_akin(act, verb) or (idle and other in sentence and _is_done_to(name, other, unit))
        ]
        if doers and not any(theirs & (stems | doing) for theirs, _ in doers):
            yield Problem(f"its sources say “{doers[0][1]}” of what it says “{name}” does", name)


def _is_done_to(name: str, doer: str, unit: str) -> bool:
    """True if a name stands behind the one that does something, and does it not together with it."""
    rest = unit.partition(doer)[2]
    return name in rest and not rest.startswith((f" and {name}", f", {name}"))


@lru_cache(maxsize=4_000)
def _read_speakers(text: str) -> tuple[tuple[frozenset[str], frozenset[str], str], ...]:
    """Return who says something, with the stems of what is said: "Ann Lee said that the line is late"."""
    found = [(text[: match.start()], text[match.end() :]) for match in _SAYS.finditer(text)]
    found += [(match[1], text.replace(match[0], "")) for match in _ACCORDING.finditer(text)]
    return tuple((frozenset(stem_text(who)), frozenset(stem_text(what)), who.strip()) for who, what in found)


def _compare_speakers(sentence: str, units: Sequence[str]) -> Iterator[Problem]:
    """Find a speaker of whom the evidence does not say that he says it, but another one, who is not named."""
    known = [speaker for unit in units for speaker in _read_speakers(unit)]
    said = frozenset(stem_text(sentence))
    for who, what, name in _read_speakers(sentence):
        others = [(theirs, other) for theirs, told, other in known if 2 * len(what & told) >= len(what) > 0]
        if who and others and not any(theirs & who or theirs <= said for theirs, _ in others):
            yield Problem(f"in its sources “{others[0][1]}” says so", name)


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
