"""Searching: the queries of one round, to the providers of its phase.

Knows how a search is journaled once per run and how a failure is recorded. Does not know what is asked or why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrobora.domain.errors import ProviderError
from corrobora.domain.events import EventType
from corrobora.domain.evidence import Hit, Query, SourceId
from corrobora.domain.limits import LIMITS
from corrobora.domain.thread import Intent, ThreadState
from corrobora.engine.codec import Meta, decode, digest, encode
from corrobora.engine.gathered import Searched
from corrobora.engine.parallel import together
from corrobora.engine.scoping import must_have_scope
from corrobora.engine.session import Session
from corrobora.engine.sites import on_sites
from corrobora.engine.views import terms
from corrobora.policies.retry import strategy
from corrobora.policies.rewording import fallback
from corrobora.policies.schedule import other_providers, providers_for
from corrobora.ports import Entry

STORED = ("library",)  # providers of stored documents: nothing is paid, and going deeper costs little
PASSAGES_OF_A_DOCUMENT = 4  # that a search is reckoned to find of one document
DOWN_AFTER = 2  # failed searches of a run, none answered, after which a provider is sent each search once


async def search(intent: Intent, thread: ThreadState, run: Session) -> Searched:
    """Run the queries of one round with the providers of its phase, in turn or in parallel (S2, S3).

    Whole sites that the thread was given are searched with the same queries.
    The same query to the same provider is sent once in a run. A failure is recorded, never taken for "nothing".
    """
    must_have_scope(thread, run)
    own = await on_sites(intent, thread, run)
    available = tuple(run.outside.searches)
    jobs = [
        (query, name)
        for number, query in enumerate(intent.queries)
        for name in providers_for(thread.phase, number, available)
    ]
    course = thread.course
    if not course.queries_in_turn:
        results = await together([_search_with_fallbacks(query, name, thread, run) for query, name in jobs])
    else:
        results: list[Searched] = []
        for number, (query, name) in enumerate(jobs):
            before = frozenset(hit.source for each in results for hit in each.hits if hit.source is not None)
            key = _key(query, name, course.hits_per_query, _known(name, thread, before))
            if number and course.pause_seconds and run.journal.get(key) is None:
                await run.outside.clock.sleep(course.pause_seconds)
            results.append(await _search_with_fallbacks(query, name, thread, run, before))
    return joined([*results, own])


def joined(results: Sequence[Searched]) -> Searched:
    """Join what several searches gave, in their order."""
    return Searched(
        tuple(hit for result in results for hit in result.hits),
        tuple(failure for result in results for failure in result.failures),
        tuple(dict.fromkeys(name for result in results for name in result.providers)),
    )


def _key(query: Query, name: str, limit: int, known: frozenset[SourceId] | None) -> str:
    without = () if known is None else ("documents", *sorted(known))
    return f"search/{name}#{digest(query.text, query.site, str(limit), *without)}"


def _known(name: str, thread: ThreadState, before: frozenset[SourceId]) -> frozenset[SourceId] | None:
    """The documents that are no results any more; None where results are passages."""
    return documents_of(thread) | before if thread.course.whole_documents and name in STORED else None


async def _search_with_fallbacks(
    query: Query, name: str, thread: ThreadState, run: Session, before: frozenset[SourceId] = frozenset()
) -> Searched:
    """Search; after a failure try another provider, else another wording, as often as the course allows (S2 FR-4)."""
    results = [await _search_one(query, name, thread, run, before)]
    others = other_providers(thread.phase, (name,), tuple(run.outside.searches))
    for failed in range(1, thread.course.attempts):
        if not results[-1].failures:
            break
        if failed <= len(others):
            how, asked, provider = "other_provider", query, others[failed - 1]
        else:
            how = strategy(failed)
            asked, provider = replace(query, text=fallback(query.text, how, terms(thread))), name
        data = {"query": asked.text, "provider": provider, "attempt_number": failed + 1, "strategy": how}
        part = f"{_key(query, name, 0, None)}!{failed + 1}"
        run.tell(EventType.RETRY, thread.round_path, data, number=thread.number + 1, part=part)
        results.append(await _search_one(asked, provider, thread, run, before))
    return joined(results)


async def _search_one(
    query: Query, name: str, thread: ThreadState, run: Session, before: frozenset[SourceId]
) -> Searched:
    limit = thread.course.hits_per_query
    known = _known(name, thread, before)
    key = _key(query, name, limit, known)
    failed = None if run.retry_failures else run.journal.get(f"{key}!failed")
    if failed is not None and run.journal.get(key) is None:
        return Searched((), (failed.out,), (name,))
    number = thread.number + 1
    try:
        out = await run.once(key, lambda: _ask(query, name, limit, run, known), paid=name not in STORED)
        hits = decode(tuple[Hit, ...], out, key=key)
    except ProviderError as error:
        reason = f"{name}: {error.message}"
        await run.journal.put(Entry(f"{key}!failed", reason))
        data = {"query": query.text, "provider": name, "failed": reason}
        run.tell(EventType.WARNING, thread.round_path, data, number=number, part=key)
        return Searched((), (reason,), (name,))
    data = {"query": query.text, "provider": name, "hits": len(hits)}
    run.tell(EventType.SEARCH, thread.round_path, data, number=number, part=key)
    return Searched(hits, (), (name,))


async def _ask(
    query: Query, name: str, limit: int, run: Session, known: frozenset[SourceId] | None
) -> tuple[str, Meta]:
    if run.budget.meter().spent == "searches":
        raise ProviderError("search_limit", "The search limit of this run is reached.", provider=name)
    run.budget.searched()
    short = Query(query.text[: LIMITS.query_max_chars], query.site, query.intent)
    provider = run.outside.searches[name]
    deep = limit if known is None else PASSAGES_OF_A_DOCUMENT * (limit + len(known))
    if seems_down(name, run):
        hits = await provider.search(short, limit=deep)
    else:
        hits = await run.patiently(lambda: provider.search(short, limit=deep))
    found = tuple(hits) if known is None else whole_documents(hits, known)
    return encode(tuple[Hit, ...], found[:limit]), Meta(provider=name, searches=1)


def documents_of(thread: ThreadState) -> frozenset[SourceId]:
    """The stored documents that earlier rounds of a thread found."""
    return frozenset(hit.source for done in thread.rounds for hit in done.hits if hit.source is not None)


def whole_documents(hits: Sequence[Hit], known: frozenset[SourceId]) -> tuple[Hit, ...]:
    """One result for each stored document that is not known yet, at the place of its best passage."""
    first: dict[SourceId, Hit] = {}
    for hit in hits:
        if hit.source is not None and hit.source not in known:
            first.setdefault(hit.source, replace(hit, passage=None))
    return tuple(first.values())


def seems_down(name: str, run: Session) -> bool:
    """True for a provider that failed several searches of this run, each sent several times, and answered none.

    Another search is still sent, once, so that it is noticed when it is up again; waiting between sends is over.
    """
    keys = run.journal.keys(f"search/{name}#")
    return len(keys) >= DOWN_AFTER and all(key.endswith("!failed") for key in keys)
