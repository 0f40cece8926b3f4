"""Methodology: what was done, counted from findings and the journal; never written by an analyst (DESIGN 10.6).

Knows how to count. Does not know how the report is laid out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from corrobora.domain.limits import Usage
from corrobora.domain.report import Findings, Methodology
from corrobora.domain.thread import Round, StopReason
from corrobora.engine.accounting import accounts
from corrobora.engine.codec import Meta, meta_of
from corrobora.engine.session import Session
from corrobora.engine.verify import Checked
from corrobora.policies.retry import RETRY_EXHAUSTED

_LIMITS = {
    StopReason.TIME_RESERVE: "the time budget: only the writing reserve was left",
    StopReason.ITERATION_CAP: "the cap on rounds",
    StopReason.LIMIT: "a limit of tokens, money, calls or searches",
}


def threads(found: Findings) -> Iterator[Findings]:
    """Yield the findings of all threads below, in the order of the plan; those of iterations left out come last."""
    if not found.children:
        yield found
    for child in (*found.children, *found.left_out):
        yield from threads(child)


def methodology(found: Findings, checked: Checked, cited: int, run: Session) -> Methodology:
    """Count what the run did."""
    leaves = list(threads(found))
    rounds = [r for leaf in leaves for r in leaf.rounds]
    found_and_read = accounts(rounds, run)
    meter = run.budget.meter()
    exhausted = [
        f"{q.text} {RETRY_EXHAUSTED} ({q.attempts} attempts)" for q in found.sub_questions if q.standing == "EXHAUSTED"
    ]
    exhausted += dict.fromkeys(_given_up(rounds))
    usage, players, searches = _spent(run)
    return Methodology(
        profile=run.profile.name,
        analyst=players,
        rounds=len(rounds),
        searches=searches,
        failed_searches=sum(len(r.failures) for r in rounds),
        hits=found_and_read.hits,
        sources_read=len(found_and_read.sources),
        sources_cited=cited,
        facts=len(found.facts),
        outcomes=found_and_read.outcomes,
        stops=tuple((leaf.title, str(leaf.stop or ("failed" if leaf.failed else "done"))) for leaf in leaves),
        exhausted=tuple(exhausted),
        uncovered=tuple(f"{leaf.title}: {leaf.failed}" for leaf in leaves if leaf.failed),
        limits_hit=_limits(leaves, rounds),
        removed_markers=checked.removed_markers + checked.removed_urls,
        removed_sentences=checked.removed_sentences,
        dropped_quotes=sum(reading.dropped_quotes for r in rounds for reading in r.readings),
        uncertain_calls=len(run.journal.uncertain()),
        usage=usage,
        seconds=meter.elapsed_seconds,
        time_limit_seconds=run.budget.allowance.seconds,
        providers=tuple(dict.fromkeys(hit.provider for r in rounds for hit in r.hits if hit.provider)),
        notes=tuple(
            dict.fromkeys(
                (*_fallbacks(run), *_secrets(checked), *(note for leaf in leaves for note in leaf.notes if note))
            )
        ),
    )


def _given_up(rounds: list[Round]) -> Iterator[str]:
    """Addresses that were given up after their last attempt (S2 FR-4)."""
    for r in rounds:
        for reading in r.readings:
            if reading.note.endswith(RETRY_EXHAUSTED):
                yield f"{reading.hit.url} {RETRY_EXHAUSTED} ({reading.attempts} attempts)"


def _limits(leaves: list[Findings], rounds: list[Round]) -> tuple[str, ...]:
    """Say which limits ended a thread; a cap on rounds limits only where something was left to look for."""
    hit = [
        f"{leaf.title}: {_LIMITS[leaf.stop]}"
        for leaf in leaves
        if leaf.stop is not None and leaf.stop in _LIMITS and (leaf.gaps or leaf.stop is not StopReason.ITERATION_CAP)
    ]
    if any(r.cut for r in rounds):
        hit.append("a round was cut when only the writing reserve was left")
    return tuple(dict.fromkeys(hit))


def _spent(run: Session) -> tuple[Usage, str, int]:
    """Usage, who answered how often, and the searches made, from the journal: earlier attempts count."""
    usage = Usage()
    players: Counter[str] = Counter()
    searches = 0
    for meta in _metas(run):
        searches += meta.searches
        if meta.usage is not None:
            usage += meta.usage
            players[meta.model or meta.analyst] += 1
    named = [
        f"{name} ({count} calls)" if name != "extractive" else _extractive(count) for name, count in players.items()
    ]
    return usage, ", ".join(named) or _extractive(0), searches


def _metas(run: Session) -> Iterator[Meta]:
    for key in run.journal.keys():  # noqa: SIM118 - a port, not a dict
        entry = run.journal.get(key)
        if entry is not None:
            yield meta_of(entry)


def _extractive(count: int) -> str:
    return f"extractive analyst, no language model ({count} calls)"


def _fallbacks(run: Session) -> list[str]:
    fallen = Counter((meta.role, meta.fallback) for meta in _metas(run) if meta.fallback)
    return [
        f"{count} x {role} was played by the next analyst in the chain ({why})" for (role, why), count in fallen.items()
    ]


def _secrets(checked: Checked) -> list[str]:
    gone = checked.removed_secrets
    return [f"{gone} texts of the writer looked like a key and were removed"] if gone else []
