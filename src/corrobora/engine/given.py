"""A given thread: S4's thread definition and brief, read from the text of a THREAD.toml.

Knows the file's fields and says what is wrong with them. Nothing is asked of a model and nothing of a person.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from corrobora.domain.brief import Brief, Focus, Subject, SubQuestion
from corrobora.domain.errors import UserError
from corrobora.domain.plan import Node, Plan
from corrobora.policies.feasibility import check_question
from corrobora.policies.profile import Profile

_TABLES: Mapping[str, frozenset[str]] = {
    "": frozenset({"thread", "brief", "round_budget", "artifact_dir"}),
    "thread": frozenset({"name", "sub_questions", "subjects", "source_strategy", "sources"}),
    "brief": frozenset({"question", "disambiguation", "known_facts", "places", "since", "until", "domains"}),
}


@dataclass(frozen=True, slots=True)
class GivenThread:
    """S4's four parameters: the thread, the brief, the round budget, and where the artifacts go."""

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


def read_thread(text: str) -> GivenThread:
    """Read a thread file. Raises `UserError` that names the field and what it must be."""
    try:
        table = cast("dict[str, object]", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError("thread_syntax", f"The thread file is not TOML: {error}.") from error
    thread, brief = _table(table, "thread"), _table(table, "brief")
    for where, given in (("", table), ("thread", thread), ("brief", brief)):
        unknown = sorted(set(given) - _TABLES[where])
        if unknown:
            known = ", ".join(sorted(_TABLES[where]))
            raise _wrong(f"{where}.{unknown[0]}".strip("."), "is unknown", f"Known here: {known}.")
    budget = table.get("round_budget")
    if not isinstance(budget, int) or isinstance(budget, bool) or not 1 <= budget <= 100:  # noqa: PLR2004 - stated
        raise _wrong("round_budget", "is missing or not a whole number from 1 to 100", "Such as: round_budget = 8")
    asked = _questions(thread.get("sub_questions"))
    subjects = tuple(Subject(name) for name in _texts(thread, "thread.subjects"))
    name = _text(thread, "thread.name")
    question = _text(brief, "brief.question", default=" ".join(q.text for q in asked))
    focus = Focus(
        _texts(brief, "brief.places"),
        _year(brief, "brief.since"),
        _year(brief, "brief.until"),
        _texts(brief, "brief.domains"),
    )
    return GivenThread(
        Brief(
            check_question(question),
            asked,
            subjects,
            _texts(brief, "brief.disambiguation"),
            _texts(brief, "brief.known_facts"),
            focus,
        ),
        name,
        budget,
        _text(table, "artifact_dir", default=""),
        _texts(thread, "thread.source_strategy"),
        _texts(thread, "thread.sources"),
    )


def strategic(profile: Profile, strategy: Sequence[str]) -> Profile:
    """Return the profile with the phases of a thread's `source_strategy`, in its order; all of them without one.

    Raises:
        UserError: `thread_field`, naming a phase that the profile does not have.
    """
    known = {phase.name.upper(): phase for phase in profile.phases}
    unknown = [name for name in strategy if name.upper() not in known]
    if unknown:
        raise _wrong("thread.source_strategy", f"names the phase {unknown[0]!r}", f"Known: {', '.join(known)}.")
    return replace(profile, phases=tuple(known[name.upper()] for name in dict.fromkeys(strategy)) or profile.phases)


def _wrong(field: str, problem: str, step: str) -> UserError:
    return UserError("thread_field", f"The thread file's {field} {problem}.", next_step=step)


def _table(table: Mapping[str, object], name: str) -> dict[str, object]:
    value = table.get(name)
    if not isinstance(value, dict):
        raise _wrong(f"[{name}]", "is missing", f"Add a table [{name}].")
    return cast("dict[str, object]", value)


def _text(table: Mapping[str, object], field: str, *, default: str | None = None) -> str:
    value = table.get(field.rsplit(".", 1)[-1], default)
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise _wrong(field, "is missing or no text", f'Such as: {field.rsplit(".", 1)[-1]} = "..."')
    return value.strip()


def _texts(table: Mapping[str, object], field: str) -> tuple[str, ...]:
    value = table.get(field.rsplit(".", 1)[-1], [])
    items = cast("Sequence[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(item, str) and item.strip() for item in items):
        raise _wrong(field, "is no list of texts", f'Such as: {field.rsplit(".", 1)[-1]} = ["..."]')
    return tuple(str(item).strip() for item in items)


def _year(table: Mapping[str, object], field: str) -> int | None:
    value = table.get(field.rsplit(".", 1)[-1])
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise _wrong(field, "is no year", f"Such as: {field.rsplit('.', 1)[-1]} = 2024")
    return value


def _questions(value: object) -> tuple[SubQuestion, ...]:
    """Sub-questions as texts, or as tables with `id` and `question` (S4)."""
    items: Sequence[object] = cast("Sequence[object]", value) if isinstance(value, list) else ()
    found: list[SubQuestion] = []
    for number, item in enumerate(items, 1):
        if isinstance(item, str) and item.strip():
            found.append(SubQuestion(f"SQ-{number}", item.strip()))
        elif isinstance(item, dict):
            row = cast("dict[str, object]", item)
            found.append(
                SubQuestion(_text(row, "id", default=f"SQ-{number}"), _text(row, "thread.sub_questions.question"))
            )
    if not found or len({q.id for q in found}) != len(found) or len(found) != len(items):
        raise _wrong("thread.sub_questions", "are missing, empty or not unique", 'Such as: sub_questions = ["..."]')
    return tuple(found)
