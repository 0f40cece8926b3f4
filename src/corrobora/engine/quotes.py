"""Quotes: which of what an analyst quoted from a source becomes a fact, and whether its side findings count.

Knows the passages and the whole text of one source. Does not know rounds, calls or who quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from corrobora.domain.evidence import Document, Fact, Passage, PassageId
from corrobora.domain.limits import LIMITS
from corrobora.domain.thread import ThreadState
from corrobora.roles.extract import Extraction, Quote
from corrobora.text.comparison import find_differences
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import stem_text

QUOTE_MAX_PLACES = 5  # a quote that stands more often in its source points nowhere (bad-input M18)
_LOW_CONFIDENCE = 0.5  # below this, evidence for a key claim counts as weak
_LIMITATIONS = ("limitation", "future work", "future research", "open question", "further research")


class CheckedQuotes(NamedTuple):
    """The facts that the quotes of one source gave."""

    own: tuple[Fact, ...]  # that answer what this thread asks, or no question
    others: tuple[Fact, ...]  # that answer what other threads ask
    dropped: int  # quotes of this thread that are not literal, or too weak


def quotes_to_facts(quotes: Sequence[Quote], document: Document, thread: ThreadState, score: float) -> CheckedQuotes:
    """Turn quotes into facts: literal, long enough, and at one place of the source; what is not grows, if it can."""
    passages = {p.id: p for p in document.passages}
    mine = {q.id for q in thread.sub_questions}
    own: dict[str, Fact] = {}
    others: dict[str, Fact] = {}
    dropped = 0
    for quote in quotes:
        passage = passages[PassageId(quote.passage)]
        theirs = tuple(name for name in quote.answers if mine and name not in mine)
        answers = tuple(name for name in quote.answers if name not in theirs)
        fact = Fact.from_quote(
            document,
            passage,
            _widen_quote(quote.quote, passage, document.text),
            claim=quote.claim,
            confidence=quote.confidence,
            answers=answers,
            subjects=quote.subjects,
            score=score,
        )
        strong = fact is not None and _is_strong_quote(fact.quote, document.text)
        if fact is not None and strong and theirs:
            others.setdefault(fact.id, replace(fact, answers=theirs))
        if fact is not None and strong and (answers or not theirs):
            own.setdefault(fact.id, fact)
        elif answers or not theirs:  # else it is counted where it is asked for
            dropped += 1
    return CheckedQuotes(tuple(own.values()), tuple(others.values()), dropped)


def _widen_quote(quote: str, passage: Passage, text: str) -> str:
    """Return a quote with its sentence, and with so many beside it that it points to one place of its source.

    A reader copies "Default value: 128", which is too short, or "Effect if unset: Default value is used.", which stands
    below twenty names. It is left as it is unless it has a word that tells something and stands once in the passage.
    """
    if _is_strong_quote(quote, text) or not stem_text(quote):
        return quote
    places = list(re.finditer(rf"(?<!\w){re.escape(quote)}(?!\w)", passage.text))
    if len(places) != 1:
        return quote
    spans = split_sentences(passage.text)
    first = max((at for at, span in enumerate(spans) if span.start <= places[0].start()), default=0)
    last = next((at for at, span in enumerate(spans) if span.end >= places[0].end()), len(spans) - 1)
    while True:
        grown = passage.text[spans[first].start : spans[last].end]
        if _is_strong_quote(grown, text):
            return grown
        if len(grown) > LIMITS.quote_max_chars or (first, last) == (0, len(spans) - 1):
            return quote
        first, last = (first - 1, last) if first else (first, last + 1)  # a label stands before what it labels


def _is_strong_quote(quote: str, text: str) -> bool:
    """Say whether a quote is long enough and points to one place (bad-input M18)."""
    return LIMITS.quote_min_chars <= len(quote) <= LIMITS.quote_max_chars and text.count(quote) <= QUOTE_MAX_PLACES


def has_insight_trigger(
    extraction: Extraction, passages: Sequence[Passage], *, discovery_intense: bool, disputed: bool = False
) -> bool:
    """Say whether one of the four conditions of TREE-30 holds, so that follow-ups, gaps and linked sources count.

    Low confidence on key claims; explicit limitations or future work; a contradiction within the source or with what
    was given as known (`disputed`: code found one); a discovery-intense leaf.
    """
    if discovery_intense or disputed or extraction.contradicts_known or _contradicts_itself(extraction):
        return True
    if any(quote.confidence < _LOW_CONFIDENCE for quote in extraction.quotes):
        return True
    return any(word in f"{p.heading}\n{p.text}".lower() for p in passages for word in _LIMITATIONS)


def _contradicts_itself(extraction: Extraction) -> bool:
    """True if two quotes of one source differ about the same thing (TREE-30)."""
    return any(find_differences(one.quote, other.quote) for one, other in combinations(extraction.quotes, 2))
