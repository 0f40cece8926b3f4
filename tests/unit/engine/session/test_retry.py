"""Parallel parts fail as parts in turn would: with the failure itself, and with the one that concerns the whole run."""

from __future__ import annotations

import asyncio

import pytest

from corrobora.domain.errors import JournalError, NeedsHuman, ProviderError, Stale
from corrobora.engine.session import run_parallel


async def value(of: int) -> int:
    await asyncio.sleep(0.001 * (5 - of))
    return of


async def fails(error: BaseException) -> int:
    raise error


async def test_results_keep_the_order_whoever_ends_first() -> None:
    assert await run_parallel([value(n) for n in range(5)]) == list(range(5))


@pytest.mark.parametrize(
    "error",
    [NeedsHuman("paused", "The run pauses."), JournalError("database_down", "It is down."), Stale("overtaken"),
     ProviderError("provider_failed", "It failed."), ValueError("a bug")],
)  # fmt: skip
async def test_a_failure_is_raised_itself_and_the_others_are_cancelled(error: BaseException) -> None:
    ended: list[str] = []

    async def waits() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        return 0

    with pytest.raises(type(error)) as raised:
        await run_parallel([waits(), fails(error), waits()])
    assert raised.value is error
    assert ended == ["cancelled", "cancelled"]


async def test_of_several_failures_the_one_that_concerns_the_whole_run_counts() -> None:
    human, stale = NeedsHuman("paused", "The run pauses."), Stale("overtaken")
    with pytest.raises(NeedsHuman):
        await run_parallel([fails(ValueError("a bug")), fails(human)])
    with pytest.raises(Stale):
        await run_parallel([fails(human), fails(stale)])


async def test_groups_inside_groups_give_one_failure() -> None:
    async def outer() -> list[int]:
        return await run_parallel([fails(JournalError("database_down", "It is down.")), value(1)])

    with pytest.raises(JournalError):
        await run_parallel([outer(), outer()])
