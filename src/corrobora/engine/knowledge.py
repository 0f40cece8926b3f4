"""Knowledge: stored facts that a thread starts with, and what it leaves for its siblings and for later runs (S0).

Knows the profile's two switches: `recall_facts` over runs, `share_facts` among siblings. A recalled fact counts only if
its snapshot can still be opened in this run's libraries.
"""

from __future__ import annotations

from dataclasses import replace

from corrobora.domain.brief import SubQuestion
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import Fact, locate
from corrobora.domain.thread import ThreadState
from corrobora.engine.codec import Meta, decode, encode
from corrobora.engine.session import Session
from corrobora.policies.support import overlap_share

RECALLED = 20  # stored facts that are looked at
SPEAKS_TO = 0.6  # share of a sub-question's content words that a stored fact must hold


async def recalled(thread: ThreadState, run: Session) -> ThreadState:
    """Give a thread the stored facts that speak to its sub-questions; journaled, so that a resumed run starts equal."""
    if not (run.profile.recall_facts or run.profile.share_facts):
        return thread
    key = f"{thread.path}/recall"
    facts = decode(tuple[Fact, ...], await run.once(key, lambda: _recall(thread, run), paid=False), key=key)
    return replace(thread, recalled=facts, facts=facts)


async def shared(thread: ThreadState, run: Session) -> None:
    """Store the facts of a finished thread at once, for siblings that begin later."""
    if run.profile.share_facts and thread.facts:
        await run.facts.remember(thread.facts, run=run.run)


async def _recall(thread: ThreadState, run: Session) -> tuple[str, Meta]:
    found: dict[str, Fact] = {}
    asked = thread.sub_questions or (SubQuestion("", thread.objective),)
    for question in asked:
        for fact in await run.facts.recall(question.text, limit=RECALLED):
            if overlap_share(question.text, f"{fact.title} {fact.heading} {fact.quote}") < SPEAKS_TO:
                continue
            if fact.id not in found and not await _stands(fact, run):
                continue
            answers = (*found.get(fact.id, replace(fact, answers=())).answers, *([question.id] if question.id else []))
            found[fact.id] = replace(fact, answers=answers)
    return encode(tuple[Fact, ...], tuple(found.values())), Meta()


async def _stands(fact: Fact, run: Session) -> bool:
    try:
        _, text = await run.library.document(fact.source)
    except ReadError:
        return False
    return locate(fact.quote, text) is not None
