"""Knowledge: what is stored that a thread starts with, and what it leaves for its siblings and for later runs.

Requirement: TREE-31.

Knows the profile's two switches: `recall_facts` over runs, `share_facts` among siblings. A recalled fact counts only if
its snapshot can still be opened in this run's libraries; stored insights give queries and sources, never statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from corrobora.domain.errors import ProviderError, ReadError
from corrobora.domain.evidence import Fact, Hit, Insight, InsightKind, locate_quote
from corrobora.domain.plan import SubQuestion
from corrobora.domain.report import Findings, iter_threads
from corrobora.domain.run import EventType
from corrobora.domain.thread import Round, ThreadState
from corrobora.engine.session.calls import Session
from corrobora.engine.session.journal import CallMeta, decode, encode
from corrobora.policies.assessment import assess_thread, merge_facts, take_shared_facts
from corrobora.ports import Entry
from corrobora.text.tokens import token_overlap

MAX_RECALLED = 20  # stored facts that are looked at
MIN_FACT_OVERLAP = 0.6  # share of a sub-question's content words that a stored fact must hold
MIN_INSIGHT_OVERLAP = 0.4  # the same for an insight: it only says where to look
MAX_INSIGHTS = 3  # of each kind that a thread starts with


async def recall_knowledge(thread: ThreadState, run: Session) -> ThreadState:
    """Give a thread what is stored on its sub-questions; journaled, so that a resumed run starts equal.

    Facts count as found; questions that sources raised become suggested queries, sources they named are read first.
    """
    if not (run.profile.recall_facts or run.profile.share_facts):
        return thread
    key = f"{thread.path}/recall"
    failed = run.journal.get(f"{key}!failed")  # a resumed run starts equal, though the store may answer again
    if failed is not None:
        return replace(thread, notes=(*thread.notes, _note_outage(failed.out, thread.path, run)))
    try:
        out = await run.call_once(key, lambda: _recall_facts(thread, run), paid=False)
        facts = decode(tuple[Fact, ...], out, key=key)
        out = await run.call_once(f"{key}/insights", lambda: _recall_insights(thread, run), paid=False)
        told = decode(tuple[Insight, ...], out, key=f"{key}/insights")
    except ProviderError as error:
        await run.journal.put(Entry(f"{key}!failed", error.message))
        return replace(thread, notes=(*thread.notes, _note_outage(error.message, thread.path, run)))
    queries = tuple(each.text for each in told if each.kind is InsightKind.FOLLOW_UP)
    broad = thread.suggested or (thread.brief.question,)  # the first suggestion is the broad query (ANGLES-14)
    thread = replace(thread, recalled=facts, facts=facts)
    return replace(
        thread.take_assessment(assess_thread(thread)) if facts else thread,  # the first scope sees what is known
        suggested=tuple(dict.fromkeys((*broad, *queries))) if queries else thread.suggested,
        sources=(*thread.sources, *(each.text for each in told if each.kind is InsightKind.LINKED)),
    )


async def share_thread_facts(thread: ThreadState, run: Session) -> None:
    """Store what a finished thread found at once, for siblings that begin later."""
    if run.profile.share_facts:
        await _store_knowledge(thread.facts, collect_insights(thread.rounds), run)


def spread_facts(parts: Sequence[Findings]) -> tuple[Findings, ...]:
    """Give each part what the readers of its siblings found for its questions: facts belong to the run.

    The order is that of the plan, whoever read first, so that a resumed run spreads the same.
    """
    shared = {part.path: _list_others(part) for part in parts}
    everything = merge_facts((), [fact for found in shared.values() for fact in found])
    asked = {q.id for part in parts for leaf in iter_threads(part) if not leaf.failed for q in leaf.sub_questions}
    return tuple(
        take_shared_facts(part, everything, [fact for fact in shared[part.path] if not asked & set(fact.answers)])
        for part in parts
    )


def _list_others(part: Findings) -> list[Fact]:
    readings = (reading for leaf in iter_threads(part) for done in leaf.rounds for reading in done.readings)
    return [fact for reading in readings for fact in reading.others]


async def remember_findings(found: Findings, run: Session) -> None:
    """Store what a run found, for later runs."""
    await _store_knowledge(
        found.facts, [each for leaf in iter_threads(found) for each in collect_insights(leaf.rounds)], run
    )


def collect_insights(rounds: Sequence[Round]) -> tuple[Insight, ...]:
    """What the sources of some rounds told beside what was asked, each with its source, each once."""
    return tuple(dict.fromkeys(_iter_insights(rounds)))


def _iter_insights(rounds: Sequence[Round]) -> Iterator[Insight]:
    for reading in (reading for done in rounds for reading in done.readings):
        if reading.source is None:
            continue
        for asked in reading.follow_ups:
            yield Insight(
                InsightKind.FOLLOW_UP, asked.question, reading.source, asked.rationale, asked.confidence, reading.title
            )
        for gap in reading.gaps:
            yield Insight(InsightKind.GAP, gap, reading.source, title=reading.title)
        for link in reading.linked:
            yield Insight(
                InsightKind.LINKED, link.reference, reading.source, link.context, link.priority, reading.title
            )


async def _store_knowledge(facts: Sequence[Fact], insights: Sequence[Insight], run: Session) -> None:
    try:
        if facts:
            await run.facts.remember(facts, run=run.run)
        if insights:
            await run.facts.remember_insights(insights, run=run.run)
    except ProviderError as error:
        _note_outage(error.message, "root", run)


def _note_outage(why: str, path: str, run: Session) -> str:
    """Tell that the store of facts did not answer: a run can do without it (TREE-33)."""
    told = f"The store of facts could not be used: {why}"
    run.emit(EventType.WARNING, path, {"provider": "facts", "failed": told}, part="facts")
    return told


async def _recall_facts(thread: ThreadState, run: Session) -> tuple[str, CallMeta]:
    found: dict[str, Fact] = {}
    for question in _list_questions(thread):
        for fact in await run.facts.recall(question.text, limit=MAX_RECALLED):
            if token_overlap(question.text, f"{fact.title} {fact.heading} {fact.quote}") < MIN_FACT_OVERLAP:
                continue
            if fact.id not in found and not await _quote_stands(fact, run):
                continue
            answers = (*found.get(fact.id, replace(fact, answers=())).answers, *([question.id] if question.id else []))
            found[fact.id] = replace(fact, answers=answers)
    return encode(tuple[Fact, ...], tuple(found.values())), CallMeta()


async def _recall_insights(thread: ThreadState, run: Session) -> tuple[str, CallMeta]:
    """Questions that sources raised about what is asked, and sources they named that this run can read."""
    found: dict[InsightKind, dict[str, Insight]] = {InsightKind.FOLLOW_UP: {}, InsightKind.LINKED: {}}
    for question in _list_questions(thread):
        for each in await run.facts.recall_insights(question.text, limit=MAX_RECALLED):
            related = token_overlap(question.text, f"{each.text} {each.why} {each.title}") >= MIN_INSIGHT_OVERLAP
            usable = each.kind is not InsightKind.LINKED or _can_read(each, run)
            if related and usable and each.kind in found and len(found[each.kind]) < MAX_INSIGHTS:
                found[each.kind].setdefault(each.text, each)
    told = tuple(each for kind in found.values() for each in kind.values())
    return encode(tuple[Insight, ...], told), CallMeta()


def _list_questions(thread: ThreadState) -> Sequence[SubQuestion]:
    return thread.sub_questions or (SubQuestion("", thread.objective),)


def _can_read(insight: Insight, run: Session) -> bool:
    hit = Hit(insight.text, insight.title, "", 0.0, "linked", "")
    return any(reader.accepts(hit) for reader in run.outside.readers)


async def _quote_stands(fact: Fact, run: Session) -> bool:
    try:
        _, text = await run.library.document(fact.source)
    except ReadError:
        return False
    return locate_quote(fact.quote, text) is not None
