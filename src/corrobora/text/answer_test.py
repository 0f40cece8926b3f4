"""The answer test: whether one statement answers a question, as far as words can tell.

Knows the kind of answer a question asks for, the names in it and its topic. Does not know who says the statement, and
does not know whether it is true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from corrobora.text.answers import (
    FITS_KIND,
    AnswerKind,
    ExpectedAnswer,
    classify_question,
    find_duty_stems,
    score_answer_fit,
)
from corrobora.text.comparison import parse_statement
from corrobora.text.mentions import find_names, mentions_name, strip_to_alphanumeric
from corrobora.text.quantities import find_asked_releases
from corrobora.text.questions import (
    SIDE_STEMS,
    find_attributions,
    find_compared_sides,
    find_counted_stems,
    find_differing_sides,
    find_subjects,
    read_expectation,
)
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import is_same_family, stem_text
from corrobora.text.vocabulary import Equivalence, add_aliased_stems, map_aliases, map_compounds

NEAR_SHARE = 0.5  # of a topic that a statement holds which is near the question
TOPIC_SHARE = 0.6  # of the topic that a statement must hold, its title and headings included
TOPIC_SHARE_OF_KIND = 0.5  # the same for a statement of the very kind that is asked for: "because ..." after why
_NEARLY = 0.6  # how well a place without a name fits
# asks for advice, not for a duty
_FOR_ME = re.compile(r"(?i)\bshould (?:i|we|you|one)\b|^\s*how (?:should|must|shall)\b")
_PLAINLY = re.compile(r"(?i)\b(?:always|never|do not|don['’]t|ha(?:ve|s) to|needs? to)\b")
_WHEN = frozenset((AnswerKind.DATE, AnswerKind.CLOCK))


class Calibration(NamedTuple):
    """Fitted on development data, in `corrobora/data/abstention.json`: what a rating of a question must reach."""

    nearby: float  # for passages to be near it
    intercept: float
    likely: float  # weight of the rating
    share: float  # weight of the share of the topic in the statement that holds most

    def is_answered(self, likely: float, share: float) -> bool:
        """True if statements that fit a question also answer it, more likely than not."""
        return self.intercept + self.likely * likely + self.share * share >= 0


@lru_cache(maxsize=1)
def read_calibration() -> Calibration:
    """Read the fitted values that ship with the package."""
    stored = json.loads(resources.files("corrobora.data").joinpath("abstention.json").read_text("ascii"))
    own = stored["answered"]
    return Calibration(stored["nearby"], own["intercept"], own["likely"], own["share"])


class Lack(StrEnum):
    """What a statement lacks to be an answer, from the farthest to the nearest miss."""

    TOPIC = "topic"
    NAME = "name"
    KIND = "kind"
    NOTHING = ""


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """The result of the answer test for one statement.

    `share` is the share of the question's topic in it. It `suits` the question if it gives the number, date or name
    that is asked for and holds a word of the topic; it passes if it holds enough of topic, names and duty as well.
    """

    share: float
    lack: Lack = Lack.NOTHING
    what: str = ""  # the missing name, or the kind in words: "gives a date"
    suits: bool = True

    @property
    def passed(self) -> bool:
        """True if the statement answers the question."""
        return self.lack is Lack.NOTHING

    @property
    def rank(self) -> tuple[int, float]:
        """What to compare checks by: the nearest miss, then the topic."""
        return list(Lack).index(self.lack), self.share


@dataclass(frozen=True, slots=True)
class _Needs:
    """What a question asks of a statement."""

    kind: ExpectedAnswer
    topic: frozenset[str]
    names: tuple[str, ...]
    kind_in_words: str
    duty: bool


@lru_cache(maxsize=40_000)  # after each round every statement of a thread is tested again
def check_answer(
    question: str, statement: str, context: str = "", around: str = "", pairs: tuple[Equivalence, ...] = ()
) -> AnswerCheck:
    """Test whether a statement answers a question.

    Args:
        question: one question.
        statement: the sentences of one quote.
        context: its title and headings, which count towards the topic.
        around: what else is known of its source; a name of the question may stand there.
        pairs: other names of things, as the sources give them.
    """
    needs = _read_needs(question)
    other_names = {**map_compounds(question), **map_aliases(needs.topic, pairs)}
    above = frozenset(add_aliased_stems(stem_text(context), other_names))
    held = frozenset(add_aliased_stems(stem_text(statement), other_names))
    own = frozenset(term for term in needs.topic if any(is_same_family(term, each) for each in held))
    share = len(own | (needs.topic & above)) / len(needs.topic) if needs.topic else 1.0
    meant = frozenset(stem_text(" ".join(needs.names)))
    whole = needs.topic | meant
    share = max(share, len(own | (whole & (held | above))) / len(whole)) if own else share  # names are topic as well
    known, small = _read_surroundings(f"{statement}\n{context}\n{around}")
    missing = [name for name in needs.names if not mentions_name(known, small, name)]
    releases = find_asked_releases(question)
    other_release = bool(releases.numbers) and not releases.is_named_in(f"{statement} {context} {around}")
    of_kind = not needs.kind_in_words or any(_is_of_kind(each, needs) for each in _split(statement))
    states = bool(own) or not needs.topic  # a heading alone states nothing
    named = not meant or len(missing) < len(needs.names) or not meant.isdisjoint(known)
    dated = bool(needs.kind.kinds & _WHEN) and _is_of_kind(context, needs)
    suits = (states or not meant.isdisjoint(held)) and (of_kind or needs.duty or dated) and named and not other_release
    if share < (TOPIC_SHARE_OF_KIND if _fits(statement, needs.kind) else TOPIC_SHARE) or not states:
        return AnswerCheck(share, Lack.TOPIC, suits=suits)
    if missing or other_release:
        return AnswerCheck(share, Lack.NAME, (*missing, *releases.numbers)[0], suits=suits)
    if not of_kind:
        return AnswerCheck(share, Lack.KIND, needs.kind_in_words, suits=suits)
    return AnswerCheck(share)


@lru_cache(maxsize=1_000)
def _read_needs(question: str) -> _Needs:
    kind, wanted = classify_question(question), read_expectation(question)
    counted = find_counted_stems(question)
    topic = counted - kind.counted or counted
    compared = find_compared_sides(question)
    outlets = [name for name in find_attributions(question) if not any(letter.isdigit() for letter in name)]
    names = tuple(  # an outlet is rarely named in its own texts
        name for name in find_subjects(question) if name not in outlets and not any(name in side for side in compared)
    )
    duty = wanted.obligation and not kind.kinds and _FOR_ME.search(question) is None
    words = ""
    if kind.quantified:
        words = "gives the number that is asked for"
    elif kind.kinds & _WHEN:
        words = "gives a date"
    elif kind.kinds & {AnswerKind.PERSON, AnswerKind.PLACE}:
        words = "gives a name"
    elif duty:
        words = "says what must, should or may be"
    asked_otherwise = topic - find_duty_stems(question) if duty else topic
    return _Needs(kind, asked_otherwise or topic, names, words, duty)


@lru_cache(maxsize=2_000)
def _read_surroundings(text: str) -> tuple[frozenset[str], str]:
    return frozenset(stem_text(text)), strip_to_alphanumeric(text)


def _split(statement: str) -> Iterator[str]:
    for span in split_sentences(statement):
        yield statement[span.start : span.end]


def _fits(statement: str, kind: ExpectedAnswer) -> bool:
    return bool(kind.kinds) and any(score_answer_fit(each, kind) >= FITS_KIND for each in _split(statement))


def _is_of_kind(sentence: str, needs: _Needs) -> bool:
    """True if a sentence is of the kind asked for; a name of the question itself is no answer."""
    if needs.duty:
        return bool(parse_statement(sentence).duties) or _PLAINLY.search(sentence) is not None
    fit = score_answer_fit(sentence, needs.kind)
    if needs.kind.kinds & {AnswerKind.PERSON, AnswerKind.PLACE}:
        own = needs.kind.named
        return fit >= _NEARLY or any(not frozenset(stem_text(name)) <= own for name in find_names(sentence))
    return fit >= FITS_KIND


def covers_both_sides(question: str, texts: tuple[str, ...]) -> bool:
    """True if each side that a question compares is named by one of the texts, or if it names none, briefly."""
    sides = [frozenset(stem_text(side)) for side in find_differing_sides(question)]
    if len(sides) < 2 or max(map(len, sides)) > SIDE_STEMS:  # noqa: PLR2004 - two sides
        return True
    said = [frozenset(stem_text(text)) for text in texts]
    own = [one - other or one for one, other in (sides, sides[::-1])]
    return all(any(side & text for text in said) for side in own)
