"""Facts: remembered once, near-duplicates of one origin merged, two origins kept apart."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.storage.index import shelves

from corrobora.domain.evidence import Document, Fact, Grade
from corrobora.policies.grading import claim_pairs, is_same_claim
from corrobora.storage.index import PostgresLibrary

TEXT = "Passwords shall have at least eight characters in length when users choose them. Rivers flow to the sea."


async def facts(library, number, text=TEXT):
    given_ = shelves.item(number, f"Doc {number}", text).source
    source, passages = await library.store(given_, text, space="lib")
    quote = text.split(". ", maxsplit=1)[0]
    fact = Fact.from_quote(Document(source, text, tuple(passages)), passages[0], quote, confidence=0.4)
    assert fact is not None
    return fact


async def test_a_fact_is_recalled_with_its_citation(database):
    library = PostgresLibrary(database, ["lib"])
    fact = await facts(library, 1)
    assert await library.remember([fact], run="r1") == 1
    (found,) = await library.recall("How many characters must passwords have?")
    assert replace(found, score=0.0) == fact
    assert await library.recall("rivers") == []
    assert await PostgresLibrary(database, ["other"]).recall("passwords") == []


async def test_facts_that_another_tokenizer_numbered_are_found(database):
    library = PostgresLibrary(database, ["lib"])
    fact = await facts(library, 1)
    await library.remember([fact], run="r1")
    await database.execute("update fact set terms = '{1}'")
    await database.execute("update library_setting set value = 'porter-0-other'")
    assert await library.recall("passwords characters") == []  # it compared the tokenizers before
    (found,) = await PostgresLibrary(database, ["lib"]).recall("passwords characters")
    assert found.id == fact.id


async def test_near_duplicates_of_one_origin_are_merged_to_the_better(database):
    library = PostgresLibrary(database, ["lib"])
    fact = await facts(library, 1)
    better = replace(fact, confidence=0.9, grade=Grade.VERIFIED)
    near = replace(fact, id="Fother", claim=fact.claim.replace("when users", "if users"), confidence=0.5)
    assert await library.remember([fact, better, near], run="r1") == 1
    (found,) = await library.recall("passwords characters")
    assert (found.confidence, found.grade) == (0.9, Grade.VERIFIED)


async def test_one_file_in_two_libraries_is_remembered_in_both(database):
    library = PostgresLibrary(database, ["lib", "named"])
    fact = await facts(library, 1)
    source, passages = await library.store(shelves.item(1, "Doc 1", TEXT).source, TEXT, space="named")
    twin = Fact.from_quote(Document(source, TEXT, tuple(passages)), passages[0], fact.quote, confidence=0.4)
    assert twin is not None
    assert twin.source != fact.source
    assert await library.remember([fact], run="r1") == 1
    assert await library.remember([twin], run="r2") == 1
    for space in ("lib", "named"):
        assert len(await PostgresLibrary(database, [space]).recall("passwords characters")) == 1


async def test_another_number_or_a_negation_is_another_fact(database):
    library = PostgresLibrary(database, ["lib"])
    fact = await facts(library, 1)
    other = replace(fact, id="Fa", claim=fact.claim.replace("shall", "shall not"))
    assert await library.remember([fact, other], run="r1") == 2


async def test_two_origins_are_two_witnesses(database):
    library = PostgresLibrary(database, ["lib"])
    one, two = await facts(library, 1), await facts(library, 2, TEXT + " More.")
    assert await library.remember([one, two], run="r1") == 2
    copy = await facts(library, 3)
    assert await library.remember([copy], run="r2") == 0


async def test_parts_that_remember_the_same_facts_at_once_do_not_block_each_other(database):
    library = PostgresLibrary(database, ["lib"])
    texts = [f"Rule {number}: a password has {number + 8} characters in the office {number}." for number in range(20)]
    known = [await facts(library, number, text) for number, text in enumerate(texts, 1)]
    for turn in range(5):
        marked = [replace(fact, id=f"F{turn}-{fact.id}", claim=f"{fact.claim} {turn}") for fact in known]
        found = await asyncio.gather(
            *(library.remember(each, run="r1") for each in (marked, marked[::-1], marked, marked[::-1]))
        )
        assert sum(found) == len(known), "each fact is new to one of them alone"


@given(st.lists(st.sampled_from("a b 8 not c d e f".split()), min_size=2).map(" ".join))
def test_a_claim_is_the_same_as_itself(claim):
    assert is_same_claim(claim_pairs(claim), claim_pairs(claim))
    assert not is_same_claim(claim_pairs(claim), claim_pairs(claim + " 12"))
