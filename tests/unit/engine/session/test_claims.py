"""Claims: a passage is sent once, whoever asks, and the claims of a killed attempt come back from the keys."""

from __future__ import annotations

import asyncio

from tests.fakes import MemoryJournal

from corrobora.domain.evidence import Passage, PassageId, SourceId
from corrobora.engine.session.journal import encode
from corrobora.engine.session.reading import PassageClaims, name_task
from corrobora.ports import Entry
from corrobora.roles.extract import Extraction, Quote


def passage(number: int) -> Passage:
    return Passage(PassageId(f"C{number}"), SourceId("S1"), "text", 0, 4)


def found(number: int) -> Extraction:
    return Extraction((Quote(f"C{number}", "a quote that is long enough", "claim", 0.9),))


def test_a_claimed_passage_is_not_free_for_the_same_task() -> None:
    claims = PassageClaims()
    claim = claims.claim_passages([("any", passage(1)), ("any", passage(2))])
    free, held = claims.split_claimed("any", [passage(1), passage(3)])
    assert [each.id for each in free] == ["C3"]
    assert held == (claim,)


def test_tree_another_task_spec_is_another_task() -> None:
    claims = PassageClaims()
    claims.claim_passages([(name_task("one spec"), passage(1))])
    free, held = claims.split_claimed(name_task("another spec"), [passage(1)])
    assert [each.id for each in free] == ["C1"]
    assert held == ()
    assert name_task("") == "any"


async def test_whoever_waits_gets_the_answer() -> None:
    claims = PassageClaims()
    claim = claims.claim_passages([("any", passage(1))])
    waiting = asyncio.create_task(claim.done.wait())
    claim.settle(found(1))
    await waiting
    assert claims.find_extractions("any", [passage(1)]) == (found(1),)


def test_a_released_passage_may_be_claimed_again() -> None:
    claims = PassageClaims()
    claims.claim_passages([("any", passage(1))]).settle(None)
    claims.release([("any", passage(1))])
    assert claims.split_claimed("any", [passage(1)])[0] == (passage(1),)
    assert claims.find_extractions("any", [passage(1)]) == ()


async def test_engine_5_claims_are_rebuilt_from_the_keys_of_the_journal() -> None:
    journal = MemoryJournal("r_test")
    await journal.put(Entry("extract/any/S1/C1+C2/extract#abc", encode(Extraction, found(1))))
    await journal.put(Entry("search/library#abc", "[]"))
    claims = PassageClaims.from_journal(journal)
    free, held = claims.split_claimed("any", [passage(1), passage(2), passage(3)])
    assert [each.id for each in free] == ["C3"]
    assert len(held) == 1
    assert claims.find_extractions("any", [passage(2), passage(1)]) == (found(1),)


async def test_of_a_page_that_was_read_alone_again_this_answer_counts_when_claims_are_rebuilt() -> None:
    journal = MemoryJournal("r_test")
    await journal.put(Entry("extract/any/S1/C1/extract#abc", encode(Extraction, found(1))))
    await journal.put(Entry("extract/any/S2/C2+C1/extract#abd", encode(Extraction, found(2))))
    claims = PassageClaims.from_journal(journal)
    assert claims.find_extractions("any", [passage(1)]) == (found(1),)
    assert claims.find_extractions("any", [passage(2)]) == (found(2),)
