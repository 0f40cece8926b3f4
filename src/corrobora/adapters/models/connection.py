"""One model at one endpoint: one request at a time through its gate, one reply, typed failures.

Knows time limits, ways of structured output, what a failure means for another try, and metering. Does not know
protocols, and no message holds a key.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from corrobora.adapters.http import load_json, parse_retry_after
from corrobora.adapters.models import (
    Completion,
    ModelRequest,
    ModelWire,
    OutputMode,
    Target,
    bound_cost,
    meter_reply,
)
from corrobora.adapters.models.framing import (
    BrokenAnswerError,
    ForeignAnswerError,
    IdleTimeoutError,
    OversizedAnswerError,
    RejectedError,
    TransportError,
    UnreachableError,
)
from corrobora.adapters.models.transport import CALL_SECONDS
from corrobora.adapters.pacing import CallGate, Slot
from corrobora.analysts.language_model import Correction, Effort, OutputForm, Prompt, Reply
from corrobora.domain.errors import CorroboraError, LimitReached, ProviderError, RoleError, may_pass
from corrobora.domain.limits import Usage
from corrobora.ports import CALL_SCOPE, open_book

_LEAST_ROOM = 1_024  # tokens: a shorter answer is of no use
_USUAL_BYTES_PER_TOKEN = 4
_OK = 200
# Tokens beside the answer: providers count thinking and answer together.
THINKING_ROOM: dict[Effort | None, int] = {None: 0, "low": 5_120, "medium": 10_240, "high": 20_480}
_NEXT_MODE: dict[OutputMode, OutputMode] = {"native": "tool", "tool": "prompted"}
_BUSY = (429, 529)
_REJECTED = (400, 404, 415, 422, 501)
_LASTING = ("provider_refused", "provider_quota", "model_not_found")  # of all calls of this model, whatever they ask
_MOST_REFUSALS = 2  # in a row, after which a run does not call it: one may be a mistake of a gateway
_STRUCTURE = re.compile(
    r"response_format|json_schema|output_config|output_format|structured output|tool_choice|tools|strict", re.IGNORECASE
)
_EFFORT = re.compile("effort|thinking|reasoning|adaptive", re.IGNORECASE)
_SECRET = re.compile(r"\b(?:sk|pk|key|org|proj)[-_][A-Za-z0-9_\-*.]{6,200}")
_SHOWN = 200


class ModelConnection:
    """Sends requests to one target. `gate` is shared by all connections to the same endpoint and key."""

    def __init__(self, target: Target, gate: CallGate) -> None:
        self.target = target
        self.gate = gate
        self._call_seconds = target.options.total_seconds or CALL_SECONDS
        self._wire: ModelWire = target.provider.connect(target)
        self._mode: OutputMode = target.options.output_mode or self._wire.mode
        self._failure = ""  # code of what went wrong last, until there is an answer
        self._told = ""  # how the last call of an outage ended

    @property
    def name(self) -> str:
        """Name of the model, part of journal keys."""
        return self.target.id

    @property
    def label(self) -> str:
        return self.target.label

    @property
    def default_output_tokens(self) -> int:
        """How long an answer may be where nothing else is asked for."""
        return self.target.options.output_tokens or (4_096 if self.target.free else 8_192)

    async def ask(
        self, prompt: Prompt, form: OutputForm, *, max_tokens: int, correction: Correction | None = None
    ) -> Reply:
        """Send one request and return its reply.

        A server that rejects one way of structured output is asked in the next (native, tool, prompted), once each.
        In an outage the call waits in the gate and is sent again, as a probe or after it, while the gate is patient.

        Raises `ProviderError`; `RoleError` `output_too_large` where an error says so.
        """
        room = max_tokens + THINKING_ROOM[self.target.level]
        while True:
            request = ModelRequest(prompt, form, self._mode, room, correction)
            try:
                return await self._send_booked(request)
            except ProviderError as error:
                if error.retryable and self.gate.down and _is_outage(error):
                    self._told = error.message
                    continue
                if error.code == "provider_down" and self._told:
                    reason = f"{error.message} The last call: {self._told}"
                    raise ProviderError(
                        error.code, reason, provider=error.provider, next_step=error.next_step
                    ) from error
                if not self._adapt(request, error):
                    raise _explain_effort(error, self.target) from error

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._wire.aclose()

    async def _send_booked(self, request: ModelRequest) -> Reply:
        """Send a request that is booked before it leaves, and settled however it ends.

        Where a limit of dollars or tokens leaves less than the longest answer takes, a shorter one is asked for.
        """
        book, sent = open_book.get(), sum(_count_bytes(text) for text in _list_texts(request))
        if book is None:
            return self._meter(await self._send(request, _Sending()), sent)
        refused = book.refusals.setdefault(self.label, [])
        if len(refused) >= _MOST_REFUSALS:
            raise refused[-1]
        most = bound_cost(self.target, sent=sent + _count_bytes(request.form.instructions), room=request.max_tokens)
        granted = await book.reserve(most, hash(_list_texts(request)))
        sending, cost, failure = _Sending(), Usage(), None
        try:
            if granted.dollars < most.dollars or granted.output_tokens < most.output_tokens:
                request = self._shorten_answer(request, sent, most, granted)
            reply = self._meter(await self._send(request, sending), sent)
            cost, failure, self._failure = reply.usage, "", ""
            refused.clear()
        except BaseException as error:
            if isinstance(error, ProviderError):
                failure = self._failure = error.code
                refused += [error] if error.code in _LASTING else []
            elif self.gate.down:
                failure = self._failure  # it was given up during an outage, waiting for its end or as the probe
            asked = sent // _USUAL_BYTES_PER_TOKEN
            lost = replace(most, dollars=granted.dollars, input_tokens=asked, output_tokens=0, uncertain=1)
            cost = _find_cost(error, sending, lost)
            raise
        finally:
            book.settle(most, cost, failure)
        return reply

    def _meter(self, completion: Completion, sent: int) -> Reply:
        usage = meter_reply(
            self.target, completion.tokens, sent=sent, received=_count_bytes(completion.text) + completion.thoughts
        )
        return Reply(completion.text, completion.ending, usage)

    def _shorten_answer(self, request: ModelRequest, sent: int, most: Usage, granted: Usage) -> ModelRequest:
        """Ask for the longest answer that the limits allow. Raises `LimitReached` for one of no use."""
        asked = bound_cost(self.target, sent=sent + _count_bytes(request.form.instructions), room=0).dollars
        share = (granted.dollars - asked) / max(most.dollars - asked, 1e-9) if granted.dollars < most.dollars else 1.0
        room = min(int(request.max_tokens * share), granted.output_tokens)
        if room < _LEAST_ROOM + THINKING_ROOM[self.target.level]:
            if room == granted.output_tokens:
                raise LimitReached("tokens", value=most.output_tokens, limit=room, scope=CALL_SCOPE)
            raise LimitReached("dollars", value=most.dollars, limit=granted.dollars, scope=CALL_SCOPE)
        return replace(request, max_tokens=room)

    async def _send(self, request: ModelRequest, sending: _Sending) -> Completion:
        async with self.gate.take_slot() as slot:
            sending.begun = True
            try:
                async with asyncio.timeout(self._call_seconds):
                    completion = await self._wire.complete(request)
            except TimeoutError as error:
                slot.report_failure()
                why = f"did not finish within {self._call_seconds:g} s"
                raise _make_error(self.target, "provider_timeout", why, retryable=True) from error
            except (TransportError, CorroboraError) as error:
                failure = explain_failure(error, self.target, known=self.gate.reached)
                _report_failure(slot, failure, reached=not isinstance(error, TransportError) or error.reached)
                raise failure from error
            slot.report_answer()
        return completion

    def _adapt(self, request: ModelRequest, error: ProviderError) -> bool:
        """Ask in another way if the provider rejected this one; False if there is none left."""
        if error.code != "provider_rejected" or error.status not in _REJECTED:
            return False
        if self._wire.adapt(error.message):
            return True
        if request.mode != self._mode:
            return True  # another call has learned it meanwhile
        if not _STRUCTURE.search(error.message) or request.mode not in _NEXT_MODE:
            return False
        self._mode = _NEXT_MODE[request.mode]
        return True


@dataclass(slots=True)
class _Sending:
    """Whether a request has left: one that still waits for its turn costs nothing."""

    begun: bool = False


def _find_cost(error: BaseException, sending: _Sending, uncertain: Usage) -> Usage:
    """Return what a call without an answer cost: nothing, if it was not sent or was refused; else it is unknown."""
    cause = error.__cause__
    if not sending.begun or isinstance(cause, UnreachableError):
        return Usage()
    within = isinstance(cause, RejectedError) and cause.status == _OK  # a stream had begun
    refused = isinstance(error, ProviderError) and error.status is not None and not within
    return Usage(refused=1) if refused else uncertain


def _is_outage(error: ProviderError) -> bool:
    """True if a failure says that the server is away or busy, which ends by itself.

    An answer that came and cannot be used, or one that was too slow, would come again: whoever called decides.
    """
    cause = error.__cause__
    if isinstance(cause, RejectedError):
        return cause.status != _OK or error.status in _BUSY
    unsent = isinstance(cause, BrokenAnswerError) and not isinstance(cause, ForeignAnswerError) and not cause.reached
    return unsent or isinstance(cause, UnreachableError)


def _explain_effort(error: ProviderError, target: Target) -> ProviderError:
    """Return the same error, or one that names the setting that the provider has just refused."""
    if not target.effort or error.code != "provider_rejected" or not _EFFORT.search(error.message):
        return error
    return ProviderError(
        "model_effort",
        f"{target.label} refuses the effort {target.effort!r} that is set for it: {error.message}",
        provider=target.label,
        status=error.status,
        next_step="Remove the effort of this tier from the settings, or set another one: low, medium or high.",
    )


def _list_texts(request: ModelRequest) -> tuple[str, ...]:
    prompt, correction = request.prompt, request.correction
    return (prompt.system, prompt.user, *((correction.answer, correction.order) if correction else ()))


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _report_failure(slot: Slot, failure: CorroboraError, *, reached: bool) -> None:
    """Tell the gate what a failure means for the calls to come."""
    if not reached:
        slot.report_failure(reached=False)
    elif not isinstance(failure, ProviderError) or not (failure.retryable or failure.status in _BUSY):
        slot.report_answer()
    elif failure.status in _BUSY:
        slot.report_refusal(failure.retry_after_seconds)
    else:
        slot.report_failure()


def explain_failure(error: TransportError | CorroboraError, target: Target, *, known: bool = True) -> CorroboraError:
    """Return the engine's error for a failed exchange; `known`: a model answered at this address before."""
    match error:
        case CorroboraError():
            return error
        case ForeignAnswerError():
            code, why = "provider_foreign", "did not answer as a model server does"
        case OversizedAnswerError():
            return RoleError("output_too_large", f"{target.label} sent more than an answer may hold.")
        case RejectedError():
            return _explain_rejection(error, target)
        case IdleTimeoutError():
            code, why = "provider_timeout", "did not answer in time"
        case BrokenAnswerError():
            code, why = "provider_bad_content", "gave no whole answer"
        case _:
            code, why = "provider_unreachable", "could not be reached"
    made = _make_error(target, code, why, message=str(error), retryable=True)
    if isinstance(error, ForeignAnswerError) and not known:  # it is another address, not one answer
        made.retryable, made.next_step = False, f"Check {target.base_url}: many addresses of models end in /v1."
    return made


def _explain_rejection(error: RejectedError, target: Target) -> CorroboraError:
    kind, message = _read_rejection(error.body)
    status = _find_status(kind) if error.status == _OK else error.status
    if moved := error.headers.get("location"):
        message = f"it has moved to {moved}, where it is not followed"
    message = _hide_secrets(message, target.key)
    wait = parse_retry_after(error.headers.get("retry-after", ""), datetime.now(UTC).isoformat())
    if wait is None and (milliseconds := error.headers.get("retry-after-ms", "")).isdecimal():
        wait = int(milliseconds[:9]) / 1_000
    final = _find_final(status, kind, message)
    if final == "provider_refused":
        return ProviderError.key_refused(
            target.label, setting=target.provider.key or "the key of this endpoint", status=status
        )
    if final is not None:
        return _make_error(target, final, _FINAL[final], message=message, status=status, wait=wait)
    busy = status in _BUSY
    failed = "answered with an error" if error.status == _OK else f"failed with HTTP {status}"
    code, why = ("provider_busy", "allows no more calls now") if busy else ("provider_failed", failed)
    again = may_pass(status) and error.headers.get("x-should-retry", "").lower() != "false"
    return _make_error(target, code, why, message=message, status=status, wait=wait, retryable=again)


def _find_status(kind: str) -> int:
    """Return the status that an error within a stream stands for; some servers put it where its code should be."""
    return int(kind) if re.fullmatch(r"[45]\d\d", kind) else _STATUS_OF.get(kind, 500)


_STATUS_OF: Mapping[str, int] = {
    "invalid_request_error": 400,
    **dict.fromkeys(("authentication_error", "invalid_api_key"), 401),
    "permission_error": 403,
    **dict.fromkeys(("not_found_error", "model_not_found"), 404),
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "insufficient_quota"), 429),
    "overloaded_error": 529,
}
_FINAL = {
    "provider_refused": "refused the key",
    "provider_quota": "has no quota left",
    "model_context": "cannot take a prompt of this length",
    "model_not_found": "is not known at this address",
    "provider_rejected": "rejected the request",
}
_TOO_LONG = re.compile(
    r"context.?(?:length|window|size)|maximum context|(?:prompt|input|request) is too (?:long|large)"
    r"|exceeds? the (?:maximum|limit)[^.]{0,40}tokens",
    re.IGNORECASE,
)
_NO_KEY = re.compile(r"region|country|territory|moderat|flagged|polic(?:y|ies)|safety|blocked", re.IGNORECASE)
_PAGE_TITLE = re.compile(r"<title[^>]*>([^<]{1,200})", re.IGNORECASE)


def _find_final(status: int, kind: str, message: str) -> str | None:
    """Return the code of a failure that no second try mends; None for one that may pass."""
    if status == 401 or (status == 403 and not _NO_KEY.search(f"{kind} {message}")):  # noqa: PLR2004 - HTTP
        return "provider_refused"
    if status == 402 or kind in ("insufficient_quota", "billing_error"):  # noqa: PLR2004 - HTTP
        return "provider_quota"
    if status == 413 or (status in (400, 422) and _TOO_LONG.search(f"{kind} {message}")):  # noqa: PLR2004 - HTTP
        return "model_context"
    if status == 404:  # noqa: PLR2004 - HTTP
        return "model_not_found"
    return None if may_pass(status) else "provider_rejected"


def _read_rejection(body: bytes) -> tuple[str, str]:
    """Return kind and words of an error body, whatever its shape."""
    try:
        whole: Any = load_json(body)
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
        titled = _PAGE_TITLE.search(text) if text.lstrip().startswith("<") else None
        return "", titled.group(1) if titled else text
    first = cast("list[object]", whole)[0] if isinstance(whole, list) and whole else cast("object", whole)
    inner = cast("dict[str, object]", first).get("error") if isinstance(first, dict) else None
    value: object = inner or first  # pyright: ignore[reportUnknownVariableType] - foreign JSON
    if not isinstance(value, dict):
        return "", str(value)
    error = cast("Mapping[str, object]", value)
    words = (each for each in (error.get("code"), error.get("type")) if isinstance(each, str) and each)
    kind = next(words, error.get("code") or "")
    return str(kind), str(error.get("message") or error.get("detail") or error or "")


def _hide_secrets(text: str, key: str) -> str:
    """Return at most 200 characters of what a provider said, without anything that looks like a key."""
    text = " ".join(text.split())
    text = text.replace(key, "***") if key else text
    return _SECRET.sub("***", text)[:_SHOWN].rstrip(".")


def _make_error(  # noqa: PLR0913 - an error carries what its reader needs
    target: Target,
    code: str,
    why: str,
    *,
    message: str = "",
    status: int | None = None,
    wait: float | None = None,
    retryable: bool = False,
) -> ProviderError:
    return ProviderError(
        code,
        f"{target.label} {why}{f': {message}' if message else ''}.",
        provider=target.label,
        retryable=retryable,
        retry_after_seconds=wait,
        status=status,
        next_step="" if retryable else "Run: corrobora doctor",
    )
