"""Whether the worker of a run still lives: its heartbeats, watched by the steady clock of whoever watches.

Knows that a living worker changes its heartbeat, and counts, look by look, for how long one stayed the same. The time
that a heartbeat names is never compared with a clock: a clock that jumps, of the database or of a machine, makes no
living worker look dead and no dead one alive. Does not know what becomes of a run whose worker is dead.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from corrobora.storage.postgres import Database
from corrobora.storage.postgres.processes import has_ended, is_alive_here
from corrobora.storage.queue.statements import POLL_SECONDS

DEAD_AFTER_SECONDS = 15.0  # of missed heartbeats, if the worker's process cannot be seen; the same in every worker
SILENT_AFTER_SECONDS = 3.0  # of missed heartbeats, if the worker's process is seen to have ended
ABANDONED_AFTER_SECONDS = 120.0  # and if it can be seen and lives: a busy machine is not dead, a loop that ended is
_LONGEST_STEP_SECONDS = 3.0  # that one look counts: after a pause of the database, workers get time for a heartbeat

_READ_HEARTBEATS: LiteralString = """
SELECT DISTINCT coalesce(w.id, -j.id), w.last_heartbeat
FROM procrastinate_jobs j LEFT JOIN procrastinate_workers w ON w.id = j.worker_id
WHERE j.status = 'doing' AND j.task_name = %(task)s AND j.lock <> ALL(%(mine)s::text[])
"""
# The jobs of silent workers, with the process that owns the run: whether it is dead, its machine knows better.
_READ_SILENT_JOBS: LiteralString = """
SELECT j.id, coalesce(w.id, -j.id), w.last_heartbeat, coalesce(r.owner, ''),
    r.status = 'running',  -- else the owner is that of an earlier attempt
    coalesce(r.queue <> %(shared)s, false)  -- a command has it, and nobody takes it over
FROM procrastinate_jobs j LEFT JOIN procrastinate_workers w ON w.id = j.worker_id LEFT JOIN runs r ON r.id = j.lock
WHERE j.status = 'doing' AND j.task_name = %(task)s AND j.lock <> ALL(%(mine)s::text[])
    AND coalesce(w.id, -j.id) = ANY(%(silent)s::bigint[])
"""

_READ_OWNER: LiteralString = """
SELECT coalesce(r.owner, ''), r.status, r.epoch, j.id, w.last_heartbeat FROM runs r
LEFT JOIN procrastinate_jobs j ON j.lock = r.id AND j.status = 'doing'
LEFT JOIN procrastinate_workers w ON w.id = j.worker_id WHERE r.id = %s AND r.status IN ('queued', 'running')
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SilentJob:
    """A job whose worker misses heartbeats. `heartbeat` is the last one, None if the worker has no row any more."""

    id: int
    heartbeat: datetime | None
    seconds: float
    owner: str
    running: bool
    own: bool

    @property
    def ended(self) -> bool:
        """True if the process of the worker is seen to have ended."""
        return self.running and has_ended(self.owner)

    @property
    def dead(self) -> bool:
        """True without heartbeats for long enough; a process that is seen to live gets longer, a command for ever."""
        if self.seconds > ABANDONED_AFTER_SECONDS and not self.own:
            return True
        return self.seconds > DEAD_AFTER_SECONDS and not is_alive_here(self.owner, stopped=self.own)


class Stillness:
    """For how long values have stayed the same, counted from look to look."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._looked: float | None = None
        self._seen: dict[int, tuple[object, float]] = {}

    def look(self, values: Mapping[int, object]) -> Mapping[int, float]:
        """Return the seconds for which each value has been seen unchanged."""
        now = self._now()
        passed = 0.0 if self._looked is None else min(now - self._looked, _LONGEST_STEP_SECONDS)
        self._looked, before = now, self._seen
        self._seen = {
            key: (value, before[key][1] + passed if key in before and before[key][0] == value else 0.0)
            for key, value in values.items()
        }
        return {key: seconds for key, (_, seconds) in self._seen.items()}


class WorkerWatch:
    """The heartbeats of all workers that have a job, as one process sees them."""

    def __init__(self, database: Database, now: Callable[[], float], pause: Callable[[float], Awaitable[None]]) -> None:
        self._database = database
        self._now = now
        self._pause = pause
        self._stillness = Stillness(now)

    async def list_silent_jobs(self, values: Mapping[str, object]) -> Sequence[SilentJob]:
        """Look at the heartbeats, and return the jobs of workers that miss some."""
        where = "looking for dead workers"
        beats = await self._database.fetch_all(_READ_HEARTBEATS, values, where=where)
        still = self._stillness.look({int(key): beat for key, beat in beats})
        silent = [key for key, seconds in still.items() if seconds >= SILENT_AFTER_SECONDS]
        if not silent:
            return ()
        rows = await self._database.fetch_all(_READ_SILENT_JOBS, {**values, "silent": silent}, where=where)
        return [
            SilentJob(job, beat, still[key], owner, bool(running), own) for job, key, beat, owner, running, own in rows
        ]

    async def find_left_owner(self, run: str) -> str | None:
        """Return the owner of a run that somebody has, after seeing no sign of life of it for long enough; else None.

        Whoever is seen to live here is not waited for, nor whose heartbeat moves.
        """
        stillness, before, told = Stillness(self._now), -1.0, False
        while True:
            row = await self._database.fetch_one(_READ_OWNER, [run], where="reading a run")
            if row is None or not row[0] or is_alive_here(row[0], stopped=True):
                return None
            still = stillness.look({0: row})[0]
            if still <= before:  # something of it has changed
                return None
            if still > DEAD_AFTER_SECONDS:
                return str(row[0])
            if still >= SILENT_AFTER_SECONDS and not told:
                told = True
                _log.warning("run %s: waiting for a sign of life of the process that has it", run)
            before = still
            await self._pause(POLL_SECONDS)
