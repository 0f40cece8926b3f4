"""Bindings: what belongs to what in a sentence and in its evidence.

Knows who does what (by name), which part of a sentence a number stands in, and whether a time is the begin or the end
of something. Does not know what a sentence means: another binding leaves it open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from corrobora.text.clauses import parse_clause
from corrobora.text.measures import find_measures
from corrobora.text.mentions import MentionKind, find_mentions
from corrobora.text.reading import Problem
from corrobora.text.tokens import split_words, stem_text, stem_word
from corrobora.text.vocabulary import is_akin

_PART = re.compile(r"[,;]\s(?!\d)|\s(?:and|but|while|whereas)\s")
_BETWEEN = frozenset("has have had also already then was were is are be been first later jointly who".split())
_TIME = re.compile(
    r"(?i)\b(?:(?P<begin>since|from|after|starting(?: in| with)?|as of)"
    r"|(?P<end>until|till|up to|through|before|prior to))"
    r"\s+(?:(?!and\b|or\b|to\b)[^\W\d_]+\s+){0,2}(?P<anchor>v?\d[\w.-]*\w|\d)"
)
_PASSIVE = re.compile(r"([^\W\d_]{3,})(?:\s[^\W\d_]+ly)?\s+by\s+(?:the\s+)?$")


def find_rebindings(sentence: str, units: Sequence[str]) -> Iterator[Problem]:
    """Find an agent, a number or a time that belongs to something else in the evidence."""
    yield from _compare_agents(sentence, units)
    yield from _compare_times(sentence, units)
    for unit in units:
        yield from _compare_parts(sentence, unit)


@lru_cache(maxsize=4_000)  # every sentence is compared with the same quotes
def _read_agents(text: str) -> tuple[tuple[str, frozenset[str], str], ...]:
    """Return verbs with the stems and the text of the names that do them: "Smith founded", "founded by Smith"."""
    found: list[tuple[str, frozenset[str], str]] = []
    for mention in find_mentions(text):
        if mention.kind is MentionKind.QUOTED or not (stems := frozenset(stem_text(mention.text))):
            continue
        if passive := _PASSIVE.search(text[: mention.start]):
            found.append((stem_word(passive.group(1).lower()), stems, mention.text))
            continue
        rest = text[mention.start + len(mention.text) :]
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


def _compare_parts(sentence: str, unit: str) -> Iterator[Problem]:
    """Find a number that stands in another part of a sentence than what it is said of, which has its own number."""
    said = parse_clause(sentence)
    parts = [part for part in _PART.split(unit) if part.strip()]
    if len(parts) < 2 or len(_PART.split(sentence)) > 1:  # noqa: PLR2004 - nothing to confuse, or a comparison
        return
    words = {at: frozenset(s for s in stem_text(part) if not s[0].isdigit()) for at, part in enumerate(parts)}
    measures = {at: find_measures(part) for at, part in enumerate(parts)}
    for measure in find_measures(sentence):
        holding = [at for at in words if any(measure.equals(other) for other in measures[at])]
        others = [at for at in words if at not in holding and measures[at] and words[at] & said.stems]
        if holding and others and not any(words[at] & said.stems for at in holding):
            yield Problem(f"its sources give {measure.text} for something else", measure.text)
