"""How work is repeated and grouped: calls that are retried after an outage, parts of a run that work in parallel.

Knows the budget of a run and which of several failures counts. Does not know what is called, nor the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from corrobora.domain.errors import JournalError, ModelSilent, NeedsHuman, ProviderError, Stale
from corrobora.engine.session.budget import Budget
from corrobora.engine.session.journal import hash_parts
from corrobora.policies.queries import compute_backoff
from corrobora.ports import Clock

T = TypeVar("T")

UNLIMITED_RETRY_SECONDS = 120.0  # how long an outage is waited for where a run has no time limit
_RUN_WIDE_ERRORS = (Stale, JournalError, NeedsHuman, ModelSilent)  # what concerns the whole run, the most urgent first


async def call_with_retries(attempt: Callable[[], Awaitable[T]], budget: Budget, clock: Clock) -> T:
    """Try, and try again after retryable failures, while the policy and the innermost scope allow it."""
    tried = 0
    waited = 0.0
    while True:
        try:
            return await attempt()
        except ProviderError as error:
            if not error.retryable:
                raise
            tried += 1
            bound = min(budget.scope_left, UNLIMITED_RETRY_SECONDS - waited)
            jitter = int(hash_parts(str(tried), error.message)[:4], 16) / 0xFFFF
            pause = compute_backoff(tried, error.retry_after_seconds, bound, jitter=jitter)
            if pause is None:
                raise
            waited += pause
            await clock.sleep(pause)


async def run_parallel(work: Sequence[Awaitable[T]]) -> list[T]:
    """Await all in parallel, as one group: if one fails the others are cancelled. Results keep the order.

    Raises the failure itself and not a group of it, so that a caller meets the same errors as if the parts ran in turn:
    of several the one that concerns the whole run, else the first.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_await_work(each)) for each in work]
    except BaseExceptionGroup as several:
        causes: Sequence[BaseException] = several.exceptions  # parts that use this function hand up no groups
        raise next((e for kind in _RUN_WIDE_ERRORS for e in causes if isinstance(e, kind)), causes[0]) from None
    return [task.result() for task in tasks]


async def _await_work(work: Awaitable[T]) -> T:
    return await work
