"""The analyst that asks language models: a role's prompt out, a value of the role's output type back.

Knows rendering, schemas, one repair and one longer try. Does not know endpoints, transport, runs or budgets. It
proposes; what it may cause is decided by whoever plays it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from corrobora.analysts.language_model import TIERS, Correction, ModelClient, OutputForm, Prompt, Reply, Tier
from corrobora.analysts.language_model.parsing import (
    drop_thinking,
    extract_object,
    fill_form,
    is_whole_object,
    read_markdown,
    unwrap_object,
)
from corrobora.analysts.language_model.rendering import (
    BRIEF,
    COMMON,
    hash_prompt,
    read_prompt_file,
    render_prompt,
)
from corrobora.domain.errors import CorroboraError, RoleError
from corrobora.domain.limits import LIMITS, Usage
from corrobora.ports import Answer, Role
from corrobora.roles.forms import list_choices
from corrobora.roles.synthesize import Material, Part, synthesize

I = TypeVar("I")  # noqa: E741 - input of a role
O = TypeVar("O")  # noqa: E741 - output of a role

_LONG_ANSWERS = frozenset({"synthesize", "revise", "repair", "plan"})
_MOST_TOKENS = 32_768
_SHOWN_PROBLEMS = 3
_SHOWN_ANSWER = 16_000  # characters of a bad answer that are sent back with the problem


class LanguageModelAnalyst:
    """Plays every role with the model of the role's tier (lead, worker, fast, judge).

    Each play costs at most three calls: the first, one with more room if it was cut off, one repair if it cannot be
    used. Errors carry what was paid (`error.usage`).
    """

    def __init__(
        self,
        models: Mapping[Tier, ModelClient],
        *,
        name: str = "language model",
        prompts: Path | None = None,
        language: str = "",
    ) -> None:
        if not models:
            message = "a language-model analyst needs at least one model"
            raise ValueError(message)
        some = models.get("worker") or next(iter(models.values()))
        self._models = {tier: models.get(tier, some) for tier in TIERS}
        self._prompts = prompts
        self._language = language
        self.name = name

    def identity(self, role: Role[I, O]) -> str:
        version = hash_prompt(role, folder=self._prompts)
        written = f"|{self._language}" if self._language else ""
        return f"{self._choose_model(role).name}|{role.prompt}@{version}.{_make_form(role).version}{written}"

    def measure_prompt(self, role: Role[I, O], given: I) -> int:
        """Return the characters of what `role` is sent for `given`, beside its rules and form."""
        return len(render_prompt(role, given, folder=self._prompts).user)

    async def play(self, role: Role[I, O], given: I) -> Answer[O]:
        """Play `role` once.

        Raises:
            ProviderError: the provider failed, refused the key, or is down; `retryable` says whether to try again.
            RoleError: `refusal`, `output_truncated` (twice too long), `empty_output`, `json_invalid`, `json_too_deep`,
                `output_too_large` or `output_invalid`, each after one repair where repair can help.
        """
        prompt = render_prompt(role, given, folder=self._prompts, language=self._language)
        play = _Play(self._choose_model(role), prompt, role, given)
        try:
            value = await play.run()
        except CorroboraError as error:
            error.usage = play.usage
            raise
        return Answer(value, play.usage, play.model.label, self.name)

    def _choose_model(self, role: Role[Any, Any]) -> ModelClient:
        tier = role.tier
        return self._models[tier] if tier in TIERS else self._models["worker"]


@dataclass(slots=True)
class _Play:
    """One play: its calls and what they cost so far."""

    model: ModelClient
    prompt: Prompt
    role: Role[Any, Any]
    given: Any
    usage: Usage = Usage()

    async def run(self) -> Any:
        room = self.model.default_output_tokens * (2 if self.role.prompt in _LONG_ANSWERS else 1)
        reply = await self._ask(room)
        if _is_cut(reply):
            room = min(_MOST_TOKENS, room * 2)
            reply = await self._ask(room)
        try:
            return self._read(reply)
        except RoleError as error:
            if error.code in ("refusal", "output_truncated"):
                raise
            problem = error
        repaired = await self._ask(room, Correction(drop_thinking(reply.text)[:_SHOWN_ANSWER], problem.message))
        return self._read(repaired, last=True)

    async def _ask(self, room: int, correction: Correction | None = None) -> Reply:
        form = _make_form(self.role).form.narrow(lambda fields: list_choices(self.given, fields))
        reply = await self.model.ask(self.prompt, form, max_tokens=room, correction=correction)
        self.usage += reply.usage
        return reply

    def _read(self, reply: Reply, *, last: bool = False) -> Any:
        """Return the role's output in a reply, or raise the `RoleError` that says what is wrong with it."""
        name = self.role.prompt
        if reply.ending == "refusal":
            raise RoleError("refusal", f"{self.model.label} refused to play {name}.")
        if _is_cut(reply):
            raise RoleError("output_truncated", f"The answer for {name} was cut off twice at its limit of tokens.")
        schema = _make_form(self.role).form.schema
        fields = schema.get("properties", {})
        try:
            text = unwrap_object(extract_object(reply.text, role=name), fields)
        except RoleError as error:
            if error.code != "json_invalid" or "body" not in fields:
                raise
            text = read_markdown(reply.text, title=self.given.question, role=name)
        try:
            filled = fill_form(_make_form(self.role).adapter, text, schema, last=last)
            return filled if self.role.convert is None else self.role.convert(self.given, filled)
        except ValidationError as error:
            raise RoleError(
                "output_invalid", f"The answer for {name} does not fit: {_list_problems(error)}."
            ) from error
        except ValueError as error:
            raise RoleError("output_invalid", f"The answer for {name} cannot be used: {error}") from error


def _is_cut(reply: Reply) -> bool:
    """True for an answer that ended at its limit of tokens, unless it had just become whole."""
    return reply.ending == "length" and not is_whole_object(reply.text)


@dataclass(frozen=True, slots=True)
class _RoleForm:
    form: OutputForm
    adapter: TypeAdapter[Any]
    version: str


@functools.cache
def _make_form(role: Role[Any, Any]) -> _RoleForm:
    """Make the schema of a role's answer from its type, once in a process."""
    adapter: TypeAdapter[Any] = TypeAdapter(role.wire or role.gives)
    schema = adapter.json_schema()
    description = str(schema.pop("description", "") or role.prompt)
    version = hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()[:8]
    for part in schema.get("$defs", {}).values():  # what the prompt says already is not paid twice
        part.pop("description", None)
    return _RoleForm(OutputForm(role.prompt, description, _inline_parts(schema)), adapter, version)


def _inline_parts(schema: dict[str, Any]) -> dict[str, Any]:
    """Put each part of a schema in the place of its name if it is used once: each call is sent the schema."""
    parts = schema.get("$defs", {})
    text = json.dumps(schema)
    once = {f"#/$defs/{name}": part for name, part in parts.items() if text.count(f'"#/$defs/{name}"') == 1}

    def put(value: Any) -> Any:
        if isinstance(value, list):
            return [put(each) for each in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        fields = cast("dict[str, Any]", value)
        part = once.get(fields.get("$ref", ""))
        made = fields if part is None else {**part, **{name: each for name, each in fields.items() if name != "$ref"}}
        return {name: put(each) for name, each in made.items()}

    left = {name: put(part) for name, part in parts.items() if f"#/$defs/{name}" not in once}
    made = put({name: each for name, each in schema.items() if name != "$defs"})
    return {**({"$defs": left} if left else {}), **made}


def _list_problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False)
    problems = [f"/{'/'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:_SHOWN_PROBLEMS]]
    more = f"; and {len(found) - _SHOWN_PROBLEMS} more" if len(found) > _SHOWN_PROBLEMS else ""
    return ("; ".join(problems) + more)[: LIMITS.query_max_chars * 2]


_SYSTEM, _, _USER = read_prompt_file(synthesize.prompt).partition(BRIEF)
SYNTHESIS_SYSTEM = f"{read_prompt_file(COMMON).strip()}\n\n{_SYSTEM.strip()}"
SYNTHESIS_USER_TEMPLATE = _USER.strip()


def build_synthesis_prompt(topic: str, parts: Sequence[Part], *, uncovered: Sequence[str] = ()) -> Prompt:
    """Return the prompt that merges the parts (sub-agents' summaries and facts) into one report (ANGLES-28)."""
    given = Material("root", "report", topic, topic, tuple(parts), (), (), (), "angles", uncovered=tuple(uncovered))
    return render_prompt(synthesize, given)
