"""Selection: what is read, in which order, and never twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.policies import threads

from corrobora.domain.evidence import Hit, PassageId, Reading, ReadOutcome, SourceId
from corrobora.domain.plan import Brief, Node
from corrobora.domain.thread import Assessment, Course, Intent, Phase, Round, ThreadState
from corrobora.policies.selection import ASKED_PROVIDER, cluster_copies, fuse_hits, list_unread_sources, select_hits


def hit(name: str, query: str = "q", provider: str = "p") -> Hit:
    return Hit(f"doc/{name}", name, query=query, provider=provider)


def thread(*, reads: int = 5, sources: tuple[str, ...] = ()) -> ThreadState:
    node = Node("root", "t", "o", sources=sources)
    return ThreadState.open_thread(node, Brief("q"), Course((Phase("research"),), reads_per_round=reads))


def after(state: ThreadState, *readings: Reading) -> ThreadState:
    done = Round(state.number + 1, "research", Intent("g", ()), readings=readings)
    return state.add_round(done, Assessment((), (), (), ()))


hits = st.lists(
    st.builds(hit, st.sampled_from("abcdefgh"), st.sampled_from(["q", "r", "s"]), st.sampled_from(["p", "x"])),
    max_size=30,
)


@given(hits, st.integers(1, 8))
def test_triplet_at_most_the_courses_reads_and_no_page_twice(found: list[Hit], reads: int) -> None:
    chosen = select_hits(found, thread(reads=reads))
    assert len(chosen) <= reads
    assert len({each.url for each in chosen}) == len(chosen)
    assert {each.url for each in chosen} <= {each.url for each in found}


@given(hits)
def test_all_hits_are_kept_by_the_fusion_each_once(found: list[Hit]) -> None:
    merged = fuse_hits(found)
    assert {(h.url, h.passage) for h in merged} == {(h.url, h.passage) for h in found}
    assert len({(h.url, h.passage) for h in merged}) == len(merged)


def test_what_several_queries_find_comes_first() -> None:
    found = [hit("a", "whole"), hit("b", "whole"), hit("c", "part"), hit("b", "part")]
    assert next(each.title for each in fuse_hits(found)) == "b"


def test_queries_of_equal_standing_have_their_turns() -> None:
    found = [*(hit(f"a{at}", "one") for at in range(3)), *(hit(f"b{at}", "two") for at in range(3))]
    assert [each.title for each in fuse_hits(found, equal=True)] == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_a_query_does_not_lose_its_turn_to_what_another_one_gave() -> None:
    found = [hit("a", "one"), hit("b", "one"), hit("c", "one"), hit("b", "two"), hit("d", "two")]
    assert [each.title for each in fuse_hits(found, equal=True)] == ["a", "b", "c", "d"]
    assert [each.title for each in fuse_hits(found[1:], equal=True)] == ["b", "d", "c"]


def test_the_first_query_counts_more_than_its_parts() -> None:
    found = [hit("a", "whole"), hit("b", "part")]
    assert [each.title for each in fuse_hits(found)] == ["a", "b"]
    assert [each.title for each in fuse_hits([hit("x", "whole"), hit("y", "whole"), hit("z", "part")])] == [
        "x",
        "y",
        "z",
    ]


def test_what_was_read_is_not_chosen_again() -> None:
    read = Reading(hit("a"), ReadOutcome.READ)
    state = after(thread(), read)
    assert [each.title for each in select_hits([hit("a"), hit("b")], state)] == ["b"]


@pytest.mark.parametrize(
    "outcome", [ReadOutcome.REFUSED, ReadOutcome.NOT_FOUND, ReadOutcome.FAILED, ReadOutcome.DRIFTED]
)
def test_triplet_a_page_that_was_tried_takes_no_place_of_a_later_round(outcome: ReadOutcome) -> None:
    state = after(thread(sources=("doc/b",)), Reading(hit("a"), outcome), Reading(hit("b"), outcome))
    assert [each.url for each in select_hits([hit("a"), hit("c")], state)] == ["doc/c"]


def test_a_passage_that_was_read_as_a_neighbour_is_not_chosen_again() -> None:
    first = Hit("doc", "doc", source=SourceId("S1"), passage=PassageId("C1"))
    state = after(thread(), Reading(first, ReadOutcome.READ, SourceId("S1"), (PassageId("C1"), PassageId("C2"))))
    again = Hit("doc", "doc", source=SourceId("S1"), passage=PassageId("C2"))
    other = Hit("doc", "doc", source=SourceId("S1"), passage=PassageId("C9"))
    assert select_hits([again, other], state) == (other,)


def test_tree_given_sources_are_read_first() -> None:
    chosen = select_hits([hit("a")], thread(sources=("S7", "https://example.org/page")))
    assert [each.url for each in chosen] == ["S7", "https://example.org/page", "doc/a"]
    assert chosen[0].source == "S7"
    assert chosen[1].source is None


def test_tree_near_copies_share_a_cluster() -> None:
    texts = ("The kiln is hot at noon", "The kiln is hot at noon.", "Rivers flow to the sea")
    assert cluster_copies([(text, "a.example") for text in texts[:2]]) == (0, 0)
    assert cluster_copies([(text, f"{at}.example") for at, text in enumerate(texts)]) == (0, 0, 1)


def test_tree_pages_that_share_the_menu_of_their_host_are_no_copies() -> None:
    menu = "Introduction Quick start Installation Configuration Databases Leases Logging Security Statistics"
    pages = [f"{title} {menu}" for title in ("Hooks", "Logging", "Lease expiration", "Lease expiration")]
    found = [*((page, "manual.example") for page in pages), (pages[0], "mirror.example")]
    assert cluster_copies(found) == (0, 1, 2, 2, 0)


def test_rounds_30_where_sources_are_counted_a_further_section_takes_no_place_of_a_new_one() -> None:
    section = Hit("doc/a", "a", source=SourceId("S1"), passage=PassageId("C9"), provider=ASKED_PROVIDER)
    first = Reading(hit("a", "one"), ReadOutcome.READ, SourceId("S1"), (PassageId("C1"),), asks=(section,))
    found = [hit(name, "two") for name in "bcd"]
    for counted, read in ((True, ["doc/a", "doc/b", "doc/c"]), (False, ["doc/a", "doc/b"])):
        state = thread(reads=2)
        state = after(replace(state, course=replace(state.course, whole_documents=counted)), first)
        assert [each.url for each in select_hits(found, state, whole=True)] == read
        assert len(select_hits(found, state, whole=True, again=1)) == len(read)


def test_a_page_that_a_reader_asks_for_comes_first_unless_its_source_was_read_under_another_address() -> None:
    asked = (Hit("doc/new", "new", provider=ASKED_PROVIDER), Hit("doc/a/print", "a", source=SourceId("S1")))
    state = after(thread(), Reading(hit("a"), ReadOutcome.READ, SourceId("S1"), asks=asked))
    assert [each.url for each in select_hits([hit("b")], state)] == ["doc/new", "doc/b"]


def test_a_page_of_which_facts_are_known_is_not_listed_as_unread() -> None:
    """A sibling or an earlier run has read it: whoever is told to choose from the list would spend a read on it."""
    known = threads.fact(source="S1", url="a.md")
    found = threads.thread(threads.one_round(urls="c.md", found_again="a.md b.md"))
    assert [url for url, _ in list_unread_sources(found, 9)] == ["a.md", "b.md"]
    for told in (replace(found, facts=(known,)), replace(found, recalled=(known,))):
        assert [url for url, _ in list_unread_sources(told, 9)] == ["b.md"]


def test_what_readers_ask_for_leaves_half_of_a_round_to_what_was_searched() -> None:
    """Readers serve all tasks: what they asked for another one took every read, and no result of its query was read."""
    asked = tuple(
        Hit(f"doc/{name}", name, source=SourceId("S1"), passage=PassageId(f"C{name}"), provider=ASKED_PROVIDER)
        for name in "23456789"
    )
    poor = Reading(hit("p", "one"), ReadOutcome.READ, SourceId("S9"), asks=asked[4:])
    rich = Reading(hit("a", "one"), ReadOutcome.READ, SourceId("S1"), facts=(threads.fact(),), asks=asked[:4])
    state = after(thread(reads=4), poor, rich)
    found = [hit(name, "two") for name in "bcd"]
    chosen = [each.url for each in select_hits(found, state, whole=True)]
    assert chosen == ["doc/2", "doc/3", "doc/b", "doc/c"]
    assert [each.url for each in select_hits([], state, whole=True)] == ["doc/2", "doc/3", "doc/4", "doc/5"]
