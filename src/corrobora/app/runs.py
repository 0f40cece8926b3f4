"""The person behind a run, reached through stored answers: any process may answer, and waiting costs nothing.

Knows the topics of answers. Does not know terminals or pages.
"""

from __future__ import annotations

import asyncio
import re
import time
from datetime import UTC, datetime

from corrobora.domain.errors import NeedsHuman
from corrobora.domain.plan import Plan
from corrobora.storage.journal.runs import Runs

PLAN_TOPIC = "plan"
RETRY_TOPIC = "retry"  # failures of an ended run are tried again
UNTIL_TOPIC = "until"  # the stage after which the run pauses
YES = "yes"
_PAUSE_REASON = re.compile(r"after round (\d+) of (\S+)\.(?:\s|$)")


def pause_topic(reason: str) -> str | None:
    """Return the topic of the answer that a paused run waits for, from the reason it gave; None if it gave none."""
    found = _PAUSE_REASON.search(reason)
    return f"{found[2]}/{found[1]}" if found else None


class StoredHuman:
    """`ports.Human` over the table of answers."""

    def __init__(self, runs: Runs, run: str) -> None:
        self._runs = runs
        self._run = run

    async def authorize(self, plan: Plan) -> bool:  # noqa: ARG002 - the plan was told as an event and kept as a file
        """Return what the person said of the plan. Raises `NeedsHuman` if nobody said anything yet."""
        said = (await self._runs.read_answers(self._run)).get(PLAN_TOPIC)
        if said is None:
            raise NeedsHuman(
                "plan_not_authorized",
                "The plan waits for authorization.",
                next_step=f"Read it and go on with: corrobora authorize {self._run}",
            )
        return said == YES

    async def between_rounds(self, path: str, number: int) -> str:
        """Return the hint for the next round. Raises `NeedsHuman` until there is one (ROUNDS-25)."""
        said = (await self._runs.read_answers(self._run)).get(f"{path}/{number}")
        if said is None:
            raise NeedsHuman(
                "paused",
                f"The run pauses after round {number} of {path}.",
                next_step=f'Steer or go on with: corrobora steer {self._run} "HINT"',
            )
        return said


class SystemClock:
    """`ports.Clock` of the machine: monotonic for decisions, wall time for people only."""

    def now(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    def utc_time(self) -> str:
        """ISO 8601 time in UTC."""
        return datetime.now(UTC).isoformat(timespec="seconds")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
