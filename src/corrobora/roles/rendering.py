"""Rendering: from a role and its input to the prompt a language model is sent.

Knows prompt files, their three parts and the few functions they may use. Does not know models, providers or clocks.
Whatever a template prints must be `Shown`: made by `quote`, `rows` or `ident`. Everything else is refused.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import jinja2

from corrobora.domain.errors import UserError
from corrobora.domain.evidence import Contradiction, Fact, LinkedSource
from corrobora.domain.plan import Node, Subject, SubQuestion, collect_leaves
from corrobora.domain.thread import Gap
from corrobora.ports import Role
from corrobora.roles.quoting import Shown, ident, quote, rows

I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role

COMMON = "common"  # the rules that stand at the start of every prompt
BRIEF, TASK = "<!-- brief -->", "<!-- task -->"  # where the second and the third part of a prompt file start
NOT_SHOWN = frozenset({"path"})  # fields of inputs that belong to the engine: journal keys mean nothing to a model


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is sent, from the most to the least stable part.

    `system` is the same for every call of a role, `brief` for every call of a run or thread, `task` is this call's.
    """

    system: str
    brief: str
    task: str

    @property
    def user(self) -> str:
        """The user's message: the brief, then the task."""
        return f"{self.brief}\n\n{self.task}".strip()


def render(role: Role[I, O], given: I, *, folder: Path | None = None) -> Prompt:
    """Render the prompt of `role` for `given`; `folder` may hold edited prompt files of the same names.

    Raises `UserError` `prompt_invalid` if an edited file uses a variable that the input does not have, or prints text
    that did not pass through `quote`.
    """
    template = _template(role.prompt, folder)
    values = {field.name: getattr(given, field.name) for field in fields(given)}  # type: ignore[arg-type]  # a role's input is a dataclass
    try:
        return Prompt(template.system, template.brief.render(values).strip(), template.task.render(values).strip())
    except (jinja2.UndefinedError, ValueError) as error:
        raise UserError("prompt_invalid", f"The prompt {role.prompt}.md cannot be rendered: {error}.") from error


def prompt_hash(role: Role[I, O], *, folder: Path | None = None) -> str:
    """Return twelve hex digits of the prompt file and the common rules: part of every journal key."""
    return _template(role.prompt, folder).hash


def source(name: str, folder: Path | None = None) -> str:
    """Return the text of a prompt file. Raises `UserError` `prompt_missing`."""
    edited = folder / f"{name}.md" if folder is not None else None
    if edited is not None and edited.is_file():
        return edited.read_text("utf-8")
    file = resources.files("corrobora.roles") / "prompts" / f"{name}.md"
    if not file.is_file():
        raise UserError("prompt_missing", f"There is no prompt file {name}.md.")
    return file.read_text("utf-8")


@dataclass(frozen=True, slots=True)
class _Template:
    system: str
    brief: jinja2.Template
    task: jinja2.Template
    hash: str


@functools.cache
def _template(name: str, folder: Path | None) -> _Template:
    common, text = source(COMMON, folder), source(name, folder)
    system, found, rest = text.partition(BRIEF)
    brief, found_task, task = rest.partition(TASK)
    if not (found and found_task):
        raise UserError("prompt_invalid", f"The prompt {name}.md lacks the line {BRIEF} or {TASK}.")
    env = environment()
    try:
        parts = env.from_string(brief), env.from_string(task)
    except jinja2.TemplateSyntaxError as error:
        raise UserError(
            "prompt_invalid", f"The prompt {name}.md, near line {error.lineno}: {error.message}."
        ) from error
    digest = hashlib.sha256(f"{common}\0{text}".encode()).hexdigest()[:12]
    return _Template(f"{common.strip()}\n\n{system.strip()}", *parts, digest)


@functools.cache
def environment() -> jinja2.Environment:
    """Return the template language: undefined variables are errors, and only `Shown` text is printed."""
    env = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - prompts are no HTML; `finalize` refuses whatever was not quoted
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_only_shown,
    )
    env.globals = dict(FUNCTIONS)
    env.filters = {"length": len}
    return env


def _only_shown(value: Any) -> str:
    if isinstance(value, Shown):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ident(value)
    message = f"a prompt may print only what passed through quote(), rows() or ident(), not {type(value).__name__}"
    raise ValueError(message)


def _bullets(texts: Iterable[str], *, markers: bool = False) -> Shown:
    return rows((("", (text,)) for text in texts), markers=markers)


def _sub_questions(questions: Sequence[SubQuestion]) -> Shown:
    return rows((f"{q.id} {q.standing.value}", (q.text, q.finding)) for q in questions)


def _subjects(subjects: Sequence[Subject]) -> Shown:
    return rows((s.coverage.value, (s.name, ", ".join(s.aliases))) for s in subjects)


def _gaps(gaps: Sequence[Gap]) -> Shown:
    return rows(("", (gap.text, gap.target)) for gap in gaps)


def _facts(facts: Sequence[Fact]) -> Shown:
    """One line a fact: id, marker, grade, what it answers; then source, claim (if it is not the quote) and quote."""
    return rows((_label(fact), (_origin(fact), _claim(fact), f'"{fact.quote}"')) for fact in facts)


def _label(fact: Fact) -> str:
    answers = f" for {','.join(fact.answers)}" if fact.answers else ""
    return f"{fact.id} {fact.marker} {fact.grade.value}{answers}"


def _origin(fact: Fact) -> str:
    return ", ".join(part for part in (fact.title, fact.version, fact.published) if part)


def _claim(fact: Fact) -> str:
    return "" if fact.claim == " ".join(fact.quote.split()) else fact.claim


def _contradictions(contradictions: Sequence[Contradiction]) -> Shown:
    return rows(
        (f"{c.a} {c.relation.value} {c.b} {c.severity.value}", (c.claim, c.difference, c.scope)) for c in contradictions
    )


def _links(linked: Sequence[LinkedSource]) -> Shown:
    """Lines labelled L1, L2, ...: the model answers with the label, code puts back what it stands for."""
    return rows((f"L{number}", (link.reference, link.context)) for number, link in enumerate(linked, start=1))


def _leaves(node: Node) -> Shown:
    return rows((leaf.path, (leaf.title, leaf.objective)) for leaf in collect_leaves(node))


def _word(value: Enum) -> Shown:
    return ident(value.value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quote": quote,
    "rows": rows,
    "ident": ident,
    "bullets": _bullets,
    "sub_questions_of": _sub_questions,
    "subjects_of": _subjects,
    "gaps_of": _gaps,
    "facts_of": _facts,
    "contradictions_of": _contradictions,
    "links_of": _links,
    "leaves_of": _leaves,
    "word": _word,
}
