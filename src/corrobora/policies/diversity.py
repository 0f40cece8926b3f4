"""Diversity: choose what is relevant and not said yet.

Knows sets of stems and numbers. Does not know sentences, facts or sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def jaccard_similarity(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets, 0.0 if both are empty."""
    if not a or not b:
        return 0.0
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared)


def overlap_coefficient(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of the smaller set that stands in the other, 0.0 if one is empty."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def select_diverse_items(
    items: Sequence[T],
    relevance: Callable[[T], float],
    likeness: Callable[[T, T], float],
    *,
    limit: int,
    trade: float = 0.7,
) -> tuple[T, ...]:
    """Choose at most `limit` items one by one: `trade` x relevance - (1 - trade) x likeness to what is chosen.

    Ties go to the earlier item, so that the choice does not depend on anything but its input (Carbonell and
    Goldstein 1998, maximal marginal relevance).
    """
    left = list(range(len(items)))
    worth = [relevance(item) for item in items]
    top = max(worth, default=0.0) or 1.0
    closest = [0.0] * len(items)
    chosen: list[int] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda at: (trade * worth[at] / top - (1 - trade) * closest[at], -at))
        left.remove(best)
        chosen.append(best)
        for at in left:
            closest[at] = max(closest[at], likeness(items[best], items[at]))
    return tuple(items[at] for at in chosen)
