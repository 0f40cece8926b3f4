"""The conformance suites: the scripted parts keep every promise, and a part that breaks one is found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from tests.fakes import MemoryJournal, MemoryLibrary
from tests.scripted_parts import ScriptedAnalyst, ScriptedReader, ScriptedSearch

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.domain.errors import RoleError, Stale
from corrobora.domain.evidence import Document, Hit, Query, ReadOutcome
from corrobora.ports import Answer, Entry
from corrobora.testing.conformance import (
    SAMPLES,
    check_analyst,
    check_journal,
    check_library,
    check_reader,
    check_search,
)

PAGES = {
    "https://a.example/": "# Otter\n\nThe otter swims at night.",
    "https://b.example/": "# Heron\n\nThe heron stands.",
}


async def test_the_extractive_and_the_scripted_analyst_keep_the_contract():
    await check_analyst(ExtractiveAnalyst())
    await check_analyst(ScriptedAnalyst({"critique": RoleError("refusal", "no")}))


async def test_an_analyst_that_answers_the_wrong_type_or_mixes_roles_is_found():
    with pytest.raises(AssertionError, match="not Scoping"):
        await check_analyst(ScriptedAnalyst({role.prompt: object() for role, _ in SAMPLES}))

    class Mixed(ScriptedAnalyst):
        def identity(self, role):
            return "same"

    with pytest.raises(AssertionError, match="tell prompts apart"):
        await check_analyst(Mixed({}))


async def test_scripted_search_and_library_are_search_providers():
    await check_search(ScriptedSearch(PAGES), finds="otter", broken=ScriptedSearch(PAGES, down=True))
    await check_search(await MemoryLibrary.of(PAGES), finds="otter night")


async def test_a_provider_that_hides_its_failure_is_found():
    with pytest.raises(AssertionError, match="never return an empty list"):
        await check_search(ScriptedSearch(PAGES), finds="otter", broken=ScriptedSearch({}))

    class Greedy(ScriptedSearch):
        async def search(self, query: Query, /, *, limit: int):
            return list(await super().search(query, limit=limit)) * 5

    with pytest.raises(AssertionError, match="asked for 1 hits"):
        await check_search(Greedy(PAGES), finds="otter")


async def test_readers_give_literal_passages_and_closed_outcomes():
    good, missing = Hit("https://a.example/", "Otter"), Hit("https://c.example/", "?")
    reader = ScriptedReader({**PAGES, "https://c.example/": ReadOutcome.ROBOTS})
    await check_reader(reader, good=good, missing=missing)
    library = await MemoryLibrary.of(PAGES)
    (hit, *_) = await library.hybrid_search("otter")
    await check_reader(library, good=hit, missing=replace(hit, source=None))

    class Shifted(ScriptedReader):
        async def read(self, hit: Hit) -> Document:
            document = await super().read(hit)
            return replace(document, passages=tuple(replace(p, start=p.start + 1) for p in document.passages))

    with pytest.raises(AssertionError, match="is not what stands at"):
        await check_reader(Shifted(PAGES), good=good)


async def test_the_library_in_memory_keeps_the_contract():
    await check_library(MemoryLibrary())


async def test_the_journal_in_memory_keeps_the_contract():
    attempts: list[MemoryJournal] = []

    async def attempt() -> MemoryJournal:
        attempts.append(attempts[-1].next_attempt() if attempts else MemoryJournal())
        return attempts[-1]

    await check_journal(attempt)
    assert len(attempts[0].events) == 1
    with pytest.raises(Stale):
        await attempts[0].flush()


async def test_a_journal_that_forgets_or_overwrites_is_found():
    @dataclass(slots=True)
    class Overwriting(MemoryJournal):
        async def put(self, entry: Entry, *, wait: bool = True) -> Entry:
            self.entries[entry.key] = entry
            return entry

    async def fresh() -> MemoryJournal:
        return Overwriting()

    with pytest.raises(AssertionError, match="first answer"):
        await check_journal(fresh)

    async def forgetful() -> MemoryJournal:
        forgetful.epoch += 1
        return MemoryJournal(epoch=forgetful.epoch)

    forgetful.epoch = 0
    with pytest.raises(AssertionError, match="outlive"):
        await check_journal(forgetful)


async def test_a_script_plays_its_lines_in_turn_and_calls_functions_with_the_input():
    role, given = next(pair for pair in SAMPLES if pair[0].prompt == "critique")
    analyst = ScriptedAnalyst({"critique": [RoleError("refusal", "no"), lambda g: g.draft, "last"]})
    with pytest.raises(RoleError):
        await analyst.play(role, given)
    second = await analyst.play(role, given)
    assert isinstance(second, Answer)
    assert second.value is given.draft
    assert [(await analyst.play(role, given)).value for _ in range(2)] == ["last", "last"]
    assert [name for name, _ in analyst.played] == ["critique"] * 4
    with pytest.raises(RoleError, match="no line for judge"):
        await analyst.play(next(r for r, _ in SAMPLES if r.prompt == "judge"), given)


async def test_a_search_with_a_hiccup_fails_first_and_then_finds():
    search = ScriptedSearch(PAGES, fail_first=1)
    with pytest.raises(Exception, match="503"):
        await search.search(Query("otter"), limit=1)
    assert await search.search(Query("otter"), limit=1)
