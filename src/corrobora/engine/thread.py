"""Pursue: one thread, round by round, until a rule says stop.

Knows the loop and nothing of the outside: the session is the gate. Does not know trees or reports.
"""

from __future__ import annotations

from corrobora.domain.events import EventType
from corrobora.domain.report import Draft, Findings
from corrobora.domain.thread import Intent, Round, StopReason, ThreadState
from corrobora.engine.gathered import Gathered
from corrobora.engine.knowledge import recalled, shared
from corrobora.engine.microreport import tell_round
from corrobora.engine.reading import read, second_look
from corrobora.engine.scoping import attempts_of, scoped
from corrobora.engine.searching import search
from corrobora.engine.session import Session
from corrobora.engine.views import findings, learned, summing
from corrobora.policies.coverage import heed, reconsidered, standings
from corrobora.policies.selection import relevant
from corrobora.policies.stop import first
from corrobora.roles.reflect import reflect
from corrobora.roles.synthesize import summarize


async def pursue(thread: ThreadState, run: Session) -> Findings:
    """Advance one thread round by round until a rule says stop (S1 3b, S2, S3, S4 phases 1 to 6)."""
    thread = await recalled(thread, run)
    while thread.open and not run.budget.finishing:
        gathered = Gathered()
        run.tell(EventType.ROUND_STARTED, thread.round_path, {"phase": thread.phase.name}, number=thread.number + 1)
        async with run.until_reserve(thread, gathered):  # no round may eat the writing time
            gathered.intent = await scoped(thread, run)  # what do we not yet know?
            gathered.searched = await search(gathered.intent, thread, run)
            async for reading in read(relevant(gathered.searched.hits, thread), thread, run):
                gathered.readings.append(reading)
            gathered.readings += await second_look(thread, run)
        thread = absorbed(thread, gathered)
        proposal = await run.call(reflect, learned(thread))  # the model proposes gaps ...
        meter = await run.meter(thread.last_path)
        thread = heed(thread.propose(proposal, meter), proposal)
        thread = thread.decide(*first(run.rules, thread, meter))  # ... code decides
        thread = thread.turn(run.advance(thread))  # next phase, or an escape
        await tell_round(thread, run)  # one round, one report, checked
        thread = await run.between_rounds(thread)
    if run.keyless:
        thread = reconsidered(thread)
    thread = thread.ended(StopReason.CANCELLED)  # by a person who asked to finish, before or between its rounds
    await shared(thread, run)
    draft = await run.call(summarize, summing(thread)) if thread.facts else Draft(thread.title, "")
    return findings(thread, draft, seconds=run.budget.elapsed)


def absorbed(thread: ThreadState, gathered: Gathered) -> ThreadState:
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
        attempts=attempts_of(intent, thread),
        providers=gathered.searched.providers,
    )
    return thread.absorb(done, standings(thread, done))
