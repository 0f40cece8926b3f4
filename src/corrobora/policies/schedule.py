"""Schedule: which providers answer which query, and which queries run together.

Knows the rotation that a phase asks for. Does not know providers beyond their names, nor how long to wait.
"""

from __future__ import annotations

from corrobora.domain.thread import Phase

LIBRARY = "library"  # the name of what the user brought, beside the web


def providers_for(phase: Phase, query_index: int, available: tuple[str, ...]) -> tuple[str, ...]:
    """Return the providers that answer one query of a phase, in order.

    `all`: each of them. `alternate`: one, in turn by the query's index (S3, deepen). `fixed`: the first of the
    phase's order that the run has. A phase whose providers the run lacks takes what the run has: a missing key must
    not end the research (S3's providers are a preference). A phase that names web providers chooses among these alone:
    the library that a user brought is asked beside them, or naming it would do nothing.
    """
    order = _order(phase, available)
    if not order:
        return ()
    beside = (LIBRARY,) if LIBRARY in available and LIBRARY not in order else ()
    match phase.rotation:
        case "alternate":
            return (order[query_index % len(order)], *beside)
        case "fixed":
            return (*order[:1], *beside)
        case _:
            return (*order, *beside)


def other_providers(phase: Phase, used: tuple[str, ...], available: tuple[str, ...]) -> tuple[str, ...]:
    """Return the providers that a failed query may still be sent to, the phase's own first (S2, fallback strategy)."""
    order = tuple(dict.fromkeys((*_order(phase, available), *available)))
    return tuple(name for name in order if name not in used)


def waves(n_queries: int, *, in_turn: bool) -> tuple[tuple[int, ...], ...]:
    """Return the groups of query indices that run together: one after another, or all at once (S3 against S2)."""
    every = tuple(range(max(0, n_queries)))
    if not every:
        return ()
    return tuple((index,) for index in every) if in_turn else (every,)


def _order(phase: Phase, available: tuple[str, ...]) -> tuple[str, ...]:
    wanted = tuple(name for name in phase.providers if name in available)
    return wanted or available
