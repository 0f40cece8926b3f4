"""Plan and refine without a model (TREE-12, ANGLES-6)."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from tests.unit.analysts.extractive.samples import brief, play

from corrobora.domain.plan import Brief, SubQuestion, collect_leaves, executor_depth, walk_nodes
from corrobora.domain.thread import Gap
from corrobora.policies.intake import Angle
from corrobora.policies.queries import is_near_duplicate
from corrobora.roles.clarify import Asking, clarify
from corrobora.roles.plan import Planning, plan
from corrobora.roles.refine import Shortfall, refine

ANGLES = tuple(
    Angle(slug, title, guidance)
    for slug, title, guidance in (
        ("latest", "Latest developments", "recent announcements, releases"),
        ("methods", "Technical methods", "how it works, implementation details"),
        ("limits", "Limitations and risks", "failure modes, risks, rules"),
        ("business", "Business implications", "products, ecosystem"),
        ("numbers", "Quantitative claims", "benchmarks, measured figures"),
        ("open", "Open questions", "unresolved debates"),
        ("background", "Background and prior work", "history, earlier editions"),
    )
)


def clarified(question: str | None = None) -> Brief:
    return play(clarify, Asking("root", brief(question) if question else brief())).queries[0]


@pytest.mark.parametrize("split", ["leaf", "given", "questions", "tree", "angles"])
def test_every_split_gives_a_feasible_plan_with_queries(split):
    made = play(plan, Planning("root", clarified(), split, ANGLES))
    assert executor_depth(made) <= 3
    assert all(leaf.queries for leaf in collect_leaves(made.root))
    paths = [node.path for node in walk_nodes(made.root)]
    assert len(set(paths)) == len(paths)
    assert paths[0] == "root"


@pytest.mark.parametrize(("tier", "low", "high"), [("simple", 1, 1), ("moderate", 2, 4), ("complex", 5, 7)])
def test_angles_are_chosen_by_tier_without_overlap(tier, low, high):
    made = play(plan, Planning("root", clarified(), "angles", ANGLES, complexity_hint=tier))
    tasks = collect_leaves(made.root)
    assert low <= len(tasks) <= high
    pairs = ((query, other) for a, b in combinations(tasks, 2) for query in a.queries for other in b.queries)
    assert not any(is_near_duplicate(query, other) for query, other in pairs)
    for task in tasks:
        others = [other.title for other in tasks if other is not task]
        assert all(title.partition(":")[0] in task.out_of_scope for title in others)
        assert task.objective


def test_dynamic_angles_come_from_the_question():
    given = Planning("root", clarified(), "angles", ANGLES, complexity_hint="moderate", dynamic_angles=True)
    slugs = {leaf.angle for leaf in collect_leaves(play(plan, given).root)}
    assert slugs - {angle.slug for angle in ANGLES}


def test_a_tree_of_many_parts_has_themes_and_gates():
    parts = tuple(SubQuestion(f"sq-{n}", f"What is known of topic{n} and firing{n}?") for n in range(1, 7))
    made = play(plan, Planning("root", Brief("What is known?", parts), "tree", discovery=True, max_leaves=7))
    inner = [node for node in walk_nodes(made.root) if not node.is_leaf]
    assert len(inner) > 1
    assert all(node.gates and node.gates[0].criteria.themes for node in inner)
    assert sum(leaf.discovery for leaf in collect_leaves(made.root)) == 1
    assert len(collect_leaves(made.root)) <= 7


def test_a_suggested_plan_is_taken_or_the_reason_is_noted():
    suggested = json.dumps({"title": "Mine", "children": [{"title": "One"}, {"title": "Two", "queries": ["q one"]}]})
    made = play(plan, Planning("root", clarified(), "tree", suggested_plan=suggested))
    assert [leaf.title for leaf in collect_leaves(made.root)] == ["One", "Two"]
    refused = play(plan, Planning("root", clarified(), "tree", suggested_plan="{not json"))
    assert "not JSON" in refused.notes[0]


def test_refine_adds_new_queries_and_never_nodes():
    made = play(plan, Planning("root", clarified(), "tree"))
    asked = tuple(q for leaf in collect_leaves(made.root) for q in leaf.queries)
    given = Shortfall("root", made.root, 1, ("corroboration 1 of 2",), (Gap("Nothing on: kiln doors", ""),), (), asked)
    refinement = play(refine, given)
    assert refinement.queries
    assert {path for path, _ in refinement.queries} <= {leaf.path for leaf in collect_leaves(made.root)}
    fresh = [q for _, queries in refinement.queries for q in queries]
    assert not set(fresh) & set(asked)
    assert refinement.why
