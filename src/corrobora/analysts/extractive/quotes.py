"""Quotes: whether a sentence answers a question, and which neighbours must be quoted with it.

Knows topic words, named things, expected kinds of answer, paragraphs, turns, lists and connectives. Does not know
truth: it looks only at a sentence, its headings and its neighbours, and a quote is one literal piece of its passage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.analysts.extractive.lines import QUESTION, Line, is_question
from corrobora.analysts.extractive.relevance import SentenceTerms, find_explained_term, is_same_family
from corrobora.domain.limits import LIMITS
from corrobora.text.answers import FITS_KIND, AnswerKind, ExpectedAnswer, score_answer_fit
from corrobora.text.comparison import parse_statement
from corrobora.text.mentions import find_names
from corrobora.text.quantities import find_dates, find_quantities, find_years
from corrobora.text.questions import Expectation, find_anchors, is_relational
from corrobora.text.tokens import stem_text

_SPEAKS = 0.5  # share of the topic words from which a sentence, read under its headings, speaks to a question
_OWN = 0.25  # of them must stand in the sentence itself
_SPEAKING_WORDS = 2  # so many topic words are enough, however long the question is
_PREFERENCE = 0.3
_KIND = 0.8  # what a sentence gains that is of the kind asked for
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
    """How well a sentence matches a question (0.0: not at all), and whether it counts as an answer."""

    whole: float
    answers: bool = False


def extend_matches(
    speaks: list[SentenceMatch], question: str, lines: Sequence[Line], wanted: Expectation
) -> list[SentenceMatch]:
    """Also match sentences of the expected kind near one that names the subject of the question."""
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
    """Match one sentence against a question by its share of the topic and by the names in the question.

    The sentence and its headings must contain half of the topic words, or two in a long question. If the question names
    its subject, an answer or a heading above it must name it too, unless the question depends on a chain of names.
    """
    if line.weight < QUESTION:
        return SentenceMatch(0.0)
    fitting = score_answer_fit(line.text, kind) >= FITS_KIND
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
    """True right below a heading that names the whole topic, or in a source titled by the term to explain."""
    if find_explained_term(question) and topic <= line.title:
        return True
    named = frozenset(term for name in find_anchors(question) for term in stem_text(name))
    own = frozenset(term for term in stem_text(line.above) if not term.isdigit()) - named
    return (
        bool(topic) and 2 * len(topic) >= len(own) and all(any(is_same_family(t, held) for held in own) for t in topic)
    )


def _named_before(question: str, line: Line) -> bool:
    """True if the previous sentence of the paragraph names the subject of the question."""
    said = (frozenset(stem_text(each)) for each in find_anchors(question))
    return any(name and name <= line.before and not name <= line.unit.heading for name in said)


@dataclass(frozen=True, slots=True)
class TopicShare:
    """The share of a question's topic in a sentence alone and with its headings, and whether it suffices."""

    own: float
    whole: float
    enough: bool


def topic_share(topic: frozenset[str], unit: SentenceTerms, around: frozenset[str] = frozenset()) -> TopicShare:
    """Measure the topic words in a sentence and its headings; words only `around` it count half."""
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
    """Return whether the sentence, it or its headings, and the title name the subject of the question."""
    own = frozenset(line.unit.stems)
    said = [name for each in find_anchors(question) if (name := frozenset(stem_text(each)))]
    here = any(name <= own and not name <= line.unit.heading for name in said)
    titled = any(name <= line.title or (len(line.title) > 1 and line.title <= name) for name in said)
    return here, not said or any(name <= own | line.unit.heading for name in said), titled


def subject_factor(topic: frozenset[str], own: Sequence[str]) -> float:
    """Return a factor from 1.0: higher if the sentence opens with the subject of the question."""
    opening = frozenset(own[:_OPENING])
    return 1 + _SUBJECT * len(topic & opening) / len(topic) if topic else 1.0


def preference_factor(text: str, wanted: Expectation, kind: ExpectedAnswer = _ANY) -> float:
    """Return a factor from 1.0: higher for expected features, highest for the very kind asked for."""
    kinds = (
        wanted.obligation and _DUTY.search(text) is not None,
        wanted.number and bool(find_quantities(text)),
        wanted.date and bool(find_dates(text) or find_years(text)),
        wanted.name and bool(find_names(text)),
        wanted.reason and _REASON.search(text) is not None,
        wanted.condition and _CONDITION.search(text) is not None,
    )
    return 1 + _PREFERENCE * sum(kinds) + _KIND * score_answer_fit(text, kind)


_OPENS_BACK = re.compile(
    r"(?i)^(?:[-*] )?(?:it|they|he|she|its|their|his|her|both|neither|the (?:former|latter|same)|"
    r"(?:in )?(?:that|which|this) case|otherwise|instead|therefore|thus|hence|so|then|also|however|but|yet|"
    r"nevertheless|nonetheless|in addition|additionally|moreover|furthermore|similarly|likewise|accordingly|"
    r"consequently|for (?:example|instance)|as a result|yes|no|"
    r"(?:this|that|these|those|such)(?= (?:is|are|was|were|has|have|had|can|cannot|could|may|might|must|should|shall|"
    r"will|would|do|does|did|also|not|only|in|for|to|of|by|as|approach|case|example|way|[a-z]+ed)\b)|"
    r"(?:this|that)(?= [a-z]+(?<!s)s\b))\b"
)
_LIMITS_IT = re.compile(
    r"(?:However|But|Except|Unless|Nevertheless|Nonetheless|Yet|Otherwise|Instead|Only|Exceptions?|Note that|"
    r"Notwithstanding)\b"
)
_TAKES_BACK = re.compile(
    r"(?i)^(?:this|that|it|these|those|they|such)\b.{0,80}\b(?:not|only|except|unless|never|no longer|until)\b"
)
_ADDS = re.compile(r"^(?:In addition|Additionally|Also|Moreover|Furthermore|Likewise|Similarly|Further)\b")
_LINKED = re.compile(r"(?i)\b(?:also|likewise|similarly|neither|in the same way)\b")
_FORBIDS = re.compile(r"(?i)\b(?:not|cannot|prohibited|forbidden)\b")
_LEADS_IN = re.compile(r":\s*$")
_BACK = 3  # sentences that a quote takes from before
_TURN_CHARS = 500  # of a whole turn, and of the question it answers
_LIST_CHARS = 900
_PLAIN_ITEMS = 4  # sentences after a colon where no list is marked


def grow_quote(lines: Sequence[Line], at: int, wanted: ExpectedAnswer) -> tuple[int, int]:
    """Return the first and last line that must be quoted so that the line `at` is understood and not misleading."""
    if lines[at].turn >= 0:
        return _quote_turn(lines, at)
    if lines[at].table >= 0:
        return _quote_table(lines, at)
    if is_question(lines[at].text):
        return _quote_to_answer(lines, at)
    first = _extend_backward(lines, at)
    last = _end_of_list(lines, at, first)
    last = last if last > at else _extend_forward(lines, at, first, wanted)
    while lines[last].end - lines[first].start < LIMITS.quote_min_chars and last + 1 < len(lines):
        if not _fits_quote(lines, first, last + 1):
            break
        last += 1
    return first, last


def _fits_quote(lines: Sequence[Line], first: int, last: int, most: int = LIMITS.quote_max_chars) -> bool:
    one, other = lines[first], lines[last]
    return one.passage == other.passage and other.end - one.start <= most


def _same_paragraph(lines: Sequence[Line], a: int, b: int) -> bool:
    return lines[a].passage == lines[b].passage and lines[a].unit.paragraph == lines[b].unit.paragraph


def _extend_backward(lines: Sequence[Line], at: int) -> int:
    """Add previous sentences while the first one refers back; a list item adds its lead-in."""
    first = at
    while first and at - first < _BACK and _needs_before(lines, first) and _fits_quote(lines, first - 1, at):
        first -= 1
    if lines[first].item:
        lead = first
        while lead and lines[lead].item and lines[lead - 1].passage == lines[at].passage:
            lead -= 1
        if not lines[lead].item and _LEADS_IN.search(lines[lead].text) and _fits_quote(lines, lead, at, _TURN_CHARS):
            return lead
    return first


def _needs_before(lines: Sequence[Line], at: int) -> bool:
    line = lines[at]
    short = line.end - line.start < LIMITS.quote_min_chars
    points = _OPENS_BACK.match(line.text) is not None
    answers = points and is_question(lines[at - 1].text) and lines[at - 1].passage == line.passage
    return answers or ((short or points) and _same_paragraph(lines, at - 1, at))


def _end_of_list(lines: Sequence[Line], at: int, first: int) -> int:
    """Return the last line of the list that a line introduces, or `at` if it introduces none."""
    if not _LEADS_IN.search(lines[at].text):
        return at
    marked = at + 1 < len(lines) and (lines[at + 1].item or lines[at + 1].table >= 0)
    last = at
    while last + 1 < len(lines) and _fits_quote(lines, first, last + 1, _LIST_CHARS):
        after = lines[last + 1]
        listed = after.item or after.table >= 0 or _same_paragraph(lines, last, last + 1)
        opens = last == at or _same_paragraph(lines, last, last + 1)
        if (marked and not listed) or (not marked and (last - at >= _PLAIN_ITEMS or not opens)):
            break
        last += 1
    return last


def _quote_table(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Quote a row with the rows above it up to the header if they fit, or a header with all rows."""
    first = last = at
    while first and lines[first - 1].table == lines[at].table and lines[first - 1].passage == lines[at].passage:
        first -= 1
    heads = first
    if first and lines[first - 1].text.endswith(":") and _fits_quote(lines, first - 1, at):
        first -= 1
    if heads == at:
        while (
            last + 1 < len(lines) and lines[last + 1].table == lines[at].table and _fits_quote(lines, first, last + 1)
        ):
            last += 1
    return (first, last) if _fits_quote(lines, first, last) else (at, at)


def _quote_to_answer(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Quote a question with the paragraph that answers it."""
    last = at
    while last + 1 < len(lines) and last - at < _BACK and _fits_quote(lines, at, last + 1, _TURN_CHARS):
        if is_question(lines[last + 1].text) or (last > at and not _same_paragraph(lines, last, last + 1)):
            break
        last += 1
    return at, last


def _extend_forward(lines: Sequence[Line], at: int, first: int, wanted: ExpectedAnswer) -> int:
    """Add following sentences that limit the statement, add a duty, or forbid what it allows."""
    last = at
    for ahead in range(at + 1, min(at + 1 + 2 * _BACK, len(lines))):
        if ahead > last + 2 or not _fits_quote(lines, first, ahead):
            break
        near = _same_paragraph(lines, last, ahead)
        adjoining = ahead == last + 1 and lines[ahead].unit.paragraph <= lines[last].unit.paragraph + 1
        if (
            near and (_belongs_to(lines[at], lines[ahead], wanted) or _supplies_kind(lines[at], lines[ahead], wanted))
        ) or (adjoining and wanted.duty and _LINKED.search(lines[ahead].text) and _forbids_action(lines[ahead].text)):
            last = ahead
    return last


def _belongs_to(line: Line, after: Line, wanted: ExpectedAnswer) -> bool:
    """True for a sentence that limits the one before, or states another duty on the same thing."""
    if _LIMITS_IT.match(after.text) or _TAKES_BACK.match(after.text):
        return True
    if not wanted.duty or not parse_statement(after.text).duties:
        return False
    if wanted.quantified and score_answer_fit(after.text, wanted) < FITS_KIND:
        return False
    own = line.unit.stems
    return _ADDS.match(after.text) is not None or any(is_same_family(a, b) for a in set(after.unit.stems) for b in own)


def _supplies_kind(line: Line, after: Line, wanted: ExpectedAnswer) -> bool:
    """True for a sentence that gives the reason asked for, or refers back and has the expected kind."""
    lacks = bool(wanted.kinds) and score_answer_fit(line.text, wanted) < FITS_KIND
    tied = AnswerKind.REASON in wanted.kinds or _OPENS_BACK.match(after.text) is not None
    return lacks and tied and score_answer_fit(after.text, wanted) >= FITS_KIND


def _forbids_action(text: str) -> bool:
    return any(_FORBIDS.search(duty) for duty, _ in parse_statement(text).duties)


def _quote_turn(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Quote a whole turn and the question before it."""
    first = last = at
    while first and _same_paragraph(lines, first - 1, at) and _fits_quote(lines, first - 1, last, _TURN_CHARS):
        first -= 1
    while (
        last + 1 < len(lines)
        and _same_paragraph(lines, at, last + 1)
        and _fits_quote(lines, first, last + 1, _TURN_CHARS)
    ):
        last += 1
    before = first - 1
    if before < 0 or lines[before].passage != lines[at].passage or not is_question(lines[before].text):
        return first, last
    start = before
    while start and _same_paragraph(lines, start - 1, before):
        start -= 1
    start = start if _fits_quote(lines, start, last, 2 * _TURN_CHARS) else before
    return (start, last) if _fits_quote(lines, start, last) else (first, last)
