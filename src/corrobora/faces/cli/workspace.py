"""The workspace of a command: opened for one coroutine, closed whatever happens.

Knows how a synchronous command runs asynchronous work. Does not know what the work is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from corrobora.config import Settings
from corrobora.domain.errors import UserError

if TYPE_CHECKING:
    from corrobora.assembly import Workspace

T = TypeVar("T")


def with_workspace(settings: Settings, work: Callable[[Workspace], Awaitable[T]]) -> T:
    """Open the workspace, await `work` on it, close it, and return what it gave."""

    async def whole() -> T:
        from corrobora.assembly import Workspace  # noqa: PLC0415 - `corrobora --help` must not load the database

        async with Workspace.open(settings) as workspace:
            return await work(workspace)

    return asyncio.run(whole())


def checked_run(text: str) -> str:
    """Return the id of a run if it looks like one, before a database is opened for it (C14)."""
    letters = set("abcdefghijklmnopqrstuvwxyz0123456789_-")
    if 1 <= len(text) <= 64 and set(text) <= letters:  # noqa: PLR2004 - the length of the column
        return text
    raise UserError(
        "run_id",
        f"{text[:80]!r} is not the id of a run: ids have 1 to 64 of a-z, 0-9, _ and -.",
        next_step="The ids: corrobora runs list",
    )
