"""Plan: from a brief to a tree of research.

Knows briefs, the profile's way of splitting, and how the flat list of tasks that a model writes becomes a tree: paths
and ids come from positions, never from the model. Does not judge feasibility beyond what one repair call can correct.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import to_json

from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import (
    Brief,
    Criteria,
    Gate,
    Node,
    Plan,
    Record,
    Split,
    SubQuestion,
    TaskSpec,
    collect_leaves,
)
from corrobora.policies.intake import Angle
from corrobora.ports import Role
from corrobora.roles.forms import BRIEF, RECORD, STRICT, Score, UnusableAnswer, choose_from, shorten_title


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
    record: Record = field(default_factory=Record)


_AtLeastOne = BeforeValidator(lambda value: value or 1)  # 0 asks for nothing: the least is 1
Least = Annotated[int, Field(ge=1), _AtLeastOne]


@dataclass(frozen=True, slots=True)
class WireSpec:
    """A specification for those who read the sources of a task."""

    __pydantic_config__ = STRICT
    questions: list[str]
    expected_format: str = ""
    acceptance_criteria: str = ""
    priority: Annotated[int, Field(ge=1, le=10, description="1 is read for first."), _AtLeastOne] = 1
    budget: Annotated[str, Field(description='Such as "4 sources, 2 minutes, 20,000 tokens".')] = ""
    discovery_intense: bool = False


@dataclass(frozen=True, slots=True)
class WirePhase:
    """When a phase of a topic is done, and what it may cost."""

    __pydantic_config__ = STRICT
    name: str = "gather"
    corroboration: Annotated[int, Field(ge=1, le=10, description="Independent sources for an answer."), _AtLeastOne] = 1
    themes: list[str] = field(default_factory=list[str])
    contradictions_resolved: bool = False
    minimum_confidence: Score = 0.0
    max_iterations: Least = 1
    budget_seconds: Annotated[float | None, Field(ge=0)] = None
    budget_tokens: Annotated[int | None, Field(ge=0)] = None
    discovery: Annotated[bool, Field(description="Look for new sources before its tasks work.")] = False


@dataclass(frozen=True, slots=True)
class WireTask:
    """A task, or a topic if other tasks name it as their parent."""

    __pydantic_config__ = STRICT
    key: Annotated[str, Field(description="Short name, unique in the plan.")]
    title: str
    objective: str
    queries: Annotated[list[str], Field(description="The broad one first.")]
    sub_questions: Annotated[list[str], Field(description="Ids as shown, or new questions in words.")]
    parent: Annotated[str, Field(description="Key of its topic, or empty.")] = ""
    angle: Annotated[str, Field(description="Slug of its angle, or empty.")] = ""
    subjects: Annotated[list[Annotated[str, choose_from("subjects")]], Field(description="Names exactly as shown.")] = (
        field(default_factory=list[str])
    )
    output_format: str = ""
    out_of_scope: str = ""
    discovery: bool = False
    max_rounds: Annotated[int | None, Field(ge=1)] = None
    specs: list[WireSpec] = field(default_factory=list[WireSpec])
    phases: Annotated[list[WirePhase], Field(description="Of a topic, in their order.")] = field(
        default_factory=list[WirePhase]
    )


@dataclass(frozen=True, slots=True)
class WirePlan:
    """A plan as a flat list of tasks."""

    __pydantic_config__ = STRICT
    tier: Literal["simple", "moderate", "complex"]
    tasks: list[WireTask]
    rationale: str = ""
    phases: Annotated[list[WirePhase], Field(description="Of the whole plan, if it has several tasks.")] = field(
        default_factory=list[WirePhase]
    )


def convert_plan(given: Planning, filled: WirePlan) -> Plan:
    """Build the tree: a task that others name as parent is a topic. Sub-questions that no task took go to a leaf.

    Raises `UnusableAnswer` for repeated keys, unknown parents, cycles, too many tasks, too many levels, unknown angles.
    """
    tasks = [task for task in filled.tasks if task.objective.strip() or task.sub_questions or task.queries]
    _check_keys(tasks)
    _check_tasks(given, tasks)
    pool = _QuestionPool(given.brief)
    below: dict[str, list[WireTask]] = {}
    for task in tasks:
        below.setdefault(task.parent.strip(), []).append(task)
    top = below.get("", [])
    if len(top) == 1 and top[0].key.strip() not in below:
        root = _make_node(top[0], given.path, below, pool)
    else:
        children = tuple(_make_node(task, f"{given.path}/{at}", below, pool) for at, task in enumerate(top, start=1))
        question = given.brief.question
        gates = tuple(map(_make_gate, filled.phases))
        root = Node(given.path, shorten_title(question), f"Answer: {question}", children, gates=gates)
    whole = pool.place_rest(root)
    whole = _merge_tasks(whole) if given.split == "questions" else whole
    answer = to_json(filled).decode()
    return Plan(whole, tier=filled.tier, rationale=filled.rationale, answer=answer)


def _merge_tasks(root: Node) -> Node:
    """One thread for the sub-questions of all tasks: its loop works on gaps, not on branches.

    What a task left to its neighbours is dropped: together they leave nothing out.
    """
    tasks = collect_leaves(root)
    if len(tasks) == 1:
        return replace(tasks[0], path=root.path)
    return Node(
        root.path,
        root.title,
        root.objective,
        sub_questions=tuple({q.id: q for task in tasks for q in task.sub_questions}.values()),
        subjects=tuple({s.name: s for task in tasks for s in task.subjects}.values()),
        queries=tuple(dict.fromkeys(query for task in tasks for query in task.queries)),
    )


def _check_keys(tasks: Sequence[WireTask]) -> None:
    keys = [task.key.strip().casefold() for task in tasks]
    if not keys:
        raise UnusableAnswer("The plan has no task. Give at least one, with an objective and queries.")
    if len(set(keys)) < len(keys):
        twice = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise UnusableAnswer(f"Two tasks have the key {twice!r}. Every key must be unique.")


def _check_tasks(given: Planning, tasks: Sequence[WireTask]) -> None:
    parents = {task.key.strip(): task.parent.strip() for task in tasks}
    for key, parent in parents.items():
        if parent and parent not in parents:
            raise UnusableAnswer(f"The task {key!r} names the parent {parent!r}, which is not in the plan.")
    levels = max(_count_levels(key, parents) for key in parents)
    if levels > max(given.max_depth, 1):  # the root of several tasks is an executor, too
        raise UnusableAnswer(f"The plan has {levels} levels, tasks included; at most {given.max_depth} are allowed.")
    inner = set(parents.values())
    outer = [task for task in tasks if task.key.strip() not in inner]
    fixed_angles = given.split == "angles" and not given.dynamic_angles
    most = 1 if given.split in ("leaf", "given") else max(given.max_leaves, 1)
    if fixed_angles:
        most = LIMITS.plan_max_leaves  # too many angles are clamped later, with a note
    if len(outer) > most:
        raise UnusableAnswer(f"The plan has {len(outer)} tasks; at most {most} are allowed.")
    slugs = [angle.slug for angle in given.angles]
    wrong = [task.angle for task in outer if task.angle and task.angle not in slugs]
    if fixed_angles and (wrong or not all(task.angle for task in outer)):
        raise UnusableAnswer(f"Every task needs one of these angles: {', '.join(slugs)}.")


def _count_levels(key: str, parents: Mapping[str, str]) -> int:
    level, seen = 0, set[str]()
    while key:
        if key in seen:
            raise UnusableAnswer(f"The task {key!r} is its own ancestor.")
        seen.add(key)
        key = parents[key]
        level += 1
    return level


class _QuestionPool:
    """Hands out sub-questions: given ones by id or text, new ones with the next free number."""

    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self._taken: set[str] = set()
        self._by_text = {_fold_question(question.text): question for question in brief.sub_questions}
        self._by_id = {question.id.casefold(): question for question in brief.sub_questions}

    def take_questions(self, names: Iterable[str]) -> tuple[SubQuestion, ...]:
        """Return the sub-questions that a task names; each given one belongs to the first task that takes it."""
        found: list[SubQuestion] = []
        for name in names:
            text = " ".join(name.split())
            known = self._by_id.get(text.casefold()) or self._by_text.get(_fold_question(text))
            if known is None and text:
                known = SubQuestion(self._next_id(), text)
                self._by_text[_fold_question(text)] = known
                self._by_id[known.id] = known
            if known is not None and known.id not in self._taken:
                self._taken.add(known.id)
                found.append(known)
        return tuple(found)

    def _next_id(self) -> str:
        number = len(self._by_id) + 1
        while f"sq-{number}" in self._by_id:
            number += 1
        return f"sq-{number}"

    def place_rest(self, root: Node) -> Node:
        """Give sub-questions that no task took to the first leaf, so that none is lost."""
        left = tuple(question for question in self.brief.sub_questions if question.id not in self._taken)
        return _add_questions(root, left) if left else root


def _add_questions(node: Node, questions: tuple[SubQuestion, ...]) -> Node:
    if node.is_leaf:
        return replace(node, sub_questions=(*node.sub_questions, *questions))
    first = next((at for at, child in enumerate(node.children) if not child.discovery), 0)
    changed = _add_questions(node.children[first], questions)
    return replace(node, children=(*node.children[:first], changed, *node.children[first + 1 :]))


def _make_node(task: WireTask, path: str, below: Mapping[str, list[WireTask]], pool: _QuestionPool) -> Node:
    inner = below.get(task.key.strip(), [])
    children = tuple(_make_node(child, f"{path}/{at}", below, pool) for at, child in enumerate(inner, start=1))
    wanted = {name.strip().casefold() for name in task.subjects}
    known = pool.brief.subjects
    return Node(
        path=path,
        title=shorten_title(task.title) or shorten_title(task.objective),
        objective=task.objective.strip() or task.title.strip(),
        children=children,
        sub_questions=pool.take_questions(task.sub_questions),
        subjects=tuple(s for s in known if {s.name.casefold(), *map(str.casefold, s.aliases)} & wanted),
        gates=tuple(map(_make_gate, task.phases)) if children or task.discovery else (),
        specs=tuple(map(make_spec, task.specs)),
        angle=task.angle.strip(),
        output_format=task.output_format.strip(),
        queries=tuple(dict.fromkeys(" ".join(q.split())[: LIMITS.query_max_chars] for q in task.queries if q.strip())),
        out_of_scope=task.out_of_scope.strip(),
        discovery=task.discovery and not children,
        max_rounds=task.max_rounds,
    )


def _make_gate(phase: WirePhase) -> Gate:
    criteria = Criteria(
        phase.corroboration, tuple(phase.themes), phase.contradictions_resolved, phase.minimum_confidence
    )
    return Gate(
        phase.name or "gather",
        criteria,
        phase.budget_seconds,
        phase.max_iterations,
        phase.budget_tokens,
        discovery=phase.discovery,
    )


def make_spec(spec: WireSpec) -> TaskSpec:
    """The spec as the planner wrote it: no field is dropped or reworded (TREE-16)."""
    return TaskSpec(
        tuple(spec.questions),
        spec.expected_format,
        spec.acceptance_criteria,
        spec.priority,
        spec.budget,
        spec.discovery_intense,
    )


def _fold_question(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .?!")


def _make_example() -> Planning:
    return Planning(
        "root",
        BRIEF,
        "angles",
        (Angle("background", "Background", "History of it"), Angle("risks", "Risks", "What fails")),
        complexity_hint="moderate",
        dynamic_angles=True,
        discovery=True,
        suggested_plan="first the flow",
        record=RECORD,
    )


plan: Role[Planning, Plan] = Role(
    "plan", Planning, Plan, "plan", tier="lead", wire=WirePlan, convert=convert_plan, example=_make_example
)
