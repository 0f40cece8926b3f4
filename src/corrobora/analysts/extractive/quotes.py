"""Quotes: which neighbours must be quoted with a sentence, so that it is understood and does not mislead.

Knows paragraphs, turns, lists and connectives. Does not know questions or truth: it looks only at a sentence and its
neighbours, and a quote is one literal piece of its passage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from corrobora.analysts.extractive.lines import Line
from corrobora.analysts.extractive.ranker import is_question
from corrobora.domain.limits import LIMITS

_OPENS_BACK = re.compile(
    r"(?i)^(?:[-*] )?(?:it|they|he|she|its|their|his|her|both|neither|the (?:former|latter|same)|"
    r"(?:in )?(?:that|which|this) case|otherwise|instead|therefore|thus|hence|so|then|also|however|but|yet|"
    r"nevertheless|nonetheless|in addition|additionally|moreover|furthermore|similarly|likewise|accordingly|"
    r"consequently|for (?:example|instance)|as a result|reasons?:|yes|no|"
    r"(?:this|that|these|those|such)(?= (?:is|are|was|were|has|have|had|can|cannot|could|may|might|must|should|shall|"
    r"will|would|do|does|did|also|not|only|in|for|to|of|by|as|approach|case|example|way|[a-z]+ed)\b)|"
    r"(?:this|that)(?= [a-z]+(?<!s)s\b))\b"
)
_LIMITS_IT = re.compile(
    r"(?:However|But|Except|Unless|Nevertheless|Nonetheless|Yet|Otherwise|Instead|Only|Exceptions?|Note that|"
    r"Reasons?:|Notwithstanding)"
    r"|(?i:(?:this|that|it|these|those|they|such)\b.{0,80}\b(?:not|only|except|unless|never|no longer|until)\b)"
)
_BACK = 3  # sentences that a quote takes from before
_TURN_CHARS = 240  # of a turn that is quoted whole; of a longer one only the sentence
_LIST_CHARS = 900
_LEAD_CHARS = 240  # of an item that is quoted with what introduces its list
_ANSWER_CHARS = 500  # of a question with the paragraph that answers it
_PLAIN_ITEMS = 4  # sentences after a colon where no list is marked


def grow_quote(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Return the first and last line that must be quoted so that the line `at` is understood and not misleading."""
    if lines[at].turn >= 0:
        return _quote_turn(lines, at)
    if is_question(lines[at].text):
        return _quote_to_answer(lines, at)
    first = _extend_backward(lines, at)
    last = _end_of_list(lines, at, first)
    if last == at and at + 1 < len(lines) and _LIMITS_IT.match(lines[at + 1].text):
        last = at + 1 if _same_paragraph(lines, at, at + 1) and fits_quote(lines, first, at + 1) else at
    while lines[last].end - lines[first].start < LIMITS.quote_min_chars and last + 1 < len(lines):
        if not fits_quote(lines, first, last + 1):
            break
        last += 1
    return first, last


def find_context(sentences: Sequence[str], at: int) -> range:
    """Return which sentences of a quote to print if one is the answer: with what it refers to or is limited by.

    A sentence that leads in a list is printed with the list, a question with its answer.
    """
    first = last = at
    while first and at - first < _BACK and _OPENS_BACK.match(sentences[first]):
        first -= 1
    if sentences[at].endswith(":") or is_question(sentences[at]):
        last = len(sentences) - 1
    elif at + 1 < len(sentences) and _LIMITS_IT.match(sentences[at + 1]):
        last = at + 1
    return range(first, last + 1)


def fits_quote(lines: Sequence[Line], first: int, last: int, most: int = LIMITS.quote_max_chars) -> bool:
    """True if lines stand in one passage and are together no longer than a quote may be."""
    one, other = lines[first], lines[last]
    return one.passage == other.passage and other.end - one.start <= most


def _same_paragraph(lines: Sequence[Line], a: int, b: int) -> bool:
    return lines[a].passage == lines[b].passage and lines[a].paragraph == lines[b].paragraph


def _extend_backward(lines: Sequence[Line], at: int) -> int:
    """Add previous sentences while the first one refers back; a list item adds its lead-in."""
    first = at
    while first and at - first < _BACK and _needs_before(lines, first) and fits_quote(lines, first - 1, at):
        first -= 1
    lead = first
    while lead and lines[lead].item and lines[lead - 1].passage == lines[at].passage:
        lead -= 1
    leads_in = lead < first and lines[lead].text.endswith(":")
    return lead if leads_in and fits_quote(lines, lead, at, _LEAD_CHARS) else first


def _needs_before(lines: Sequence[Line], at: int) -> bool:
    line = lines[at]
    short = line.end - line.start < LIMITS.quote_min_chars
    points = _OPENS_BACK.match(line.text) is not None
    answers = points and is_question(lines[at - 1].text) and lines[at - 1].passage == line.passage
    return answers or ((short or points) and _same_paragraph(lines, at - 1, at))


def _end_of_list(lines: Sequence[Line], at: int, first: int) -> int:
    """Return the last line of the list that a line introduces, or `at` if it introduces none."""
    if not lines[at].text.endswith(":"):
        return at
    marked = at + 1 < len(lines) and lines[at + 1].item
    last = at
    while last + 1 < len(lines) and fits_quote(lines, first, last + 1, _LIST_CHARS):
        near = lines[last + 1].item or _same_paragraph(lines, last, last + 1)
        opens = last == at or _same_paragraph(lines, last, last + 1)
        if (marked and not near) or (not marked and (last - at >= _PLAIN_ITEMS or not opens)):
            break
        last += 1
    return last


def _quote_to_answer(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Quote a question with the paragraph that answers it."""
    last = at
    while last + 1 < len(lines) and last - at < _BACK and fits_quote(lines, at, last + 1, _ANSWER_CHARS):
        if is_question(lines[last + 1].text) or (last > at and not _same_paragraph(lines, last, last + 1)):
            break
        last += 1
    return at, last


def _quote_turn(lines: Sequence[Line], at: int) -> tuple[int, int]:
    """Quote a short turn whole, of a long one the sentence; a turn that asks takes the one that replies."""
    first = last = at
    while first and _same_paragraph(lines, first - 1, at):
        first -= 1
    while last + 1 < len(lines) and _same_paragraph(lines, at, last + 1):
        last += 1
    first, last = (first, last) if fits_quote(lines, first, last, _TURN_CHARS) else (at, at)
    reply = last + 1
    if not is_question(lines[last].text) or reply >= len(lines):
        return first, last
    while reply + 1 < len(lines) and _same_paragraph(lines, reply, reply + 1):
        reply += 1
    return (first, reply) if fits_quote(lines, first, reply, _ANSWER_CHARS) else (first, last)
