"""Overlapping tasks of a plan are found by their words, and only those."""

from __future__ import annotations

from corrobora.domain.plan import Node, SubQuestion
from corrobora.policies.feasibility import find_overlaps


def leaf(path: str, title: str, *questions: str) -> Node:
    asked = tuple(SubQuestion(f"{path}-{number}", text) for number, text in enumerate(questions))
    return Node(path, title, f"Find literal evidence for: {title}", sub_questions=asked)


def test_two_leaves_with_nearly_the_same_words_overlap() -> None:
    one = leaf("root/1", "Capacity of batteries", "How much capacity do grid batteries lose in five years?")
    other = leaf("root/2", "Capacity of grid batteries", "How much capacity have batteries lost after five years?")
    far = leaf("root/3", "Operators", "Which utilities publish measurements?")
    (pair,) = find_overlaps(Node("root", "All", "All", (one, far, other)))
    assert (pair.one, pair.other) == ("root/1", "root/2")
    assert 0.6 <= pair.share <= 1.0


def test_the_wording_of_objectives_alone_is_no_overlap() -> None:
    plan = Node("root", "All", "All", (leaf("root/1", "Bridges"), leaf("root/2", "Ferries")))
    assert not find_overlaps(plan)


def test_a_single_leaf_overlaps_with_nothing() -> None:
    assert not find_overlaps(leaf("root", "Bridges", "When was the bridge opened?"))
