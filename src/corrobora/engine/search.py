"""Scope and search: what a round looks for, then the search for it, each search journaled once in a run.

Knows the role `scope`, the providers of a phase, and what stands in for a search that fails. Does not know how whole
sites are crawled, which queries are allowed (`policies.queries` does), nor how hits are read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from corrobora.domain.errors import ProviderError, RoleError
from corrobora.domain.evidence import Hit, Query, ReadOutcome, SourceId
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import EventType, RequestOption
from corrobora.domain.thread import Attempt, Intent, Round, ThreadState
from corrobora.engine.inputs import collect_terms, rescope_input, scope_input
from corrobora.engine.knowledge import searches_web
from corrobora.engine.sections import LIMIT_TOLD, search_sites
from corrobora.engine.session import Session, run_parallel
from corrobora.engine.session.egress import STAYED, clear_query, show_queries
from corrobora.engine.session.journal import FAILED, CallMeta, SearchResults, decode, encode, hash_parts
from corrobora.policies.intent import (
    bind_intent,
    ensure_changed_query,
    must_rescope,
    word_next_round,
    word_planned_round,
)
from corrobora.policies.queries import (
    EVIDENCE_PROVIDER,
    LIBRARY_PROVIDER,
    attempt_number,
    choose_providers,
    choose_strategy,
    list_other_providers,
    list_rewordings,
    make_fallback_query,
    query_core,
)
from corrobora.ports import Entry
from corrobora.roles.scope import scope
from corrobora.text.phrases import format_count

STORED_PROVIDERS = (LIBRARY_PROVIDER, EVIDENCE_PROVIDER)  # nothing is paid, and going deeper costs little
PASSAGES_OF_A_DOCUMENT = 4  # that a search is reckoned to find of one document
DOWN_AFTER = 2  # failed searches since the last answer, after which a provider is sent each search once
GIVEN_UP_AFTER = 4  # failed searches since the last answer, after which a provider is asked at most once a round
GIVEN_UP_TOLD = "its last searches failed, so it is not asked again"
REFUSALS = ("provider_refused", "provider_quota", "provider_tls")  # whatever is asked: other words change nothing
_HOPELESS = (*REFUSALS, "provider_bad_content")  # nor does waiting


async def scope_round(thread: ThreadState, run: Session) -> Intent:
    """Return the intent of the coming round (TRIPLET-13): the analyst's, as far as it keeps the rules."""
    given = scope_input(thread, run)
    run.egress.open_texts(thread.steer)
    _emit_opening(thread, run)
    worded = await take_given_intent(thread, run)
    intent = worded or await run.call(scope, given)
    if must_rescope(intent, given, thread):  # a reflection was told of the escape, and is not asked a second time
        intent = ensure_changed_query(worded or await run.call(scope, rescope_input(given, intent)), given)
    intent = bind_intent(intent, given, thread, web=searches_web(run))
    if thread.angle:  # sub-agents share no context, and no search either
        intent = replace(intent, queries=tuple([await _claim_query(each, thread, run) for each in intent.queries]))
    data = {"text": intent.reasoning or intent.goal, "queries": [query.text for query in intent.queries]}
    data |= {"targets": intent.targets, "forced": intent.forced}
    run.emit(EventType.THOUGHT, thread.round_path, data, number=thread.number + 1)
    return intent


async def take_given_intent(thread: ThreadState, run: Session) -> Intent | None:
    """Return what a round looks for if a model has worded it already, so that none is asked again (ANGLES-13).

    A reflection words the round after it; the planner, or a refinement, the first one of a thread that has siblings.
    None if nothing of it is new, and after a person's hint, which nobody knew. It is journaled as an answer of `scope`.
    """
    intent = _word_first_round(thread, run) if thread.last is None else word_next_round(thread)
    if intent is None or thread.steer or not run.has_model:
        return None
    asked = {query_core(query) for query in thread.past_queries}
    key = f"{thread.round_path}/{scope.prompt}#given"
    scoped = {*run.journal.keys(key.removesuffix("given"))} - {key}  # by a model, in an attempt of an older version
    if scoped or asked.issuperset(query_core(query.text) for query in intent.queries):
        return None
    return decode(Intent, await run.record_first(key, encode(Intent, intent)), key=key)


def _word_first_round(thread: ThreadState, run: Session) -> Intent | None:
    surprised = not thread.earlier and bool({fact.id for fact in thread.recalled} - {fact.id for fact in run.scouted})
    planned = thread.phase.min_queries <= len(thread.suggested) and not surprised  # by facts of other runs
    return word_planned_round(thread) if thread.angle or planned else None


async def _claim_query(query: Query, thread: ThreadState, run: Session) -> Query:
    """Return a query that no other round of any sub-agent asks, reworded if one does (ANGLES-16).

    Who claims first is journaled, so that a resumed run asks the same, in whatever order its sub-agents come.
    """
    for text in list_rewordings(query.text, thread.angle):
        key = f"asked#{hash_parts(query.site, *sorted(query_core(text)))}"
        if await run.record_first(key, thread.round_path) == thread.round_path:
            return replace(query, text=text)
    return query


def _emit_opening(thread: ThreadState, run: Session) -> None:
    """Say what a round is about to think over (ROUNDS-22)."""
    number, phase = thread.number + 1, thread.phase
    before = (
        f"Analyzing round {number - 1}: {format_count(len(thread.gaps), 'gap')} open. Round"
        if thread.number
        else "Beginning round"
    )
    text = f"{before} {number} ({phase.name}): {phase.goal}"
    run.emit(EventType.THOUGHT, thread.round_path, {"text": text, "queries": []}, number=number, part="opening")


def require_scope(thread: ThreadState, run: Session) -> None:
    """Refuse to search for a round that was not scoped (TRIPLET-11).

    Raises:
        RoleError: `no_scope`, naming the round; the journal holds no answer of the role `scope` for it.
    """
    if not run.journal.keys(f"{thread.round_path}/{scope.prompt}#"):
        raise RoleError("no_scope", f"A search of {thread.round_path} was asked for before the round was scoped.")


def list_attempts(intent: Intent, thread: ThreadState) -> tuple[Attempt, ...]:
    """Return the attempts of a round, with their numbers (TIMED-16)."""
    return tuple(
        Attempt(question.id, attempt_number(question), choose_strategy(question.attempts))
        for question in thread.sub_questions
        if question.id in intent.targets
    )


async def search_round(intent: Intent, thread: ThreadState, run: Session) -> SearchResults:
    """Run the queries of one round with the providers of its phase, in turn or in parallel (ROUNDS-11).

    Whole sites that the thread was given are searched with the same queries.
    The same query to the same provider is sent once in a run. A failure is recorded, never taken for "nothing".
    """
    require_scope(thread, run)
    own = await search_sites(intent, thread, run)
    available = list_available(run, thread)
    jobs = [
        (query, name)
        for number, query in enumerate(intent.queries)
        for name in choose_providers(thread.phase, number, available)
    ]
    early = await _list_early_jobs(intent, thread, run)
    cleared = [(await clear_query(query, name, run), name) for query, name in (*jobs, *early)]
    await show_queries([(each, name) for each, name in cleared if each and name not in STORED_PROVIDERS], thread, run)
    if thread.course.queries_in_turn:
        results = await _search_in_turn(jobs, early, thread, run)
    else:
        results = await run_parallel([_search_with_fallbacks(*job, thread, run) for job in (*jobs, *early)])
    return join_results([*results, own])


async def _search_in_turn(
    jobs: Sequence[tuple[Query, str]], early: Sequence[tuple[Query, str]], thread: ThreadState, run: Session
) -> list[SearchResults]:
    """Search with a pause before each call that is made anew; what an earlier query found is no result again.

    The `early` searches were made before anything was found. What was asked for since then goes before them.
    """
    course = thread.course
    results: list[SearchResults] = []
    for number, (query, name) in enumerate((*jobs, *early)):
        seen = frozenset(hit.source for each in results for hit in each.hits if hit.source is not None)
        before = seen if number < len(jobs) else frozenset[SourceId]()
        sent = await clear_query(query, name, run)
        if sent is not None and number and course.pause_seconds:
            key = _make_search_key(sent, name, course.hits_per_query, await _list_excluded(name, thread, run, before))
            if run.journal.get(key) is None:
                await run.outside.clock.sleep(course.pause_seconds)
        found = await _search_with_fallbacks(query, name, thread, run, before)
        if course.whole_documents and seen != before:
            found = replace(found, hits=tuple(hit for hit in found.hits if hit.source not in seen))
        results.append(found)
    return results


def list_available(run: Session, thread: ThreadState | None = None) -> tuple[str, ...]:
    """Return the providers that a thread may ask now: of a follow-up first the evidence of the previous run alone."""
    names = tuple(run.outside.searches)
    if EVIDENCE_PROVIDER not in names or names == (EVIDENCE_PROVIDER,):
        return names
    first = thread is None or not thread.number
    return (EVIDENCE_PROVIDER,) if first else tuple(name for name in names if name != EVIDENCE_PROVIDER)


async def search_question(run: Session) -> None:
    """Search for the question as it was asked, while it is clarified and planned: one thread will work on it."""
    course, asked = run.profile.course, _quote_question(run)
    for name in choose_providers(run.profile.phases[0], 0, list_available(run)):
        query = await clear_query(asked, name, run) or asked  # a person's own words are sent as they are
        known = frozenset[SourceId]() if course.whole_documents and name in STORED_PROVIDERS else None
        key = _make_search_key(query, name, course.hits_per_query, known)
        ask = partial(_ask_provider, query, name, course.hits_per_query, run, known)
        with contextlib.suppress(ProviderError):  # the first round asks again, and tells what fails
            await run.call_once(key, ask, paid=name not in STORED_PROVIDERS)


def _quote_question(run: Session) -> Query:
    return Query(
        " ".join(run.request.question.split())[: LIMITS.query_max_chars], intent="the question as it was asked"
    )


async def _list_early_jobs(intent: Intent, thread: ThreadState, run: Session) -> list[tuple[Query, str]]:
    """The search for the question itself, if it was made before the first round and no query of it is the same."""
    query, limit = _quote_question(run), thread.course.hits_per_query
    if thread.number or run.leaves > 1 or any(each.text == query.text for each in intent.queries):
        return []
    names = choose_providers(thread.phase, 0, list_available(run, thread))
    keys = {
        name: _make_search_key(query, name, limit, await _list_excluded(name, thread, run, frozenset()))
        for name in names
    }
    return [(query, name) for name, key in keys.items() if run.journal.get(key) is not None]


def join_results(results: Sequence[SearchResults]) -> SearchResults:
    """Join what several searches gave, in their order."""
    return SearchResults(
        tuple(hit for result in results for hit in result.hits),
        tuple(failure for result in results for failure in result.failures),
        tuple(dict.fromkeys(name for result in results for name in result.providers)),
    )


def count_failed_searches(rounds: Sequence[Round], run: Session) -> int:
    """How many searches were sent and failed, and sites were not crawled: each once, however many rounds asked."""
    keys = [key.removesuffix(FAILED) for key in run.journal.keys("search/") if key.endswith(FAILED)]
    rows = (run.journal.get(f"{key}{FAILED}") for key in keys if run.journal.get(key) is None)
    sites = {failure for done in rounds for failure in done.failures if failure.startswith("site: ")}
    return len(sites) + sum(entry is not None and not entry.out.endswith((LIMIT_TOLD, GIVEN_UP_TOLD)) for entry in rows)


def _make_search_key(query: Query, name: str, limit: int, known: frozenset[SourceId] | None) -> str:
    without = () if known is None else ("documents", *sorted(known))
    return f"search/{name}#{hash_parts(query.text, query.site, str(limit), *without)}"


async def _list_excluded(
    name: str, thread: ThreadState, run: Session, before: frozenset[SourceId]
) -> frozenset[SourceId] | None:
    """The documents that are no results any more; None where results are passages.

    Without a model, which cannot ask for a document again, those are all that earlier rounds found; else those that
    they read to the end: what is asked next may stand in the rest of a long one.
    """
    if not (thread.course.whole_documents and name in STORED_PROVIDERS):
        return None
    if not run.has_model:
        return list_found_documents(thread) | before
    readings = [each for done in thread.rounds for each in done.readings if each.hit.source is not None]
    opened = {each.hit.source: each.outcome is ReadOutcome.READ for each in readings}
    left = {each for each, read in opened.items() if each and read and await _has_rest(each, thread, run)}
    return before.union(each for each in opened if each and each not in left)


async def _has_rest(source: SourceId, thread: ThreadState, run: Session) -> bool:
    return not thread.read_passages.issuperset(each.id for each in await run.library.source_passages(source))


async def _search_with_fallbacks(
    query: Query, name: str, thread: ThreadState, run: Session, before: frozenset[SourceId] = frozenset()
) -> SearchResults:
    """Search; after a failure try another provider, else another wording, as often as the course allows.

    Requirement: TIMED-19, TIMED-20.
    """
    results = [await _search_one(query, name, thread, run, before)]
    others = list_other_providers(thread.phase, (name,), list_available(run, thread))
    for failed in range(1, thread.course.attempts):
        if not results[-1].failures:
            break
        if failed <= len(others):
            how, asked, provider = "other_provider", query, others[failed - 1]
        elif run.failing.get(name, [""])[-1] in REFUSALS or is_given_up(name, thread, run):
            break
        else:
            how = choose_strategy(failed)
            asked, provider = replace(query, text=make_fallback_query(query.text, how, collect_terms(thread))), name
        data = {"query": asked.text, "provider": provider, "attempt_number": failed + 1, "strategy": how}
        part = f"{_make_search_key(query, name, 0, None)}!{failed + 1}"
        run.emit(EventType.RETRY, thread.round_path, data, number=thread.number + 1, part=part)
        results.append(await _search_one(asked, provider, thread, run, before))
    return join_results(results)


async def _search_one(
    query: Query, name: str, thread: ThreadState, run: Session, before: frozenset[SourceId]
) -> SearchResults:
    limit = thread.course.hits_per_query
    known = await _list_excluded(name, thread, run, before)
    number = thread.number + 1
    sent = await clear_query(query, name, run)
    if sent is None:
        data = {"query": query.text, "provider": name, "failed": STAYED}
        run.emit(EventType.WARNING, thread.round_path, data, number=number, part=f"{name}!{query.text}")
        return SearchResults((), (), (name,))
    key = _make_search_key(sent, name, limit, known)
    failed = None if run.retry_failures else run.journal.get(f"{key}{FAILED}")
    if failed is not None and run.journal.get(key) is None:
        return SearchResults((), (failed.out,), (name,))
    if run.journal.get(key) is None and is_given_up(name, thread, run):
        reason = f"{name}: {GIVEN_UP_TOLD}"
        await run.journal.put(Entry(f"{key}{FAILED}", reason))
        run.emit(EventType.WARNING, "root", {"provider": name, "failed": reason}, part=f"{name}{FAILED}")
        return SearchResults((), (reason,), (name,))
    try:
        ask = partial(_ask_provider, sent, name, limit, run, known)
        out = await run.call_once(key, ask, paid=name not in STORED_PROVIDERS)
        hits = decode(tuple[Hit, ...], out, key=key)
    except ProviderError as error:
        run.failing.setdefault(f"{name}@{thread.round_path}", []).append(error.code)
        reason = error.message if error.message.startswith(f"{name} ") else f"{name}: {error.message}"
        await run.journal.put(Entry(f"{key}{FAILED}", reason))
        data = {"query": query.text, "provider": name, "failed": reason}
        run.emit(EventType.WARNING, thread.round_path, data, number=number, part=key)
        return SearchResults((), (reason,), (name,))
    data = {"query": sent.text, "provider": name, "hits": len(hits)}
    run.emit(EventType.SEARCH, thread.round_path, data, number=number, part=key)
    if name not in STORED_PROVIDERS:
        run.egress.open_hits(hits)
        run.found |= {hit.url: run.found.get(hit.url, hit) for hit in hits}
    if sent.text != query.text:  # they answer the query as it was meant
        hits = tuple(replace(hit, query=query.text) for hit in hits)
    return SearchResults(hits, (), (name,))


async def _ask_provider(
    query: Query, name: str, limit: int, run: Session, known: frozenset[SourceId] | None
) -> tuple[str, CallMeta]:
    if run.budget.read_meter().exhausted_limit == "searches":
        raise ProviderError("search_limit", LIMIT_TOLD, provider=name)
    if run.egress.guarded and name not in STORED_PROVIDERS and (query.text, query.site) not in run.egress.cleared:
        raise ProviderError("query_not_cleared", "A query that was not cleared is never sent.", provider=name)
    run.budget.count_search()
    language = run.request.get_option(RequestOption.LANGUAGE)
    short = Query(query.text[: LIMITS.query_max_chars], query.site, query.intent, language)
    provider = run.outside.searches[name]
    deep = limit if known is None else PASSAGES_OF_A_DOCUMENT * (limit + len(known))
    send = partial(provider.search, short, limit=deep)
    try:
        hits = await (send() if seems_down(name, run) else run.call_with_retries(send))
    except ProviderError as error:
        run.failing.setdefault(name, []).append(error.code)
        raise
    run.failing.pop(name, None)
    found = tuple(hits) if known is None else collapse_passages(hits, known)
    return encode(tuple[Hit, ...], found[:limit]), CallMeta(provider=name, searches=1)


def list_found_documents(thread: ThreadState) -> frozenset[SourceId]:
    """The stored documents that earlier rounds of a thread found."""
    return frozenset(hit.source for done in thread.rounds for hit in done.hits if hit.source is not None)


def collapse_passages(hits: Sequence[Hit], known: frozenset[SourceId]) -> tuple[Hit, ...]:
    """One result for each stored document that is not known yet, at the place of its best passage."""
    first: dict[SourceId, Hit] = {}
    for hit in hits:
        if hit.source is not None and hit.source not in known:
            first.setdefault(hit.source, replace(hit, passage=None))
    return tuple(first.values())


def seems_down(name: str, run: Session) -> bool:
    """True for a provider that failed several searches since its last answer: the next ones are sent once each."""
    return len(run.failing.get(name, ())) >= DOWN_AFTER


def is_given_up(name: str, thread: ThreadState, run: Session) -> bool:
    """True for a provider that is not asked again: after some failures it gets one search a round, or none at all."""
    failed = run.failing.get(name, [])
    return len(failed) >= GIVEN_UP_AFTER and (failed[-1] in _HOPELESS or f"{name}@{thread.round_path}" in run.failing)
