"""Pursue: one thread, round by round, until a rule says stop.

Knows the loop and nothing of the outside: the session is the gate. Does not know trees or reports.
"""

from __future__ import annotations

from corrobora.domain.events import EventType
from corrobora.domain.report import Draft, Findings
from corrobora.domain.thread import Intent, Round, StopReason, ThreadState
from corrobora.engine.gathered import RoundBuffer
from corrobora.engine.knowledge import recall_knowledge, share_thread_facts
from corrobora.engine.microreport import report_round
from corrobora.engine.reading import read_hits, reread_sources
from corrobora.engine.scoping import list_attempts, scope_round
from corrobora.engine.searching import search_round
from corrobora.engine.session import Session
from corrobora.engine.views import build_thread_findings, reflect_input, summary_input
from corrobora.policies.coverage import accept_nearest_facts, assess_thread, merge_proposed_contradictions
from corrobora.policies.selection import select_hits
from corrobora.policies.stop import find_first_stop
from corrobora.roles.reflect import reflect
from corrobora.roles.synthesize import summarize


async def pursue(thread: ThreadState, run: Session) -> Findings:
    """Advance one thread round by round until a rule says stop (S1 3b, S2, S3, S4 phases 1 to 6)."""
    thread = await recall_knowledge(thread, run)
    while thread.open and not run.budget.finishing:
        gathered = RoundBuffer()
        run.emit(EventType.ROUND_STARTED, thread.round_path, {"phase": thread.phase.name}, number=thread.number + 1)
        async with run.until_reserve(thread, gathered):  # no round may eat the writing time
            gathered.intent = await scope_round(thread, run)  # what do we not yet know?
            gathered.searched = await search_round(gathered.intent, thread, run)
            async for reading in read_hits(select_hits(gathered.searched.hits, thread), thread, run):
                gathered.readings.append(reading)
            gathered.readings += await reread_sources(thread, run)
        thread = absorb_round(thread, gathered)
        proposal = await run.call(reflect, reflect_input(thread))  # the model proposes gaps ...
        meter = await run.record_meter(thread.last_path)
        thread = merge_proposed_contradictions(thread.record_proposal(proposal, meter), proposal)
        thread = thread.record_decision(*find_first_stop(run.rules, thread, meter))  # ... code decides
        thread = thread.apply_transition(run.advance(thread))  # next phase, or an escape
        await report_round(thread, run)  # one round, one report, checked
        thread = await run.steer_between_rounds(thread)
    if run.extractive_only:
        thread = accept_nearest_facts(thread)
    thread = thread.close(StopReason.CANCELLED)  # by a person who asked to finish, before or between its rounds
    await share_thread_facts(thread, run)
    draft = await run.call(summarize, summary_input(thread)) if thread.facts else Draft(thread.title, "")
    return build_thread_findings(thread, draft, seconds=run.budget.elapsed)


def absorb_round(thread: ThreadState, gathered: RoundBuffer) -> ThreadState:
    """Fold what was gathered into the thread. Readings are put in the order of the hits, not of their arrival."""
    hits = gathered.searched.hits
    order = {(hit.url, hit.passage): number for number, hit in reversed(list(enumerate(hits)))}
    readings = sorted(gathered.readings, key=lambda r: (order.get((r.hit.url, r.hit.passage), -1), r.hit.url))
    intent = gathered.intent or Intent("cut before it was scoped", ())
    done = Round(
        number=thread.number + 1,
        phase=thread.phase.name,
        intent=intent,
        hits=hits,
        readings=tuple(readings),
        escape=thread.escape,
        cut=gathered.cut,
        failures=gathered.searched.failures,
        attempts=list_attempts(intent, thread),
        providers=gathered.searched.providers,
    )
    return thread.add_round(done, assess_thread(thread, done))
