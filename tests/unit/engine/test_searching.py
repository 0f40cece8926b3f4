"""Searching: once per query and provider, failures recorded and never taken for "nothing", other ways tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.fakes import FakeClock
from tests.profiles.research import make_run
from tests.profiles.scripted import Engine, WebRun, make_web_run
from tests.unit.policies.threads import one_round, thread

from corrobora.domain.errors import ProviderError, RoleError
from corrobora.domain.evidence import Hit, Query
from corrobora.domain.plan import Node
from corrobora.domain.run import EventType
from corrobora.domain.thread import Intent, ThreadState
from corrobora.engine.pursue import absorb_round
from corrobora.engine.search import join_results, search_round, seems_down
from corrobora.engine.session.journal import RoundBuffer, SearchResults
from corrobora.ports import Entry

PAGES = {"https://a.example/x": "# Lighthouse\n\nThe lighthouse of Oldby is 31 metres tall."}
INTENT = Intent("height", (Query("lighthouse Oldby tall"),))


async def scoped(*engines: Engine) -> WebRun:
    """Set up a run whose first round was scoped."""
    made = make_web_run("timed", PAGES, engines=engines, clock=FakeClock())
    await made.journal.put(Entry("root/round/1/scope#1", "{}"))
    return made


def course(**fields: int) -> ThreadState:
    made = thread()
    return replace(made, course=replace(made.course, **fields))


async def test_triplet_no_search_without_a_scope() -> None:
    engine = Engine(PAGES)
    made = make_web_run("timed", PAGES, engines=[engine], clock=FakeClock())
    with pytest.raises(RoleError) as refused:
        await search_round(INTENT, thread(), made.session)
    assert refused.value.code == "no_scope"
    assert engine.asked == []


async def test_the_same_query_is_sent_to_a_provider_once_in_a_run() -> None:
    engine, other = Engine(PAGES, "tavily"), Engine(PAGES, "exa")
    made = await scoped(engine, other)
    first = await search_round(INTENT, thread(), made.session)
    assert await search_round(INTENT, thread(), made.session) == first
    assert (len(engine.asked), len(other.asked)) == (1, 1)
    assert sorted(hit.provider for hit in first.hits) == ["exa", "tavily"]
    assert first.providers == ("tavily", "exa")


async def test_timed_19_a_failed_search_goes_to_another_provider_then_to_other_words() -> None:
    down = Engine(PAGES, "tavily", down=True)
    made = await scoped(down, Engine({}, "exa"))
    found = await search_round(INTENT, course(attempts=3), made.session)
    assert [event.data["strategy"] for event in made.told(EventType.RETRY)] == ["other_provider"]
    assert found.failures == ("tavily refused.",)
    alone = await scoped(Engine(PAGES, "tavily", down=True))
    await search_round(INTENT, course(attempts=3), alone.session)
    assert len({event.data["query"] for event in alone.told(EventType.RETRY)} | {INTENT.queries[0].text}) > 1


async def test_a_failure_is_kept_for_the_run_and_tried_again_only_where_asked() -> None:
    engine = Engine(PAGES, fails={1})
    made = await scoped(engine)
    assert (await search_round(INTENT, course(attempts=1), made.session)).failures != ()
    assert (await search_round(INTENT, course(attempts=1), made.session)).failures != ()
    assert len(engine.asked) == 1
    made.session.retry_failures = True
    assert (await search_round(INTENT, course(attempts=1), made.session)).failures == ()


async def test_a_provider_that_fails_since_its_last_answer_seems_down() -> None:
    engine = Engine(PAGES, fails={2, 3})
    made = await scoped(engine)
    await search_round(INTENT, course(attempts=1), made.session)
    assert not seems_down("tavily", made.session)
    for text in ("tower Oldby", "beacon Oldby"):
        await search_round(Intent("height", (Query(text),)), course(attempts=1), made.session)
    assert seems_down("tavily", made.session), "an answer before its failures does not count"
    await search_round(Intent("height", (Query("lighthouse height"),)), course(attempts=1), made.session)
    assert not seems_down("tavily", made.session)


@pytest.mark.parametrize(("code", "probes"), [("provider_failed", 1), ("provider_bad_content", 0)])
async def test_a_provider_that_goes_on_failing_is_asked_once_a_round_or_not_at_all(code: str, probes: int) -> None:
    class Broken(Engine):
        async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
            self.asked.append(query)
            raise ProviderError(code, f"{limit} were asked for.", provider=self.name)

    engine = Broken({})
    made = await scoped(engine)
    intent = Intent("height", tuple(Query(f"{word} Oldby") for word in "tower beacon lamp mast pier quay".split()))
    one = course(attempts=1, queries_in_turn=True)
    found = await search_round(intent, one, made.session)
    assert len({query.text for query in engine.asked}) == 4
    assert found.failures[-1].endswith("so it is not asked again")
    sent = len(engine.asked)
    await made.journal.put(Entry("root/round/2/scope#1", "{}"))
    await made.journal.put(Entry("root/round/3/scope#1", "{}"))
    for number, word in enumerate(("roof", "wall"), start=1):
        later = replace(one, rounds=tuple(one_round() for _ in range(number)))
        await search_round(Intent("height", (Query(f"{word} Oldby"), Query(f"{word} of Oldby"))), later, made.session)
    assert len(engine.asked) == sent + 2 * probes
    told = [event for event in made.told(EventType.WARNING) if "not asked again" in str(event.data["failed"])]
    assert len(told) == 1, "it is said once"


class RefusedEngine(Engine):
    """A search engine that answers its first search and refuses the key from then on."""

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        if self.asked:
            self.asked.append(query)
            raise ProviderError.key_refused(self.name, setting="TAVILY_API_KEY")
        return await super().search(query, limit=limit)


async def test_a_refused_key_is_tried_with_another_provider_but_with_no_other_words() -> None:
    engine = RefusedEngine(PAGES)
    made = await scoped(engine)
    await search_round(INTENT, course(attempts=3), made.session)
    found = await search_round(Intent("height", (Query("beacon Oldby"),)), course(attempts=3), made.session)
    assert found.failures == ("tavily refused the key.",)
    assert [query.text for query in engine.asked] == ["lighthouse Oldby tall", "beacon Oldby"]
    both = await scoped(RefusedEngine(PAGES, asked=[Query("before")]), Engine(PAGES, "exa"))
    assert (await search_round(INTENT, course(attempts=3), both.session)).hits


def test_joined_results_keep_their_order_and_name_each_provider_once() -> None:
    a, b = Hit("a", "a"), Hit("b", "b")
    whole = join_results(
        [SearchResults((b,), (), ("exa",)), SearchResults((a,), ("x",), ("tavily",)), SearchResults((), (), ("exa",))]
    )
    assert whole == SearchResults((b, a), ("x",), ("exa", "tavily"))


async def test_rounds_whole_documents_are_results_once_in_a_thread() -> None:
    texts = {f"crane-{n}.md": f"# Crane {n}\n\nCrane {n} lifts.\n\nCrane {n} turns." for n in range(6)}
    made = await make_run("rounds", documents=texts)
    run = made.session
    node = Node("root", "Cranes", "cranes")
    state = ThreadState.open_thread(node, run.brief, replace(run.profile.course, hits_per_query=2))
    intent = Intent("cranes", (Query("crane lifts"), Query("crane turns")))
    await made.journal.put(Entry("root/round/1/scope#1", "{}"))
    first = await search_round(intent, state, run)
    assert [hit.passage for hit in first.hits] == [None] * 4
    assert len({hit.source for hit in first.hits}) == 4, "what the first query found is no result of the second"
    gathered = RoundBuffer()
    gathered.intent, gathered.searched = intent, first
    later = absorb_round(state, gathered)
    await made.journal.put(Entry("root/round/2/scope#1", "{}"))
    second = await search_round(replace(intent, queries=(Query("crane lifts turns"),)), later, run)
    assert not {hit.source for hit in second.hits} & {hit.source for hit in first.hits}
    assert len(second.hits) == 2
    passages = await search_round(intent, replace(state, course=replace(state.course, whole_documents=False)), run)
    assert None not in {hit.passage for hit in passages.hits}
