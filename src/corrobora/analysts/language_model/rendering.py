"""Rendering: from a role and its input to the prompt a language model is sent.

Knows prompt files, their three parts and the few functions they may use. Does not know models, providers or clocks.
Whatever a template prints must be `Shown`: made by `quote`, `rows` or `ident`. Everything else is refused.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from importlib import resources
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import jinja2

from corrobora.analysts.language_model import Prompt
from corrobora.analysts.language_model.material import (
    list_facts,
    show_cited,
    show_claims,
    show_evidence,
    show_facts,
    show_facts_of_part,
    show_grades,
    show_openings,
    show_origins,
    show_quotes,
)
from corrobora.domain.errors import UserError
from corrobora.domain.evidence import Contradiction, LinkedSource, Passage
from corrobora.domain.plan import Node, QueryYield, Record, SourceYield, Subject, SubQuestion, collect_leaves
from corrobora.domain.thread import Escape, Gap
from corrobora.ports import Role
from corrobora.roles.extract import Excerpt, map_copies
from corrobora.roles.forms import Shown, quote_rows, quote_text, show_identifier
from corrobora.roles.synthesize import Part
from corrobora.text.phrases import format_count

I = TypeVar("I")  # noqa: E741 - input of a role
O = TypeVar("O")  # noqa: E741 - output of a role

COMMON = "common"  # the rules that stand at the start of every prompt
BRIEF, TASK = "<!-- brief -->", "<!-- task -->"  # where the second and the third part of a prompt file start
MARK = Shown("\x1d")  # ends a part of the brief that stays; no text that is quoted can hold it
_SECTION_WORDS = 80  # characters that name a section
_LANGUAGE = (
    "\n\nThe language of this research is {}, whatever language the question is in. Write in it all that you write "
    "yourself: questions, queries, claims, summaries, titles and the report. Quotes stay letter for letter."
)
_ESCAPES = {
    Escape.REFORMULATE: "change at least half of the terms; synonyms, another form of question.",
    Escape.SHIFT_SOURCES: "look for another kind of source than before.",
    Escape.LATERAL: "look for related entities, people, predecessors or effects, not for the target itself.",
    Escape.NEGATIVE: 'look for what should exist and does not ("no records of", "withdrawn", "not listed in").',
    Escape.COMMUNITY: "look for reports of experience, discussions, questions that practitioners ask.",
    Escape.FRACTAL: "ask which hidden assumption of the question may be wrong, and search as if it were.",
}


def render_prompt(role: Role[I, O], given: I, *, folder: Path | None = None, language: str = "") -> Prompt:
    """Render the prompt of `role` for `given`, to be answered in `language` if one is named.

    `folder` may hold edited prompt files of the same names.

    Raises `UserError` `prompt_invalid` if an edited file uses a variable that the input does not have, or prints text
    that did not pass through `quote`.
    """
    template = _load_template(role.prompt, folder, role.package)
    values = {field.name: getattr(given, field.name) for field in fields(given)}  # type: ignore[arg-type]  # a role's input is a dataclass
    try:
        brief, task = template.brief.render(values), template.task.render(values)
        system = template.system + (_LANGUAGE.format(language) if language else "")
        return Prompt(system, tuple(part.strip() for part in brief.split(MARK) if part.strip()), task.strip())
    except (jinja2.UndefinedError, ValueError) as error:
        raise UserError("prompt_invalid", f"The prompt {role.prompt}.md cannot be rendered: {error}.") from error


def hash_prompt(role: Role[I, O], *, folder: Path | None = None) -> str:
    """Return twelve hex digits of the prompt file and the common rules: part of every journal key."""
    return _load_template(role.prompt, folder, role.package).hash


def read_prompt_file(name: str, folder: Path | None = None, package: str = "corrobora.roles") -> str:
    """Return the text of a prompt file. Raises `UserError` `prompt_missing`."""
    edited = folder / f"{name}.md" if folder is not None else None
    if edited is not None and edited.is_file():
        return edited.read_text("utf-8")
    file = resources.files(package) / "prompts" / f"{name}.md"
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
def _load_template(name: str, folder: Path | None, package: str) -> _Template:
    common, text = read_prompt_file(COMMON, folder), read_prompt_file(name, folder, package)
    system, found, rest = text.partition(BRIEF)
    brief, found_task, task = rest.partition(TASK)
    if not (found and found_task):
        raise UserError("prompt_invalid", f"The prompt {name}.md lacks the line {BRIEF} or {TASK}.")
    env = _make_environment()
    try:
        parts = env.from_string(brief), env.from_string(task)
    except jinja2.TemplateSyntaxError as error:
        raise UserError(
            "prompt_invalid", f"The prompt {name}.md, near line {error.lineno}: {error.message}."
        ) from error
    digest = hashlib.sha256(f"{common}\0{text}".encode()).hexdigest()[:12]
    return _Template(f"{common.strip()}\n\n{system.strip()}", *parts, digest)


class _Environment(jinja2.Environment):
    """The template language. What a macro joins was shown piece by piece, so that the whole may be shown."""

    @staticmethod
    def concat(parts: Iterable[str]) -> Shown:
        return Shown("".join(parts))


@functools.cache
def _make_environment() -> jinja2.Environment:
    """Return the template language: undefined variables are errors, and only `Shown` text is printed."""
    env = _Environment(
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # prompts are no HTML; `finalize` refuses whatever was not quoted
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_refuse_unquoted,
        optimized=False,  # nothing is constant in prompts, and looking for it takes a quarter of the compilation
    )
    env.globals = {**FUNCTIONS, "mark": MARK}
    env.filters = {"length": len}
    return env


def _refuse_unquoted(value: Any) -> str:
    if isinstance(value, Shown):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return show_identifier(value)
    message = f"a prompt may print only what passed through quote(), rows() or ident(), not {type(value).__name__}"
    raise ValueError(message)


def _show_texts(texts: Iterable[str], *, markers: bool = False) -> Shown:
    return quote_rows((("", (text,)) for text in texts), markers=markers)


def _show_sub_questions(questions: Sequence[SubQuestion]) -> Shown:
    return quote_rows((f"{q.id} {q.standing.value}", (q.text, q.finding)) for q in questions)


def _show_standings(questions: Sequence[SubQuestion], record: Record | None = None) -> Shown:
    """The same without the finding of what is answered, where the facts are shown, too.

    A question that is open may be one that a plan added when its answer was already known: nothing else says so.
    Of a finding that a fact of the `record` holds, the id is shown.
    """
    facts = () if record is None else record.facts
    known = {said: str(fact.id) for fact in reversed(facts) for said in (fact.claim, fact.quote) if said}
    findings = ["" if each.is_answered else known.get(each.finding, each.finding) for each in questions]
    rows = zip(questions, findings, strict=True)
    return quote_rows((f"{each.id} {each.standing.value}", (each.text, finding)) for each, finding in rows)


def _show_asked(questions: Sequence[SubQuestion]) -> Shown:
    """The same without what a round may change."""
    return quote_rows((q.id, (q.text,)) for q in questions)


def _show_subjects(subjects: Sequence[Subject]) -> Shown:
    return quote_rows((s.coverage.value, (s.name, ", ".join(s.aliases))) for s in subjects)


def _show_names(subjects: Sequence[Subject]) -> Shown:
    return quote_rows(("", (s.name, ", ".join(s.aliases))) for s in subjects)


def _show_gaps(gaps: Sequence[Gap]) -> Shown:
    return quote_rows(("", (gap.text, gap.target)) for gap in gaps)


def _list_other_gaps(gaps: Sequence[Gap], told: Sequence[str | Part]) -> list[Gap]:
    """List the gaps that none of some texts or parts names: nothing is shown twice."""
    named = [each.gaps if isinstance(each, Part) else each for each in told]
    return [gap for gap in gaps if not any(gap.text in each for each in named)]


def _show_counts(read: int, failed: int, unread: int) -> Shown:
    """Say how many documents were read, could not be read and were not opened; nothing if none was read."""
    said = [f"{format_count(read, 'document was', 'documents were')} read in all"]
    said += [f"{failed} could not be read"] if failed else []
    said += [f"{unread} more {'was' if unread == 1 else 'were'} not opened"] if unread else []
    return Shown(f"{', '.join(said)}.") if read else Shown("")


def _show_yields(queries: Sequence[QueryYield]) -> Shown:
    return quote_rows((f"{each.found}, {each.read}, {each.facts}", (each.query,)) for each in queries)


def _show_sources(sources: Sequence[SourceYield]) -> Shown:
    rows = ((f"{each.source} {each.outcome} {each.facts} facts".strip(), each) for each in sources)
    return quote_rows((label, (each.title, each.origin, *each.told)) for label, each in rows)


def _show_sections(passages: Sequence[Passage]) -> Shown:
    """One line a section: its name, and where it goes on after a part that was read, the words with which it does."""
    return quote_rows((each.id, (_name_section(each)[:_SECTION_WORDS],)) for each in passages)


def _name_section(passage: Passage) -> str:
    """Return the innermost heading of a passage, and its words where it does not begin with that heading."""
    name, text = passage.heading.rpartition(" > ")[2], " ".join(passage.text.split())
    if name and text.lstrip("# ").startswith(name):
        return name
    return f"{name.rstrip(' :')}: {text}" if name.rstrip(" :") else text


def _choose_heading(passages: Sequence[Passage], at: int) -> str:
    """Return what is new in the heading of a passage after the one before it, and not the beginning of its text."""
    before = passages[at - 1].heading.split(" > ") if at else []
    own = passages[at].heading.split(" > ")
    same = takewhile(lambda pair: pair[0] == pair[1], zip(own, before, strict=False))
    fresh = sum(1 for _ in same)
    shown = own[fresh:]
    return " > ".join(shown[:-1] if shown and passages[at].text.lstrip("# ").startswith(shown[-1]) else shown)


def _show_passages(passages: Sequence[Passage], first: Sequence[Passage], beside: Sequence[Excerpt]) -> Shown:
    """All passages of a source as one block, each after a line with its id and what is new of its headings.

    Words that an earlier passage of the call has, of the first source or of one `beside` it, are not shown again.
    A text that imitates such a line gains nothing: code looks for each quote in all passages that were shown.
    """
    copies = map_copies([*first, *(passage for each in beside for passage in each.passages)])
    headings = (_choose_heading(passages, at) for at in range(len(passages)))
    labels = (
        f"Passage {show_identifier(each.id)}{', under ' if heading else ''}{' '.join(heading.split())}:"
        for each, heading in zip(passages, headings, strict=True)
    )
    texts = (f"the words of {copies[each.id]}" if each.id in copies else each.text for each in passages)
    return quote_text("\n".join(f"{label}\n{text}" for label, text in zip(labels, texts, strict=True)))


def _show_contradictions(contradictions: Sequence[Contradiction]) -> Shown:
    rows = (
        (f"{c.a} {c.relation.value} {c.b} {c.severity.value}{', resolved' * c.resolved}", c) for c in contradictions
    )
    return quote_rows((label, (c.claim, c.difference, c.scope)) for label, c in rows)


def _show_links(linked: Sequence[LinkedSource]) -> Shown:
    """Lines labelled L1, L2, ...: the model answers with the label, code puts back what it stands for."""
    return quote_rows((f"L{number}", (link.reference, link.context)) for number, link in enumerate(linked, start=1))


def _show_leaves(node: Node) -> Shown:
    leaves = collect_leaves(node)
    asked = [(leaf.title, leaf.objective, *(question.text for question in leaf.sub_questions)) for leaf in leaves]
    specs = [[f"spec: {spec.text}" for spec in leaf.specs] for leaf in leaves]
    return quote_rows((leaf.path, (*a, *s)) for leaf, a, s in zip(leaves, asked, specs, strict=True))


def _show_pairs(pairs: Sequence[tuple[str, str]]) -> Shown:
    return quote_rows(("", pair) for pair in pairs)


def _show_named(rows: Sequence[tuple[str, str]]) -> Shown:
    """Texts of a report with their ids; what they cite is shown."""
    return quote_rows(((name, (text,)) for name, text in rows), markers=True)


def _describe_escape(escape: Escape) -> Shown:
    return Shown(f"{escape.value}: {_ESCAPES[escape]}")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quote": quote_text,
    "rows": quote_rows,
    "ident": show_identifier,
    "bullets": _show_texts,
    "sub_questions_of": _show_sub_questions,
    "standings_of": _show_standings,
    "asked_of": _show_asked,
    "subjects_of": _show_subjects,
    "names_of": _show_names,
    "gaps_of": _show_gaps,
    "list_other_gaps": _list_other_gaps,
    "facts_of": show_facts,
    "openings_of": show_openings,
    "origins_of": show_origins,
    "list_facts": list_facts,
    "evidence_of": show_evidence,
    "claims_of": show_claims,
    "counts_of": _show_counts,
    "grades_of": show_grades,
    "yields_of": _show_yields,
    "sources_of": _show_sources,
    "sections_of": _show_sections,
    "passages_of": _show_passages,
    "contradictions_of": _show_contradictions,
    "links_of": _show_links,
    "facts_of_part": show_facts_of_part,
    "leaves_of": _show_leaves,
    "pairs": _show_pairs,
    "named_of": _show_named,
    "quotes_of": show_quotes,
    "cited_of": show_cited,
    "escape_of": _describe_escape,
}
