"""Schedule: providers by rotation, and queries in turn or together."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.thread import Phase
from corrobora.policies.retry import choose_providers, group_waves, list_other_providers

BOTH = ("tavily", "exa")
DEEPEN = Phase("deepen", providers=BOTH, rotation="alternate")


def test_rounds_deepen_alternates_tavily_and_exa() -> None:
    assert [choose_providers(DEEPEN, n, BOTH) for n in range(4)] == [("tavily",), ("exa",), ("tavily",), ("exa",)]


def test_rounds_orient_and_validate_ask_tavily_alone() -> None:
    assert choose_providers(Phase("orient", providers=("tavily",)), 1, BOTH) == ("tavily",)


def test_a_library_is_asked_beside_the_web_providers_that_a_phase_names() -> None:
    with_library = ("library", *BOTH)
    assert choose_providers(DEEPEN, 1, with_library) == ("exa", "library")
    assert choose_providers(replace(DEEPEN, rotation="fixed"), 1, with_library) == ("tavily", "library")
    assert choose_providers(replace(DEEPEN, rotation="all"), 1, with_library) == ("tavily", "exa", "library")
    assert choose_providers(replace(DEEPEN, providers=("library",)), 1, with_library) == ("library",)


def test_all_asks_every_provider_in_the_order_of_the_phase() -> None:
    assert choose_providers(Phase("p"), 0, BOTH) == BOTH
    assert choose_providers(Phase("p", providers=("exa", "tavily")), 0, BOTH) == ("exa", "tavily")


def test_fixed_asks_the_first_one_that_the_run_has() -> None:
    fixed = Phase("p", providers=("exa", "tavily"), rotation="fixed")
    assert choose_providers(fixed, 3, BOTH) == ("exa",)
    assert choose_providers(fixed, 3, ("tavily",)) == ("tavily",)


def test_a_phase_without_its_providers_takes_what_the_run_has() -> None:
    assert choose_providers(DEEPEN, 1, ("library",)) == ("library",)
    assert choose_providers(DEEPEN, 1, ()) == ()


def test_timed_a_failed_query_has_other_providers_to_go_to() -> None:
    assert list_other_providers(DEEPEN, ("tavily",), ("library", *BOTH)) == ("exa", "library")
    assert list_other_providers(DEEPEN, BOTH, BOTH) == ()


def test_rounds_queries_in_turn_and_timed_queries_together() -> None:
    assert group_waves(3, in_turn=True) == ((0,), (1,), (2,))
    assert group_waves(3, in_turn=False) == ((0, 1, 2),)
    assert group_waves(0, in_turn=True) == group_waves(0, in_turn=False) == ()


NAMES = st.lists(st.sampled_from(["tavily", "exa", "library", "arxiv"]), unique=True).map(tuple)


@given(NAMES, NAMES, st.sampled_from(["all", "alternate", "fixed"]), st.integers(0, 20))
def test_only_available_providers_answer_and_someone_does_if_there_is_one(wanted, available, rotation, index) -> None:
    phase = replace(DEEPEN, providers=wanted, rotation=rotation)
    found = choose_providers(phase, index, available)
    assert set(found) <= set(available)
    assert bool(found) == bool(available)
    assert not set(found) & set(list_other_providers(phase, found, available))


@given(NAMES.filter(bool), st.integers(1, 12))
def test_alternation_gives_each_provider_its_turn(available, count: int) -> None:
    phase = Phase("p", rotation="alternate")
    turns = [choose_providers(phase, n, available)[0] for n in range(count)]
    assert all(turns.count(name) >= count // len(available) for name in available)
