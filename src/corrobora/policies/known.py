"""Known: where what was found differs from what the brief takes as known.

Knows the words of known facts and of quotes. Does not know which of the two is right: both are kept, and the conflict
stays open.
"""

from __future__ import annotations

from collections.abc import Sequence

from corrobora.domain.evidence import Fact, KnownConflict
from corrobora.policies.conflict import find_difference, parse_statement


def find_known_conflicts(
    known: Sequence[str], facts: Sequence[Fact], reported: Sequence[str] = ()
) -> tuple[KnownConflict, ...]:
    """Return the facts that cannot hold together with a known fact (S4, "check each new fact against known_facts").

    `reported` is what the reader of the source said it contradicts; it is kept where the words alone show nothing.
    """
    if not known:
        return ()
    stated = [(text, parse_statement(text)) for text in known]
    found: list[KnownConflict] = []
    for fact in facts:
        own = parse_statement(fact.quote)
        for text, before in stated:
            differs = find_difference(before, own)
            if differs is not None and differs.opposed:
                found.append(KnownConflict(text, fact.id, differs.text))
    if not found and facts:
        found = [KnownConflict(text, facts[0].id, "reported by the reader of the source") for text in reported]
    return tuple(found)
