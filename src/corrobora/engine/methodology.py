"""Methodology: what was done, counted from findings and the journal; never written by an analyst (DESIGN 10.6).

Knows how to count. Does not know how the report is laid out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from corrobora.domain.limits import Usage
from corrobora.domain.report import Findings, Methodology, iter_threads
from corrobora.domain.thread import Round, StopReason
from corrobora.engine.accounting import count_results
from corrobora.engine.codec import CallMeta, decode_meta
from corrobora.engine.session import Session
from corrobora.engine.verify import CheckedDraft
from corrobora.policies.retry import RETRY_EXHAUSTED

_LIMITS = {
    StopReason.TIME_RESERVE: "the time budget: only the writing reserve was left",
    StopReason.ITERATION_CAP: "the cap on rounds",
    StopReason.LIMIT: "a limit of tokens, money, calls or searches",
}


def build_methodology(found: Findings, checked: CheckedDraft, cited: int, run: Session) -> Methodology:
    """Count what the run did."""
    leaves = list(iter_threads(found))
    rounds = [r for leaf in leaves for r in leaf.rounds]
    found_and_read = count_results(rounds, run)
    meter = run.budget.read_meter()
    exhausted = [
        f"{q.text} {RETRY_EXHAUSTED} ({q.attempts} attempts)" for q in found.sub_questions if q.standing == "EXHAUSTED"
    ]
    exhausted += dict.fromkeys(_iter_abandoned_urls(rounds))
    usage, players, searches = _sum_usage(run)
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
        limits_hit=_describe_limits(leaves, rounds),
        removed_markers=checked.removed_markers + checked.removed_urls,
        removed_sentences=checked.removed_sentences,
        dropped_quotes=sum(reading.dropped_quotes for r in rounds for reading in r.readings),
        uncertain_calls=len(run.journal.uncertain_keys()),
        usage=usage,
        seconds=meter.elapsed_seconds,
        time_limit_seconds=run.budget.allowance.seconds,
        providers=tuple(dict.fromkeys(hit.provider for r in rounds for hit in r.hits if hit.provider)),
        notes=tuple(
            dict.fromkeys(
                (
                    *_describe_fallbacks(run),
                    *_describe_secrets(checked),
                    *(note for leaf in leaves for note in leaf.notes if note),
                )
            )
        ),
    )


def _iter_abandoned_urls(rounds: list[Round]) -> Iterator[str]:
    """Addresses that were given up after their last attempt (S2 FR-4)."""
    for r in rounds:
        for reading in r.readings:
            if reading.note.endswith(RETRY_EXHAUSTED):
                yield f"{reading.hit.url} {RETRY_EXHAUSTED} ({reading.attempts} attempts)"


def _describe_limits(leaves: list[Findings], rounds: list[Round]) -> tuple[str, ...]:
    """Say which limits ended a thread; a cap on rounds limits only where something was left to look for."""
    hit = [
        f"{leaf.title}: {_LIMITS[leaf.stop]}"
        for leaf in leaves
        if leaf.stop is not None and leaf.stop in _LIMITS and (leaf.gaps or leaf.stop is not StopReason.ITERATION_CAP)
    ]
    if any(r.cut for r in rounds):
        hit.append("a round was cut when only the writing reserve was left")
    return tuple(dict.fromkeys(hit))


def _sum_usage(run: Session) -> tuple[Usage, str, int]:
    """Usage, who answered how often, and the searches made, from the journal: earlier attempts count."""
    usage = Usage()
    players: Counter[str] = Counter()
    searches = 0
    for meta in _iter_metas(run):
        searches += meta.searches
        if meta.usage is not None:
            usage += meta.usage
            players[meta.model or meta.analyst] += 1
    named = [
        f"{name} ({count} calls)" if name != "extractive" else _describe_extractive(count)
        for name, count in players.items()
    ]
    return usage, ", ".join(named) or _describe_extractive(0), searches


def _iter_metas(run: Session) -> Iterator[CallMeta]:
    for key in run.journal.keys():  # noqa: SIM118 - a port, not a dict
        entry = run.journal.get(key)
        if entry is not None:
            yield decode_meta(entry)


def _describe_extractive(count: int) -> str:
    return f"extractive analyst, no language model ({count} calls)"


def _describe_fallbacks(run: Session) -> list[str]:
    fallen = Counter((meta.role, meta.fallback) for meta in _iter_metas(run) if meta.fallback)
    return [
        f"{count} x {role} was played by the next analyst in the chain ({why})" for (role, why), count in fallen.items()
    ]


def _describe_secrets(checked: CheckedDraft) -> list[str]:
    gone = checked.removed_secrets
    return [f"{gone} texts of the writer looked like a key and were removed"] if gone else []
