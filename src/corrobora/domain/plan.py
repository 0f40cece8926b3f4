"""The plan: a tree whose inner nodes are executors and whose leaves are threads.

Knows the shape of a plan and how deep it is. Does not judge feasibility: `policies.feasibility` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from corrobora.domain.brief import Subject, SubQuestion

Split = Literal["tree", "angles", "questions", "leaf", "given"]


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What a planner prescribes to the extractors of a leaf, forwarded as it is (S0, extractor task specs).

    `verbatim` is the text of the spec exactly as the planner wrote it; the other fields are its reading.
    """

    questions: tuple[str, ...]
    expected_format: str = ""
    acceptance_criteria: str = ""
    priority: int = 1
    budget: str = ""
    discovery_intense: bool = False
    verbatim: str = ""


@dataclass(frozen=True, slots=True)
class Criteria:
    """When a phase of an inner node is satisfied (S0, phase gates)."""

    corroboration: int = 1  # independent sources for each answered sub-question
    themes: tuple[str, ...] = ()  # each must be covered
    contradictions_resolved: bool = False
    minimum_confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Gate:
    """A phase of an inner node: its criteria, its budget and how often it may be repeated (S0)."""

    name: str = "gather"
    criteria: Criteria = Criteria()
    budget_seconds: float | None = None
    max_iterations: int = 1
    budget_tokens: int | None = None  # of models; for a discovery leaf, of its sweep (S0, scout)


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the plan. Its path in the tree is the start of every journal key below it."""

    path: str  # "root", "root/1", "root/1/2": from the plan, never from the order of execution
    title: str
    objective: str
    children: tuple[Node, ...] = ()
    sub_questions: tuple[SubQuestion, ...] = ()
    subjects: tuple[Subject, ...] = ()
    gates: tuple[Gate, ...] = ()
    specs: tuple[TaskSpec, ...] = ()
    angle: str = ""  # slug of the angle (S1)
    output_format: str = ""
    queries: tuple[str, ...] = ()  # the broad query first, then narrowing directions (S1)
    out_of_scope: str = ""
    discovery: bool = False  # a leaf that only curates sources (S0)
    max_rounds: int | None = None  # set by the planner, else the profile's
    sources: tuple[str, ...] = ()  # URLs to read first, as found by a discovery leaf or given by the user

    @property
    def is_leaf(self) -> bool:
        """A leaf is pursued as one thread."""
        return not self.children


@dataclass(frozen=True, slots=True)
class Plan:
    """A research plan. With two or more sub-queries the root only gathers, as S0's manager does."""

    root: Node
    tier: str = ""  # simple | moderate | complex (S1)
    rationale: str = ""
    gathers_plans: bool = False  # the root stands for the manager: it does not count as an executor level
    notes: tuple[str, ...] = ()  # what code changed in a proposed plan, and why


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all below it, parents first."""
    yield node
    for child in node.children:
        yield from walk(child)


def leaves(node: Node) -> tuple[Node, ...]:
    """Return the leaves below the node, left to right."""
    return tuple(each for each in walk(node) if each.is_leaf)


def executor_depth(plan: Plan) -> int:
    """Count executor levels on the longest branch: inner nodes are executors (S0, "Definition of feasible")."""

    def depth(node: Node) -> int:
        return 0 if node.is_leaf else 1 + max(depth(child) for child in node.children)

    if plan.gathers_plans:
        return max((depth(child) for child in plan.root.children), default=0)
    return depth(plan.root)
