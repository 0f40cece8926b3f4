"""Ports: the scripted parts that ship with the package are what the Protocols ask for, and keep their promises."""

from __future__ import annotations

import pytest
from tests.fakes import FakeClock, LoopTime, MemoryJournal, MemoryLibrary
from tests.scripted_parts import ScriptedAnalyst, ScriptedReader, ScriptedSearch

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.domain.errors import ProviderError, ReadError, RoleError
from corrobora.domain.evidence import Query, ReadOutcome
from corrobora.domain.report import Critique
from corrobora.ports import Analyst, Clock, Entry, FactStore, Journal, Library, Reader, Role, SearchProvider
from corrobora.roles.review import critique
from corrobora.testing.conformance import SAMPLES

PAGES = {"https://a.example": "# Heron\n\nThe heron stands still.", "https://b.example": "# Otter\n\nThe otter swims."}
DRAFT = next(given for role, given in SAMPLES if role.prompt == "critique")


def test_the_scripted_parts_are_what_the_ports_ask_for() -> None:
    analysts: tuple[Analyst, ...] = (ScriptedAnalyst({}), ExtractiveAnalyst())
    searches: tuple[SearchProvider, ...] = (ScriptedSearch(PAGES), MemoryLibrary())
    readers: tuple[Reader, ...] = (ScriptedReader(PAGES), MemoryLibrary())
    clocks: tuple[Clock, ...] = (FakeClock(), LoopTime())
    journal: Journal = MemoryJournal()
    assert all(isinstance(each, Analyst) for each in analysts)
    assert all(isinstance(each, SearchProvider) for each in searches)
    assert all(isinstance(each, Reader) for each in readers)
    assert all(callable(each.sleep) for each in clocks)
    assert journal.get("nothing") is None


async def test_a_memory_library_is_a_library_and_a_fact_store() -> None:
    library: Library = await MemoryLibrary.of({"heron.md": "# Heron\n\nThe heron stands still."})
    facts: FactStore = library
    assert (await library.hybrid_search("heron"))[0].url == "heron.md"
    assert list(await facts.recall("heron")) == []


async def test_a_failure_is_an_error_and_never_an_empty_answer() -> None:
    with pytest.raises(ProviderError):
        await ScriptedSearch(PAGES, down=True).search(Query("heron"), limit=3)
    reader = ScriptedReader({"https://a.example": ReadOutcome.ENCRYPTED})
    hit = (await ScriptedSearch(PAGES).search(Query("heron"), limit=1))[0]
    with pytest.raises(ReadError) as refused:
        await reader.read(hit)
    assert refused.value.outcome == ReadOutcome.ENCRYPTED
    with pytest.raises(RoleError):
        await ScriptedAnalyst({}).play(critique, DRAFT)


async def test_a_scripted_analyst_answers_with_the_type_of_the_role() -> None:
    answer = await ScriptedAnalyst({"critique": Critique(("too long",))}).play(critique, DRAFT)
    assert answer.value.problems == ("too long",)
    assert answer.analyst == "scripted"


async def test_the_first_answer_of_a_key_counts() -> None:
    journal = MemoryJournal()
    assert (await journal.put(Entry("root/a", "1"))).out == "1"
    assert (await journal.put(Entry("root/a", "2"))).out == "1"


def test_roles_are_told_apart_by_their_name_and_prompt() -> None:
    other = Role("critique", critique.takes, critique.gives, "critique-again")
    assert len({critique, other}) == 2
