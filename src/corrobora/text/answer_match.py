"""The answer test: whether statements answer a question, as far as words can tell.

Knows the kind of answer a question asks for, the names in it and its topic; and fitted weights by which the statements
that were read are rated together (`python -m bench.fit_answers` makes them, `corrobora/data/abstention.json` holds
them). Does not know who says a statement, and does not know whether it is true.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, NamedTuple

from corrobora.domain.limits import read_table
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
from corrobora.text.quantities import Releases, find_asked_releases, find_told_dates
from corrobora.text.questions import (
    SIDE_STEMS,
    asks_for_aggregate,
    asks_for_duty,
    asks_for_several,
    asks_to_compare,
    find_attributions,
    find_code,
    find_compared_sides,
    find_counted_stems,
    find_differing_sides,
    find_subjects,
    split_case,
    weigh_terms,
)
from corrobora.text.segmentation import list_sentences
from corrobora.text.tokens import FAMILY_LETTERS, holds_literal, is_same_family, is_table_row, stem_text
from corrobora.text.vocabulary import (
    Aliases,
    Equivalence,
    add_aliased_stems,
    compare_stems,
    detect_language,
    map_names,
    weigh_stem,
)

if TYPE_CHECKING:
    from corrobora.text.vocabulary import Matrix

TOPIC_SHARE = 0.6  # of the topic that a statement must hold, its title and headings included
TOPIC_SHARE_OF_KIND = 0.5  # the same for a statement of the very kind that is asked for: "because ..." after why
_NEARLY = 0.6  # how well a place without a name fits
_FOR_ME = re.compile(r"(?i)\bshould (?:i|we|you|one)\b|^\s*how (?:should|must|shall)\b")  # asks for advice, no duty
_PLAINLY = re.compile(r"(?i)\b(?:always|never|do not|don['’]t|ha(?:ve|s) to|needs? to)\b")
_GENERAL_WHEN = re.compile(r"(?i)\s*when (?:do|does|is|are|can|may|must|shall|should)\b")
_SPAN = ExpectedAnswer(frozenset((AnswerKind.DURATION,)))
_CONDITION = re.compile(r"(?i)\b(?:when|whenever|if|once|until|unless|as soon as|before|after)\b")
_WHEN = frozenset((AnswerKind.DATE, AnswerKind.CLOCK))


class AnswerWeights(NamedTuple):
    """Fitted weights of one logistic rating, and the rating from which a question counts as answered."""

    intercept: float
    weights: tuple[float, ...]
    answered: float

    def rate(self, features: Sequence[float]) -> float:
        """Return the probability that an opening holds the answer, 0 to 1."""
        return 1.0 / (1.0 + math.exp(-self.intercept - sum(w * x for w, x in zip(self.weights, features, strict=True))))


@lru_cache(maxsize=1)
def read_ratings() -> tuple[float, AnswerWeights, AnswerWeights]:
    """Read the weights that ship with the package.

    Returns the rating from which passages are near a question, and how answers are rated with that and without one.
    """
    stored = read_table("abstention.json")
    kinds = [
        AnswerWeights(each["intercept"], tuple(each["weights"][name] for name in names), each["answered"])
        for each, names in ((stored["rated"], RATED), (stored["unrated"], UNRATED))
    ]
    return stored["nearby"], kinds[0], kinds[1]


class Standing(NamedTuple):
    """How the statements that were read stand to a question."""

    share: float  # of the question's words, the rarer the heavier, in the statement that holds most of them
    apart: float  # how far that statement stands above the others, in deviations
    topic: float  # share of the topic in the first statement, its title and headings included
    kind: float  # how well the best of the first statements fit the kind of answer asked for; 1.0 if any does


RATED = ("likely", "apart", "topic", "kind")  # where what is searched can tell how likely it holds an answer
UNRATED = ("share", "topic", "kind")
_FIRST = 3  # statements that a reader sees at once
_COMPARED = 5  # statements at least: of fewer, the missing ones hold nothing
_SPREAD = 0.1  # added to the deviation, as a few statements may be all alike
_LEAST_RATING = 1e-3
_COMMON = 0.05  # weight of a word that tells nothing


@lru_cache(maxsize=2_000)
def measure_standing(question: str, statements: tuple[tuple[str, str], ...]) -> Standing:
    """Return how statements stand to a question; each is a quote with its title and headings."""
    read = weigh_terms(question)
    asked, code = read.weights, find_code(question)
    topic, terms = read.topic | frozenset(code), sorted(asked)
    weights = [asked[term] * (_COMMON + weigh_stem(term)) for term in terms] + [_COMMON + 1.0] * len(code)
    total = sum(weights)
    if not total or not statements:
        return Standing(0.0, 0.0, 0.0, 0.0)
    said = [_read_stems(quote, code) for quote, _ in statements]
    headed = [_read_stems(context, code) for _, context in statements]
    shares, ranks = [0.0] * len(said), [0.0] * len(said)
    held = sorted(frozenset[str]().union(*said, *headed))
    place, near = {stem: at for at, stem in enumerate(held)}, _compare_terms(terms, code, held)
    for at, (own, above) in enumerate(zip(said, headed, strict=True)):
        mine, over = (_cover(near, [place[stem] for stem in each]) for each in (own, above))
        shares[at] = sum(w for w, value in zip(weights, mine, strict=True) if value >= 1.0) / total
        best = (max(one, _HEADED * other) for one, other in zip(mine, over, strict=True))
        ranks[at] = sum(w * value for w, value in zip(weights, best, strict=True)) / total
    others = [*shares, *[0.0] * (_COMPARED - len(shares))]
    apart = (max(shares) - fmean(others)) / (pstdev(others) + _SPREAD)
    kind = classify_question(question)
    first = sorted(range(len(said)), key=lambda at: -ranks[at])[:_FIRST]
    held_first = len(topic & (said[first[0]] | headed[first[0]])) / len(topic)
    fits = (score_answer_fit(each, kind) for at in first for each in list_sentences(statements[at][0]))
    fit = max(fits, default=0.0) if kind.kinds or kind.duty else 1.0
    return Standing(max(shares), apart, held_first, fit)


def _read_stems(text: str, code: Sequence[str]) -> frozenset[str]:
    return frozenset((*stem_text(text), *(each for each in code if holds_literal(text, each))))


def _compare_terms(terms: Sequence[str], code: Sequence[str], held: Sequence[str]) -> Matrix:
    """Return how near each term and each piece of code is to what is held; code is near to itself alone."""
    near = compare_stems([*terms, *code], held)
    for row, each in enumerate(code, start=len(terms)):
        near[row] = [float(each == other) for other in held]
    return near


_HEADED = 0.6  # what a word in a title or heading counts against one in the statement


def _cover(near: Matrix, columns: Sequence[int]) -> list[float]:
    return near[:, columns].max(axis=1).tolist() if columns else [0.0] * near.shape[0]


def list_features(standing: Standing, likely: float | None) -> tuple[float, ...]:
    """Return the features of a question in the order of `RATED`, or of `UNRATED` where its rating is unknown."""
    if likely is None:
        return standing.share, standing.topic, standing.kind
    sure = min(max(likely, _LEAST_RATING), 1.0 - _LEAST_RATING)
    return math.log(sure / (1.0 - sure)), standing.apart, standing.topic, standing.kind


def is_answered(question: str, statements: tuple[tuple[str, str], ...], likely: float | None) -> bool:
    """True if statements answer a question by the fitted rating; `likely` is what the library says, if it can.

    One must pass the answer test by itself. Single statements answer no comparison, nor tell whether a list is whole,
    nor rows of a table what is most; a reason needs its word, a person a full name. Other languages cannot be rated.
    """
    rows = asks_for_aggregate(question) and any(is_table_row(quote) for quote, _ in statements)
    several = asks_for_several(question) or asks_to_compare(question)
    if rows or several or detect_language(question) or not _speaks_of_code(question, statements):
        return False
    passing = [quote for quote, context in statements if check_answer(question, quote, context).passed]
    certain = classify_question(question).kinds & {AnswerKind.REASON, AnswerKind.PERSON}
    if not passing or (certain and not any(_check_kind(question, quote)[1] for quote in passing)):
        return False
    _, rated, unrated = read_ratings()
    rating = unrated if likely is None else rated
    return rating.rate(list_features(measure_standing(question, statements), likely)) >= rating.answered


_ASKS_WHAT = re.compile(r"(?i)\s*what (?:does|do) (?:\S+ ){1,9}(?:do|mean)\b")
_OPENING_WORDS = 2  # of a sentence, among which the code stands that it is about: "The -e option", "-e, --exit"


def _speaks_of_code(question: str, statements: Sequence[tuple[str, str]]) -> bool:
    """True if one statement holds all code that a question names, and is about it if it is asked what it does.

    The words of "What does the set -e option do?" stand below every other option as well.
    """
    code = find_code(question)
    about = bool(_ASKS_WHAT.match(question)) or AnswerKind.DEFINITION in classify_question(question).kinds
    return not code or any(
        all(
            holds_literal(context, each) or (_opens_with(quote, each) if about else holds_literal(quote, each))
            for each in code
        )
        for quote, context in statements
    )


def _opens_with(quote: str, literal: str) -> bool:
    openings = (" ".join(each.removeprefix("- ").split()[:_OPENING_WORDS]) for each in list_sentences(quote))
    return any(holds_literal(opening, literal) for opening in openings)


class Lack(StrEnum):
    """What a statement lacks to be an answer, from the farthest to the nearest miss."""

    TOPIC = "topic"
    NAME = "name"
    KIND = "kind"
    NOTHING = ""


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """The result of the answer test for one statement.

    It `suits` the question if it gives the number, date or name that is asked for and holds a word of the topic; it
    passes if it holds enough of topic, names and duty as well.
    """

    share: float  # of the question's topic in it
    lack: Lack = Lack.NOTHING
    what: str = ""  # the missing name, or the kind in words: "clearly gives a date or a time"
    suits: bool = True
    near: bool = True  # it holds a word or name of the question, or what is counted, and speaks of no other release
    gives: bool = True  # it gives the number, date or name that is asked for, if words can tell
    missing: frozenset[str] = frozenset()  # names of the question that neither it nor its source mentions

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
    meant: frozenset[str]  # the stems of the names
    kind_in_words: str
    duty: bool
    general: bool = False  # "when does it warn?": a condition or a time span says it, no date


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
    needs, releases, other_names = _read_needs(question), find_asked_releases(question), _map_names(question, pairs)
    told = f"{context} {find_told_dates(question, context)}"
    above, held = (add_aliased_stems(stem_text(each), other_names) for each in (told, statement))
    near = {each[:FAMILY_LETTERS] for each in held}
    own = frozenset(t for t in needs.topic if t[:FAMILY_LETTERS] in near and any(is_same_family(t, h) for h in held))
    share = _share_topic(needs, own, held, above)
    known, small = _read_surroundings(f"{statement}\n{context}\n{around}")
    missing = [name for name in needs.names if not mentions_name(known, small, name)]
    named = not needs.meant or len(missing) < len(needs.names) or not needs.meant.isdisjoint(known)
    other_release = bool(releases.numbers) and not releases.is_named_in(f"{statement} {context} {around}")
    headed, when = _is_answered_by_heading(context, needs, releases), bool(needs.kind.kinds & _WHEN)
    of_kind, fits = (each or headed for each in _check_kind(question, statement))
    states = bool(own) or not needs.topic or (headed and when)  # any other heading alone states nothing
    near = (states or not held.isdisjoint(needs.meant | needs.kind.counted)) and not other_release
    gives = of_kind or needs.duty or (when and _is_of_kind(context, needs))
    gives = gives or (needs.kind.duty and _gives_number(question, statement))
    suits, told = near and gives and named, gives or needs.general
    passing = AnswerCheck(share, suits=suits, near=near, gives=told, missing=frozenset(missing))
    if share < (TOPIC_SHARE_OF_KIND if fits else TOPIC_SHARE) or not states:
        return replace(passing, lack=Lack.TOPIC)
    if missing or other_release:
        return replace(passing, lack=Lack.NAME, what=(*missing, *releases.numbers)[0])
    if not of_kind:
        return replace(passing, lack=Lack.KIND, what=needs.kind_in_words)
    return AnswerCheck(share)


def _share_topic(needs: _Needs, own: frozenset[str], held: frozenset[str], above: frozenset[str]) -> float:
    """Return the share of a topic that a statement holds as its `own` or in what stands `above` it."""
    if not needs.topic:
        return 1.0
    share = len(own | (needs.topic & above)) / len(needs.topic)
    whole = needs.topic | needs.meant
    return max(share, len(own | (whole & (held | above))) / len(whole)) if own else share  # names are topic as well


def _is_answered_by_heading(context: str, needs: _Needs, releases: Releases) -> bool:
    """True if a heading gives the release asked for, or the date of the one asked about: as a change log does."""
    if AnswerKind.RELEASE in needs.kind.kinds:
        return _is_of_kind(context, needs)
    parts = context.split(" > ") if releases and needs.kind.kinds & _WHEN else ()
    return any(releases.is_named_in(part) and _is_of_kind(part, needs) for part in parts)


@lru_cache(maxsize=20_000)  # what else is known of a source grows with every round, this stays
def _check_kind(question: str, statement: str) -> tuple[bool, bool]:
    """Say whether a statement gives what is asked for, and whether one of its sentences fits that kind well."""
    needs = _read_needs(question)
    sentences = list_sentences(statement)
    of_kind = not needs.kind_in_words or any(_is_of_kind(each, needs) for each in sentences)
    fits = bool(needs.kind.kinds) and any(score_answer_fit(each, needs.kind) >= FITS_KIND for each in sentences)
    return of_kind, fits


def _gives_number(question: str, statement: str) -> bool:
    """True if a statement gives the number that is asked for; "minimum" asks for a word of duty as well."""
    needs = _read_needs(question)
    return bool(needs.kind.kinds) and _is_of_kind(statement, replace(needs, kind=replace(needs.kind, duty=False)))


def may_give_number(question: str, statement: str) -> bool:
    """True if a number is asked for and there is one: "(default: 50): The maximum number of connections"."""
    return _read_needs(question).kind.quantified and any(letter.isdigit() for letter in statement)


@lru_cache(maxsize=200)  # every statement of a thread is tested with the same ones
def _map_names(question: str, pairs: tuple[Equivalence, ...]) -> Aliases:
    return map_names(question, pairs)


@lru_cache(maxsize=1_000)
def _read_needs(question: str) -> _Needs:
    kind, compared = classify_question(question), find_compared_sides(question)
    outlets = [name for name in find_attributions(question) if not any(letter.isdigit() for letter in name)]
    named = find_subjects(split_case(question)[0])  # one in the case asked about may be missing, as an outlet often is
    names = tuple(name for name in named if name not in outlets and not any(name in side for side in compared))
    duty = asks_for_duty(question) and not kind.kinds and _FOR_ME.search(question) is None
    words = ""
    if kind.quantified:
        words = "clearly gives the number that is asked for"
    elif kind.kinds & _WHEN:
        words = "clearly gives a date or a time"
    elif AnswerKind.RELEASE in kind.kinds:
        words = "clearly names a release"
    elif kind.kinds & {AnswerKind.PERSON, AnswerKind.PLACE}:
        words = "clearly gives a name"
    elif duty:
        words = "clearly says what must, should or may be"
    counted, meant = find_counted_stems(question), frozenset(stem_text(" ".join(names)))
    topic = counted - kind.counted - meant or counted
    asked_otherwise = topic - find_duty_stems(question) if duty else topic
    general = bool(kind.kinds & _WHEN) and _GENERAL_WHEN.match(question) is not None
    return _Needs(kind, asked_otherwise or topic, names, meant, words, duty, general)


@lru_cache(maxsize=2_000)
def _read_surroundings(text: str) -> tuple[frozenset[str], str]:
    return frozenset(stem_text(text)), strip_to_alphanumeric(text)


def _is_of_kind(sentence: str, needs: _Needs) -> bool:
    """True if a sentence is of the kind asked for; a name of the question itself is no answer."""
    if needs.duty:
        return bool(parse_statement(sentence).duties) or _PLAINLY.search(sentence) is not None
    if needs.general and (_CONDITION.search(sentence) or score_answer_fit(sentence, _SPAN) >= FITS_KIND):
        return True
    fit = score_answer_fit(sentence, needs.kind)
    if needs.kind.kinds & {AnswerKind.PERSON, AnswerKind.PLACE}:
        own = needs.kind.named
        return fit >= _NEARLY or any(not frozenset(stem_text(name)) <= own for name in find_names(sentence))
    return fit >= FITS_KIND


def covers_both_sides(question: str, texts: tuple[str, ...]) -> bool:
    """True if each side that a question compares is named by one of the texts, or if it names none, briefly."""
    sides = [frozenset(stem_text(side)) for side in find_differing_sides(question)]
    if len(sides) < 2 or not all(sides) or max(map(len, sides)) > SIDE_STEMS:  # noqa: PLR2004 - two sides
        return True
    said = [frozenset(stem_text(text)) for text in texts]
    own = [one - other or one for one, other in (sides, sides[::-1])]
    return all(any(side & text for text in said) for side in own)
