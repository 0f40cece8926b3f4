"""Planning views: what the manager and the planners are given, and how several plans become one tree.

Knows profiles and briefs. Does not plan: the role does; does not judge: `policies.feasibility` does.

A given thread (TRIPLET-1): definition and brief, read from the text of a THREAD.toml.

Knows the file's fields and says what is wrong with them. Nothing is asked of a model and nothing of a person.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from corrobora.domain.errors import UserError
from corrobora.domain.plan import Brief, Focus, Node, Plan, Subject, SubQuestion
from corrobora.policies.feasibility import check_question, guess_complexity, repair_plan
from corrobora.policies.intake import ANGLE_SLUGS, CANONICAL_ANGLES
from corrobora.policies.profile import Profile
from corrobora.roles.clarify import Asking, Scoping
from corrobora.roles.plan import Angle, Planning
from corrobora.roles.suggested import read_suggested

MAX_THREAD_QUESTIONS = 7  # sub-questions that one thread can follow

MAX_DYNAMIC_LEAVES = 20  # tasks that a lead may invent where angles are dynamic: the cap of seven does not hold then


def clarify_input(brief: Brief, profile: Profile, dialogue: tuple[str, ...] = ()) -> Asking:
    """What the manager is given. Where parts are worked on by leaves, no more of them than leaves."""
    parts = profile.max_leaves if profile.split in ("tree", "angles") else MAX_THREAD_QUESTIONS
    return Asking("root", brief, dialogue, parts)


def plan_input(query: Brief, number: int, scoping: Scoping, profile: Profile, *, of: int) -> Planning:
    """What one planner is given. With several queries each has its own path, so its own journal keys."""
    return Planning(
        path="root" if of == 1 else f"root/{number}",
        brief=query,
        split=profile.split,
        angles=tuple(Angle(a.slug, a.title, a.guidance) for a in CANONICAL_ANGLES) if profile.split == "angles" else (),
        max_leaves=max(profile.max_leaves, MAX_DYNAMIC_LEAVES) if profile.dynamic_angles else profile.max_leaves,
        max_depth=profile.max_depth,
        max_rounds=profile.max_rounds,
        complexity_hint=scoping.complexity_hint or guess_complexity(query.question),
        dynamic_angles=profile.dynamic_angles,
        discovery=profile.discovery,
        suggested_plan=query.suggested_plan,
    )


def check_suggested_plan(text: str, profile: Profile) -> None:
    """Refuse a suggested plan that does not follow the spec or is not feasible, before anything is paid (TREE-10).

    Raises:
        UserError: `plan_shape`, or an `Infeasible` that names what is too deep, too many or wrong.
    """
    repair_plan(
        Plan(read_suggested(text)),
        max_depth=profile.max_depth,
        max_leaves=profile.max_leaves,
        dynamic_angles=profile.dynamic_angles,
        allowed_angles=ANGLE_SLUGS,
    )


def merge_plans(plans: Sequence[Plan], brief: Brief) -> Plan:
    """One plan stays as it is; of several, a root that only gathers, as the manager does for n >= 2 queries.

    Requirement: TREE-9.
    """
    if len(plans) == 1:
        return replace(plans[0], root=assign_paths(plans[0].root, "root"))
    children = tuple(assign_paths(each.root, f"root/{number}") for number, each in enumerate(plans, 1))
    root = Node("root", brief.question, brief.question, children)
    notes = tuple(note for each in plans for note in each.notes)
    return Plan(root, rationale=" ".join(each.rationale for each in plans), gathers_plans=True, notes=notes)


def with_pinned_sources(node: Node, sources: Sequence[str]) -> Node:
    """Give every leaf the sources that a person named, before those of the plan."""
    if node.is_leaf:
        return replace(node, sources=tuple(dict.fromkeys((*sources, *node.sources))))
    return replace(node, children=tuple(with_pinned_sources(child, sources) for child in node.children))


def assign_paths(node: Node, path: str) -> Node:
    """Give a node and all below it their paths. Paths come from the tree alone, never from a model."""
    children = tuple(assign_paths(child, f"{path}/{number}") for number, child in enumerate(node.children, 1))
    return replace(node, path=path, children=children)


_TABLES: Mapping[str, frozenset[str]] = {
    "": frozenset({"thread", "brief", "round_budget", "artifact_dir"}),
    "thread": frozenset({"name", "sub_questions", "subjects", "source_strategy", "sources"}),
    "brief": frozenset({"question", "disambiguation", "known_facts", "places", "since", "until", "domains"}),
}


@dataclass(frozen=True, slots=True)
class ThreadFile:
    """The four parameters of TRIPLET-1: the thread, the brief, the round budget, and where the artifacts go."""

    brief: Brief
    name: str
    round_budget: int
    artifact_dir: str
    source_strategy: tuple[str, ...]
    sources: tuple[str, ...] = ()

    @property
    def plan(self) -> Plan:
        """The plan of a given thread: one leaf, as it was given."""
        leaf = Node(
            "root",
            self.name,
            self.brief.question,
            sub_questions=self.brief.sub_questions,
            subjects=self.brief.subjects,
            max_rounds=self.round_budget,
            sources=self.sources,
        )
        return Plan(leaf, rationale="Given by the user.")


def parse_thread_file(text: str) -> ThreadFile:
    """Read a thread file. Raises `UserError` that names the field and what it must be."""
    try:
        table = cast("dict[str, object]", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError("thread_syntax", f"The thread file is not TOML: {error}.") from error
    thread, brief = _read_table(table, "thread"), _read_table(table, "brief")
    for where, given in (("", table), ("thread", thread), ("brief", brief)):
        unknown = sorted(set(given) - _TABLES[where])
        if unknown:
            known = ", ".join(sorted(_TABLES[where]))
            raise _make_field_error(f"{where}.{unknown[0]}".strip("."), "is unknown", f"Known here: {known}.")
    budget = table.get("round_budget")
    if not isinstance(budget, int) or isinstance(budget, bool) or not 1 <= budget <= 100:  # noqa: PLR2004 - stated
        raise _make_field_error(
            "round_budget", "is missing or not a whole number from 1 to 100", "Such as: round_budget = 8"
        )
    asked = _read_questions(thread.get("sub_questions"))
    subjects = tuple(Subject(name) for name in _read_texts(thread, "thread.subjects"))
    name = _read_text(thread, "thread.name")
    question = _read_text(brief, "brief.question", default=" ".join(q.text for q in asked))
    focus = Focus(
        _read_texts(brief, "brief.places"),
        _read_year(brief, "brief.since"),
        _read_year(brief, "brief.until"),
        _read_texts(brief, "brief.domains"),
    )
    return ThreadFile(
        Brief(
            check_question(question),
            asked,
            subjects,
            _read_texts(brief, "brief.disambiguation"),
            _read_texts(brief, "brief.known_facts"),
            focus,
        ),
        name,
        budget,
        _read_text(table, "artifact_dir", default=""),
        _read_texts(thread, "thread.source_strategy"),
        _read_texts(thread, "thread.sources"),
    )


def select_phases(profile: Profile, strategy: Sequence[str]) -> Profile:
    """Return the profile with the phases of a thread's `source_strategy`, in its order; all of them without one.

    Raises:
        UserError: `thread_field`, naming a phase that the profile does not have.
    """
    known = {phase.name.upper(): phase for phase in profile.phases}
    unknown = [name for name in strategy if name.upper() not in known]
    if unknown:
        raise _make_field_error(
            "thread.source_strategy", f"names the phase {unknown[0]!r}", f"Known: {', '.join(known)}."
        )
    return replace(profile, phases=tuple(known[name.upper()] for name in dict.fromkeys(strategy)) or profile.phases)


def _make_field_error(field: str, problem: str, step: str) -> UserError:
    return UserError("thread_field", f"The thread file's {field} {problem}.", next_step=step)


def _read_table(table: Mapping[str, object], name: str) -> dict[str, object]:
    value = table.get(name)
    if not isinstance(value, dict):
        raise _make_field_error(f"[{name}]", "is missing", f"Add a table [{name}].")
    return cast("dict[str, object]", value)


def _read_text(table: Mapping[str, object], field: str, *, default: str | None = None) -> str:
    value = table.get(field.rsplit(".", 1)[-1], default)
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise _make_field_error(field, "is missing or no text", f'Such as: {field.rsplit(".", 1)[-1]} = "..."')
    return value.strip()


def _read_texts(table: Mapping[str, object], field: str) -> tuple[str, ...]:
    value = table.get(field.rsplit(".", 1)[-1], [])
    items = cast("Sequence[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(item, str) and item.strip() for item in items):
        raise _make_field_error(field, "is no list of texts", f'Such as: {field.rsplit(".", 1)[-1]} = ["..."]')
    return tuple(str(item).strip() for item in items)


def _read_year(table: Mapping[str, object], field: str) -> int | None:
    value = table.get(field.rsplit(".", 1)[-1])
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise _make_field_error(field, "is no year", f"Such as: {field.rsplit('.', 1)[-1]} = 2024")
    return value


def _read_questions(value: object) -> tuple[SubQuestion, ...]:
    """Sub-questions as texts, or as tables with `id` and `question` (TRIPLET-1)."""
    items: Sequence[object] = cast("Sequence[object]", value) if isinstance(value, list) else ()
    found: list[SubQuestion] = []
    for number, item in enumerate(items, 1):
        if isinstance(item, str) and item.strip():
            found.append(SubQuestion(f"SQ-{number}", item.strip()))
        elif isinstance(item, dict):
            row = cast("dict[str, object]", item)
            found.append(
                SubQuestion(
                    _read_text(row, "id", default=f"SQ-{number}"), _read_text(row, "thread.sub_questions.question")
                )
            )
    if not found or len({q.id for q in found}) != len(found) or len(found) != len(items):
        raise _make_field_error(
            "thread.sub_questions", "are missing, empty or not unique", 'Such as: sub_questions = ["..."]'
        )
    return tuple(found)
