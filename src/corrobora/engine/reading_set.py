"""What a run has read: the texts that counts and absences of a draft are checked against, and how many they are.

Knows findings and stored texts. Does not know drafts beyond that they may count what was read, nor who is told.
"""

from __future__ import annotations

from collections.abc import Mapping

from corrobora.domain.evidence import ReadOutcome, SourceId
from corrobora.domain.report import Draft, Findings, iter_threads
from corrobora.engine.session import Session
from corrobora.text.derivations import ReadDocument, ReadingSet, find_mention, is_about_reading

_NOT_FAILED = (ReadOutcome.READ, ReadOutcome.SKIPPED, ReadOutcome.CUT, ReadOutcome.DRIFTED)


async def load_reading_set(draft: Draft, findings: Findings, run: Session) -> ReadingSet | None:
    """Load the texts that were read if a draft counts them or tells an absence, else return None.

    Every document is counted once: read in any round, else failed in any, else left unread.
    """
    if not is_about_reading(draft.body):
        return None
    read = find_read_sources(findings)
    texts: dict[str, str] = {}
    documents: list[ReadDocument] = []
    for source in sorted(read):
        stored, texts[source] = await run.library.document(SourceId(source))
        documents.append(ReadDocument(source, stored.title, stored.publisher))
    return ReadingSet(
        tuple(documents),
        lambda source, words: find_mention(texts[source], words),
        *count_unread(findings),
        "\n".join((run.brief.question, *(question.text for question in findings.sub_questions))),
    )


def find_read_sources(findings: Findings) -> Mapping[str, str]:
    """Return the sources that were read in any round, with their addresses."""
    readings = (reading for leaf in iter_threads(findings) for done in leaf.rounds for reading in done.readings)
    return {str(each.source): each.hit.url for each in readings if each.outcome is ReadOutcome.READ and each.source}


def count_unread(findings: Findings) -> tuple[int, int]:
    """Return how many documents could not be read in any round, and how many others were found and not opened."""
    rounds = [done for leaf in iter_threads(findings) for done in leaf.rounds]
    opened = set(find_read_sources(findings).values())
    failed = {each.hit.url for done in rounds for each in done.readings if each.outcome not in _NOT_FAILED} - opened
    return len(failed), len({hit.url for done in rounds for hit in done.hits} - opened - failed)


def count_documents(findings: Findings) -> dict[str, int]:
    """Return how many documents were read, could not be read and were not opened, as those who write are told."""
    failed, unread = count_unread(findings)
    return {"read": len(find_read_sources(findings)), "failed": failed, "unread": unread}
