"""Record: what analysts are shown of a thread's past.

Knows what is searched, what was known before, and each finished round. It only grows, so that each prompt of a thread
begins like the one before it. Does not know what is extracted, and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from corrobora.domain.evidence import Fact, Reading, ReadOutcome
from corrobora.domain.plan import PastRound, QueryYield, Record, SourceYield
from corrobora.domain.thread import Gap, Round, ThreadState
from corrobora.engine.session import Session
from corrobora.engine.session.journal import CallMeta
from corrobora.roles.forms import name_place

MAX_ROUND_FACTS = 40  # of one round; the best ones
STORED = "library"  # the provider of stored documents
EARLIER = "evidence"  # and of those that the run has read which a follow-up asks about
MAX_TOLD = 4  # questions, gaps and references of one source


async def begin_record(run: Session) -> Record:
    """Return what every thread of a run begins with; journaled, because libraries grow while a run is paused."""

    async def describe_places() -> tuple[str, CallMeta]:
        names = tuple(run.outside.searches)
        held = f"the documents of {await run.library.describe()}" if STORED in names else ""
        before = "what the earlier run has read" if EARLIER in names else ""
        web = ", ".join(name for name in names if name not in (STORED, EARLIER))
        return "; ".join(filter(None, (before, held, f"the web, by {web}" if web else ""))), CallMeta()

    return Record(run.started_at[:10], await run.call_once("searched", describe_places, paid=False))


def build_record(thread: ThreadState, begun: Record) -> Record:
    """Return all that a thread remembers: what is searched, what was known before, and each finished round."""
    seen, asked = {fact.id for fact in thread.recalled}, {each.id: each.text for each in thread.sub_questions}
    rounds = [replace(_build_round(done, (), asked), phase=f"{done.phase}, an earlier pass") for done in thread.earlier]
    for done in thread.rounds:
        found = [fact for reading in done.readings for fact in reading.facts if fact.id not in seen]
        seen |= {fact.id for fact in found}
        rounds.append(_build_round(done, found, asked))
    return replace(begun, recalled=thread.recalled, rounds=tuple(_tell_sources_apart(rounds)))


def _tell_sources_apart(rounds: Sequence[PastRound]) -> Iterator[PastRound]:
    """Give the path to sources whose title another one has, of their round or an earlier one: no line changes later."""
    called: dict[str, set[str]] = {}
    for done in rounds:
        for each in done.sources:
            called.setdefault(each.title, set()).add(each.place)
        shown = (_add_place(each) if len(called[each.title]) > 1 else each for each in done.sources)
        yield replace(done, sources=tuple(shown))


def _add_place(source: SourceYield) -> SourceYield:
    own = source.place.startswith(source.origin.removeprefix("www."))  # it holds the host
    return replace(source, origin=source.place if own else f"{source.origin}, {source.place}")


def _build_round(done: Round, found: Sequence[Fact], asked: Mapping[str, str]) -> PastRound:
    once = {fact.id: fact for fact in found}
    best = sorted(
        once.values(), key=lambda fact: (not fact.answers, -fact.confidence, -fact.score, fact.quote, fact.url)
    )
    queries = (query.text for query in done.intent.queries)
    settled = done.decision.proposal if done.decision is not None else None
    return PastRound(
        done.number,
        done.phase,
        done.intent.goal,
        tuple(_build_yield(query, done) for query in dict.fromkeys((*queries, *(hit.query for hit in done.hits)))),
        _build_sources([each for each in done.readings if not each.again and each.outcome is not ReadOutcome.SKIPPED]),
        tuple(best[:MAX_ROUND_FACTS]),
        settled.summary if settled else "",
        tuple(_name_gap(gap, asked) for gap in settled.gaps) if settled else (),
    )


def _name_gap(gap: Gap, asked: Mapping[str, str]) -> str:
    """Return a gap with the id of its sub-question in place of its words, which stand elsewhere in a prompt."""
    reason = gap.text.removesuffix(f": {asked.get(gap.target, '')}")
    return f"{gap.target}: {reason}" if reason != gap.text else gap.text


def _build_yield(query: str, done: Round) -> QueryYield:
    """Count what a query gave; a document that several queries found counts for each of them."""
    hits = [hit for hit in done.hits if hit.query == query]
    found = {hit.source or hit.url for hit in hits}
    read = [r for r in done.readings if r.outcome is ReadOutcome.READ and (r.hit.source or r.hit.url) in found]
    return QueryYield(query, len(hits), len(read), sum(len(each.facts) for each in read))


def _build_sources(readings: Sequence[Reading]) -> tuple[SourceYield, ...]:
    """Tell what came of each source: its sections that were read in one round are one row."""
    rows: dict[str, SourceYield] = {}
    for reading in readings:
        own = _build_source(reading)
        name = f"{own.source or reading.hit.url} {own.outcome}"
        if (before := rows.get(name)) is not None:
            told = tuple(dict.fromkeys((*before.told, *own.told)))[:MAX_TOLD]
            own = replace(before, facts=before.facts + own.facts, told=told)
        rows[name] = own
    return tuple(rows.values())


def _build_source(reading: Reading) -> SourceYield:
    told = tuple(_iter_told(reading))[:MAX_TOLD]
    version = next((fact.version for fact in reading.facts), "")
    origin = version or urlsplit(reading.hit.url).netloc
    title, name = reading.title or reading.hit.title, reading.source or ""
    place = name_place(reading.hit.url)
    return SourceYield(name, title, origin, reading.outcome.value, len(reading.facts), told, place)


def _iter_told(reading: Reading) -> Iterator[str]:
    if reading.others:
        yield f"{len(reading.others)} for other tasks"
    yield from (f"names {link.reference}: {link.context}" for link in reading.linked)
    yield from (f"its reader asked for {name}, which was not found" for name in reading.missing)
    yield from (f"asks {each.question}" for each in reading.follow_ups)
    yield from (f"admits {gap}" for gap in reading.gaps)
