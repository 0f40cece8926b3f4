"""Feasibility: whether a plan may run, the repairs that code makes to it, and tasks that overlap, for a person to see.

Knows limits of depth, leaves, angles and numbers. Does not plan: what cannot be repaired without changing the meaning
of the plan is refused, and every repair is noted in the plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count

from corrobora.domain.errors import Infeasible
from corrobora.domain.limits import LIMITS
from corrobora.domain.plan import Gate, Node, Plan, SubQuestion, collect_leaves, executor_depth, walk_nodes
from corrobora.policies.gates import add_default_criterion
from corrobora.policies.intake import TIERS, angle_range
from corrobora.policies.queries import is_near_duplicate, query_core, select_fresh_queries
from corrobora.text.phrases import format_count
from corrobora.text.tokens import fold_text, split_words, stem_word
from corrobora.text.vocabulary import find_function_words

MAX_ITERATIONS = 7  # the larger cap of TIMED-4 also applies to gates
PRIORITIES = range(1, 11)
_MAX_WALK_DEPTH = 64  # a plan nested deeper is not walked further


def repair_plan(
    plan: Plan, *, max_depth: int, max_leaves: int, dynamic_angles: bool, allowed_angles: Sequence[str]
) -> Plan:
    """Return the plan as it may run, with a note for each repair (TREE-13; bad-input P01 to P20).

    Duplicate tasks run once, sub-agents by angle are limited to seven unless angles are dynamic, numbers are clamped to
    their caps, and an empty gate gets the default criterion. A feasible plan is returned unchanged, and repairing twice
    changes nothing more.

    Raises `Infeasible` with the code infeasible_depth, too_many_leaves, empty_plan, empty_task, duplicate_node,
    unknown_angle, bad_number or bad_priority.
    """
    limits = _PlanLimits(max_depth, max_leaves, dynamic_angles, tuple(allowed_angles))
    _check_shape(plan, limits)
    notes: list[str] = []
    root = _assign_paths(plan.root, plan.root.path or "root")
    root = _drop_duplicate_tasks(root, set(), notes) or root
    root = _clamp_sub_agents(root, _max_sub_agents(plan.tier, limits), notes)
    root = _drop_repeated_queries(root, notes)
    root = _clamp_numbers(root, None, notes)
    root = _assign_unique_ids(_assign_paths(root, root.path), notes)
    tier = _fit_tier(plan.tier, root, limits, notes)
    fresh = tuple(note for note in notes if note not in plan.notes)
    return replace(plan, root=root, tier=tier, notes=(*plan.notes, *fresh))


@dataclass(frozen=True, slots=True)
class _PlanLimits:
    max_depth: int
    max_leaves: int
    dynamic: bool
    angles: tuple[str, ...]


def _check_shape(plan: Plan, limits: _PlanLimits) -> None:
    if _is_deeper_than(plan.root, _MAX_WALK_DEPTH) or executor_depth(plan) > limits.max_depth:
        raise Infeasible(
            "infeasible_depth",
            f"The plan nests executors deeper than {limits.max_depth} levels.",
            next_step="Narrow the question or split it into sub-queries.",
        )
    _check_leaves(collect_leaves(plan.root), limits)
    paths = [node.path.casefold() for node in walk_nodes(plan.root) if node.path]
    twice = next((path for path in paths if paths.count(path) > 1), None) if len(set(paths)) < len(paths) else None
    if twice is not None:
        raise Infeasible("duplicate_node", f"Two nodes of the plan are called {twice!r}.", next_step="Rename one.")


def _check_leaves(found: Sequence[Node], limits: _PlanLimits) -> None:
    most = limits.max_leaves
    if limits.dynamic or _uses_angles(found):  # angles are limited to seven later; only an excessive number is refused
        most = max(most, LIMITS.plan_max_leaves)
    if len(found) > most:
        raise Infeasible(
            "too_many_leaves",
            f"The plan has {len(found):,} leaves; the limit is {most}.",
            next_step="Ask for fewer aspects, or raise max_leaves.",
        )
    if len(found) == 1 and not _has_task(found[0]) and not found[0].title.strip():
        raise Infeasible("empty_plan", "The plan has no task.", next_step="Plan again.")
    for leaf in found:
        if not _has_task(leaf):
            raise Infeasible("empty_task", f"The leaf {leaf.path} asks nothing.", next_step="Give it an objective.")
        if leaf.angle and limits.angles and not limits.dynamic and leaf.angle not in limits.angles:
            raise Infeasible(
                "unknown_angle",
                f"The leaf {leaf.path} has the angle {leaf.angle[:60]!r}; allowed: {', '.join(limits.angles)}.",
                next_step="Choose one of these, or allow others with --angles dynamic.",
            )
        for spec in leaf.specs:
            if isinstance(spec.priority, bool) or spec.priority not in PRIORITIES:
                raise Infeasible(
                    "bad_priority",
                    f"The leaf {leaf.path} has a task of priority {spec.priority}; allowed: "
                    f"{PRIORITIES.start} to {PRIORITIES.stop - 1}.",
                )


def _has_task(leaf: Node) -> bool:
    return bool(leaf.objective.strip() or leaf.sub_questions or leaf.specs or leaf.queries or leaf.sources)


def _uses_angles(found: Sequence[Node]) -> bool:
    return any(leaf.angle for leaf in found)


def _is_deeper_than(root: Node, limit: int) -> bool:
    """Walk level by level, so that a chain of any length cannot exhaust the stack."""
    level: list[Node] = [root]
    for _ in range(limit):
        level = [child for node in level for child in node.children]
        if not level:
            return False
        if len(level) > LIMITS.plan_max_leaves * 1_000:
            return True
    return True


def _make_task_key(leaf: Node) -> tuple[object, ...]:
    """Return what makes two tasks the same: what is asked, not the title."""
    questions = tuple(_normalize_text(each.text) for each in leaf.sub_questions)
    specs = tuple(_normalize_text(each.text) for each in leaf.specs)
    return (
        _normalize_text(leaf.objective),
        questions,
        specs,
        tuple(sorted(map(_normalize_text, leaf.queries))),
        leaf.sources,
    )


def _normalize_text(text: str) -> str:
    return " ".join(fold_text(text).split()).rstrip(".?! ")


def _drop_duplicate_tasks(node: Node, seen: set[tuple[object, ...]], notes: list[str]) -> Node | None:
    """Drop each leaf that repeats an earlier task, and inner nodes left without children (bad-input P17)."""
    if node.is_leaf:
        task = (node.discovery, *_make_task_key(node))
        if task in seen:
            notes.append(f"{node.path} asks the same as an earlier task and is not run twice: {node.title}")
            return None
        seen.add(task)
        return node
    kept = tuple(child for each in node.children if (child := _drop_duplicate_tasks(each, seen, notes)) is not None)
    return replace(node, children=kept) if kept else None


def _max_sub_agents(tier: str, limits: _PlanLimits) -> int:
    """Return how many sub-agents a plan of this tier may have (ANGLES-5)."""
    if limits.dynamic:
        return LIMITS.plan_max_leaves
    return min(LIMITS.sub_agents_max, limits.max_leaves, angle_range(tier)[1])


def _fit_tier(tier: str, root: Node, limits: _PlanLimits, notes: list[str]) -> str:
    """Return the tier that fits the number of sub-agents if the plan named a larger one than it filled."""
    count = len(collect_leaves(root))
    if limits.dynamic or not _uses_angles(collect_leaves(root)) or tier not in TIERS or count >= angle_range(tier)[0]:
        return tier
    fitting = next(name for name in TIERS if angle_range(name)[0] <= count <= angle_range(name)[1])
    notes.append(f"the tier was set from {tier} to {fitting}: the plan has {format_count(count, 'sub-agent')}")
    return fitting


def _drop_repeated_queries(root: Node, notes: list[str]) -> Node:
    """Remove queries of a sub-agent that an earlier one has: no search is made twice (ANGLES-7)."""
    asked: list[str] = []

    def drop_repeats(node: Node) -> Node:
        if not node.is_leaf:
            return replace(node, children=tuple(drop_repeats(child) for child in node.children))
        if not node.angle:
            return node
        cores = [query_core(query) for query in node.queries]
        own = tuple(query for at, query in enumerate(node.queries) if cores[at] not in cores[:at])
        kept = tuple(query for query in own if not any(is_near_duplicate(query, each) for each in asked))
        twice = len(own) - len(kept)
        if twice:
            notes.append(
                f"{node.path} asked what an earlier task asks: {format_count(twice, 'query', 'queries')} removed"
            )
        if node.queries and not kept:
            kept = select_fresh_queries(
                (f"{node.angle.replace('-', ' ')} {node.title}", node.objective, node.angle), asked
            )
        asked.extend(kept)
        return replace(node, queries=kept) if kept != node.queries else node

    return drop_repeats(root)


def _clamp_sub_agents(root: Node, most: int, notes: list[str]) -> Node:
    """Keep as many sub-agents as the tier allows, each angle once (ANGLES-5, ANGLES-8; bad-input P16)."""
    if not _uses_angles(collect_leaves(root)):
        return root
    seen: set[str] = set()
    kept: set[str] = set()
    for leaf in collect_leaves(root):
        if leaf.angle and leaf.angle in seen:
            notes.append(f"{leaf.path} repeats the angle {leaf.angle} and is not run: {leaf.title}")
        elif len(kept) >= most:
            notes.append(f"{leaf.path} is over the limit of {format_count(most, 'sub-agent')} and is not run")
        else:
            kept.add(leaf.path)
            seen.add(leaf.angle)
    return _keep_leaves(root, kept) or root


def _keep_leaves(node: Node, kept: set[str]) -> Node | None:
    if node.is_leaf:
        return node if node.path in kept else None
    children = tuple(child for each in node.children if (child := _keep_leaves(each, kept)) is not None)
    return replace(node, children=children) if children else None


def _clamp_numbers(node: Node, seconds: float | None, notes: list[str]) -> Node:
    """Clamp the numbers of a node and its descendants; a child's budget never exceeds its parent's (P08, P09)."""
    gates = tuple(_clamp_gate(gate, node.path, seconds, notes) for gate in node.gates)
    rounds = node.max_rounds
    if rounds is not None:
        rounds = _clamp_iterations(rounds, f"{node.path}: max_rounds", notes)
    budgets = [seconds, *(gate.budget_seconds for gate in gates)]
    left = min((each for each in budgets if each is not None), default=None)
    children = tuple(_clamp_numbers(child, left, notes) for child in node.children)
    return replace(node, gates=gates, max_rounds=rounds, children=children)


def _clamp_gate(gate: Gate, path: str, seconds: float | None, notes: list[str]) -> Gate:
    gate, note = add_default_criterion(gate)
    if note:
        notes.append(f"{path}: {note}")
    budget = gate.budget_seconds
    if budget is not None:
        if isinstance(budget, bool) or not math.isfinite(budget) or budget < 0:
            raise _number_error(f"{path}: the budget of gate {gate.name}", budget, "0 seconds or more")
        if seconds is not None and budget > seconds:
            notes.append(f"{path}: the budget of gate {gate.name} was lowered from {budget:g} to {seconds:g} s")
            budget = seconds
    sure = gate.criteria.minimum_confidence
    if not 0.0 <= sure <= 1.0:
        raise _number_error(f"{path}: the minimum confidence of gate {gate.name}", sure, "0 to 1")
    iterations = _clamp_iterations(gate.max_iterations, f"{path}: max_iterations of gate {gate.name}", notes)
    return replace(gate, budget_seconds=budget, max_iterations=iterations)


def _clamp_iterations(value: int, what: str, notes: list[str]) -> int:
    """Clamp to what is allowed, with a note; refuse what is not a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON
        raise _number_error(what, value, f"a whole number from 1 to {MAX_ITERATIONS}")
    found = max(1, min(MAX_ITERATIONS, value))
    if found != value:
        notes.append(f"{what} was set from {value} to {found}")
    return found


def _number_error(what: str, value: object, allowed: str) -> Infeasible:
    return Infeasible("bad_number", f"{what} is {str(value)[:40]}; allowed: {allowed}.", next_step="Correct the plan.")


def _assign_paths(node: Node, path: str) -> Node:
    """Name nodes by their place in the tree: no name written by a model becomes a path (bad-input P07)."""
    children = tuple(_assign_paths(child, f"{path}/{number}") for number, child in enumerate(node.children, 1))
    return node if node.path == path and children == node.children else replace(node, path=path, children=children)


def _assign_unique_ids(root: Node, notes: list[str]) -> Node:
    """Give sub-questions that share an id but not a text unique ids within the run."""
    texts: dict[str, str] = {}

    def assign_ids(node: Node) -> Node:
        questions = tuple(_make_id_unique(each, texts, notes) for each in node.sub_questions)
        return replace(node, sub_questions=questions, children=tuple(assign_ids(child) for child in node.children))

    return assign_ids(root)


def _make_id_unique(asked: SubQuestion, texts: dict[str, str], notes: list[str]) -> SubQuestion:
    if texts.setdefault(asked.id, asked.text) == asked.text:
        return asked
    number = next(n for n in count(2) if texts.get(f"{asked.id}-{n}", asked.text) == asked.text)
    name = f"{asked.id}-{number}"
    texts[name] = asked.text
    notes.append(f"the sub-question {asked.id} occurred twice with different texts; one is now {name}")
    return replace(asked, id=name)


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
