"""Refine: from what a node's gate still misses to better leaves of the same depth. A second prompt of the role `plan`.

Knows a node, its unmet criteria and the links that were found. Never changes depth.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import Field

from corrobora.domain.evidence import Fact, LinkedSource
from corrobora.domain.plan import Node, Record, TaskSpec, collect_leaves
from corrobora.domain.thread import Gap
from corrobora.policies.outcome import strip_iterations
from corrobora.ports import Role
from corrobora.roles.forms import (
    FACTS,
    GAPS,
    NODE,
    RECORD,
    STRICT,
    UnusableAnswer,
    choose_from,
    clean_texts,
    drop_duplicates,
)
from corrobora.roles.plan import WireSpec, make_spec


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What a node's gate still misses after an iteration."""

    path: str
    node: Node
    iteration: int
    unmet: tuple[str, ...]  # the criteria that failed, in words
    gaps: tuple[Gap, ...]
    linked: tuple[LinkedSource, ...]
    asked: tuple[str, ...]  # queries already used below this node
    record: Record = field(default_factory=Record)
    known: tuple[Fact, ...] = ()  # the best facts of this part

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(leaf.path for leaf in collect_leaves(self.node))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"L{number}" for number, _ in enumerate(self.linked, start=1))


@dataclass(frozen=True, slots=True)
class Refinement:
    """Changes to the leaves of a node and to its synthesis, never to its depth. `why` goes to the delta log.

    Without any change to a leaf the phase ends.
    """

    queries: tuple[tuple[str, tuple[str, ...]], ...]  # leaf path -> new queries
    sources: tuple[tuple[str, tuple[str, ...]], ...] = ()
    why: str = ""
    questions: tuple[tuple[str, tuple[str, ...]], ...] = ()  # leaf path -> further sub-questions, in words
    specs: tuple[tuple[str, tuple[TaskSpec, ...]], ...] = ()  # leaf path -> specs in place of its own
    synthesis: str = ""  # what the result of the node should look like from now on; "": as before

    @property
    def tasks(self) -> frozenset[str]:
        """The leaves that it changes; none if the planner gives up."""
        return frozenset(task for part in (self.queries, self.sources, self.questions, self.specs) for task, _ in part)


@dataclass(frozen=True, slots=True)
class WireChange:
    """What is new for one task."""

    __pydantic_config__ = STRICT
    task: Annotated[str, choose_from("tasks")]
    queries: list[str]
    sources: Annotated[list[Annotated[str, choose_from("labels")]], Field(description="Labels of listed links.")] = (
        field(default_factory=list[str])
    )
    sub_questions: Annotated[list[str], Field(description="Further ones, in words.")] = field(default_factory=list[str])
    specs: Annotated[list[WireSpec], Field(description="In place of its present ones.")] = field(
        default_factory=list[WireSpec]
    )


@dataclass(frozen=True, slots=True)
class WireRefinement:
    """Changes to tasks, and why."""

    __pydantic_config__ = STRICT
    changes: list[WireChange]
    why: str
    synthesis: Annotated[
        str, Field(description="What the result of this part should look like, if it must change.")
    ] = ""


def convert_refinement(given: Shortfall, filled: WireRefinement) -> Refinement:
    """Accept changes to leaves that exist, whichever pass a task is named after, and sources that were listed."""
    known = {strip_iterations(task): task for task in given.tasks}
    changes = [replace(each, task=known.get(strip_iterations(each.task), each.task)) for each in filled.changes]
    wrong = [change.task for change in changes if change.task not in given.tasks]
    if wrong:
        raise UnusableAnswer(f"There is no task {wrong[0]!r}. The tasks are: {', '.join(sorted(given.tasks))}.")
    links = dict(zip(given.labels, (link.reference for link in given.linked), strict=True))
    used = {query.casefold() for query in given.asked}  # the same query again is no change
    new = [(c.task, drop_duplicates(q for q in clean_texts(c.queries) if q.casefold() not in used)) for c in changes]
    sources = [(c.task, drop_duplicates(links[label] for label in c.sources if label in links)) for c in changes]
    return Refinement(
        tuple(pair for pair in new if pair[1]),
        tuple(pair for pair in sources if pair[1]),
        filled.why,
        tuple((c.task, asked) for c in changes if (asked := drop_duplicates(clean_texts(c.sub_questions)))),
        tuple((c.task, tuple(map(make_spec, c.specs))) for c in changes if c.specs),
        filled.synthesis.strip(),
    )


def _make_example() -> Shortfall:
    return Shortfall(
        "root/1", NODE, 2, ("two sources",), GAPS, (LinkedSource("Manual 3", "see Manual 3"),), ("pump",), RECORD, FACTS
    )


refine: Role[Shortfall, Refinement] = Role(
    "plan",
    Shortfall,
    Refinement,
    "refine",
    tier="lead",
    wire=WireRefinement,
    convert=convert_refinement,
    example=_make_example,
)
