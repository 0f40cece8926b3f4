"""The tree of errors, each with a stable code, an exit code and an HTTP status.

    CorroboraError
    ├── UserError            bad input: what, where, which limit, the next step        (exit 2, 422)
    │   └── Infeasible       a plan or question over a limit of feasibility            (exit 2, 422)
    ├── NeedsHuman           a person must decide before the run continues             (exit 3, 409)
    ├── ProviderError        a provider refused, failed or sent a bad answer           (exit 7, 502)
    │   └── ModelSilent      the model named for a run never answered a call of it     (exit 7, 502)
    ├── RoleError            a role's output could not be used                         (exit 7, 502)
    ├── ReadError            a document could not be read: carries a closed outcome    (exit 6, 422)
    ├── LimitReached         a limit was reached: which, value, limit, scope           (exit 8, 429)
    ├── NoEvidence           nothing was found that can be reported                    (exit 6, 404)
    ├── RunRemoved           somebody removed the run while it was worked on           (exit 130, 404)
    └── JournalError         the store is down, damaged or of another version          (exit 1, 503)

    Stale (BaseException)    a newer attempt owns the run: stop at once, write nothing

Knows messages and codes. Does not know who shows them or how.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from corrobora.domain.limits import Usage


def may_pass(status: int) -> bool:
    """True for a status of HTTP that says nothing against the same request later: some tell of the connection alone."""
    return status in {408, 409, 421, 425, 429, 499} or status >= 500  # noqa: PLR2004 - HTTP


def lacks_memory(error: BaseException) -> bool:
    """True if a limit of memory or processes made the error, whichever library met it."""
    return isinstance(error, MemoryError) or bool(_NO_MEMORY.search(str(error)))


def describe_failure(error: BaseException) -> str:
    """Say what failed: our own message, a limit of memory, or the kind and words of an unexpected error."""
    if isinstance(error, CorroboraError):
        return error.message
    words = f"{type(error).__name__}: {error}"
    return f"{NO_MEMORY} ({words.rstrip('.: ')})." if lacks_memory(error) else words


def describe_connection(error: BaseException) -> str:
    """Say in plain words what became of a connection, by the causes of an error of whichever library."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        several: Sequence[BaseException] = getattr(cause, "exceptions", ())  # of a group
        cause = next(iter(several), None) or cause.__cause__ or cause.__context__
    names = [f"{type(each).__name__} {each}" for each in causes]
    told = next((words for pattern, words in _CONNECTIONS if any(pattern.search(name) for name in names)), "")
    return told or next(
        (each.strerror.lower() for each in causes if isinstance(each, OSError) and each.strerror),
        "the connection broke",
    )


_CONNECTIONS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (  # names of exceptions in the libraries that connect, and the words of the system
        ("NotSupported.*STARTTLS", "it offers no STARTTLS; smtps:// before its name is TLS from the first byte"),
        ("NotSupported.*AUTH", "it takes no user name"),
        ("Timeout", "no answer in time"),
        ("ConnectionRefused|Errno 111|refused", "nobody listens there"),
        ("gaierror", "its name has no address"),
        ("unreachable", "the network does not reach it"),
        ("TruncatedBody", "its answer ended early"),
        ("ConnectionReset|BrokenPipe|Disconnected|RemoteProtocol|Incomplete", "it closed the connection"),
        ("ProtocolError|BadStatus", "its answer is not of the protocol"),
        ("Connect", "no connection could be made"),
        ("ReadError|WriteError", "the connection broke"),
    )
)
NO_MEMORY = "A limit of memory or of processes is reached"
MORE_MEMORY = "close other programs or raise the limit (ulimit -v and -u, or those of the container; 500 MB are enough)"
_NO_MEMORY = re.compile("start new thread|failed to map segment|annot allocate memory|Resource temporarily unavailable")


class CorroboraError(Exception):
    """Base of every error the package raises deliberately.

    `code` is stable and may be matched by programs; the message says what, where, which limit and the next step.
    `usage` is what was spent before the failure: a failed call is metered like any other.
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, code: str, message: str, *, next_step: str = "") -> None:
        step = f"Next: {next_step}" if next_step.startswith("corrobora ") else next_step
        super().__init__(f"{message} {step}".strip())
        self.code = code
        self.message = message
        self.next_step = next_step
        self.usage = Usage()


class UserError(CorroboraError):
    """Invalid input; nothing was spent and nothing was lost."""

    exit_code = 2
    http_status = 422

    @classmethod
    def missing_extra(cls, code: str, error: ImportError, extra: str) -> UserError:
        """A package that only an extra of this one brings is not installed."""
        return cls(
            code, f"{error.name} is not installed.", next_step=f"In a checkout of Corrobora: pip install '.[{extra}]'"
        )


class Infeasible(UserError):
    """A question or plan beyond the limits of feasibility (TREE-13), with narrower questions to ask instead."""

    def __init__(self, code: str, message: str, *, next_step: str = "", narrower: tuple[str, ...] = ()) -> None:
        super().__init__(code, message, next_step=next_step)
        self.narrower = narrower


class NeedsHuman(CorroboraError):
    """The run waits for a person: a plan to authorize or a question to answer. Its state is saved."""

    exit_code = 3
    http_status = 409


class ProviderError(CorroboraError):
    """A search, page or model provider refused, failed or sent an unusable answer.

    Args:
        retryable: a later attempt may succeed (429, 5xx, lost connection); not for keys, quota and shape.
        retry_after_seconds: what the provider asked for, if it did.
        status: the HTTP status, if there was an answer.
    """

    exit_code = 7
    http_status = 502

    def __init__(  # noqa: PLR0913 - an error carries what its reader needs; all are keywords
        self,
        code: str,
        message: str,
        *,
        provider: str = "",
        retryable: bool = False,
        retry_after_seconds: float | None = None,
        status: int | None = None,
        next_step: str = "",
    ) -> None:
        super().__init__(code, message, next_step=next_step)
        self.provider = provider
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds
        self.status = status

    @classmethod
    def key_refused(cls, provider: str, *, setting: str, status: int | None = None) -> ProviderError:
        """The provider rejected the key. Names the setting, never its value."""
        return cls(
            "provider_refused",
            f"{provider} refused the key.",
            provider=provider,
            status=status,
            next_step=f"Check the setting {setting}.",
        )

    @classmethod
    def request_failed(
        cls, provider: str, *, status: int | None = None, retry_after: float | None = None, why: str = ""
    ) -> ProviderError:
        """The provider failed: retryable for statuses that may pass and broken connections."""
        retryable = status is None or may_pass(status)
        quota = status == 402  # noqa: PLR2004 - HTTP
        return cls(
            "provider_quota" if quota else "provider_failed",
            f"{provider} failed{f' with HTTP {status}' if status else ''}{f': {why}' if why else ''}.",
            provider=provider,
            status=status,
            retryable=retryable and not quota,
            retry_after_seconds=retry_after,
        )

    @classmethod
    def bad_content(cls, provider: str, why: str) -> ProviderError:
        """The provider's answer has an unknown shape: never treated as "no results"."""
        return cls("provider_bad_content", f"{provider} answered in an unknown shape: {why}.", provider=provider)


class ModelSilent(ProviderError):
    """The model that was named for a run never answered a call of it. It ends the run: nothing replaces it unasked."""

    @classmethod
    def from_failure(cls, failure: ProviderError | str) -> ModelSilent:
        """Return the end of a run whose named model failed, with an error or for a reason, and answered nothing."""
        error = ProviderError("", failure) if isinstance(failure, str) else failure
        steps = (error.next_step.rstrip("."), "Or leave --model out: the extractive analyst needs no model.")
        return cls(
            "provider_silent",
            f"The model never answered: {error.message}",
            provider=error.provider,
            status=error.status,
            next_step=". ".join(filter(None, steps)),
        )

    @classmethod
    def nobody_listens(cls, model: str, address: str, *, local: bool) -> ModelSilent:
        """Nobody listens at the address of the model that was named: a server of this machine, or one elsewhere."""
        problem = f"There is no server at {address}" if local else f"{address} cannot be reached"
        step = "Start it" if local else "Check the network, a proxy (HTTPS_PROXY) and the address"
        return cls(
            "provider_silent", f"{problem} for {model}.", provider=model, next_step=f"{step}, or leave --model out."
        )


class RoleError(CorroboraError):
    """A role's output could not be parsed or violated its contract, even after one repair."""

    exit_code = 7
    http_status = 502


class ReadError(CorroboraError):
    """A document could not be read; `outcome` is one of the closed set in `evidence.ReadOutcome`."""

    exit_code = 6
    http_status = 422

    def __init__(self, outcome: str, message: str, *, next_step: str = "") -> None:
        super().__init__(f"read_{outcome}", message, next_step=next_step)
        self.outcome = outcome


class LimitReached(CorroboraError):
    """A limit was reached: seconds, tokens, money, searches, or sendings of one prompt."""

    exit_code = 8
    http_status = 429

    def __init__(self, which: str, *, value: float, limit: float, scope: str, next_step: str = "") -> None:
        super().__init__(f"limit_{which}", f"{which}: {value:g} of {limit:g} ({scope}).", next_step=next_step)
        self.which, self.value, self.limit, self.scope = which, value, limit, scope

    @property
    def is_of_part(self) -> bool:
        """True if the tokens of one part of a run are spent, not those of the run."""
        return (self.which, self.scope) == ("tokens", "part")


class NoEvidence(CorroboraError):
    """Nothing was found, or nothing could be read: the report says only this."""

    exit_code = 6
    http_status = 404


class RunRemoved(CorroboraError):
    """Somebody removed the run while this program worked on it: like a cancelled one, and nothing of it is left."""

    exit_code = 130
    http_status = 404

    def __init__(self, run: str) -> None:
        super().__init__(
            "run_removed",
            f"The run {run} was removed while this program worked on it: it has no report, and cannot be resumed.",
            next_step="To research it after all, ask the question again.",
        )


class JournalError(CorroboraError):
    """The store is unavailable, damaged, full, or of another version."""

    exit_code = 1
    http_status = 503


class Stale(BaseException):
    """A newer attempt owns this run. A BaseException, so that no role or adapter can catch it by accident."""
