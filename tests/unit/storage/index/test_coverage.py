"""Coverage: a question that a library answers is rated higher than one it can not answer, in libraries of any size."""

from __future__ import annotations

import random

import pytest
from tests.unit.storage.index.shelves import fill, item

from corrobora.storage.index import PostgresLibrary

WORDS = [
    one + two + three for one in ("bar", "ler", "mon", "tas") for two in "aeiou" for three in ("dek", "lum", "nir")
]
ANSWERED = "How often does the drawbridge of Arnholm open for sailing boats?"
ABSENT = "Which comet did the professor of Lisbon photograph in winter?"


def write_documents(size):
    """One document on a drawbridge among many on other things."""
    yield item(1_000, "Arnholm", "The drawbridge of Arnholm opens twice a day for sailing boats. A bell rings before.")
    for at in range(size):
        chance = random.Random(at)
        said = [
            " ".join(f"{word}{int(chance.expovariate(0.2))}" for word in chance.choices(WORDS, k=9)) for _ in "1234"
        ]
        yield item(at, chance.choice(WORDS), ". ".join((*said, f"A bell rings, for {at} days")) + ".")


@pytest.mark.parametrize("size", [20, 400])
async def test_what_a_library_answers_is_likelier_than_what_it_does_not(database, size):
    await fill(database, list(write_documents(size)))
    library = PostgresLibrary(database, ["lib"])
    answered, absent = await library.rate_question(ANSWERED), await library.rate_question(ABSENT)
    assert answered is not None
    assert absent is not None
    assert absent < 0.5 < answered
    assert await library.rate_question(ANSWERED) == answered


async def test_a_library_of_a_few_passages_can_not_tell(database):
    await fill(database, list(write_documents(1)))
    assert await PostgresLibrary(database, ["lib"]).rate_question(ANSWERED) is None
    assert await PostgresLibrary(database, ["nothing"]).rate_question(ANSWERED) is None
