"""Plans: leaves from left to right, and how many executors stand one above the other (TREE-13)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.plan import Node, Plan, collect_leaves, executor_depth, walk_nodes


def node(path: str, *children: Node) -> Node:
    return Node(path, path, "find out", children)


def chain(executors: int) -> Node:
    """A branch of so many executors, with a leaf below the last."""
    found = node("leaf")
    for level in range(executors):
        found = node(f"executor {level}", found)
    return found


TREES = st.recursive(
    st.builds(node, st.text(max_size=3)),
    lambda below: st.lists(below, min_size=1, max_size=3).map(lambda children: node("inner", *children)),
    max_leaves=12,
)

TREE = node("root", node("root/1", node("root/1/1"), node("root/1/2")), node("root/2"))


def test_a_walk_goes_down_first_and_from_left_to_right() -> None:
    assert [each.path for each in walk_nodes(TREE)] == ["root", "root/1", "root/1/1", "root/1/2", "root/2"]
    assert [each.path for each in collect_leaves(TREE)] == ["root/1/1", "root/1/2", "root/2"]


def test_one_leaf_is_its_own_leaf() -> None:
    assert collect_leaves(node("root")) == (node("root"),)
    assert node("root").is_leaf


@pytest.mark.parametrize("executors", range(5))
def test_tree_depth_counts_the_executors_of_the_longest_branch(executors: int) -> None:
    assert executor_depth(Plan(node("root", chain(executors), node("short")))) == executors + 1


@pytest.mark.parametrize("executors", range(5))
def test_tree_a_root_that_stands_for_the_manager_is_no_executor(executors: int) -> None:
    root = node("root", chain(executors), node("short"))
    assert executor_depth(Plan(root, gathers_plans=True)) == executors


def test_a_single_leaf_has_no_executor() -> None:
    assert executor_depth(Plan(node("root"))) == 0
    assert executor_depth(Plan(node("root"), gathers_plans=True)) == 0


@given(TREES)
def test_every_node_is_walked_once_and_leaves_have_no_children(tree: Node) -> None:
    seen = list(walk_nodes(tree))
    assert len(seen) == 1 + sum(len(each.children) for each in seen)
    assert tuple(each for each in seen if not each.children) == collect_leaves(tree)


@given(TREES)
def test_the_managers_root_takes_one_level_off_at_most(tree: Node) -> None:
    depth = executor_depth(Plan(tree))
    assert executor_depth(Plan(tree, gathers_plans=True)) == max(0, depth - 1)
    assert executor_depth(Plan(node("above", tree))) == depth + 1
