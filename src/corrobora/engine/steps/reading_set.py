"""The reading set of a run: what was read, what could not be read, and what was found and left unread.

Knows findings and stored texts. Does not know what a draft says of them: the derivations check that.
"""

from __future__ import annotations

from corrobora.domain.evidence import ReadOutcome, SourceId
from corrobora.domain.report import Draft, Findings, iter_threads
from corrobora.engine.session.calls import Session
from corrobora.text.derivations import ReadDocument, ReadingSet, find_mention, is_about_reading

_NOT_OPENED = (ReadOutcome.SKIPPED, ReadOutcome.CUT, ReadOutcome.DRIFTED)


async def load_reading_set(draft: Draft, findings: Findings, run: Session) -> ReadingSet | None:
    """Load the texts that were read if a draft counts them or tells an absence, else return None.

    Every document is counted once: read in any round, else failed in any, else left unread.
    """
    if not is_about_reading(draft.body):
        return None
    rounds = [done for leaf in iter_threads(findings) for done in leaf.rounds]
    readings = [reading for done in rounds for reading in done.readings]
    read = {each.source: each.hit.url for each in readings if each.outcome is ReadOutcome.READ and each.source}
    opened = set(read.values())
    failed = {each.hit.url for each in readings if each.outcome not in (ReadOutcome.READ, *_NOT_OPENED)} - opened
    unread = {hit.url for done in rounds for hit in done.hits} - opened - failed
    texts: dict[str, str] = {}
    documents: list[ReadDocument] = []
    for source in sorted(read):
        stored, texts[source] = await run.library.document(SourceId(source))
        documents.append(ReadDocument(source, stored.title, stored.publisher))
    return ReadingSet(
        tuple(documents), lambda source, words: find_mention(texts[source], words), len(failed), len(unread)
    )
