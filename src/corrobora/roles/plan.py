"""Plan: from a brief to a tree of research, or from a shortfall to a better node of the same depth.

Requirement: TREE-12, TREE-27, ANGLES-6.

Knows briefs, the profile's way of splitting, and what a gate missed. Does not judge feasibility: code does.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.domain.evidence import LinkedSource
from corrobora.domain.plan import Brief, Node, Plan, Split
from corrobora.domain.thread import Gap
from corrobora.ports import Role


@dataclass(frozen=True, slots=True)
class Angle:
    """One research angle: a canonical one (ANGLES-8), or one invented for the question (`--angles dynamic`)."""

    slug: str
    title: str
    guidance: str


@dataclass(frozen=True, slots=True)
class Planning:
    """What a planner is given: one brief of a feasible query and how the profile splits it."""

    path: str
    brief: Brief
    split: Split
    angles: tuple[Angle, ...] = ()  # the canonical angles to choose from; empty: none
    max_leaves: int = 7
    max_depth: int = 3
    max_rounds: int = 3
    complexity_hint: str = ""
    dynamic_angles: bool = False
    discovery: bool = False
    suggested_plan: str = ""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What a node's gate still misses after an iteration (TREE-26)."""

    path: str
    node: Node
    iteration: int
    unmet: tuple[str, ...]  # the criteria that failed, in words
    gaps: tuple[Gap, ...]
    linked: tuple[LinkedSource, ...]
    asked: tuple[str, ...]  # queries already used below this node


@dataclass(frozen=True, slots=True)
class Refinement:
    """Changes to the leaves of a node: sources and questions, never depth. `why` goes to the delta log."""

    queries: tuple[tuple[str, tuple[str, ...]], ...]  # leaf path -> new queries
    sources: tuple[tuple[str, tuple[str, ...]], ...] = ()
    why: str = ""


plan: Role[Planning, Plan] = Role("plan", Planning, Plan, "plan", tier="lead")
refine: Role[Shortfall, Refinement] = Role("plan", Shortfall, Refinement, "refine", tier="lead")
