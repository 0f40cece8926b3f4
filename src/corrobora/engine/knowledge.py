"""Knowledge: the stored facts and insights that a thread starts with and leaves, and the record of its rounds.

Requirement: TREE-31. Knows the profile's two switches, `recall_facts` over runs and `share_facts` among siblings. A
recalled fact counts only if its snapshot can still be opened in this run's libraries; stored insights give queries and
sources, never statements. The record is what analysts are shown of finished rounds: it only grows, so that each prompt
of a thread begins like the one before it. Does not know what is extracted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from corrobora.domain.errors import ProviderError, ReadError
from corrobora.domain.evidence import Fact, Hit, Insight, InsightKind, Reading, ReadOutcome, SourceId, locate_quote
from corrobora.domain.plan import PastRound, QueryYield, Record, SourceYield, SubQuestion
from corrobora.domain.report import Findings, iter_threads
from corrobora.domain.run import EventType
from corrobora.domain.thread import Gap, Round, ThreadState
from corrobora.engine.session import Session
from corrobora.engine.session.journal import FAILED
from corrobora.policies.assessment import assess_thread, merge_facts
from corrobora.policies.outcome import COPY_NOTE, list_unread_requests, take_shared_facts
from corrobora.policies.queries import EVIDENCE_PROVIDER, LIBRARY_PROVIDER
from corrobora.ports import Entry
from corrobora.roles.forms import drop_duplicates, name_place, select_best_facts
from corrobora.text.tokens import token_overlap

MAX_RECALLED = 20  # stored facts that are looked at
MIN_FACT_OVERLAP = 0.6  # share of a sub-question's content words that a stored fact must hold
MIN_ASKED_OVERLAP = 1 / 3  # the same for a fact of the run that a follow-up asks about, if a model judges it
MIN_INSIGHT_OVERLAP = 0.4  # the same for an insight: it only says where to look
MAX_INSIGHTS = 3  # of each kind that a thread starts with


async def recall_knowledge(thread: ThreadState, run: Session) -> ThreadState:
    """Give a thread what is stored on its sub-questions; journaled, so that a resumed run starts equal.

    Facts count as found; questions that sources raised become suggested queries, sources they named are read first.
    """
    if not (_uses_store(run) or _list_previous_facts(run)):
        return thread
    key = f"{thread.path}/recall"
    failed = run.journal.get(f"{key}{FAILED}")  # a resumed run starts equal, though the store may answer again
    if failed is not None:
        return replace(thread, notes=(*thread.notes, _note_outage(failed.out, thread.path, run)))
    try:
        facts = await run.record_value(key, tuple[Fact, ...], lambda: _recall_facts(thread, run))
        insights = await run.record_value(f"{key}/insights", tuple[Insight, ...], lambda: _recall_insights(thread, run))
    except ProviderError as error:
        await run.journal.put(Entry(f"{key}{FAILED}", error.message))
        return replace(thread, notes=(*thread.notes, _note_outage(error.message, thread.path, run)))
    queries = tuple(each.text for each in insights if each.kind is InsightKind.FOLLOW_UP)
    broad = thread.suggested or (thread.brief.question,)  # the first suggestion is the broad query (ANGLES-14)
    facts = merge_facts(thread.facts, facts)  # after those of its earlier iterations
    thread = replace(thread, recalled=facts, facts=facts)
    return replace(
        thread.take_assessment(assess_thread(thread)) if facts else thread,  # the first scope sees what is known
        suggested=tuple(dict.fromkeys((*broad, *queries))) if queries else thread.suggested,
        sources=(*thread.sources, *(each.text for each in insights if each.kind is InsightKind.LINKED)),
    )


async def share_thread_facts(thread: ThreadState, run: Session) -> None:
    """Store what a finished thread found at once, for siblings that begin later."""
    if run.profile.share_facts:
        run.shared |= {fact.id: fact for fact in thread.facts}
        await _store_knowledge(thread.facts, collect_insights(thread.rounds), run)


def spread_facts(parts: Sequence[Findings], names: Sequence[str], credible: Sequence[str]) -> tuple[Findings, ...]:
    """Give each part what the readers of its siblings found for its questions: facts belong to the run.

    The order is that of the plan, whoever read first, so that a resumed run spreads the same.
    """
    readings = {
        part.path: [r for leaf in iter_threads(part) for done in leaf.rounds for r in done.readings] for part in parts
    }
    shared = {path: [fact for reading in own for fact in reading.others] for path, own in readings.items()}
    everything = merge_facts((), [fact for found in shared.values() for fact in found])
    asked = {q.id for part in parts for leaf in iter_threads(part) if not leaf.failed for q in leaf.sub_questions}
    take = partial(take_shared_facts, names=names, credible=credible)
    left = {path: [fact for fact in found if not asked & set(fact.answers)] for path, found in shared.items()}
    return tuple(take(part, everything, left[part.path]) for part in parts)


async def remember_findings(found: Findings, run: Session) -> None:
    """Store what a run found, for later runs."""
    rounds = [done for leaf in iter_threads(found) for done in leaf.rounds]
    await _store_knowledge(found.facts, collect_insights(rounds), run)


def collect_insights(rounds: Sequence[Round]) -> tuple[Insight, ...]:
    """Return what the sources of some rounds said besides the answers, each insight once."""
    found: list[Insight] = []
    for reading in (each for done in rounds for each in done.readings):
        if reading.source is None:
            continue
        note = partial(Insight, source=reading.source, title=reading.title)
        questions, refs = reading.follow_ups, reading.linked
        found += [note(InsightKind.FOLLOW_UP, q.question, why=q.rationale, confidence=q.confidence) for q in questions]
        found += [note(InsightKind.GAP, gap) for gap in reading.gaps]
        found += [note(InsightKind.LINKED, link.reference, why=link.context, confidence=link.priority) for link in refs]
    return tuple(dict.fromkeys(found))


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
    note = f"The store of facts could not be used: {why}"
    run.emit(EventType.WARNING, path, {"provider": "facts", "failed": note}, part="facts")
    return note


async def _recall_facts(thread: ThreadState, run: Session) -> tuple[Fact, ...]:
    """Return the known facts on the questions of a thread, each with the questions that it answers.

    They come from the scouts of this run, from the runs before a follow-up, and from the store. Of the last two a fact
    counts only if its document still holds its quote.
    """
    found: dict[str, Fact] = {}
    for question in _list_questions(thread):
        for fact in run.scouted:
            if question.id in fact.answers:
                found.setdefault(fact.id, fact)
        for fact, overlap in (*_rate_previous_facts(question.text, run), *await _rate_stored_facts(question.text, run)):
            if _is_about_another(fact, question, run) or not (fact.id in found or await _quote_stands(fact, run)):
                continue
            known = found.setdefault(fact.id, replace(fact, answers=()))
            if question.id and overlap >= MIN_FACT_OVERLAP and question.id not in known.answers:
                found[fact.id] = replace(known, answers=(*known.answers, question.id))
    return tuple(found.values())


def _is_about_another(fact: Fact, question: SubQuestion, run: Session) -> bool:
    """True if a model of this run, asked this question, said that a fact answers others and not this one."""
    read = run.shared.get(fact.id) if run.has_model else None
    asked = any(question.id == each.id for each in run.questions)  # a refinement may have added it later
    return asked and read is not None and bool(read.answers) and question.id not in read.answers


def _list_previous_facts(run: Session) -> Sequence[Fact]:
    """The facts of the run that a follow-up asks about, and of those before it; they answer its questions anew."""
    previous = run.outside.previous if run.request.is_follow_up else None
    if previous is None:
        return []
    facts = {fact.id: fact for fact in (*run.outside.earlier, *previous.findings.facts)}
    return [replace(fact, answers=(), subjects=()) for fact in facts.values()]


def _rate_previous_facts(question: str, run: Session) -> Sequence[tuple[Fact, float]]:
    """The facts of the run that a follow-up asks about, with the share of the question's words that they hold."""
    least, most = (MIN_ASKED_OVERLAP, MAX_RECALLED) if run.has_model else (MIN_FACT_OVERLAP, None)
    texts = [(fact, f"{fact.title} {fact.heading} {fact.quote} {fact.claim}") for fact in _list_previous_facts(run)]
    rated = [(fact, said) for fact, text in texts if (said := token_overlap(question, text)) >= least]
    return sorted(rated, key=lambda each: -each[1])[:most]


async def _rate_stored_facts(question: str, run: Session) -> Sequence[tuple[Fact, float]]:
    stored = await run.facts.recall(question, limit=MAX_RECALLED) if _uses_store(run) else ()
    texts = [(fact, f"{fact.title} {fact.heading} {fact.quote}") for fact in stored]
    return [(fact, said) for fact, text in texts if (said := token_overlap(question, text)) >= MIN_FACT_OVERLAP]


async def _recall_insights(thread: ThreadState, run: Session) -> tuple[Insight, ...]:
    """Questions that sources raised about what is asked, and sources they named that this run can read."""
    found: dict[InsightKind, dict[str, Insight]] = {InsightKind.FOLLOW_UP: {}, InsightKind.LINKED: {}}
    for question in _list_questions(thread) if _uses_store(run) else ():
        for each in await run.facts.recall_insights(question.text, limit=MAX_RECALLED):
            related = token_overlap(question.text, f"{each.text} {each.why} {each.title}") >= MIN_INSIGHT_OVERLAP
            usable = each.kind is not InsightKind.LINKED or _can_read(each, run)
            if related and usable and each.kind in found and len(found[each.kind]) < MAX_INSIGHTS:
                found[each.kind].setdefault(each.text, each)
    return tuple(each for kind in found.values() for each in kind.values())


def _uses_store(run: Session) -> bool:
    return run.profile.recall_facts or run.profile.share_facts


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


OFFERED = "read for another task"


async def take_offered_facts(thread: ThreadState, run: Session, readings: Sequence[Reading]) -> list[Reading]:
    """Return, as readings, what the readers of other threads have found so far for the questions of this one.

    Who was first differs from attempt to attempt, so it is journaled; a round that was reflected on before there was
    such an entry takes nothing more.
    """
    asked, key = {question.id for question in thread.sub_questions}, f"{thread.round_path}/offered"
    known = {fact.id for fact in (*thread.facts, *(fact for reading in readings for fact in reading.facts))}
    if (
        run.leaves == 1
        or not run.has_model
        or (not run.journal.get(key) and run.journal.keys(f"{thread.round_path}/reflect"))
    ):
        return []

    async def collect_facts() -> tuple[Fact, ...]:
        mine = (replace(each, answers=tuple(name for name in each.answers if name in asked)) for each in run.offered)
        return tuple(each for each in merge_facts((), [*mine]) if each.answers and each.id not in known)

    return make_offered_readings(await run.record_value(key, tuple[Fact, ...], collect_facts))


def make_offered_readings(facts: Iterable[Fact]) -> list[Reading]:
    """Return a reading for each source of facts that were found for another thread; its page may still be opened."""
    found: dict[SourceId, list[Fact]] = {}
    for fact in facts:
        found.setdefault(fact.source, []).append(fact)
    hits = ((Hit(source, each[0].title, source=source), tuple(each)) for source, each in found.items())
    read = ReadOutcome.READ
    return [Reading(hit, read, hit.source, facts=each, title=hit.title, note=OFFERED, again=True) for hit, each in hits]


MAX_ROUND_FACTS = 24  # of one round, and as many by their beginnings: what is not shown is taken for a gap
MIN_ROUND_FACTS = 12  # up to which those that answer nothing of the thread are shown, too
MAX_TOLD = 4  # questions, gaps and references of one source


async def begin_record(run: Session) -> Record:
    """Return what every thread of a run begins with; journaled, because libraries grow while a run is paused."""

    async def describe_places() -> str:
        names = tuple(run.outside.searches)
        held = f"the documents of {await run.library.describe()}" if LIBRARY_PROVIDER in names else ""
        before = "what the earlier run has read" if EVIDENCE_PROVIDER in names else ""
        web = ", ".join(name for name in names if name not in (LIBRARY_PROVIDER, EVIDENCE_PROVIDER))
        return "; ".join(filter(None, (before, held, f"the web, by {web}" if web else "")))

    return Record(run.started_at[:10], await run.record_text("searched", describe_places))


def searches_web(run: Session) -> bool:
    """True if more than stored documents is searched, which have no sites and are not ordered by time."""
    return bool(set(run.outside.searches) - {LIBRARY_PROVIDER, EVIDENCE_PROVIDER})


def build_record(thread: ThreadState, begun: Record) -> Record:
    """Return all that a thread remembers: what is searched, what was known, each round as it was first shown."""
    asked = {each.id: each.text for each in thread.sub_questions}
    earlier = {fact.id for done in thread.earlier for reading in done.readings for fact in reading.facts}
    recalled = tuple(fact for fact in thread.recalled if fact.id not in earlier)
    seen, rounds, turn, last = {fact.id for fact in recalled}, list[PastRound](), 1, 0
    past = (*thread.earlier, *thread.rounds)
    for at, done in enumerate(past, 1):
        found = [fact for reading in done.readings for fact in reading.facts if fact.id not in seen]
        turn, last = turn + (done.number <= last), done.number
        rounds.append(_build_round(done, found, asked, turn, list_unread_requests(past[:at])))
        seen |= {fact.id for fact in rounds[-1].facts}  # one that had no room is shown where it is found again
    records, last = tuple(_tell_sources_apart(rounds)), len(thread.earlier)
    return replace(begun, recalled=recalled, rounds=records[last:], earlier=records[:last])


def _tell_sources_apart(rounds: Sequence[PastRound]) -> Iterator[PastRound]:
    """Give the path to sources whose title another one has, of their round or an earlier one: no line changes later.

    What an earlier round named by its id is not named again.
    """
    called: dict[str, set[str]] = {}
    named: set[str] = set()  # of documents that were read
    for done in rounds:
        for each in done.sources:
            called.setdefault(each.title, set()).add(each.place)
        shown = (_add_place(each) if len(called[each.title]) > 1 else each for each in done.sources)
        told = tuple(replace(each, title="", origin="") if each.source in named else each for each in shown)
        yield replace(done, sources=told)
        named.update(each.source for each in done.sources if each.source)


def _add_place(source: SourceYield) -> SourceYield:
    own = source.place.startswith(source.origin.removeprefix("www."))  # it holds the host
    return replace(source, origin=source.place if own else f"{source.origin}, {source.place}")


def _build_round(
    done: Round, found: Sequence[Fact], asked: Mapping[str, str], turn: int, unread: Sequence[Hit]
) -> PastRound:
    once = {fact.id: fact for fact in found}
    answering = sum(bool(fact.answers) for fact in once.values())
    ranked = select_best_facts(tuple(once.values()), min(2 * MAX_ROUND_FACTS, max(MIN_ROUND_FACTS, answering)))
    best = select_best_facts(ranked, MAX_ROUND_FACTS)
    queries = (query.text for query in done.intent.queries)
    settled = done.decision.proposal if done.decision is not None else None
    return PastRound(
        done.number,
        f"{done.phase}, pass {turn}" if turn > 1 else done.phase,
        done.intent.goal,
        tuple(_build_yield(query, done) for query in dict.fromkeys((*queries, *(hit.query for hit in done.hits)))),
        _build_sources(done.readings, unread),
        best,
        settled.summary if settled else "",
        tuple(_name_gap(gap, asked) for gap in settled.gaps) if settled else (),
        len(once) - len(ranked),
        drop_duplicates(done.failures),
        tuple(fact for fact in ranked if fact not in best),
    )


def _name_gap(gap: Gap, asked: Mapping[str, str]) -> str:
    """Return a gap with the id of its sub-question in place of its words, which stand elsewhere in a prompt."""
    reason = gap.text.removesuffix(f": {asked.get(gap.target, '')}")
    return f"{gap.target}: {reason}" if reason != gap.text else gap.text


def _build_yield(query: str, done: Round) -> QueryYield:
    """Count what a query gave; a document that several queries found counts for each of them."""
    hits = [hit for hit in done.hits if hit.query == query]
    found = {hit.source or hit.url for hit in hits}
    read = [r for r in done.readings if r.outcome is ReadOutcome.READ and (r.hit.source or r.hit.url) in found]
    return QueryYield(query, len(hits), len(read), sum(len(each.facts) for each in read))


def _build_sources(readings: Sequence[Reading], unread: Sequence[Hit]) -> tuple[SourceYield, ...]:
    """Tell what came of each source: its sections that were read in one round are one row, as are its copies."""
    rows, copies = dict[str, Reading](), defaultdict[str, list[str]](list)
    for reading in readings:
        if reading.note.startswith(COPY_NOTE):
            host = urlsplit(reading.hit.url).netloc or name_place(reading.hit.url)
            copies[reading.note.removeprefix(COPY_NOTE).strip()].append(host)
        elif reading.note or not reading.again:
            name = f"{reading.source or reading.hit.url} {reading.outcome}"
            rows[name] = _join_readings(rows[name], reading) if name in rows else reading
    return tuple(_build_source(reading, copies[reading.source or ""], unread) for reading in rows.values())


def _join_readings(one: Reading, other: Reading) -> Reading:
    """Join what two readings of a source gave, each thing once."""
    names = ("facts", "others", "linked", "missing", "asks", "follow_ups", "gaps")
    joined = {each: tuple(dict.fromkeys((*getattr(one, each), *getattr(other, each)))) for each in names}
    return replace(one, **joined, dropped_quotes=one.dropped_quotes + other.dropped_quotes)


def _build_source(reading: Reading, copies: Sequence[str], unread: Sequence[Hit]) -> SourceYield:
    also = (f"the same text at {host}" for host in dict.fromkeys(copies))
    told = (*also, *_iter_told(reading, unread))[:MAX_TOLD]
    origin = next((fact.version for fact in reading.facts), "") or urlsplit(reading.hit.url).netloc
    title, name = reading.title or reading.hit.title, reading.source or ""
    found, place = len(reading.facts), name_place(next((fact.url for fact in reading.facts), "") or reading.hit.url)
    return SourceYield(name, title, origin, reading.outcome.value, found, told, place)


def _iter_told(reading: Reading, unread: Sequence[Hit]) -> Iterator[str]:
    if reading.dropped_quotes:
        yield f"{reading.dropped_quotes} of its reader's quotes refused: not in it, or at no single place of it"
    open_asks = (each for each in reading.asks if each in unread)
    wanted = (each.snippet if each.source == reading.source else each.title for each in open_asks)
    yield from (f"its reader asks for {name}, not read for this task" for name in wanted)
    if reading.note and (reading.outcome is ReadOutcome.SKIPPED or reading.again):
        yield reading.note
    yield from (f"names {link.reference}: {link.context}" for link in reading.linked)
    yield from (f"its reader asked for {name}, which was not found" for name in reading.missing)
    yield from (f"asks {each.question}" for each in reading.follow_ups)
    yield from (f"admits {gap}" for gap in reading.gaps)
