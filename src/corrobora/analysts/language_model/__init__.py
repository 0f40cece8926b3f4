"""The analyst that asks language models, and what it needs of one: `ModelClient`, and the values it sends and receives.

Its modules render prompts and parse answers, with one repair. Knows texts and JSON schemas, how a role becomes a
request and an answer a value. Does not know endpoints, protocols or prices: a `ModelClient` sends the request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias, cast, get_args

from corrobora.domain.limits import Usage
from corrobora.roles.forms import CHOICES

Ending = Literal["stop", "length", "refusal"]
Tier = Literal["lead", "worker", "fast", "judge"]
Effort = Literal["low", "medium", "high"]  # how much a model thinks before it answers
TIERS: tuple[Tier, ...] = get_args(Tier)
Choose = Callable[[Sequence[str]], Sequence[str]]  # what the fields of an input hold, by the paths of these fields


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is sent, from the most to the least stable part.

    `system` is the same for every call of a role. `parts` are what a run or thread knows: those of a later call begin
    with those of an earlier one. `task` is this call's.
    """

    system: str
    parts: tuple[str, ...]
    task: str

    @property
    def brief(self) -> str:
        return "\n\n".join(self.parts)

    @property
    def user(self) -> str:
        """The user's message: the brief, then the task."""
        return f"{self.brief}\n\n{self.task}".strip()


@dataclass(frozen=True)
class OutputForm:
    """What the answer must look like: a name, a sentence, a JSON schema."""

    name: str
    description: str
    schema: Mapping[str, Any]
    narrowed: tuple[OutputForm, Choose] | None = None  # the form that this one is for one call, and what was chosen

    def narrow(self, choose: Choose) -> OutputForm:
        """Return the form of one call: what is chosen from fields of its input is an enum of what they hold."""
        if self._choices is None:
            return self
        return replace(self, schema=_narrow_value(self.schema, choose, self._choices), narrowed=(self, choose))

    @cached_property
    def _choices(self) -> _Choices | None:
        return _map_choices(self.schema)

    @cached_property
    def strict_choices(self) -> _Choices | None:
        return _map_choices(self.strict_schema)

    @cached_property
    def closed_choices(self) -> _Choices | None:
        return _map_choices(self.closed_schema)

    @cached_property
    def instructions(self) -> str:
        """The form in words, for models that can be asked for JSON in the prompt only."""
        return (
            "Always respond with a JSON object that's compatible with this schema:\n\n"
            f"{json.dumps(self.schema, separators=(',', ':'))}\n\n"
            "Don't include any text or Markdown fencing before or after."
        )

    @cached_property
    def strict_schema(self) -> dict[str, Any]:
        """The schema for strict decoding by OpenAI's rules: every property required, nothing else allowed."""
        if self.narrowed is not None:  # the form of all calls is rewritten once
            form, choose = self.narrowed
            return _narrow_value(form.strict_schema, choose, form.strict_choices or {})
        return _tighten(self.schema, _REFUSED_BY_OPENAI, require_all=True)

    @cached_property
    def closed_schema(self) -> dict[str, Any]:
        """The schema for native output by Anthropic's rules: no further properties, no ranges of numbers."""
        if self.narrowed is not None:
            form, choose = self.narrowed
            return _narrow_value(form.closed_schema, choose, form.closed_choices or {})
        return _tighten(self.schema, _REFUSED_BY_OPENAI | _RANGES, require_all=False)


_REFUSED_BY_OPENAI = frozenset({"minLength", "maxLength", "minItems", "maxItems", "uniqueItems"})
_RANGES = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})


_Choices: TypeAlias = "Mapping[str | int, _Choices]"


def _map_choices(value: Any) -> _Choices | None:
    """Map the branches of a schema that lead to choices, so that a call copies no others; None without any."""
    if isinstance(value, list):
        parts: Iterable[tuple[str | int, Any]] = enumerate(cast("list[Any]", value))
    elif isinstance(value, Mapping):
        parts = cast("Mapping[str, Any]", value).items()
    else:
        return None
    found = {name: below for name, each in parts if (below := _map_choices(each)) is not None}
    return found if found or (isinstance(value, Mapping) and CHOICES in value) else None


def _narrow_value(value: Any, choose: Choose, choices: _Choices) -> Any:
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_narrow_value(each, choose, choices[at]) if at in choices else each for at, each in enumerate(items)]
    fields = cast("Mapping[str, Any]", value)
    made = {
        name: _narrow_value(each, choose, choices[name]) if name in choices else each
        for name, each in fields.items()
        if name != CHOICES
    }
    found = choose(fields[CHOICES]) if isinstance(fields.get(CHOICES), list) else ()
    return {**made, "enum": list(found)} if found else made


def _tighten(schema: Mapping[str, Any], refused: frozenset[str], *, require_all: bool) -> dict[str, Any]:
    """Rewrite a schema for strict decoding; what the provider refuses moves into the description."""
    said = [f"{name}={value}" for name, value in schema.items() if name in refused]
    made = {
        name: _tighten_value(name, value, refused, require_all=require_all)
        for name, value in schema.items()
        if name not in refused and name not in ("title", "default")
    }
    if said:
        made["description"] = f"{made.get('description', '')} ({', '.join(said)})".strip()
    if made.get("type") == "object":
        made["additionalProperties"] = False
        if require_all:
            made["required"] = list(made.get("properties", {}))
    if "$ref" in made and len(made) > 1:  # strict mode allows nothing beside a reference
        made["anyOf"] = [{"$ref": made.pop("$ref")}]
    return made


def _tighten_value(name: str, value: Any, refused: frozenset[str], *, require_all: bool) -> Any:
    if name in ("properties", "$defs"):
        return {key: _tighten(each, refused, require_all=require_all) for key, each in value.items()}
    if isinstance(value, dict):
        return _tighten(value, refused, require_all=require_all)  # pyright: ignore[reportUnknownArgumentType] - JSON
    if name in ("anyOf", "allOf", "oneOf"):
        return [_tighten(each, refused, require_all=require_all) for each in value]
    return value


@dataclass(frozen=True, slots=True)
class Correction:
    """An answer that could not be used, and why: what the one repair call is about."""

    answer: str
    problem: str

    @property
    def order(self) -> str:
        """What the model is told after its answer."""
        return (
            f"Your answer cannot be used. {self.problem}\n"
            "Give the whole answer again, corrected, in the asked-for form."
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the structured part as text, how it ended, what it cost."""

    text: str
    ending: Ending
    usage: Usage


class ModelClient(Protocol):
    """One model that can be asked."""

    @property
    def name(self) -> str:
        """Name of the model, part of journal keys."""
        ...

    @property
    def label(self) -> str:
        """Name of the model for people."""
        ...

    @property
    def default_output_tokens(self) -> int:
        """Usual length of an answer."""
        ...

    async def ask(
        self, prompt: Prompt, form: OutputForm, *, max_tokens: int, correction: Correction | None = None
    ) -> Reply:
        """Send one request and return its reply. Raises `ProviderError` or `RoleError`."""
        ...
