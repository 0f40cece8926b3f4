"""Bindings: what belongs to what in a sentence and in its evidence.

Knows who does what (by name), which part of a sentence a number stands in, whether a time is the begin or the end of
something, and names that have changed places, in parts of a sentence or after prepositions ("from A to B"). Does not
know what a sentence means: another binding leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from corrobora.text.clauses import SEGMENT, parse_clause
from corrobora.text.measures import find_identifiers, find_measures
from corrobora.text.mentions import Mention, MentionKind, find_mentions
from corrobora.text.quantities import find_dates, find_days
from corrobora.text.reading import Problem
from corrobora.text.tokens import fold_text, split_words, stem_text, stem_word
from corrobora.text.vocabulary import is_akin, weigh_stem

_PREPOSITIONS = frozenset("from to of by in on into onto with for at against than over under through".split())
_ARTICLES = frozenset("a an the its their his her this that these those it our your".split())
_PART = re.compile(r"[,;]\s(?!\d)|\s(?:and|but|while|whereas)\s")
_BETWEEN = frozenset(
    "himself herself itself themselves has have had also already then was were is are be been first later jointly "
    "who".split()
)
_TIME = re.compile(
    r"(?i)\b(?:(?P<begin>since|from|after|starting(?: in| with)?|as of)"
    r"|(?P<end>until|till|up to|through|before|prior to))"
    r"\s+(?:(?!and\b|or\b|to\b)[^\W\d_]+\s+){0,2}(?P<anchor>v?\d[\w.-]*\w|\d)"
)
_DONE = re.compile(
    r"(?i)\b(?:was|were|been|be|is|are)\s(?:[a-z]+ly\s)?([a-z]{3,}(?:ed|en|ne|wn|lt|pt|ld|nt|de))\b(?!\sby\b)"
)
_APPOSITION = re.compile(r"^,\s[^,;.]{1,80},(?=\s)")  # "Ann Lee, who leads the union, called"
_ALIEN = 2.0  # how much heavier the words of another part must be than those of the part that has a number
_OPENING = 30  # characters within which a sentence names what it is about
_PAST = re.compile(r"\b(?:had|has|have|was|were|been|did)\b|\b[a-z]{2,}ed\b")
_FUTURE = re.compile(r"\b(?:will|would|shall|is to|are to|was to|were to|going to|ahead|due|later)\b")
_PASSIVE = re.compile(r"([^\W\d_]{3,})(?:\s[^\W\d_]+ly)?\s+by\s+(?:the\s+)?$")


def find_rebindings(sentence: str, units: Sequence[str], context: str = "") -> Iterator[Problem]:
    """Find a name, a number or a time that belongs to something else in the evidence.

    `context` is what the source says about itself: a name in its title may be meant by any of its sentences.
    """
    if crossed := _cross_names(sentence, units):
        yield Problem(f"its sources do not say “{crossed[0]}” of “{crossed[1]}”", crossed[1])
    places = (_cross_places(_read_prepositions(sentence), _read_prepositions(unit)) for unit in units)
    if crossed := next(filter(None, places), None):
        yield Problem(f"its sources have “{crossed[0]}” and “{crossed[1]}” the other way round", crossed[0])
    yield from _compare_agents(sentence, units)
    yield from _compare_times(sentence, units)
    yield from _compare_holders(sentence, units, frozenset(stem_text(context)))
    yield from _compare_parts(sentence, units)


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
        for part in SEGMENT.split(text)
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
    """Find a name that does what the evidence says only another name does; one that is not named does nothing."""
    known = [agent for unit in units for agent in _read_agents(unit)]
    said = frozenset(stem_text(sentence))
    for verb, stems, name in _read_agents(sentence):
        doers = [(theirs, other) for act, theirs, other in known if is_akin(act, verb)]
        if doers and not any(theirs & stems for theirs, _ in doers) and not any(t & said for t, _ in doers):
            yield Problem(f"its sources say “{doers[0][1]}” of what it says “{name}” does", name)
        undone = [unit for unit in units if verb in _read_undone(unit)]
        if not doers and undone and not any(stems & frozenset(stem_text(unit)) for unit in undone):
            yield Problem(f"its sources do not say that “{name}” does this", name)


@lru_cache(maxsize=4_000)
def _read_undone(text: str) -> frozenset[str]:
    """Return the stems of what was done without a word on who did it: "the points were reversed"."""
    return frozenset(stem_word(match.group(1).lower()) for match in _DONE.finditer(text)) - {""}


def _compare_holders(sentence: str, units: Sequence[str], context: frozenset[str]) -> Iterator[Problem]:
    """Find a number that is said of a name while each sentence of the evidence that has it is about another name."""
    names = [(each.text, frozenset(stem_text(each.text))) for each in _list_names(sentence)]
    said = frozenset(stem_text(sentence))
    stems = {unit: frozenset(stem_text(unit)) for unit in units}
    for measure in find_measures(sentence):
        holding = [unit for unit in units if any(measure.equals(other) for other in find_measures(unit))]
        rivals = [next(iter(_list_names(unit)), None) for unit in holding]
        if not all(
            rival
            and rival.start <= _OPENING
            and 2 * len(said & set(stem_text(rival.text))) < len(set(stem_text(rival.text)))
            for rival in rivals
        ):
            continue
        for name, own in names:
            told = any(own & stems[unit] for unit in units)
            if holding and told and not own & context and not any(own <= stems[unit] for unit in holding):
                yield Problem(f"its sources give {measure.text} for “{rivals[0].text if rivals[0] else ''}”", name)


def _list_names(text: str) -> list[Mention]:
    return [each for each in find_mentions(text) if each.kind is MentionKind.NAME and stem_text(each.text)]


def find_foretold(sentence: str, evidence: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    """Find what a sentence tells as done while its source, at its own date, could only foretell it.

    `evidence` has the sentences of sources, each with the date of its source.
    """
    said = frozenset(stem_text(sentence))
    if _PAST.search(sentence) is None or _FUTURE.search(sentence) or parse_clause(sentence).kinds("hedge"):
        return
    for unit, published in evidence:
        later = [day for day in find_days(unit) if published[:4].isdigit() and day[: len(published)] > published[:10]]
        if later and 2 * len(said & frozenset(stem_text(unit))) >= len(said):
            yield Problem(f"its source is of {published[:10]}, before {later[0]}", "")
            return


@lru_cache(maxsize=4_000)
def _read_times(text: str) -> Mapping[str, frozenset[str]]:
    """Map each year, date or release to whether something begins or ends with it."""
    found: dict[str, frozenset[str]] = {}
    for match in _TIME.finditer(text):
        anchor = match["anchor"].lower()
        found[anchor] = found.get(anchor, frozenset()) | {"begin" if match["begin"] else "end"}
    return found


def _compare_times(sentence: str, units: Sequence[str]) -> Iterator[Problem]:
    """Find what begins at a time where the evidence says that something ends then, or the reverse."""
    theirs: dict[str, frozenset[str]] = {}
    for unit in units:
        for anchor, kinds in _read_times(unit).items():
            theirs[anchor] = theirs.get(anchor, frozenset()) | kinds
    for anchor, kinds in _read_times(sentence).items():
        if anchor in theirs and not kinds & theirs[anchor]:
            first, last = ("begins", "ends") if "begin" in kinds else ("ends", "begins")
            yield Problem(f"it says what {first} at {anchor}, its sources what {last} then", anchor)


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
