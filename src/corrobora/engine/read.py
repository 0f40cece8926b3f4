"""Reading: from chosen hits to facts, each hit in exactly one outcome, each passage sent to an analyst once.

Knows documents, drift, claims on passages and the literal-quote gate. Does not know rounds or stop rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from corrobora.domain.errors import LimitReached, ProviderError, ReadError
from corrobora.domain.evidence import (
    Document,
    Hit,
    Passage,
    PassageId,
    Reading,
    ReadOutcome,
    SourceId,
    locate_quote,
)
from corrobora.domain.run import EventType
from corrobora.domain.thread import ThreadState
from corrobora.engine import sections
from corrobora.engine.inputs import collect_terms, extract_input, name_reading_task
from corrobora.engine.session import Session
from corrobora.engine.session.egress import STAYS
from corrobora.engine.session.journal import hash_parts
from corrobora.engine.session.reading import ReadBatch, ReadingTurn, ReadPart, join_parts
from corrobora.policies.drift import detect_drift, find_known_conflicts, select_missed_subjects
from corrobora.policies.outcome import AGAIN_NOTE, COPY_NOTE, CUT_NOTE, list_missing
from corrobora.policies.queries import RETRY_EXHAUSTED
from corrobora.policies.selection import MIN_COVERAGE, measure_coverage, score_by_query
from corrobora.ports import Reader
from corrobora.roles.extract import Extraction, extract
from corrobora.text.mentions import find_names
from corrobora.text.questions import find_topic_stems

_TRANSIENT = (ReadOutcome.FAILED, ReadOutcome.TIMEOUT)
PAID_OUT = "the tokens of its task are spent"


@dataclass(frozen=True, slots=True)
class FetchResult:
    """What fetching one hit gave, as journaled: the stored source and the passages worth reading."""

    outcome: ReadOutcome
    source: SourceId | None = None
    passages: tuple[PassageId, ...] = ()
    note: str = ""
    attempts: int = 1


async def read_hits(
    hits: Sequence[Hit],
    thread: ThreadState,
    run: Session,
    found: Sequence[Hit] | None = None,
    again: Sequence[tuple[Hit, ReadPart]] = (),
) -> AsyncIterator[Reading]:
    """Read the hits in parallel; yield one `Reading` per hit as it is done.

    `found` are all results of the round: a model reads whole sections around those of a document; without them a hit
    is scanned quickly. Without a model, stored documents claim their passages in the order of the hits, whichever
    loads first; what a model reads, and what is read `again` for what is missing, shares calls as far as it fits, also
    with what siblings read, see `expect_reading`.
    Raises nothing for a document that cannot be read: that is an outcome.
    """
    tasks: list[asyncio.Task[Reading]] = []
    turns: list[asyncio.Event] = []
    read_whole = found is not None and run.has_model
    missed = select_missed_subjects(thread.subjects, found or hits)
    batch = run.claims.expected.pop(thread.path, None) or _make_batch(thread, run)
    pages = batch.pages
    places = batch.join(len(hits) + len(again), thread.path)
    for place, hit in enumerate(score_by_query(hits), places):
        ordered = hit.source is not None and not run.has_model
        turn = ReadingTurn(
            tuple(turns) if ordered else (),
            place,
            batch if (read_whole or (pages and run.has_model)) and (pages or hit.source is not None) else None,
            thread.subjects if hit.source is None else missed,
        )
        turns += [turn.own] if ordered else []
        if turn.batch is None:
            batch.put(place, None)
        tasks.append(asyncio.create_task(read_hit(hit, thread, run, turn, found if read_whole else None)))
    for place, (hit, part) in enumerate(again, places + len(hits)):
        batch.put(place, part)
        tasks.append(asyncio.create_task(_read_again(hit, place, batch, thread, run)))
    try:
        for done in asyncio.as_completed(tasks):
            yield await done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        batch.stop_waiting(*range(places, places + len(tasks)))  # a task that never began has put nothing


@contextmanager
def expect_reading(thread: ThreadState, run: Session) -> Generator[None]:
    """Let what a thread will read share calls with what siblings search or fetch now, if nobody's time is limited.

    They are asked the same of each document, so that it does not matter whose call reads it.
    """
    batch, key = _make_batch(thread, run), f"{name_reading_task(thread, run)}/{thread.phase.reading_prompt}"
    bounded = any(spec.budget for spec in thread.specs)  # it pays for its own calls
    if batch.pages and run.has_model and run.shares_readers(thread.specs) and not bounded:
        batch = run.claims.expected[thread.path] = run.claims.find_open_batch(key, batch)
        batch.waiting.add(thread.path)
    try:
        yield
    finally:
        run.claims.expected.pop(thread.path, None)
        batch.stop_waiting(thread.path)


def _make_batch(thread: ThreadState, run: Session) -> ReadBatch:
    """Return what is to be read in a round; pages share calls unless time is limited: then none waits for another."""
    timed = run.budget.allowance.seconds is not None or thread.phase.minutes is not None
    return ReadBatch(partial(_list_free, thread, run), find_topic_stems(run.brief.question), pages=not timed)


async def read_hit(
    hit: Hit,
    thread: ThreadState,
    run: Session,
    turn: ReadingTurn | None = None,
    found: Sequence[Hit] | None = None,
) -> Reading:
    """Read one hit: fetch, check for drift, extract in its turn, keep literal quotes; whole sections with `found`."""
    turn = turn or ReadingTurn(subjects=thread.subjects)
    try:
        return await _read_in_turn(hit, thread, run, turn, found)
    finally:
        turn.leave()


async def _read_in_turn(
    hit: Hit, thread: ThreadState, run: Session, turn: ReadingTurn, found: Sequence[Hit] | None
) -> Reading:
    fetched = await _fetch_with_retries(hit, thread, run)
    if fetched.outcome is not ReadOutcome.READ or fetched.source is None:
        unread = Reading(hit, fetched.outcome, note=fetched.note, title=hit.title, attempts=fetched.attempts)
        return _emit_reading(unread, thread, run)
    document = run.opened.pop(make_read_key(hit), None) or await load_document(fetched.source, fetched.passages, run)
    source, text, passages = document.source, document.text, document.passages
    run.egress.open_document(document)
    if thread.course.drift:
        title = " ".join(part for part in (source.title, source.version, source.publisher, source.url) if part)
        followed = (*find_names(hit.query), hit.linked_from, *collect_terms(thread))  # they count as on subject
        seen = next((passage.text for passage in passages if passage.id == hit.passage), "")  # of a long document
        off = detect_drift(
            title, f"{seen}\n{text}", thread.brief, turn.subjects, tuple(term for term in followed if term)
        )
        if off is not None:
            note, ids, title = f"{off.axis}: {off.reason}", tuple(p.id for p in passages), source.title
            drifted = Reading(hit, ReadOutcome.DRIFTED, source.id, ids, note=note, title=title, drift_checked=True)
            told = {"url": hit.url, "axis": off.axis, "why": off.reason}
            run.emit(EventType.DRIFT, thread.round_path, told, part=f"{hit.url}#{hit.passage}")
            return _emit_reading(drifted, thread, run)
    elsewhere: tuple[Passage, ...] = ()
    if found is not None and (copied := await sections.find_copy(source, run)) is not None:
        note = f"{COPY_NOTE} {copied}"
        return _emit_reading(Reading(hit, ReadOutcome.SKIPPED, note=note, title=source.title), thread, run)
    if found is not None:
        document, elsewhere = await sections.widen_reading(hit, document, found, thread, run)
    together = await turn.wait_turn(ReadPart(source, document.passages, elsewhere, wanted=list_missing(thread)))
    work = extract_facts if found is None else _extract_paid_facts  # a scout ends its scans
    reading = await work(hit, document, thread, run, together)
    note = reading.note or fetched.note
    reading = replace(reading, attempts=fetched.attempts, drift_checked=thread.course.drift, note=note)
    return _emit_reading(reading, thread, run)


async def _read_again(hit: Hit, place: int, batch: ReadBatch, thread: ThreadState, run: Session) -> Reading:
    await batch.full.wait()
    document = Document(*await run.library.document(batch.parts[place].source.id), batch.parts[place].passages)
    found = await _extract_paid_facts(hit, document, thread, run, batch.list_neighbours(place))
    return replace(found, note=found.note or AGAIN_NOTE, again=True)


async def load_document(source: SourceId, passages: Sequence[PassageId], run: Session) -> Document:
    """Return a stored source with some of its passages."""
    stored, text = await run.library.document(source)
    return Document(stored, text, tuple(await run.library.passages(passages)))


def make_read_key(hit: Hit) -> str:
    """The journal key of the first attempt at a hit: one for the whole run."""
    return f"read#{hash_parts(hit.url, hit.passage or '')}"


async def _fetch_with_retries(hit: Hit, thread: ThreadState, run: Session) -> FetchResult:
    """Fetch a hit; after a failure that may pass try again, by another reader if there is one (TIMED-17)."""
    key = make_read_key(hit)
    fetched = await run.record_value(key, FetchResult, partial(_fetch_once, hit, 1, run))
    for number in range(2, thread.course.attempts + 1):
        silent = fetched.outcome is ReadOutcome.TIMEOUT and number > len(_list_readers(hit, run))
        if fetched.outcome not in _TRANSIENT or silent:  # who was silent is not asked again in the same way
            break
        data = {"url": hit.url, "attempt_number": number, "why": fetched.note}
        run.emit(EventType.RETRY, thread.round_path, data, number=thread.number + 1, part=f"{hit.url}!{number}")
        fetched = await run.record_value(f"{key}!{number}", FetchResult, partial(_fetch_once, hit, number, run))
    if run.retry_failures and fetched.outcome in _TRANSIENT:
        fetched = await run.record_value(f"{key}!again", FetchResult, partial(_fetch_once, hit, 1, run))
    given_up = fetched.outcome in _TRANSIENT and thread.course.exhaust and fetched.attempts >= thread.course.attempts
    return replace(fetched, note=f"{fetched.note} {RETRY_EXHAUSTED}".strip()) if given_up else fetched


def _list_readers(hit: Hit, run: Session) -> list[Reader]:
    return [reader for reader in run.outside.readers if reader.accepts(hit)]


async def _fetch_once(hit: Hit, number: int, run: Session) -> FetchResult:
    """Fetch a hit; attempt `number` takes the next of the readers that accept it."""
    fitting = _list_readers(hit, run)
    reader = fitting[(number - 1) % len(fitting)] if fitting else None
    if reader is None:
        fetched = FetchResult(ReadOutcome.UNSUPPORTED, note="no reader accepts it")
    elif hit.source is None and not run.egress.may_request(hit.url):
        fetched = FetchResult(ReadOutcome.REFUSED, note=STAYS)
    else:
        try:
            dated = hit if hit.source else run.found.get(hit.url, hit)  # a search says when a page was published
            document = await reader.read(dated)
            run.opened[make_read_key(hit)] = document  # else it would be loaded again at once
            note = CUT_NOTE if document.truncated else ""
            passages = tuple(p.id for p in document.passages)
            fetched = FetchResult(ReadOutcome.READ, document.source.id, passages, note=note)
            if not document.passages:
                fetched = replace(fetched, outcome=ReadOutcome.EMPTY)
        except ReadError as error:
            fetched = FetchResult(ReadOutcome(error.outcome), note=error.message)
        except ProviderError as error:
            fetched = FetchResult(ReadOutcome.FAILED, note=error.message)
    return replace(fetched, attempts=number)


async def extract_facts(
    hit: Hit, document: Document, thread: ThreadState, run: Session, together: Sequence[ReadPart]
) -> Reading:
    """Extract what no one extracted yet, share what others did, and keep only quotes that stand in the snapshot.

    `together` is what is read in one call, this document among it.
    """
    passages = document.passages
    found = await _extract_passages(document, thread, run, together)
    ids = {p.id for p in passages}
    quotes = {(q.passage, q.quote): q for e in found for q in e.quotes if q.passage in ids}
    checked = sections.quotes_to_facts(tuple(quotes.values()), document, thread, hit.score)
    run.offered += checked.others
    known = tuple(text for e in found for text in e.contradicts_known)
    against = find_known_conflicts(thread.brief.known_facts, checked.own, known)
    asks, missing = await sections.resolve_requests([name for e in found for name in e.read_next], document, hit, run)
    intense = any(spec.discovery_intense for spec in thread.specs)
    beside = [e for e in found if e.follow_ups or e.gaps or e.linked]  # to compare all quotes of a source takes long
    tells = sections.has_insight_trigger
    telling = [e for e in beside if tells(e, passages, discovery_intense=intense, disputed=bool(against))]
    return Reading(
        hit,
        ReadOutcome.READ,
        document.source.id,
        tuple(p.id for p in passages),
        checked.own,
        title=document.source.title,
        summary=" ".join(dict.fromkeys(e.summary for e in found if e.summary))[:600],
        follow_ups=tuple(f for e in telling for f in e.follow_ups),
        gaps=tuple(g for e in telling for g in e.gaps),
        linked=tuple(link for e in telling for link in e.linked),
        dropped_quotes=checked.dropped,
        terms=tuple(dict.fromkeys(t for e in found for t in e.terms)),
        against=against,
        others=checked.others if run.has_model else (),
        asks=asks,
        missing=missing,
    )


async def _extract_paid_facts(
    hit: Hit, document: Document, thread: ThreadState, run: Session, together: Sequence[ReadPart]
) -> Reading:
    """Extract what the tokens of a task pay for; what is too dear for them is left unread (TREE-16)."""
    try:
        return await extract_facts(hit, document, thread, run, together)
    except LimitReached as error:
        if not error.is_of_part:
            raise
        return Reading(hit, ReadOutcome.SKIPPED, note=PAID_OUT, title=document.source.title)


async def _extract_passages(
    document: Document, thread: ThreadState, run: Session, together: Sequence[ReadPart]
) -> list[Extraction]:
    """Return what analysts extracted from this document: each passage is sent once, whoever asks for it."""
    own = next(each for each in together if (each.source.id, each.passages) == (document.source.id, document.passages))
    task = name_reading_task(thread, run, own)
    while True:
        free, held = run.claims.split_claimed(task, document.passages)
        if not free and all(claim.done.is_set() for claim in held):
            break
        if free:
            await _send_passages(together, thread, run)
        for claim in held:  # what its owner gives back another one may claim before this one wakes
            await claim.done.wait()
    whole = run.claims.find_extractions(task, document.passages)
    return [part for each in whole for part in each.list_parts(document.source.id)]


async def _send_passages(together: Sequence[ReadPart], thread: ThreadState, run: Session) -> None:
    """Claim and send what is free; if this is cut, give it back: nobody waits for an answer that never comes."""
    unread = (replace(part, passages=_list_free(thread, run, part)) for part in together)
    free = [part for part in unread if part.passages]
    parts = join_parts(free)
    passages = [(name_reading_task(thread, run, part), passage) for part in free for passage in part.passages]
    claim = run.claims.claim_passages(passages)
    answer: Extraction | None = None
    try:
        answer = await run.call(extract, extract_input(free, thread, run))
        lost = _list_lost(parts, answer, run) if len(parts) > 1 else []
        own = ([each for each in free if each.source.id == part.source.id] for part in lost)
        alone = await asyncio.gather(*(run.call(extract, extract_input(each, thread, run)) for each in own))
        again = {part.source.id: replace(each, source=part.source.id) for each, part in zip(alone, lost, strict=True)}
        first, *rest = (again.get(SourceId(each.source), each) for each in (answer, *answer.beside))
        answer = replace(first, beside=tuple(rest))
    finally:
        if answer is None:
            run.claims.release(passages)
        claim.settle(answer)


def _list_free(thread: ThreadState, run: Session, part: ReadPart) -> tuple[Passage, ...]:
    return run.claims.list_free(name_reading_task(thread, run, part), part.passages)


def _list_lost(parts: Sequence[ReadPart], answer: Extraction, run: Session) -> list[ReadPart]:
    """List what is read again alone: all if no quote of the answer stands in a passage, else pages that may be lost.

    Such a page holds what is asked, and the reader said nothing of it, not even that it does not help: another one may
    have told it to pass this one over.
    """
    quotes = [quote for each in (answer, *answer.beside) for quote in each.quotes]
    texts = {passage.id: passage.text for part in parts for passage in part.passages}
    found = {quote.passage for quote in quotes if locate_quote(quote.quote, texts.get(PassageId(quote.passage), ""))}
    if quotes and not found:
        return list(parts)
    asked = [question.text for question in run.questions]
    told = {each.source for each in (answer, *answer.beside) if each.summary}
    return [
        part
        for part in parts
        if part.source.kind == "web"
        and part.source.id not in told
        and not part.missing
        and not found & {passage.id for passage in part.passages}
        and max(measure_coverage(part.passages, asked or [run.brief.question])) >= MIN_COVERAGE
    ]


def _emit_reading(reading: Reading, thread: ThreadState, run: Session) -> Reading:
    data = {
        "url": reading.hit.url,
        "title": reading.title,
        "outcome": reading.outcome,
        "facts": len(reading.facts),
        "note": reading.note,
        "source": reading.source,
    }
    number = thread.number + 1
    run.emit(EventType.READ, thread.round_path, data, number=number, part=f"{reading.hit.url}#{reading.hit.passage}")
    for fact in reading.facts:
        known = {"fact": fact.id, "quote": fact.quote[:300], "title": fact.title}
        payload = {**known, "source": reading.source, "answers": fact.answers}
        run.emit(EventType.FACT, thread.path, payload, number=number, part=fact.id)
    return reading
