"""Planning: from a flat list of tasks, as a model writes it, to the tree of a plan.

Knows keys, parents, given sub-questions and angles; paths and ids come from positions, never from the model. Does not
judge feasibility beyond what one repair call can mend: `policies.feasibility` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from corrobora.adapters.models.wire import WireGate, WirePlan, WireSpec, WireTask
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Brief, Criteria, Gate, Node, Plan, Subject, SubQuestion, TaskSpec, collect_leaves
from corrobora.roles.plan import Planning


class Unusable(ValueError):
    """What a model filled in breaks a rule; the message tells it which, for the one repair call."""


def revive_plan(given: Planning, filled: WirePlan) -> Plan:
    """Build the tree: a task that others name as parent is a topic. Sub-questions that no task took go to a leaf.

    Raises `Unusable` for doubled keys, unknown parents, cycles, too many tasks, too deep nesting, unknown angles.
    """
    tasks = _distinct([task for task in filled.tasks if task.objective.strip() or task.sub_questions or task.queries])
    _check(given, tasks)
    numbers = _Numbers(given.brief)
    below: dict[str, list[WireTask]] = {}
    for task in tasks:
        below.setdefault(task.parent.strip(), []).append(task)
    top = below.get("", [])
    if len(top) == 1 and top[0].key.strip() not in below:
        root = _node(top[0], given.path, below, numbers)
    else:
        children = tuple(_node(task, f"{given.path}/{at}", below, numbers) for at, task in enumerate(top, start=1))
        root = _root(given, children)
    whole = numbers.completed(root)
    return Plan(_one(whole) if given.split == "questions" else whole, tier=filled.tier, rationale=filled.rationale)


def _one(root: Node) -> Node:
    """One thread for the sub-questions of all tasks: the lead agent's loop works on gaps, not on branches.

    Requirement: TIMED-11.
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
        out_of_scope="; ".join(dict.fromkeys(task.out_of_scope for task in tasks if task.out_of_scope)),
    )


def _distinct(tasks: Sequence[WireTask]) -> list[WireTask]:
    keys = [task.key.strip().casefold() for task in tasks]
    twice = next((key for at, key in enumerate(keys) if key in keys[:at]), None) if len(set(keys)) < len(keys) else None
    if twice is not None:
        raise Unusable(f"Two tasks have the key {twice!r}. Every key must be unique.")
    if not tasks:
        raise Unusable("The plan has no task. Give at least one, with an objective and queries.")
    return list(tasks)


def _check(given: Planning, tasks: Sequence[WireTask]) -> None:
    parents = {task.key.strip(): task.parent.strip() for task in tasks}
    for key, parent in parents.items():
        if parent and parent not in parents:
            raise Unusable(f"The task {key!r} names the parent {parent!r}, which is not in the plan.")
    levels = max(_levels(key, parents) for key in parents)
    if levels > max(given.max_depth, 1):  # the root of several tasks is an executor, too
        raise Unusable(f"The plan has {levels} levels, tasks included; at most {given.max_depth} are allowed.")
    inner = set(parents.values())
    outer = [task for task in tasks if task.key.strip() not in inner]
    most = 1 if given.split in ("leaf", "given") else max(given.max_leaves, 1)
    if given.split == "angles" and not given.dynamic_angles:
        most = LIMITS.plan_max_leaves  # too many angles are clamped later, with a note
    if len(outer) > most:
        raise Unusable(f"The plan has {len(outer)} tasks; at most {most} are allowed.")
    slugs = [angle.slug for angle in given.angles]
    wrong = [task.angle for task in outer if task.angle and task.angle not in slugs]
    if given.split == "angles" and not given.dynamic_angles and (wrong or not all(task.angle for task in outer)):
        raise Unusable(f"Every task needs one of these angles: {', '.join(slugs)}.")


def _levels(key: str, parents: dict[str, str]) -> int:
    level, seen = 0, set[str]()
    while key:
        if key in seen:
            raise Unusable(f"The task {key!r} is its own ancestor.")
        seen.add(key)
        key = parents[key]
        level += 1
    return level


class _Numbers:
    """Hands out sub-questions: given ones by id or text, new ones with the next free number."""

    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self.taken: set[str] = set()
        self._by_text = {_folded(question.text): question for question in brief.sub_questions}
        self._by_id = {question.id.casefold(): question for question in brief.sub_questions}

    def take(self, names: Iterable[str]) -> tuple[SubQuestion, ...]:
        """Return the sub-questions that a task names; each given one belongs to the first task that takes it."""
        found: list[SubQuestion] = []
        for name in names:
            text = " ".join(name.split())
            known = self._by_id.get(text.casefold()) or self._by_text.get(_folded(text))
            if known is None and text:
                known = SubQuestion(self._fresh(), text)
                self._by_text[_folded(text)] = known
                self._by_id[known.id] = known
            if known is not None and known.id not in self.taken:
                self.taken.add(known.id)
                found.append(known)
        return tuple(found)

    def _fresh(self) -> str:
        number = len(self._by_id) + 1
        while f"sq-{number}" in self._by_id:
            number += 1
        return f"sq-{number}"

    def completed(self, root: Node) -> Node:
        """Give sub-questions that no task took to the first leaf, so that none is lost."""
        left = tuple(question for question in self.brief.sub_questions if question.id not in self.taken)
        return _with_questions(root, left) if left else root


def _with_questions(node: Node, questions: tuple[SubQuestion, ...]) -> Node:
    if node.is_leaf:
        return replace(node, sub_questions=(*node.sub_questions, *questions))
    first = next((at for at, child in enumerate(node.children) if not child.discovery), 0)
    changed = _with_questions(node.children[first], questions)
    return replace(node, children=(*node.children[:first], changed, *node.children[first + 1 :]))


def _node(task: WireTask, path: str, below: dict[str, list[WireTask]], numbers: _Numbers) -> Node:
    inner = below.get(task.key.strip(), [])
    children = tuple(_node(child, f"{path}/{at}", below, numbers) for at, child in enumerate(inner, start=1))
    return Node(
        path=path,
        title=" ".join(task.title.split())[:160] or " ".join(task.objective.split())[:160],
        objective=task.objective.strip() or task.title.strip(),
        children=children,
        sub_questions=numbers.take(task.sub_questions),
        subjects=_subjects(task.subjects, numbers.brief.subjects),
        gates=(_gate(task.gate),) if children and task.gate is not None else (),
        specs=tuple(_spec(spec) for spec in task.specs if spec.questions),
        angle=task.angle.strip(),
        output_format=task.output_format.strip(),
        queries=tuple(dict.fromkeys(" ".join(q.split())[: LIMITS.query_max_chars] for q in task.queries if q.strip())),
        out_of_scope=task.out_of_scope.strip(),
        discovery=task.discovery and not children,
        max_rounds=task.max_rounds,
    )


def _root(given: Planning, children: tuple[Node, ...]) -> Node:
    question = given.brief.question
    return Node(given.path, " ".join(question.split())[:160], f"Answer: {question}", children)


def _subjects(names: Sequence[str], known: Sequence[Subject]) -> tuple[Subject, ...]:
    wanted = {name.strip().casefold() for name in names}
    return tuple(s for s in known if {s.name.casefold(), *map(str.casefold, s.aliases)} & wanted)


def _gate(gate: WireGate) -> Gate:
    criteria = Criteria(
        corroboration=gate.corroboration,
        themes=tuple(gate.themes),
        contradictions_resolved=gate.contradictions_resolved,
        minimum_confidence=gate.minimum_confidence,
    )
    return Gate(gate.name or "gather", criteria, max_iterations=gate.max_iterations)


def _spec(spec: WireSpec) -> TaskSpec:
    """The spec's words as extractors get them, exactly as the planner wrote them (TREE-15)."""
    lines = [
        *(f"question: {question}" for question in spec.questions),
        *([f"expected format: {spec.expected_format}"] if spec.expected_format else []),
        *([f"acceptance criteria: {spec.acceptance_criteria}"] if spec.acceptance_criteria else []),
        *([f"budget: {spec.budget}"] if spec.budget else []),
    ]
    return TaskSpec(
        questions=tuple(spec.questions),
        expected_format=spec.expected_format,
        acceptance_criteria=spec.acceptance_criteria,
        priority=spec.priority,
        budget=spec.budget,
        discovery_intense=spec.discovery_intense,
        verbatim="\n".join(lines),
    )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .?!")
