"""Insights: when what a reader noticed beside the facts counts.

Requirement: TREE-30. Knows one extraction and the passages it was made of. Does not know threads or runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from corrobora.domain.evidence import Passage
from corrobora.roles.extract import Extraction
from corrobora.text.comparison import find_differences

LOW_CONFIDENCE = 0.5
LIMITATION_HEADINGS = ("limitation", "future work", "future research", "open question", "further research")


def has_insight_trigger(
    extraction: Extraction, passages: Sequence[Passage], *, discovery_intense: bool, disputed: bool = False
) -> bool:
    """Say whether one of the four conditions of TREE-30 holds, so that follow-ups, gaps and linked sources count.

    Low confidence on key claims; explicit limitations or future work; a contradiction within the source or with what
    was given as known (`disputed`: code found one); a discovery-intense leaf.
    """
    if discovery_intense or disputed or extraction.contradicts_known or contradicts_itself(extraction):
        return True
    if any(quote.confidence < LOW_CONFIDENCE for quote in extraction.quotes):
        return True
    return any(word in f"{p.heading}\n{p.text}".lower() for p in passages for word in LIMITATION_HEADINGS)


def contradicts_itself(extraction: Extraction) -> bool:
    """True if two quotes of one source differ about the same thing (TREE-30)."""
    return any(find_differences(one.quote, other.quote) for one, other in combinations(extraction.quotes, 2))
