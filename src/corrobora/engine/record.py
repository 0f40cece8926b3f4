"""The record of a thread: what its analysts are shown of its past, built from its rounds.

Knows finished rounds and what was stored before the thread began. Shows nothing that a later round may change: the
record only grows, so that each prompt of a thread begins like the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from corrobora.domain.evidence import Fact, Reading, ReadOutcome
from corrobora.domain.record import PastRound, QueryYield, Record, SourceYield
from corrobora.domain.thread import Round, ThreadState
from corrobora.engine.session.journal import CallMeta

if TYPE_CHECKING:
    from corrobora.engine.session import Session

MAX_ROUND_FACTS = 40  # of one round; the best ones
STORED = "library"  # the provider of stored documents
MAX_TOLD = 4  # questions, gaps and references of one source


async def begin_record(run: Session) -> Record:
    """Return what every thread of a run begins with; journaled, because libraries grow while a run is paused."""

    async def describe_places() -> tuple[str, CallMeta]:
        names = tuple(run.outside.searches)
        held = f"the documents of {await run.library.describe()}" if STORED in names else ""
        web = ", ".join(name for name in names if name != STORED)
        return "; ".join(each for each in (held, f"the web, by {web}" if web else "") if each), CallMeta()

    return Record(run.started_at[:10], await run.call_once("searched", describe_places, paid=False))


def build_record(thread: ThreadState, begun: Record) -> Record:
    """Return all that a thread remembers: what is searched, what was known before, and each finished round."""
    seen = {fact.id for fact in thread.recalled}
    rounds = [replace(_build_round(done, ()), phase=f"{done.phase}, an earlier pass") for done in thread.earlier]
    for done in thread.rounds:
        found = [fact for reading in done.readings for fact in reading.facts if fact.id not in seen]
        seen |= {fact.id for fact in found}
        rounds.append(_build_round(done, found))
    return replace(begun, recalled=thread.recalled, rounds=tuple(rounds))


def _build_round(done: Round, found: Sequence[Fact]) -> PastRound:
    once = {fact.id: fact for fact in found}
    best = sorted(once.values(), key=lambda fact: (not fact.answers, -fact.confidence, -fact.score, fact.id))
    asked = (query.text for query in done.intent.queries)
    settled = done.decision.proposal if done.decision is not None else None
    return PastRound(
        done.number,
        done.phase,
        done.intent.goal,
        tuple(_build_yield(query, done) for query in dict.fromkeys((*asked, *(hit.query for hit in done.hits)))),
        tuple(_build_source(reading) for reading in done.readings if not reading.again),
        tuple(best[:MAX_ROUND_FACTS]),
        settled.summary if settled else "",
        tuple(gap.text for gap in settled.gaps) if settled else (),
    )


def _build_yield(query: str, done: Round) -> QueryYield:
    """Count what a query gave; a document that several queries found counts for each of them."""
    hits = [hit for hit in done.hits if hit.query == query]
    found = {hit.source or hit.url for hit in hits}
    read = [r for r in done.readings if r.outcome is ReadOutcome.READ and (r.hit.source or r.hit.url) in found]
    return QueryYield(query, len(hits), len(read), sum(len(each.facts) for each in read))


def _build_source(reading: Reading) -> SourceYield:
    told = tuple(_iter_told(reading))[:MAX_TOLD]
    version = next((fact.version for fact in reading.facts), "")
    origin = version or urlsplit(reading.hit.url).netloc
    title, name = reading.title or reading.hit.title, reading.source or ""
    return SourceYield(name, title, origin, reading.outcome.value, len(reading.facts), told)


def _iter_told(reading: Reading) -> Iterator[str]:
    yield from (f"names {link.reference}: {link.context}" for link in reading.linked)
    yield from (f"its reader asked for {name}, which was not found" for name in reading.missing)
    yield from (f"asks {each.question}" for each in reading.follow_ups)
    yield from (f"admits {gap}" for gap in reading.gaps)
