"""Reading again: what a thread has read before, for words that were learned or gaps that were named since.

Knows stored sources and what a thread lacks. Requests nothing, and does not know rounds or stop rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from corrobora.domain.evidence import Hit, Reading, ReadOutcome, SourceId
from corrobora.domain.thread import ThreadState
from corrobora.engine.inputs import extract_input
from corrobora.engine.knowledge import AGAIN_NOTE
from corrobora.engine.read import extract_facts, load_document, quotes_to_facts
from corrobora.engine.session import Session
from corrobora.engine.session.journal import ReadPart
from corrobora.policies.outcome import list_missing, list_rereadings
from corrobora.policies.selection import SECTION_CHARS, select_sections
from corrobora.roles.extract import extract


async def reread_sources(thread: ThreadState, run: Session, chosen: Mapping[SourceId, Hit]) -> list[Reading]:
    """Read again: without a model all that was read, with the terms learned since; a model reads what is `chosen`."""
    if run.has_model:
        return list(await asyncio.gather(*(_read_section_again(*each, thread, run) for each in chosen.items())))
    return [
        await _reread(each, each.source, thread, run) for each in list_rereadings(thread) if each.source is not None
    ]


async def _read_section_again(source: SourceId, hit: Hit, thread: ThreadState, run: Session) -> Reading:
    everything = await run.library.source_passages(source)
    place = () if hit.passage is None else (hit.passage,)
    section = select_sections(everything, place, (hit.query,), most=SECTION_CHARS)
    document = await load_document(source, [passage.id for passage in section], run)
    wanted = tuple(dict.fromkeys((*list_missing(thread), hit.query)))
    part = ReadPart(document.source, document.passages, missing=wanted)
    found = await extract_facts(hit, document, thread, run, (part,))
    return replace(found, passages=(), note=AGAIN_NOTE, again=True)


async def _reread(reading: Reading, source: SourceId, thread: ThreadState, run: Session) -> Reading:
    document = await load_document(source, reading.passages, run)
    excerpt = extract_input([ReadPart(document.source, document.passages)], thread, run)
    path = f"{thread.round_path}/again/{source}/{reading.hit.passage}"
    extraction = await run.call(extract, replace(excerpt, path=path))
    facts, *_ = quotes_to_facts(extraction.quotes, document, thread, reading.hit.score)
    return Reading(reading.hit, ReadOutcome.READ, source, facts=facts, title=document.source.title, again=True)
