"""Overlap: how alike two texts are by their terms.

Knows stems of queries, task descriptions and sentences. Does not know meaning: a shared word is only a shared word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corrobora.domain.plan import Node
from corrobora.policies.words import fold_text, stem_text

DUPLICATE_SHARE = 0.8  # shared terms over all terms
REFORMULATED_SHARE = 0.5  # S4, escape 1: change at least half of the terms


def extract_terms(text: str) -> frozenset[str]:
    """Return the stems of a text; of a text that has none (only stop words), its folded self."""
    found = frozenset(stem_text(text))
    return found or frozenset({fold_text(text).strip()} - {""})


def compare_terms(one: str, other: str) -> float:
    """Return shared terms over all terms, in [0, 1]; symmetric, and 1 for equal texts."""
    a, b = extract_terms(one), extract_terms(other)
    return len(a & b) / len(a | b) if a or b else 1.0


def is_near_duplicate(one: str, other: str) -> bool:
    """True if two queries would find the same."""
    return compare_terms(one, other) >= DUPLICATE_SHARE


def changed_share(query: str, past: Iterable[str]) -> float:
    """Return the least share of a query's terms that are new against any one past query; 1.0 without a past."""
    now = extract_terms(query)
    if not now:
        return 0.0
    return min((len(now - extract_terms(each)) / len(now) for each in past), default=1.0)


def is_reformulated(query: str, past: Iterable[str]) -> bool:
    """True if at least half of the terms changed against every past query (S4, escape 1; safety M14)."""
    return changed_share(query, past) >= REFORMULATED_SHARE


def select_fresh_queries(queries: Iterable[str], past: Iterable[str]) -> tuple[str, ...]:
    """Return the queries that are no near-duplicates of past ones or of one another, in order."""
    seen = list(past)
    kept: list[str] = []
    for query in queries:
        if extract_terms(query) and not any(is_near_duplicate(query, each) for each in seen):
            kept.append(query)
            seen.append(query)
    return tuple(kept)


def find_duplicate_queries(tasks: Sequence[Node]) -> tuple[tuple[str, str, str], ...]:
    """Return (query, path, other path) for each query that two tasks share (S1, simulation test: must be empty)."""
    found: list[tuple[str, str, str]] = []
    for at, task in enumerate(tasks):
        for other in tasks[at + 1 :]:
            found.extend(
                (query, task.path, other.path)
                for query in task.queries
                if any(is_near_duplicate(query, each) for each in other.queries)
            )
    return tuple(found)


def find_overlapping_tasks(tasks: Sequence[Node]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of tasks whose objectives are near-duplicates (S1, "non-overlapping and non-vague")."""
    return tuple(
        (task.path, other.path)
        for at, task in enumerate(tasks)
        for other in tasks[at + 1 :]
        if is_near_duplicate(task.objective, other.objective)
    )
