"""Sections: which parts of a document one call reads, and what its reader asked to see next.

Knows stored documents by their passages and names. Does not know what is extracted, nor how many reads are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrobora.domain.evidence import Document, Hit, Passage, PassageId, SourceId
from corrobora.domain.limits import LIMITS
from corrobora.domain.thread import ThreadState
from corrobora.engine.session.calls import Session
from corrobora.engine.session.journal import CallMeta, decode, encode, hash_parts
from corrobora.policies.sections import list_other_sections, read_section, select_sections
from corrobora.policies.selection import ASKED_PROVIDER
from corrobora.text.tokens import token_overlap

MAX_SECTIONS_LISTED = 40  # of one document, that its reader may ask for
NAMED_DEPTH = 8  # passages that are looked at for a document that a source names
NAMED_SHARE = 0.6  # of its name's words that stand in title and heading of what was named


async def widen_reading(
    hit: Hit, document: Document, found: Sequence[PassageId], thread: ThreadState, run: Session
) -> tuple[Document, tuple[Passage, ...]]:
    """Return the document with all that is to be read of it in one call, and what could be read next.

    What this thread has read of it in an earlier round is left out.
    """
    everything = await run.library.source_passages(document.source.id)
    if hit.provider == ASKED_PROVIDER and hit.passage is not None:
        chosen = read_section(everything, hit.passage)
    else:
        near = (*found, *(passage.id for passage in document.passages if not found))
        wanted = " ".join((hit.query, *(q.text for q in thread.sub_questions)))
        chosen = select_sections(everything, near, wanted)
    fresh = tuple(passage for passage in chosen if passage.id not in thread.read_passages)
    known = {*thread.read_passages, *(passage.id for passage in fresh)}
    return replace(document, passages=fresh), list_other_sections(everything, known, MAX_SECTIONS_LISTED)


async def resolve_requests(
    names: Sequence[str], document: Document, hit: Hit, run: Session
) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
    """Turn what a reader asked for into hits: sections of its own document by id, stored documents by their names."""
    source, asks, missing = document.source, dict[str, Hit](), list[str]()
    here = {p.id: p for p in await run.library.source_passages(source.id)} if names else {}
    for name in dict.fromkeys(names):
        section = here.get(PassageId(name.partition(" ")[0]))
        if section is not None:
            found: Hit | None = Hit(source.url, source.title, "", source=source.id, passage=section.id)
        else:
            found = await _find_named_document(name, source.id, run)
        if found is None:
            missing.append(name)
        else:
            asked = replace(found, provider=ASKED_PROVIDER, query=hit.query, linked_from=source.title)
            asks.setdefault(asked.key, asked)
    return tuple(asks.values()), tuple(missing)


async def _find_named_document(name: str, asking: SourceId, run: Session) -> Hit | None:
    """Find a stored document, or a section of one, that a source names; journaled, because libraries grow."""
    key = f"named#{hash_parts(name, asking)}"

    async def search_name() -> tuple[str, CallMeta]:
        hits = await run.library.hybrid_search(name[: LIMITS.query_max_chars], limit=NAMED_DEPTH)
        ids = [hit.passage for hit in hits if hit.passage is not None and hit.source != asking]
        headings = {passage.id: passage.heading for passage in await run.library.passages(ids)}
        for hit in hits:
            if token_overlap(name, f"{hit.title} {headings.get(hit.passage, '')}") >= NAMED_SHARE and hit.source:  # pyright: ignore[reportArgumentType,reportCallIssue]
                return encode(tuple[Hit, ...], (hit,)), CallMeta()
        return encode(tuple[Hit, ...], ()), CallMeta()

    found = decode(tuple[Hit, ...], await run.call_once(key, search_name, paid=False), key=key)
    return found[0] if found else None
