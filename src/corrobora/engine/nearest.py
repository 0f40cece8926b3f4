"""Nearest passages: what a report prints whole where words alone cannot tell whether a question is answered.

Knows which passages of a thread were read, in the order in which they were found. Does not rank sentences: whoever
looks for an answer in other words than those of the question finds it in the passage, not in its best sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corrobora.domain.evidence import Document, Fact, Passage, PassageId, Reading, ReadOutcome, SourceId
from corrobora.domain.limits import LIMITS
from corrobora.domain.report import Findings, iter_threads
from corrobora.engine.read import load_document
from corrobora.engine.session import Session
from corrobora.policies.selection import find_best_passages, interleave
from corrobora.roles.synthesize import PLAIN_LAYOUTS
from corrobora.text.notices import find_order
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import fold_whitespace

MAX_NEAREST = 3  # passages of a report


async def quote_nearest_passages(found: Findings, run: Session) -> tuple[Fact, ...]:
    """Return the passages that were found first for what is still open, each as one fact.

    None for a layout that prints none, nor where a model has read them: it has said what they answer.
    """
    if run.has_model or run.profile.layout not in PLAIN_LAYOUTS:
        return ()
    nearest: dict[str, Fact] = {}
    for reading, asked in interleave([tuple(lane) for lane in _iter_lanes(found)]):
        if len(nearest) < MAX_NEAREST and (fact := await _quote_passage(reading, asked, run)):
            nearest.setdefault(fact.quote, fact)
    return tuple(nearest.values())


def _iter_lanes(found: Findings) -> Iterator[Iterator[tuple[Reading, str]]]:
    """Yield for each thread with an open question what it has read, and that question."""
    for thread in iter_threads(found):
        asked = next((each.text for each in thread.sub_questions if not each.is_answered), "")
        if asked:
            read = (each for done in thread.rounds for each in done.readings if each.outcome is ReadOutcome.READ)
            yield ((each, asked) for each in read)


async def _quote_passage(reading: Reading, asked: str, run: Session) -> Fact | None:
    """Quote the passage that was found, or of a page the one that is nearest to what is asked, as far as it may be."""
    source = reading.source or reading.hit.source
    if source is None:
        return None
    document = await _load_passage(source, reading.hit.passage, asked, run)
    passage = document.passages[0] if document.passages else None
    if passage is None or find_order(f"{document.source.title}\n{passage.heading}\n{passage.text}"):
        return None
    start = _skip_headings(passage.text, f"{document.source.title} > {passage.heading}")
    return Fact.from_quote(document, passage, _clip_passage(passage.text[start:]))


async def _load_passage(source: SourceId, passage: PassageId | None, asked: str, run: Session) -> Document:
    if passage is None:
        whole: Sequence[Passage] = await run.library.source_passages(source)
        passage = next(iter(find_best_passages(whole, (asked,))), None)
    return await load_document(source, (passage,) if passage else (), run)


def _skip_headings(text: str, path: str) -> int:
    """Return where a passage begins below its headings: a report names them above it."""
    names = frozenset(_plain(part) for part in path.split(" > "))
    spans = split_sentences(text)
    return next((span.start for span in spans if _plain(text[span.start : span.end]) not in names), 0)


def _plain(heading: str) -> str:
    return fold_whitespace(heading).rstrip(" :.")


def _clip_passage(text: str) -> str:
    """Return the sentences of a passage that fit into one quote."""
    ends = [span.end for span in split_sentences(text) if span.end <= LIMITS.quote_max_chars]
    return text[: ends[-1]].strip() if ends else text[: LIMITS.quote_max_chars].strip()
