"""Failures: from what pydantic-ai, an SDK or the transport raises to the engine's errors.

Knows their classes and what they mean for another try. Does not retry. No message holds a key.
"""

from __future__ import annotations

import re

from pydantic_ai import exceptions as ai

from corrobora.adapters.models.connect import Target
from corrobora.adapters.models.transport import TooLarge
from corrobora.domain.errors import CorroboraError, ProviderError, RoleError

_SHOWN = 200
_SECRET = re.compile(r"\b(?:sk|pk|key|org|proj)[-_][A-Za-z0-9_\-*.]{6,200}")
_STRUCTURE = re.compile(
    r"response_format|json_schema|output_config|output_format|structured output|tool_choice|tools|strict", re.IGNORECASE
)
_REJECTED = (400, 404, 415, 422, 501)


def mapped(error: Exception, target: Target) -> CorroboraError:
    """Return the engine's error for `error`."""
    if _caused_by(error, TooLarge):
        return RoleError("output_too_large", f"{target.id} sent more than an answer may hold.")
    match error:
        case ai.ContentFilterError():
            return RoleError("refusal", f"{target.id} refused to answer.")
        case ai.OutputTokenLimitExceeded():
            return RoleError("output_truncated", f"{target.id} ran out of output tokens.")
        case ai.ModelAuthenticationError():
            setting = target.provider.key or "the key of this endpoint"
            return ProviderError.key_refused(target.id, setting=setting, status=_status(error))
        case ai.ModelAPIError():
            final = next(((code, what) for kind, code, what in _FINAL if isinstance(error, kind)), None)
            return _passing(error, target) if final is None else _provider(*final, error, target)
        case ai.UserError():
            return _provider("model_misused", "cannot be asked in this way", error, target)
        case ai.UnexpectedModelBehavior():
            return _provider("provider_bad_content", "answered in an unknown shape", error, target, retryable=True)
        case _:
            return _provider("provider_failed", "could not be asked", error, target, retryable=True)


# Failures that no second try mends, the special ones before the general one.
_FINAL: tuple[tuple[type[ai.ModelAPIError], str, str], ...] = (
    (ai.ModelQuotaExceededError, "provider_quota", "has no quota left"),
    (ai.ModelContextWindowExceededError, "model_context", "cannot take a prompt of this length"),
    (ai.ModelNotFoundError, "model_not_found", "is not known at this address"),
    (ai.ModelRequestRejectedError, "provider_rejected", "rejected the request"),
)


def refuses_structure(error: CorroboraError) -> bool:
    """True if the provider rejected the way in which structured output was asked for."""
    if not isinstance(error, ProviderError):
        return False
    if error.code == "model_misused":
        return True
    return error.code == "provider_rejected" and error.status in _REJECTED and bool(_STRUCTURE.search(error.message))


def _passing(error: ai.ModelAPIError, target: Target) -> ProviderError:
    """Failures that may pass: limits, outages, broken connections."""
    status = _status(error)
    hint = error.provider_retry_hint if isinstance(error, ai.ModelHTTPError) else None
    if isinstance(error, ai.ModelTimeoutError | ai.ModelRequestTimeout):
        code, what = "provider_timeout", "did not answer in time"
    elif isinstance(error, ai.ModelConnectionError):
        code, what = "provider_unreachable", "could not be reached"
    elif isinstance(error, ai.ModelRateLimitError):
        code, what = "provider_busy", "allows no more calls now"
    else:
        code, what = "provider_failed", f"failed with HTTP {status}" if status else "failed"
    passing = status is None or status in (408, 409, 425, 429) or status >= 500  # noqa: PLR2004 - HTTP
    return _provider(code, what, error, target, retryable=passing and hint is not False)


def _provider(code: str, what: str, error: Exception, target: Target, *, retryable: bool = False) -> ProviderError:
    told = _told(error)
    return ProviderError(
        code,
        f"{target.id} {what}{f': {told}' if told else ''}.",
        provider=target.id,
        retryable=retryable,
        retry_after_seconds=error.retry_after if isinstance(error, ai.ModelAPIError) else None,
        status=_status(error),
        next_step="" if retryable else "Run: corrobora doctor",
    )


def _told(error: Exception) -> str:
    body = getattr(error, "body", None)
    inner = body.get("message") or body.get("error") if isinstance(body, dict) else body  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - foreign JSON
    text = str(inner or error)  # pyright: ignore[reportUnknownArgumentType] - foreign JSON
    return _SECRET.sub("***", " ".join(text.split()))[:_SHOWN].rstrip(".")


def _status(error: Exception) -> int | None:
    return error.status_code if isinstance(error, ai.ModelHTTPError) else None


def _caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    for _ in range(10):
        if error is None:
            return False
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False
