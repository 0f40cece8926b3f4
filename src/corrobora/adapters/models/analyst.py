"""The analyst that asks language models: a role's prompt out, a value of the role's output type back.

Knows rendering, schemas, one repair and one longer try. Does not know endpoints (`connection.py`), transport,
runs or budgets. It proposes; what it may cause is decided by whoever plays it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from corrobora.adapters.models.connect import TIERS, Tier
from corrobora.adapters.models.connection import Form, Mending, Reply
from corrobora.adapters.models.loading import load_object, without_nulls
from corrobora.adapters.models.planning import Unusable
from corrobora.adapters.models.revive import REVIVE
from corrobora.adapters.models.wire import WIRE
from corrobora.domain.errors import CorroboraError, RoleError
from corrobora.domain.limits import LIMITS, Usage
from corrobora.ports import Answer, Role
from corrobora.roles.rendering import Prompt, prompt_hash, render

I = TypeVar("I")  # noqa: E741 - input of a role, the letter of the design
O = TypeVar("O")  # noqa: E741 - output of a role

_WRITERS = frozenset({"synthesize", "revise", "plan"})  # answers that may be long
_MOST_TOKENS = 32_768
_SHOWN_PROBLEMS = 3
_SHOWN_ANSWER = 16_000  # characters of a bad answer that are sent back with the problem


class Asks(Protocol):
    """What an analyst needs of a connection; `Connection` is one, tests bring others."""

    @property
    def name(self) -> str:
        """Name of the model, part of journal keys."""
        ...

    @property
    def default_output_tokens(self) -> int:
        """Usual length of an answer."""
        ...

    async def ask(self, prompt: Prompt, form: Form, *, max_tokens: int, mending: Mending | None = None) -> Reply:
        """Send one request."""
        ...


class LanguageModelAnalyst:
    """Plays every role with the model of the role's tier (lead, worker, fast, judge).

    Each play costs at most three calls: the first, one with more room if it was cut off, one repair if it cannot be
    used. Errors carry what was paid (`error.usage`).
    """

    def __init__(
        self, models: Mapping[Tier, Asks], *, name: str = "language model", prompts: Path | None = None
    ) -> None:
        if not models:
            message = "a language-model analyst needs at least one model"
            raise ValueError(message)
        some = models.get("worker") or next(iter(models.values()))
        self._models = {tier: models.get(tier, some) for tier in TIERS}
        self._prompts = prompts
        self.name = name

    def identity(self, role: Role[I, O]) -> str:
        """Name the model, the prompt version and the schema version for `role`."""
        version = prompt_hash(role, folder=self._prompts)
        return f"{self._model(role).name}|{role.prompt}@{version}.{_form(role.prompt).version}"

    async def play(self, role: Role[I, O], given: I) -> Answer[O]:
        """Play `role` once.

        Raises:
            ProviderError: the provider failed, refused the key, or is down; `retryable` says whether to try again.
            RoleError: `refusal`, `output_truncated` (twice too long), `empty_output`, `json_invalid`, `json_too_deep`,
                `output_too_large` or `output_invalid`, each after one repair where repair can help.
        """
        play = _Play(self._model(role), render(role, given, folder=self._prompts), role.prompt, given)
        try:
            value = await play.value()
        except CorroboraError as error:
            error.usage = play.usage
            raise
        return Answer(value, play.usage, play.model.name, self.name)

    def _model(self, role: Role[Any, Any]) -> Asks:
        tier = role.tier
        return self._models[tier] if tier in TIERS else self._models["worker"]


@dataclass(slots=True)
class _Play:
    """One play: its calls and what they cost so far."""

    model: Asks
    prompt: Prompt
    role: str
    given: Any
    usage: Usage = Usage()

    async def value(self) -> Any:
        room = self.model.default_output_tokens * (2 if self.role in _WRITERS else 1)
        reply = await self._ask(room)
        if reply.ended == "length":
            room = min(_MOST_TOKENS, room * 2)
            reply = await self._ask(room)
        try:
            return self._read(reply)
        except RoleError as error:
            if error.code in ("refusal", "output_truncated"):
                raise
            problem = error
        mended = await self._ask(room, Mending(reply.text[:_SHOWN_ANSWER], problem.message))
        return self._read(mended)

    async def _ask(self, room: int, mending: Mending | None = None) -> Reply:
        reply = await self.model.ask(self.prompt, _form(self.role).form, max_tokens=room, mending=mending)
        self.usage += reply.usage
        return reply

    def _read(self, reply: Reply) -> Any:
        """Return the role's output in a reply, or raise the `RoleError` that says what is wrong with it."""
        if reply.ended == "refusal":
            raise RoleError("refusal", f"{self.model.name} refused to play {self.role}.")
        if reply.ended == "length":
            raise RoleError("output_truncated", f"The answer for {self.role} was cut off twice at its limit of tokens.")
        text = load_object(reply.text, role=self.role)
        try:
            return REVIVE[self.role](self.given, _filled(self.role, text))
        except ValidationError as error:
            raise RoleError(
                "output_invalid", f"The answer for {self.role} does not fit: {_problems(error)}."
            ) from error
        except Unusable as error:
            raise RoleError("output_invalid", f"The answer for {self.role} cannot be used: {error}") from error


@dataclass(frozen=True, slots=True)
class _RoleForm:
    form: Form
    adapter: TypeAdapter[Any]
    version: str


@functools.cache
def _form(role: str) -> _RoleForm:
    """Make the schema of a role's answer from its type, once in a process."""
    wire = WIRE[role]
    adapter: TypeAdapter[Any] = TypeAdapter(wire)
    schema = adapter.json_schema()
    description = str(schema.pop("description", "") or role)
    version = hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()[:8]
    return _RoleForm(Form(role, description, schema), adapter, version)


def _filled(role: str, text: str) -> Any:
    """Fill in the role's form, strictly: a number in quotes is none. A field left `null` counts as left out."""
    adapter = _form(role).adapter
    try:
        return adapter.validate_json(text, strict=True)
    except ValidationError:
        if (said := without_nulls(text)) is None:
            raise
        return adapter.validate_json(said, strict=True)


def _problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False)
    told = [f"/{'/'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:_SHOWN_PROBLEMS]]
    more = f"; and {len(found) - _SHOWN_PROBLEMS} more" if len(found) > _SHOWN_PROBLEMS else ""
    return ("; ".join(told) + more)[: LIMITS.query_max_chars * 2]
