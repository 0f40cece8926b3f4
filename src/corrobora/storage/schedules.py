"""Schedules: requests that become runs by the clock, each turn exactly once over all workers (S1, weekly report).

Knows cron lines and whose turn it is. Does not know how a run is executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from croniter import CroniterError, croniter

from corrobora.domain.errors import UserError
from corrobora.domain.run import Request, RunId
from corrobora.storage import queue_sql as sql
from corrobora.storage.database import Database
from corrobora.storage.runs import dump_request, load_request, new_run_id, validate_id


@dataclass(frozen=True, slots=True)
class Schedule:
    """A request and when it runs. `cron` has five fields, or six with seconds last; times are UTC."""

    id: str
    cron: str
    request: Request
    next_at: str
    last_run: str | None


class Schedules:
    """The schedules of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, identity: str, cron: str, request: Request) -> datetime:
        """Store a schedule, replacing one of the same id, and return when its next turn is. Raises `UserError`."""
        due = next_run_time(cron, datetime.now(UTC))
        await self._database.execute(
            """INSERT INTO schedule (id, cron, request, next_at) VALUES (%s, %s, %s, %s)
            ON CONFLICT (id) DO UPDATE
            SET cron = excluded.cron, request = excluded.request, next_at = excluded.next_at""",
            [validate_id(identity), cron, dump_request(request), due],
            where="storing a schedule",
        )
        return due

    async def remove(self, identity: str) -> bool:
        """Remove a schedule; False if there was none."""
        return await self._database.execute("DELETE FROM schedule WHERE id = %s", [identity]) > 0

    async def list(self) -> Sequence[Schedule]:
        """Return all schedules, the next one first."""
        rows = await self._database.fetch_all(
            "SELECT id, cron, request, next_at, last_run FROM schedule ORDER BY next_at"
        )
        return [
            Schedule(identity, cron, load_request(identity, request), due.astimezone(UTC).isoformat(), last)
            for identity, cron, request, due, last in rows
        ]

    async def start_due_runs(self, task: str, queue: str) -> Sequence[RunId]:
        """Make a run for each schedule whose time has come. Called by every worker; each turn is taken once.

        Turns that were missed while no worker lived are made up for by one run, not by many.
        """
        made: list[RunId] = []
        for identity, cron, _, due in await self._database.fetch_all(sql.READ_DUE_SCHEDULES, where="reading schedules"):
            run = new_run_id()
            values = {"id": identity, "due": due, "next": next_run_time(cron, datetime.now(UTC)), "run": run}
            row = await self._database.fetch_one(
                sql.TAKE_TURN, {**values, "task": task, "shared": queue}, where="starting a scheduled run"
            )
            if row is not None:
                made.append(run)
        return made


def next_run_time(cron: str, now: datetime) -> datetime:
    """Return the first time after `now` that the cron line names; raise `UserError` if it is not a cron line."""
    try:
        return croniter(cron, now).get_next(datetime)
    except (CroniterError, ValueError, KeyError) as error:
        raise UserError(
            "schedule_cron",
            f"{cron!r} is not a cron line: {error}.",
            next_step='Write minute, hour, day, month and weekday, as in "0 7 * * 1" for Mondays at seven (UTC).',
        ) from error
