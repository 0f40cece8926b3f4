"""Scouting: a discovery leaf runs first, within its budget, and its siblings get the shortlist."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.profiles.research import Mixed, make_run

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Brief, Gate, Node, SubQuestion
from corrobora.engine.discover import share_shortlist, sweep_sources
from corrobora.roles.scope import Shortlist, Shortlisted

BRIEF = Brief("How often must the harbour cranes of Brenhaven be inspected?")
SCOUT = Node(
    "root/1",
    "Sweep",
    "Find sources on crane inspection at Brenhaven",
    sub_questions=(SubQuestion("sq-1", "How often must harbour cranes be inspected?"),),
    discovery=True,
)
OTHER = Node("root/2", "Rules", "Read the rules", sources=("given.md",))


def shortlisted(given: Any) -> Shortlist:
    chosen = tuple(Shortlisted(c.reference, c.title, 0.5, 0.5, 0.75, 0.5, "fits") for c in given.candidates[:1])
    return Shortlist(chosen, excluded=(("fish.md", "speaks of fish"),))


def test_tree_without_a_discovery_leaf_nothing_is_guided() -> None:
    assert share_shortlist(Node("root", "t", "o", (OTHER,)), ()) == (OTHER,)


async def test_tree_the_shortlist_is_read_first_by_the_other_leaves() -> None:
    made = await make_run("tree", analysts=(Mixed({"scout": shortlisted}),), wire=False)
    made.session.brief = BRIEF
    found = await sweep_sources(SCOUT, made.session)
    [link] = found.linked
    assert link.priority == 0.75
    others = share_shortlist(Node("root", "t", "o", (SCOUT, OTHER)), (found,))
    assert [each.sources for each in others] == [("given.md", link.reference)]
    assert "Not chosen for reading: fish.md: speaks of fish" in found.notes
    assert found.summary.startswith("1. ")


async def test_tree_sources_that_the_plan_names_are_triaged_with_what_is_found() -> None:
    analyst = Mixed({"scout": shortlisted})
    made = await make_run("tree", analysts=(analyst,))
    made.session.brief = BRIEF
    fish = next(source.id for source, _ in made.library._sources.values() if source.url == "fish.md")
    await sweep_sources(replace(SCOUT, sources=(fish,)), made.session)
    (given,) = analyst.given("scout")
    assert (given.candidates[0].reference, given.candidates[0].title) == (fish, "Fish market")
    assert len(given.candidates) > 1


async def test_tree_a_sweep_scans_no_more_than_its_tokens_pay_for() -> None:
    async def scans(tokens: int | None) -> int:
        analyst = Mixed({"scout": shortlisted}, usage=Usage(1_000, 200, calls=1))
        made = await make_run("tree", analysts=(analyst, ExtractiveAnalyst()))
        made.session.brief = BRIEF
        gates = () if tokens is None else (Gate(budget_tokens=tokens),)
        found = await sweep_sources(replace(SCOUT, gates=gates), made.session)
        assert found.linked
        assert tokens is None or 1_200 * len(analyst.played) <= tokens
        return sum(1 + len(each.beside) for each in analyst.given("extract"))  # pages share a call

    assert await scans(0) == 0
    assert 0 < await scans(7_000) < await scans(None)


async def test_what_was_not_chosen_is_named_by_its_title() -> None:
    def exclude_fish(given: Any) -> Shortlist:
        chosen = next(c for c in given.candidates if c.reference != fish)
        kept = Shortlisted(chosen.reference, chosen.title, 0.5, 0.5, 0.75, 0.5, "fits")
        return Shortlist((kept,), excluded=((fish, f"a copy of {fish}, not of S9999"),))

    made = await make_run("tree", analysts=(Mixed({"scout": exclude_fish}),))
    made.session.brief = BRIEF
    fish = next(source.id for source, _ in made.library._sources.values() if source.url == "fish.md")
    found = await sweep_sources(replace(SCOUT, sources=(fish,)), made.session)
    assert 'Not chosen for reading: Fish market: a copy of "Fish market", not of S9999' in found.notes
