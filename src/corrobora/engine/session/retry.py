"""Parallel: several parts of one run at once, as one group that fails with one cause.

Knows which of several causes counts. Does not know what the parts do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from corrobora.domain.errors import JournalError, NeedsHuman, Stale

T = TypeVar("T")

_RUN_WIDE_ERRORS = (Stale, JournalError, NeedsHuman)  # what concerns the whole run, the most urgent first


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
