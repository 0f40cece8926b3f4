"""Insights: what a source says beside what was asked of it: limits it states, what it contradicts, where it points.

Knows the quotes taken from one source, and S0's four triggers. Does not choose quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from corrobora.domain.evidence import FollowUp, LinkedSource
from corrobora.policies.conflict import find_difference, parse_statement
from corrobora.policies.markup import strip_markup
from corrobora.policies.words import stem_text
from corrobora.roles.extract import Excerpt, Extraction, Quote
from corrobora.roles.extractive.lines import Line

_CONFIDENT = 0.5  # below this, the key claims are weak: a trigger of S0
_LIMITATION = re.compile(
    r"(?i)\b(?:limitations?|future (?:work|research|studies)|further (?:research|study|work) (?:is|are)|"
    r"remains? (?:unclear|unknown|open)|"
    r"not (?:yet )?(?:known|addressed|covered|considered)|out of scope|open questions?)\b"
)
_REFERENCE = re.compile(
    r"\[([^\[\]]{2,160})\]\((https?://[^\s()]{4,400})\)|(?<![\w(\[/])(https?://[^\s<>()\[\]\"']{4,400})"
)
_LINKS = 5


def add_insights(
    given: Excerpt, lines: Sequence[Line], quotes: tuple[Quote, ...], terms: tuple[str, ...]
) -> Extraction:
    """Add insights under S0's four triggers only: weak claims, stated limitations, contradictions, discovery."""
    texts = [line.text for line in lines]
    stated = tuple(text for text in texts if _LIMITATION.search(text))[:3]
    against = tuple(_find_conflicts(given.known_facts, quotes))
    best = max((quote.confidence for quote in quotes), default=0.0)
    summary = " ".join(q.claim for q in sorted(quotes, key=lambda q: -q.confidence)[:2])
    if not (given.discovery_intense or best < _CONFIDENT or stated or against):
        return Extraction(quotes, summary, terms=terms)
    answered = {sq for quote in quotes for sq in quote.answers if quote.confidence >= _CONFIDENT}
    ups = tuple(
        FollowUp(part.text, round(1 - best, 3), "the source speaks to it only in part")
        for part in given.sub_questions
        if part.id not in answered
    )
    return Extraction(
        quotes,
        summary,
        follow_ups=ups,
        gaps=stated,
        linked=_linked_sources(given),
        contradicts_known=against,
        terms=terms,
    )


def _find_conflicts(known: Sequence[str], quotes: Sequence[Quote]) -> list[str]:
    found: list[str] = []
    stated = [parse_statement(fact) for fact in known]
    for quote in quotes:
        own = parse_statement(quote.claim)
        for fact in stated:
            differs = find_difference(fact, own)
            if differs is not None:
                found.append(f"{differs.text}: {quote.claim}")
                break
    return found


def _linked_sources(given: Excerpt) -> tuple[LinkedSource, ...]:
    """Return the web addresses the passages point to, with the words around them."""
    found: dict[str, LinkedSource] = {}
    wanted = set(stem_text(given.question))
    for passage in given.passages:
        for match in _REFERENCE.finditer(passage.text):
            address = (match.group(2) or match.group(3)).rstrip(".,;:")
            around = strip_markup(passage.text[max(0, match.start() - 80) : match.end() + 40])
            if address not in found:
                shared = len(wanted & set(stem_text(around))) / max(1, len(wanted))
                found[address] = LinkedSource(address, around, round(min(1.0, 0.3 + shared), 3))
    return tuple(sorted(found.values(), key=lambda link: (-link.priority, link.reference))[:_LINKS])
