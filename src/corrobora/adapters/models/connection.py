"""Connection: one model at one endpoint: one request at a time through its gate, one reply, typed failures.

Knows time limits, ways of structured output and metering. Does not know roles: it is given texts and a schema. What
touches pydantic-ai stands in `exchange.py`, loaded when the first request is sent.
"""

from __future__ import annotations

import asyncio
import functools
import gc
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from corrobora.adapters.models.connect import OutputMode, Target
from corrobora.adapters.models.metering import metered
from corrobora.adapters.models.pacing import Gate, Slot
from corrobora.domain.errors import CorroboraError, ProviderError
from corrobora.domain.limits import Usage
from corrobora.roles.rendering import Prompt

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestParameters

    from corrobora.adapters.models.building import Built

CALL_SECONDS = 300.0  # wall clock of one request, whatever trickles in
_NEXT_MODE: dict[OutputMode, OutputMode] = {"native": "tool", "tool": "prompted"}
_BUSY = (429, 529)


@dataclass(frozen=True, slots=True)
class Form:
    """What the answer must look like: a name, a sentence, a JSON schema."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mending:
    """An answer that could not be used, and why."""

    answer: str
    problem: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the structured part as text, how it ended, what it cost."""

    text: str
    ended: str  # stop | length | refusal
    usage: Usage


class Connection:
    """Sends requests to one target. `gate` is shared by all connections to the same endpoint."""

    def __init__(self, target: Target, gate: Gate, *, call_seconds: float = CALL_SECONDS) -> None:
        self.target = target
        self.gate = gate
        self._call_seconds = call_seconds
        self._models: WeakKeyDictionary[asyncio.AbstractEventLoop, Built] = WeakKeyDictionary()
        self._mode: OutputMode | None = target.mode
        self._parameters: dict[tuple[OutputMode, str], ModelRequestParameters] = {}

    @property
    def name(self) -> str:
        """Name of the model, part of journal keys."""
        return self.target.id

    @property
    def default_output_tokens(self) -> int:
        """How long an answer may be where nothing else is asked for."""
        return self.target.max_output_tokens or (4_096 if self.target.free else 8_192)

    async def ask(self, prompt: Prompt, form: Form, *, max_tokens: int, mending: Mending | None = None) -> Reply:
        """Send one request and return its reply.

        A server that rejects one way of structured output is asked in the next (native, tool, prompted), once each.
        In an outage the call waits in the gate and is sent again, as a probe or after it, while the gate is patient.

        Raises `ProviderError`; `RoleError` `refusal`, `output_truncated` or `output_too_large` where an error says so.
        """
        sdk = _sdk()
        while True:
            built = self._built()
            mode: OutputMode = self._mode or sdk.capability(built.model)
            try:
                return await self._once(built, mode, prompt, form, max_tokens, mending)
            except ProviderError as error:
                if error.retryable and self.gate.down:
                    continue
                if not sdk.refuses_structure(error) or mode not in _NEXT_MODE:
                    raise
                self._mode = _NEXT_MODE[mode]

    async def _once(  # noqa: PLR0913, PLR0917 - the parts of one request
        self, built: Built, mode: OutputMode, prompt: Prompt, form: Form, max_tokens: int, mending: Mending | None
    ) -> Reply:
        sdk = _sdk()
        asked = self._asked(built, mode, form)
        order = None if mending is None else (mending.answer, _order(mending))
        async with self.gate.slot() as slot:
            limit = asyncio.timeout(self._call_seconds)
            try:
                async with limit:
                    raw = await sdk.exchange(built.bare, self.target, prompt, order, asked, max_tokens)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                slot.failed()
                raise self._too_slow() from error
            except sdk.FAILURES as error:
                failure: CorroboraError = sdk.mapped(error, self.target)
                _report(slot, failure)
                raise failure from error
            slot.answered()
        texts = (prompt.system, prompt.user, *(order or ()))
        sent = sum(map(_size, texts))
        return Reply(raw.text, raw.ended, metered(self.target, raw.tokens, sent=sent, received=_size(raw.text)))

    def _built(self) -> Built:
        """One model and HTTP client for each event loop: connections belong to the loop they were opened in."""
        loop = asyncio.get_running_loop()
        built = self._models.get(loop)
        if built is None:
            built = self._models[loop] = _sdk().build(self.target)
            gc.freeze()  # an SDK's half a million objects stay: looking at them again cost a quarter of a call's CPU
        return built

    async def aclose(self) -> None:
        """Close the HTTP connections of this event loop."""
        built = self._models.pop(asyncio.get_running_loop(), None)
        if built is not None:
            await built.client.aclose()

    def _asked(self, built: Built, mode: OutputMode, form: Form) -> ModelRequestParameters:
        found = self._parameters.get((mode, form.name))
        if found is None:
            found = built.shaped(_sdk().parameters(mode, form.name, form.description, form.schema, self.target))
            self._parameters[mode, form.name] = found
        return found

    def _too_slow(self) -> ProviderError:
        return ProviderError(
            "provider_timeout",
            f"{self.name} did not finish within {self._call_seconds:g} s.",
            provider=self.name,
            retryable=True,
        )


@functools.cache
def _sdk() -> Any:
    """Load pydantic-ai: about two seconds of CPU that no command without a model should pay."""
    from corrobora.adapters.models import exchange  # noqa: PLC0415 - see above

    module: ModuleType = exchange
    return module


def _order(mending: Mending) -> str:
    return (
        f"Your answer cannot be used. {mending.problem}\nGive the whole answer again, corrected, in the asked-for form."
    )


def _report(slot: Slot, failure: CorroboraError) -> None:
    """Tell the gate what a failure means for the calls to come."""
    if not isinstance(failure, ProviderError) or not (failure.retryable or failure.status in _BUSY):
        slot.answered()
    elif failure.status in _BUSY:
        slot.refused(failure.retry_after_seconds)
    else:
        slot.failed(reached=failure.code != "provider_unreachable")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
