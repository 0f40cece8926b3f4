"""Overlap of the tasks of a plan: which leaves ask for nearly the same, for a person to merge or to sharpen.

Knows words, not meaning. Changes nothing: `feasibility` drops exact duplicates only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from corrobora.domain.plan import Node, collect_leaves
from corrobora.text.tokens import find_function_words, split_words, stem_word

ALIKE = 0.6  # share of common words from which two tasks count as overlapping


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two leaves by their paths, and the share of words that they have in common, 0 to 1."""

    one: str
    other: str
    share: float


def find_overlaps(root: Node) -> Sequence[Overlap]:
    """Return the pairs of leaves whose tasks share most of their words, the most alike first."""
    words = [(leaf.path, _task_words(leaf)) for leaf in collect_leaves(root)]
    pairs = [
        Overlap(one, other, round(len(these & those) / len(these | those), 2))
        for (one, these), (other, those) in combinations(words, 2)
        if these and those
    ]
    return sorted((pair for pair in pairs if pair.share >= ALIKE), key=lambda pair: -pair.share)


def _task_words(leaf: Node) -> frozenset[str]:
    """Return the stems of the title and the questions of a leaf; objectives are worded alike by their planner."""
    asked = [question.text for question in leaf.sub_questions]
    asked += [question for spec in leaf.specs for question in spec.questions]
    text = " ".join((leaf.title, *asked))
    common = find_function_words(text)
    return frozenset(stem for word in split_words(text) if word not in common and (stem := stem_word(word)))
