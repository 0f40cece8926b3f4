"""Structured answers: the fields of a schema filled from the facts of a report, each with its literal quote.

Knows JSON Schema as far as answers need it: text, numbers, dates and choices. Values are read from quotes by code, with
a model and without one; a field for which no quote speaks stays empty and is listed as a gap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack, cast, runtime_checkable

from corrobora.config import Settings
from corrobora.domain.errors import UserError
from corrobora.domain.evidence import Fact
from corrobora.domain.report import Report, iter_threads
from corrobora.faces.python import aresearch, make_blocking
from corrobora.faces.request import check_arguments
from corrobora.text.answers import classify_question, score_answer_fit
from corrobora.text.entries import read_row
from corrobora.text.measures import find_measures, find_quantities
from corrobora.text.quantities import find_days, find_years
from corrobora.text.tokens import is_table_row, stem_text

Value = str | int | float | None
_LEAST_OVERLAP = 0.5  # of the words of a field that its quote, heading and title must have
_MAX_FIELDS = 50
_NUMBER = re.compile(r"[-−]?\d[\d.,]*")  # as the cell of a table has it, without a unit


@runtime_checkable
class ModelClass(Protocol):
    """A pydantic model: what it needs is its JSON Schema."""

    def model_json_schema(self) -> dict[str, Any]:
        """Return the schema."""
        ...


Schema = Mapping[str, Any] | ModelClass | type


@dataclass(frozen=True, slots=True)
class FilledField:
    """One field: its value, and the quote that contains the value; both are empty without evidence."""

    name: str
    value: Value
    quote: str = ""
    source: str = ""  # "S3"
    passage: str = ""  # "C41"
    title: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class StructuredAnswer:
    """The fields of a schema in its order, and the report that they come from."""

    fields: tuple[FilledField, ...]
    report: Report

    @property
    def values(self) -> dict[str, Value]:
        """The values by field; None where there is no evidence."""
        return {field.name: field.value for field in self.fields}

    @property
    def gaps(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields if field.value is None)

    def _repr_markdown_(self) -> str:
        """Show the fields in a notebook."""
        rows = [
            f"| {field.name} | {'–' if field.value is None else _escape(str(field.value))} | {_escape(field.quote)} "
            f"| {_escape(field.title)} |"
            for field in self.fields
        ]
        return "\n".join(("| field | value | quote | source |", "| --- | --- | --- | --- |", *rows))


def _escape(text: str) -> str:
    return re.sub(r"([\\|<>\[\]*_`])", r"\\\1", " ".join(text.split()))


@dataclass(frozen=True, slots=True)
class StructuredRow:
    """The fields of one thing among many. `name` is the heading above it, or the title of its source."""

    name: str
    fields: tuple[FilledField, ...]

    @property
    def values(self) -> dict[str, Value]:
        """The values by field; None where there is no evidence."""
        return {field.name: field.value for field in self.fields}


class ResearchOptions(TypedDict, total=False):
    """The keywords of `research` that these functions pass on; fields of the profile go with the settings."""

    library: str | Path | Sequence[str | Path]
    profile: str
    model: str
    authorized: bool | str
    settings: Settings | None


@dataclass(frozen=True, slots=True)
class _Wanted:
    name: str
    question: str
    stems: frozenset[str]
    read: Callable[[str, frozenset[str]], Value]


def ask_fields(question: str, schema: Schema) -> str:
    """Return the question with a question for each field of the schema. Raises `UserError` `schema_unsupported`."""
    return " ".join((question, *(wanted.question for wanted in _read_schema(schema))))


async def aextract_fields(question: str, *, schema: Schema, **options: Unpack[ResearchOptions]) -> StructuredAnswer:
    """Research a question and fill the fields of a schema. Options and errors are also those of `research`.

    `extract_fields` blocks until it is done; `aextract_fields` is awaited.

    Example:
        >>> schema = {"properties": {"length": {"type": "number", "description": "How long is the bridge in metres?"}}}
        >>> extract_fields("What is known of the bridge?", schema=schema, library="docs").values  # doctest: +SKIP
        {'length': 412.0}
    """
    check_arguments(question=question)
    fields: dict[str, Any] = dict(options)
    return fill_schema(await aresearch(ask_fields(question, schema), **fields), schema)


extract_fields = make_blocking(aextract_fields, "extract_fields")


def fill_schema(report: Report, schema: Schema) -> StructuredAnswer:
    """Fill the fields of a schema from the facts of a report.

    Args:
        report: any report; its facts have literal quotes.
        schema: a pydantic model, or a JSON Schema of an object. A field's `description` says what is asked, best as a
            question; its type is string, integer, number, a string of the format date, or one of an enum.

    Raises:
        UserError: `schema_unsupported`: it is no object, has more than 50 fields, or a field of another type.
    """
    facts = _list_facts(report)
    return StructuredAnswer(tuple(_fill_field(each, facts) for each in _read_schema(schema)), report)


def fill_rows(report: Report, schema: Schema) -> tuple[StructuredRow, ...]:
    """Fill a row for each thing that speaks of the fields, for questions such as "every bridge with ...".

    A thing is a section of a source, or a row of a table, which is named by its first cell.

    Each value of a row has its quote. The rows are what the run has read: they do not prove that there are no more.

    Raises:
        UserError: as `fill_schema`.
    """
    wanted = _read_schema(schema)
    things: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in _list_facts(report):
        for piece in fact.quote.split("\n") if is_table_row(fact.quote.split("\n")[0]) else ("",):
            said = replace(fact, quote=piece) if piece else fact
            things.setdefault((fact.source, fact.heading, piece), []).append(said)
    rows = [
        StructuredRow(_name_row(piece) or heading or facts[0].title, tuple(_fill_field(each, facts) for each in wanted))
        for (_, heading, piece), facts in things.items()
    ]
    return tuple(row for row in rows if any(field.value is not None for field in row.fields))


def _name_row(row: str) -> str:
    """Return the first cell of a row of a table: "Basic" of "Plan: Basic; Price: 5."."""
    return row.partition(": ")[2].partition("; ")[0].rstrip(".")


def _list_facts(report: Report) -> Sequence[Fact]:
    return tuple({fact.id: fact for thread in iter_threads(report.findings) for fact in thread.facts}.values())


def _fill_field(wanted: _Wanted, facts: Sequence[Fact]) -> FilledField:
    expected = classify_question(wanted.question)
    best: tuple[float, Fact, Value] | None = None
    for fact in facts:
        said, named = _choose_cell(fact.quote, wanted)
        value = wanted.read(said, wanted.stems)
        shared = wanted.stems & {*stem_text(f"{fact.quote} {fact.heading} {fact.title}")}
        overlap = 1.0 if named else len(shared) / max(1, len(wanted.stems))
        if value is None or overlap < _LEAST_OVERLAP:
            continue
        score = overlap + score_answer_fit(fact.quote, expected)
        if best is None or score > best[0]:
            best = (score, fact, value)
    if best is None:
        return FilledField(wanted.name, None)
    _, fact, value = best
    return FilledField(wanted.name, value, fact.quote, fact.source, fact.passage, fact.title, fact.url)


def _read_schema(schema: Schema) -> list[_Wanted]:
    fields: object = schema
    if isinstance(schema, ModelClass):
        fields = schema.model_json_schema()
    known: Mapping[str, Any] = cast("Mapping[str, Any]", fields) if isinstance(fields, Mapping) else dict[str, Any]()
    properties: object = known.get("properties")
    if not isinstance(properties, Mapping) or not 0 < len(cast("Mapping[str, Any]", properties)) <= _MAX_FIELDS:
        raise _make_schema_error(f"It is not an object with 1 to {_MAX_FIELDS} properties")
    return list(_iter_fields(cast("Mapping[str, Mapping[str, Any]]", properties)))


def _iter_fields(properties: Mapping[str, Mapping[str, Any]]) -> Iterator[_Wanted]:
    for name, given in properties.items():
        options = [each for each in given.get("anyOf", ()) if each.get("type") != "null"]
        kind = {**given, **options[0]} if len(options) == 1 else given
        words = str(given.get("description") or given.get("title") or name.replace("_", " ")).strip()
        question = words if words.endswith("?") else f"{words.rstrip('.')}?"
        stems = frozenset(stem_text(f"{words} {name.replace('_', ' ')}"))
        yield _Wanted(name, question, stems, _choose_reader(name, kind))


def _choose_reader(name: str, kind: Mapping[str, Any]) -> Callable[[str, frozenset[str]], Value]:
    if kind.get("enum"):
        return lambda quote, _: _read_option(quote, [str(each) for each in kind["enum"]])
    match kind.get("type"), kind.get("format"):
        case "string", "date":
            return lambda quote, _: next(iter(find_days(quote)), None)
        case "string", None:
            return lambda quote, _: " ".join(quote.split()) or None
        case "integer", _:
            return lambda quote, stems: _read_number(quote, stems, whole=True)
        case "number", _:
            return lambda quote, stems: _read_number(quote, stems, whole=False)
        case found, _:
            raise _make_schema_error(f"The field {name[:80]!r} is of the type {found!r}")


def _choose_cell(quote: str, wanted: _Wanted) -> tuple[str, bool]:
    """Return the cell of a row of a table whose head has most words of a field, and whether it has no others.

    The first cell names the row, so only the name of a field means it. A quote that is no row is returned whole.
    """
    if not (cells := read_row(quote)):
        return quote, False
    heads = [frozenset(stem_text(head.replace("_", " "))) for head, _ in cells]
    named = frozenset(stem_text(wanted.name.replace("_", " ")))
    shared = [(len(head & named), len(head & wanted.stems) if at else 0) for at, head in enumerate(heads)]
    best = shared.index(max(shared))
    return (cells[best][1], heads[best] <= wanted.stems) if any(shared[best]) else ("", False)


def _read_option(quote: str, options: Sequence[str]) -> str | None:
    """Return the one option that the quote names; None for none or several."""
    named = [each for each in options if re.search(rf"(?i)(?<!\w){re.escape(each)}(?!\w)", quote)]
    return named[0] if len(named) == 1 else None


def _read_number(quote: str, stems: frozenset[str], *, whole: bool) -> int | float | None:
    """Return the number of the quote that has a unit of the field; a year if one is asked for."""
    if "year" in stems or "when" in stems:
        return next(iter(find_years(quote)), None)
    found = find_quantities(quote) or (find_measures(quote) if _NUMBER.fullmatch(quote) else ())
    fitting = [each for each in found if each.units & stems] or (found if len(found) == 1 else ())
    value = fitting[0].number if fitting else None
    if value is None or not whole:
        return value
    return int(value) if value == int(value) else None


def _make_schema_error(why: str) -> UserError:
    return UserError(
        "schema_unsupported",
        f"The schema cannot be filled: {why}.",
        next_step="Use strings, integers, numbers, dates (format: date) and enums, with a description each.",
    )
