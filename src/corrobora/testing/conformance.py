"""Conformance: what every analyst, search provider, reader, library and journal must do, as functions for your tests.

Knows the promises of `corrobora.ports`. Does not know any adapter. Each function raises `AssertionError` that says
which promise is broken; call them from a test in any framework.

Example:
    async def test_my_search_keeps_the_contract():
        await check_search(MySearch(...), finds="a query that has results")
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import Any

from corrobora.domain.errors import ProviderError, ReadError, RoleError, Stale
from corrobora.domain.evidence import Document, Fact, Hit, Insight, InsightKind, Query, ReadOutcome, Source, SourceId
from corrobora.domain.run import Event, EventType
from corrobora.ports import Analyst, Entry, FactStore, Journal, Library, Reader, Role, SearchProvider
from corrobora.roles import find_roles

SAMPLES: tuple[tuple[Role[Any, Any], Any], ...] = tuple(
    (role, role.example()) for role in find_roles() if role.example is not None
)


def find_sample(prompt: str) -> tuple[Role[Any, Any], Any]:
    """Return the role with this prompt and its full input."""
    return next((role, given) for role, given in SAMPLES if role.prompt == prompt)


def field_names(role: Role[Any, Any]) -> frozenset[str]:
    """Return the names of the fields of a role's input."""
    return frozenset(each.name for each in fields(role.takes))


async def check_analyst(analyst: Analyst, *, samples: tuple[tuple[Role[Any, Any], Any], ...] = SAMPLES) -> None:
    """Play every role once with a full input and check identity, type, usage and the shape of failures."""
    assert analyst.name, "an analyst needs a name: the report says who answered"
    identities = {role.prompt: analyst.identity(role) for role, _ in samples}
    for role, given in samples:
        assert analyst.identity(role) == identities[role.prompt], f"identity of {role.prompt} must not change by itself"
        try:
            answer = await analyst.play(role, given)
        except (ProviderError, RoleError):
            continue  # an honest failure: nothing is promised about how often
        value = answer.value
        assert isinstance(value, role.gives), f"{role.prompt} gave {type(value).__name__}, not {role.gives.__name__}"
        usage = answer.usage
        least = min(usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.calls, usage.dollars)
        assert least >= 0, f"the usage of {role.prompt} is negative: {usage}"
    assert len(set(identities.values())) > 1, "identity must tell prompts apart, or answers of two roles may mix"


async def check_search(provider: SearchProvider, *, finds: str, broken: SearchProvider | None = None) -> None:
    """Check limits, order and attribution of hits. `finds` is a query with results; `broken` one that cannot look.

    A provider that cannot look must raise `ProviderError`: an empty list would be taken for a world without sources.
    """
    assert provider.name, "a provider needs a name: hits and failures carry it"
    for limit in (1, 3):
        hits = await provider.search(Query(finds), limit=limit)
        assert 0 < len(hits) <= limit, f"asked for {limit} hits of {finds!r}, got {len(hits)}"
        for hit in hits:
            assert hit.url, f"a hit without URL or path: {hit}"
            assert hit.provider == provider.name, f"a hit must name its provider, not {hit.provider!r}"
    scores = [hit.score for hit in await provider.search(Query(finds), limit=10)]
    assert scores == sorted(scores, reverse=True), "hits come best first"
    nothing = await provider.search(Query("qzxv wvzqx jkqzw"), limit=3)
    assert list(nothing) is not None, "no results are an empty list"
    if broken is not None:
        try:
            await broken.search(Query(finds), limit=1)
        except ProviderError:
            return
        message = "a provider that cannot look must raise ProviderError, never return an empty list"
        raise AssertionError(message)


async def check_reader(reader: Reader, *, good: Hit, missing: Hit | None = None) -> None:
    """Read `good` and check the document; `missing` must end in one of the closed outcomes."""
    assert reader.accepts(good), "accepts() must be true for a hit that read() can read"
    document = await reader.read(good)
    _check_document(document)
    if missing is None:
        return
    try:
        await reader.read(missing)
    except ReadError as error:
        outcome = error.outcome
    else:
        message = "a document that is not there must raise ReadError"
        raise AssertionError(message)
    assert outcome in {each.value for each in ReadOutcome}, f"{outcome!r} is not a known outcome"


def _check_document(document: Document) -> None:
    assert document.source.id.startswith("S"), f"a source id looks like S12, not {document.source.id!r}"
    assert document.source.snapshot, "a source carries the hash of its snapshot"
    starts = [passage.start for passage in document.passages]
    assert starts == sorted(starts), "passages come in reading order"
    for passage in document.passages:
        literal = document.text[passage.start : passage.end]
        assert passage.text == literal, f"{passage.id} is not what stands at {passage.start}..{passage.end}"
        assert passage.id.startswith("C"), f"a passage id looks like C345, not {passage.id!r}"
        assert passage.source == document.source.id, f"{passage.id} names another source"


async def check_library(library: Library, *, space: str = "conformance") -> None:
    """Store a document twice, find it, read it back, walk around it, remember and recall a fact."""
    text = "# Heron\n\nThe grey heron stands still for an hour.\n\n# Otter\n\nThe otter swims 12 kilometres a night.\n"
    wanted = Source(SourceId(""), "River notes", "notes/river.md", hashlib.sha256(text.encode()).hexdigest())
    source, passages = await library.store(wanted, text, space=space)
    again, _ = await library.store(wanted, text, space=space)
    assert again.id == source.id, "equal documents are stored once"
    assert passages, "a stored document has passages"
    _check_document(Document(source, text, tuple(passages)))
    kept, whole = await library.document(source.id)
    assert (kept.id, whole) == (source.id, text), "document() returns the whole text as it was stored"
    ids = [passage.id for passage in passages]
    backwards = await library.passages(ids[::-1])
    assert [passage.id for passage in backwards] == ids[::-1], "passages() keeps the order asked for"
    assert [each.id for each in await library.source_passages(source.id)] == ids, "source_passages() in reading order"
    try:
        await library.document(SourceId("S999999999"))
    except ReadError:
        pass
    else:
        message = "a source that is not stored must raise ReadError"
        raise AssertionError(message)
    hits = await library.hybrid_search("how far does the otter swim", limit=3)
    assert any(hit.source == source.id for hit in hits), "hybrid_search() finds what was stored"
    assert len(hits) <= 3, "hybrid_search() keeps the limit"  # noqa: PLR2004 - the limit above
    fact = Fact.from_quote(
        Document(source, text, tuple(passages)), passages[-1], "The otter swims 12 kilometres a night."
    )
    assert fact is not None, "a literal quote of a passage makes a fact"
    assert await library.remember([fact], run="r_conformance") == 1, "a new fact counts"
    assert await library.remember([fact], run="r_conformance") == 0, "a known fact does not count again"
    recalled = await library.recall("otter kilometres", limit=5)
    assert fact.quote in [each.quote for each in recalled], "recall() finds what was remembered"
    await check_insights(library, source.id)


async def check_insights(store: FactStore, source: SourceId) -> None:
    """Note insights of a stored source twice and find them by their words; also for a `FactStore` of its own."""
    asked = Insight(InsightKind.FOLLOW_UP, "How far does a young otter swim?", source, "it is not said", 0.4)
    linked = Insight(InsightKind.LINKED, "https://example.org/herons", source, "a survey of herons", 0.7)
    assert await store.remember_insights([asked, linked, asked], run="r_conformance") == 2, "new insights count once"  # noqa: PLR2004 - both
    assert await store.remember_insights([asked], run="r_conformance") == 0, "a known insight does not count again"
    (found,) = await store.recall_insights("young otters", limit=5)
    assert (found.kind, found.text, found.source) == (asked.kind, asked.text, source), (
        "noted() finds it with its source"
    )
    assert [each.text for each in await store.recall_insights("survey", limit=5)] == [linked.text], (
        "by the words around it, too"
    )
    assert await store.recall_insights("tax law", limit=5) == [], "what shares no word is not returned"


async def check_journal(attempt: Callable[[], Awaitable[Journal]]) -> None:
    """Open two attempts at one run, one after the other: `attempt()` opens the next, which makes the first stale."""
    first = await attempt()
    assert first.get("root/a") is None, "nothing was answered yet"
    kept = await first.put(Entry("root/b", '"one"', '{"x": 1}'))
    assert kept.out == '"one"', "put() returns the entry that counts"
    twice = await first.put(Entry("root/b", '"two"'))
    assert twice.out == '"one"', "the first answer of a key counts, whatever comes later"
    await first.put(Entry("root/a", '"a"'))
    await first.put(Entry("other", '"c"'))
    assert list(first.keys("root/")) == ["root/a", "root/b"], "keys() filters by prefix and sorts"
    first.begin("root/never-answered")
    first.emit(Event(EventType.THOUGHT, "k1", "root", None, {"n": 1}))
    first.emit(Event(EventType.THOUGHT, "k1", "root", None, {"n": 2}))
    await first.flush()
    assert not list(first.uncertain_keys()), "calls of the running attempt are not uncertain"

    second = await attempt()
    assert second.run == first.run, "an attempt is at the same run"
    assert second.epoch > first.epoch, "a later attempt has a higher epoch"
    found = second.get("root/b")
    assert found is not None and found.out == '"one"', "answers outlive their attempt"  # noqa: PT018 - one promise
    assert "root/never-answered" in list(second.uncertain_keys()), "a call begun and never answered is uncertain"
    await second.put(Entry("root/never-answered", '"now"'))
    assert not list(second.uncertain_keys()), "an answer settles it"
    await _check_stale(first)


async def _check_stale(stale: Journal) -> None:
    try:
        await stale.put(Entry("root/late", '"late"'))
        stale.emit(Event(EventType.THOUGHT, "k-late", "root", None, {}))
        await stale.flush()
    except Stale:
        return
    message = "a stale attempt must be told so: put() or flush() raises Stale"
    raise AssertionError(message)
