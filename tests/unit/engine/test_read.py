"""Reading: one outcome for each hit, each passage sent once, and only literal quotes of one place become facts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.fakes import FakeClock
from tests.profiles.research import Mixed
from tests.profiles.scripted import WebRun, make_web_run

from corrobora.adapters.library import LibraryReader
from corrobora.domain.errors import RoleError
from corrobora.domain.evidence import Document, Hit, PassageId, ReadOutcome, Source, SourceId
from corrobora.domain.plan import Brief, Node, Subject, SubQuestion, TaskSpec
from corrobora.domain.run import EventType
from corrobora.domain.thread import ThreadState
from corrobora.engine.read import make_read_key, read_hit, read_hits
from corrobora.engine.sections import QUOTE_MAX_PLACES
from corrobora.engine.session.reading import ANY_TASK, PassageClaims
from corrobora.policies.queries import RETRY_EXHAUSTED
from corrobora.ports import Library
from corrobora.roles.extract import Extraction, Quote

URL = "https://coast.example/oldby"
SENTENCE = "The lighthouse of Oldby is 31 metres tall and stands on a rock."
TEXT = f"# Lighthouse\n\n{SENTENCE}\n\nIts lamp was lit in 1874 by the harbour office."
HIT = Hit(URL, "Lighthouse", query="lighthouse of Oldby")
SQ = SubQuestion("sq-1", "How tall is the lighthouse of Oldby?")


def made(analyst: Mixed | None = None, *, pages: dict[str, Any] | None = None, **more: Any) -> WebRun:
    run = make_web_run(
        more.pop("profile", "tree"),
        {URL: TEXT} if pages is None else pages,
        analysts=[analyst or Mixed()],
        clock=FakeClock(),
        wire=False,
        **more,
    )
    run.session.brief = Brief("How tall is the lighthouse of Oldby?")
    return run


def thread(run: WebRun, **more: Any) -> ThreadState:
    node = Node("root/1", "Height", "Find the height", sub_questions=(SQ,), **more)
    return ThreadState.open_thread(node, run.session.brief, run.session.profile.course)


def quoting(*quotes: str, **more: Any) -> Mixed:
    """An extractor that gives these quotes of the passage that holds them, else of the first."""

    def extract(given: Any) -> Extraction:
        where = {text: next((p.id for p in given.passages if text in p.text), given.passages[0].id) for text in quotes}
        answers = more.get("answers", ("sq-1",))
        return Extraction(tuple(Quote(where[text], text, text, 0.9, answers) for text in quotes))

    return Mixed({"extract": extract})


async def test_a_hit_that_no_reader_accepts_is_unsupported_and_asks_nobody() -> None:
    analyst = Mixed()
    run = made(analyst)
    reading = await read_hit(Hit("ftp://old.example/x", "x"), thread(run), run.session)
    assert reading.outcome is ReadOutcome.UNSUPPORTED
    assert analyst.played == []


async def test_every_hit_has_one_outcome_whatever_comes_first() -> None:
    pages = {URL: TEXT, "https://a.example/gone": ReadOutcome.NOT_FOUND, "https://a.example/slow": ReadOutcome.TIMEOUT}
    run = made(pages=pages, overrides={"attempts": "1"})
    readings = [reading async for reading in read_hits([Hit(url, "x") for url in pages], thread(run), run.session)]
    assert {reading.hit.url: reading.outcome for reading in readings} == {
        URL: ReadOutcome.READ,
        "https://a.example/gone": ReadOutcome.NOT_FOUND,
        "https://a.example/slow": ReadOutcome.TIMEOUT,
    }
    assert len(run.told(EventType.READ)) == len(pages)


async def test_what_is_not_in_the_source_is_dropped_and_counted() -> None:
    run = made(quoting(SENTENCE, "The lighthouse of Oldby is 99 metres tall.", "99 metres", "the"))
    reading = await read_hit(HIT, thread(run), run.session)
    assert [fact.quote for fact in reading.facts] == [SENTENCE]
    assert reading.dropped_quotes == 3, "two invented quotes, and one that points to no place"


async def test_m18_a_quote_that_stands_in_many_places_points_nowhere() -> None:
    again = "\n\n".join("All rights of this page are reserved." for _ in range(QUOTE_MAX_PLACES + 1))
    run = made(quoting("All rights of this page are reserved."), pages={URL: f"{TEXT}\n\n{again}"})
    reading = await read_hit(HIT, thread(run), run.session)
    assert (reading.facts, reading.dropped_quotes) == ((), 1)


async def test_a_quote_that_answers_only_other_threads_is_left_to_them_uncounted() -> None:
    run = made(quoting(SENTENCE, answers=("sq-9",)))
    reading = await read_hit(HIT, thread(run), run.session)
    assert (reading.facts, reading.dropped_quotes) == ((), 0)


async def test_a_passage_is_sent_to_an_analyst_once_for_each_task() -> None:
    analyst = quoting(SENTENCE)
    run = made(analyst)
    first = await read_hit(HIT, thread(run), run.session)
    again = await read_hit(replace(HIT, url=f"{URL}#part"), thread(run), run.session)
    assert again.outcome is ReadOutcome.NOT_FOUND, "another address is another page"
    other = await read_hit(HIT, replace(thread(run), path="root/2"), run.session)
    assert other.facts == first.facts
    assert len(analyst.given("extract")) == 1
    spec = TaskSpec(("How tall?",), verbatim="Quote the height.")
    await read_hit(HIT, thread(run, specs=(spec,)), run.session)
    assert [given.spec for given in analyst.given("extract")] == ["", "Quote the height."]


async def test_a_passage_whose_extraction_failed_is_free_for_the_next_reader() -> None:
    failing = Mixed({"extract": RoleError("refusal", "no")})
    run = made(failing)
    with pytest.raises(RoleError, match="no"):
        await read_hit(HIT, thread(run), run.session)
    run.session.outside = replace(run.session.outside, analysts=(quoting(SENTENCE),))
    assert (await read_hit(HIT, thread(run), run.session)).facts


async def test_who_waits_for_a_passage_that_is_given_back_waits_for_the_next_one_who_reads_it() -> None:
    """The task whose tokens are spent gives its passages back, and a sibling may claim them at once."""
    analyst = quoting(SENTENCE)
    run = made(analyst)
    first = await read_hit(HIT, thread(run), run.session)
    claims = run.session.claims = PassageClaims()
    pairs = [(ANY_TASK, each) for each in await run.session.library.passages(first.passages)]
    place = next(each.id for _, each in pairs if SENTENCE in each.text)
    given_back = claims.claim_passages(pairs)
    waiting = asyncio.create_task(read_hit(HIT, replace(thread(run), path="root/2"), run.session))
    for _ in range(99):
        await asyncio.sleep(0)
    claims.release(pairs)
    given_back.settle(None)
    taken = claims.claim_passages(pairs)
    for _ in range(9):
        await asyncio.sleep(0)
    assert not waiting.done(), "nothing was read yet"
    taken.settle(Extraction((Quote(place, SENTENCE, SENTENCE, 0.9, ("sq-1",)),)))
    assert (await waiting).facts == first.facts
    assert len(analyst.given("extract")) == 1


async def test_triplet_what_drifts_is_not_extracted() -> None:
    analyst = Mixed()
    fish = "https://fish.example/x"
    pages = {fish: "# Herring\n\nThe herring of Marrow is salted in barrels and sold by weight."}
    run = made(analyst, profile="triplet", pages=pages)
    state = thread(run, subjects=(Subject("lighthouse of Oldby"),))
    reading = await read_hit(Hit(fish, "Herring", query="height"), state, run.session)
    assert reading.outcome is ReadOutcome.DRIFTED
    assert reading.drift_checked
    assert analyst.played == []
    assert run.told(EventType.DRIFT)


async def test_the_passage_that_was_found_may_name_the_subject_late_in_a_long_document() -> None:
    fish = "https://fish.example/x"
    salted = "The herring of Marrow is salted in barrels and sold by weight.\n\n" * 1_200
    run = made(quoting(SENTENCE), profile="triplet", pages={fish: f"# Herring\n\n{salted}{SENTENCE}"})
    state = thread(run, subjects=(Subject("lighthouse of Oldby"),))
    drifted = await read_hit(Hit(fish, "Herring", query="height"), state, run.session)
    assert drifted.outcome is ReadOutcome.DRIFTED
    last = Hit(fish, "Herring", query="height", passage=drifted.passages[-1])
    assert (await read_hit(last, state, run.session)).outcome is not ReadOutcome.DRIFTED


async def test_timed_17_a_failure_that_may_pass_is_tried_again_and_then_given_up_with_the_tag() -> None:
    run = made(pages={URL: ReadOutcome.FAILED}, profile="timed")
    reading = await read_hit(HIT, thread(run), run.session)
    assert (run.reader.tried[URL], reading.attempts) == (3, 3)
    assert reading.note.endswith(RETRY_EXHAUSTED)
    assert [event.data["attempt_number"] for event in run.told(EventType.RETRY)] == [2, 3]
    assert {key.split("#")[0] for key in run.journal.entries} == {"read"}, "each attempt is journaled"


async def test_the_journal_key_of_a_hit_is_one_for_all_threads() -> None:
    run = made()
    assert make_read_key(HIT) == make_read_key(replace(HIT, title="other", score=3.0))
    assert make_read_key(HIT) != make_read_key(replace(HIT, passage=PassageId("C1")))
    await read_hit(HIT, thread(run), run.session)
    await read_hit(HIT, replace(thread(run), path="root/2"), run.session)
    assert run.reader.tried[URL] == 1


class Delayed(LibraryReader):
    """Reads stored documents, each after so many turns of the loop."""

    def __init__(self, library: Library, turns: Mapping[PassageId, int]) -> None:
        super().__init__(library)
        self._turns = turns

    async def read(self, hit: Hit) -> Document:
        for _ in range(self._turns[hit.passage or PassageId("")]):
            await asyncio.sleep(0)
        return await super().read(hit)


async def test_without_a_model_the_order_of_arrival_does_not_change_what_is_asked_and_found() -> None:
    told = ("The lighthouse of Oldby is 31 metres tall.", "Oldby has a tall rock.", "A lighthouse is tall.", "Oldby.")
    filler = "Keeper number {} wrote down what the weather was and went home to mend a net. " * 9
    text = "# Oldby\n\n" + "\n\n".join(f"{told[n % 4]} {filler.format(*[n] * 9)}" for n in range(16))

    async def found(*, backwards: bool) -> tuple[dict[PassageId | None, Any], list[str]]:
        analyst = Mixed()
        run = make_web_run("timed", {}, analysts=[analyst], clock=FakeClock())
        run.session.brief = Brief("How tall is the lighthouse of Oldby?")
        source, passages = await run.session.library.store(Source(SourceId(""), "Oldby", URL, ""), text, space="lib")
        turns = {each.id: 50 * (len(passages) - at if backwards else at) for at, each in enumerate(passages)}
        run.session.outside = replace(run.session.outside, readers=(Delayed(run.session.library, turns),))
        hits = [Hit(URL, "Oldby", query="lighthouse", source=source.id, passage=each.id) for each in passages]
        readings = [reading async for reading in read_hits(hits, thread(run), run.session)]
        return {r.hit.passage: r.facts for r in readings}, [each.path for each in analyst.given("extract")]

    forth, back = await found(backwards=False), await found(backwards=True)
    assert len(forth[0]) > 4
    assert any(forth[0].values())
    assert forth == back
