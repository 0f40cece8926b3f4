"""Which facts a role is shown where there is no room for all of them.

Knows worth, sub-questions, sources and conflicts of facts. Does not know prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from corrobora.domain.evidence import Contradiction, Fact, Grade


def select_best_facts(
    facts: Sequence[Fact], limit: int, conflicts: Sequence[Contradiction] = (), summary: str = ""
) -> tuple[Fact, ...]:
    """The best facts: answering ones, better grades, higher confidence; ties by what they say.

    Ids follow the order in which pages arrived, which a resumed run need not repeat. Where not all are shown, both
    sides of each of the `conflicts` and what the `summary` cites are, and each sub-question and each source has its
    best ones among them: no long document and no easy question hides the others.
    """
    grades = {Grade.VERIFIED: 0, Grade.PLAUSIBLE: 1, Grade.UNVERIFIED: 2}
    ranked = sorted(
        facts, key=lambda f: (not f.answers, grades[f.grade], -f.score, -f.confidence, f.quote, f.url, f.id)
    )
    if len(ranked) <= limit:
        return tuple(ranked)
    seen: Counter[tuple[str, str]] = Counter()
    turn: dict[str, int] = {}
    for fact in ranked:
        turn[fact.id] = min((seen[answer, fact.source] for answer in fact.answers), default=len(ranked))
        seen.update((answer, fact.source) for answer in fact.answers)
    held: Counter[str] = Counter()  # what one long page answers has as many facts shown as any other question
    for fact in sorted(ranked, key=lambda fact: turn[fact.id]):
        turn[fact.id] = min((held[answer] for answer in fact.answers), default=len(ranked))
        held.update(fact.answers)
    turn |= dict.fromkeys((side for one in conflicts for side in (one.a, one.b)), -1)
    turn |= dict.fromkeys((fact.id for fact in facts if fact.marker in summary), -1)
    kept = {fact.id for fact in sorted(ranked, key=lambda fact: turn[fact.id])[:limit]}  # stable: best first in a turn
    return tuple(fact for fact in ranked if fact.id in kept)
