"""Speaking: whether a sentence speaks to a question, and whether it counts as an answer.

Knows topic words, named things and the kind of statement that is wanted. Does not know truth: it never looks at more
than the sentence, its headings and its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.policies.answers import ExpectedAnswer, score_answer_fit
from corrobora.policies.definitions import find_explained_term
from corrobora.policies.mentions import find_dates, find_names, find_quantities, find_years
from corrobora.policies.questions import Expectation, find_anchors, is_relational
from corrobora.policies.relevance import SentenceTerms, is_same_family
from corrobora.policies.words import stem_text
from corrobora.roles.extractive.lines import QUESTION, Line

_SPEAKS = 0.5  # share of the topic words from which a sentence, read under its headings, speaks to a question
_OWN = 0.25  # of them must stand in the sentence itself
_SPEAKING_WORDS = 2  # so many topic words are enough, however long the question is
_PREFERENCE = 0.3
_KIND = 0.8  # what a sentence gains that is of the kind asked for
_OF_THE_KIND = 0.8
_HALF = 0.5
_OPENING, _SUBJECT = 5, 0.4  # stems that open a sentence, and what it gains if they are the topic
_ANY = ExpectedAnswer()
_BESIDE = 0.3  # what a sentence covers that stands beside such a sentence
_REACH = 4
_BELOW = 0.4  # what a sentence covers that stands below a heading that names the topic
_NAMED = 0.45  # what a sentence covers that names the thing asked about
_DUTY = re.compile(r"(?i)\b(?:must|shall|should|may|required|prohibited|recommended|permitted|allowed|cannot)\b")
_REASON = re.compile(r"(?i)\b(?:because|since|therefore|due to|reason|rationale|so that|in order to)\b")
_CONDITION = re.compile(r"(?i)\b(?:if|unless|only|provided that|except|where|as long as)\b")


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """How far a sentence speaks to a question (0.0: not at all), and whether it counts as an answer."""

    whole: float
    answers: bool = False


def extend_matches(
    speaks: list[SentenceMatch], question: str, lines: Sequence[Line], wanted: Expectation
) -> list[SentenceMatch]:
    """Let sentences of the wanted kind speak too that stand close to one that names what is asked about.

    What holds for a thing is often said around its name, in the same section, without repeating it.
    """
    said = [frozenset(stem_text(name)) for name in find_anchors(question)]
    naming = [at for at, line in enumerate(lines) if any(name and name <= frozenset(line.unit.stems) for name in said)]
    near = {at for place in naming for at in range(place - _REACH, place + _REACH + 1) if 0 <= at < len(lines)}
    return [
        SentenceMatch(_BESIDE, answers=True)
        if not share.whole and at in near and preference_factor(lines[at].text, wanted) > 1 and lines[at].weight == 1
        else share
        for at, share in enumerate(speaks)
    ]


def match_sentence(
    question: str, topic: frozenset[str], line: Line, wanted: Expectation, kind: ExpectedAnswer = _ANY
) -> SentenceMatch:
    """Judge one sentence: by its share of the topic, and by the things the question names.

    Half of the topic words, or two of them in a long question, must stand in the sentence and its headings. Where a
    question names what it is about, a sentence answers it only if it (or a heading above it) names it too, or if the
    question hangs on a chain of names and the sentence is of the kind it wants.
    """
    if line.weight < QUESTION:
        return SentenceMatch(0.0)
    fitting = score_answer_fit(line.text, kind) >= _OF_THE_KIND
    widened = fitting or line.turn >= 0 or line.text.endswith(":")
    share = topic_share(topic, line.unit, line.around if widened else frozenset())
    named, anchored, titled = _locate_names(question, line)
    fits = fitting or preference_factor(line.text, wanted) > 1
    if (named and (fits or share.own > 0)) or (share.own >= _SPEAKS and _named_before(question, line)):
        return SentenceMatch(max(share.whole, _NAMED), answers=True)
    if titled and (share.own > 0 or line.first) and (is_relational(question) or share.enough):
        return SentenceMatch(max(share.whole, _NAMED), answers=True)
    if not share.enough:
        below = anchored and line.weight == 1 and _heading_names_topic(question, topic, line)
        return SentenceMatch(_BELOW, answers=True) if below else SentenceMatch(0.0)
    return SentenceMatch(share.whole, answers=anchored or (fits and is_relational(question)))


def _heading_names_topic(question: str, topic: frozenset[str], line: Line) -> bool:
    """True right below a heading that names the whole topic: what stands there is about it without repeating it.

    A thing that shall be explained is what a whole source is about if its title names it.
    """
    if find_explained_term(question) and topic <= line.title:
        return True
    named = frozenset(term for name in find_anchors(question) for term in stem_text(name))
    own = frozenset(term for term in stem_text(line.above) if not term.isdigit()) - named
    return (
        bool(topic) and 2 * len(topic) >= len(own) and all(any(is_same_family(t, held) for held in own) for t in topic)
    )


def _named_before(question: str, line: Line) -> bool:
    """True if the sentence before, in the same paragraph, names what the question is about."""
    said = (frozenset(stem_text(each)) for each in find_anchors(question))
    return any(name and name <= line.before and not name <= line.unit.heading for name in said)


@dataclass(frozen=True, slots=True)
class TopicShare:
    """Which share of a question's topic a sentence holds: itself, and with the headings above it; and is it enough."""

    own: float
    whole: float
    enough: bool


def topic_share(topic: frozenset[str], unit: SentenceTerms, around: frozenset[str] = frozenset()) -> TopicShare:
    """Measure the topic words that a sentence and its headings hold, each word alike; those `around` it count half."""
    if not topic:
        return TopicShare(0.0, 0.0, enough=False)
    own = frozenset(unit.stems)
    mine = frozenset(term for term in topic if term in own or any(is_same_family(term, held) for held in own))
    whole = mine | topic & unit.heading
    held = len(whole) + _HALF * len(topic & around - whole)
    needed = min(_SPEAKS * len(topic), _SPEAKING_WORDS)
    enough = held >= needed and len(mine) >= min(_OWN * len(topic), _SPEAKING_WORDS - 1)
    return TopicShare(len(mine) / len(topic), held / len(topic), enough)


def _locate_names(question: str, line: Line) -> tuple[bool, bool, bool]:
    """Say whether what the question is about is named: by the sentence itself, by it or its headings, by the title.

    A question that names nothing is always about what is read.
    """
    own = frozenset(line.unit.stems)
    said = [name for each in find_anchors(question) if (name := frozenset(stem_text(each)))]
    here = any(name <= own and not name <= line.unit.heading for name in said)
    titled = any(name <= line.title or (len(line.title) > 1 and line.title <= name) for name in said)
    return here, not said or any(name <= own | line.unit.heading for name in said), titled


def subject_factor(topic: frozenset[str], own: Sequence[str]) -> float:
    """Return a factor from 1.0 on: more for a sentence that opens with what is asked about, its subject."""
    opening = frozenset(own[:_OPENING])
    return 1 + _SUBJECT * len(topic & opening) / len(topic) if topic else 1.0


def preference_factor(text: str, wanted: Expectation, kind: ExpectedAnswer = _ANY) -> float:
    """Return a factor from 1.0 on: more for what is wanted (duty, number, date, name), most for the very kind asked."""
    kinds = (
        wanted.obligation and _DUTY.search(text) is not None,
        wanted.number and bool(find_quantities(text)),
        wanted.date and bool(find_dates(text) or find_years(text)),
        wanted.name and bool(find_names(text)),
        wanted.reason and _REASON.search(text) is not None,
        wanted.condition and _CONDITION.search(text) is not None,
    )
    return 1 + _PREFERENCE * sum(kinds) + _KIND * score_answer_fit(text, kind)
