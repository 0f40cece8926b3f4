"""Rewind: a run taken back to the begin of one of its stages, so that it is done again from there (S1, from_stage).

Knows which keys of the journal belong to which stage. Does not run anything: submit the run afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping

from corrobora.domain.errors import UserError
from corrobora.domain.run import Stage
from corrobora.storage.database import Database
from corrobora.storage.runs import validate_id

# What is forgotten for each stage, as a pattern over the keys of the journal; a later stage keeps more.
_FORGOTTEN_KEYS: Mapping[Stage, str] = {
    Stage.CLARIFY: r".",
    Stage.PLAN: r"^(?!root/clarify#)",
    Stage.INVESTIGATE: r"^(?!root/clarify#|root(/\d+)?/plan#|authorized$)",
    Stage.SYNTHESIZE: r"^root/(synthesize#|write/|critique/|revise/|judge/)|^rescue/|^deliver/",
    Stage.REVIEW: r"^root/(critique|revise|judge)/|^deliver/",
    Stage.VERIFY: r"^root/judge/|^deliver/",
    Stage.DELIVER: r"^deliver/",
}
# Events are never taken back: those of a stage that is done again make room for new ones by another key.
_REPEATED_EVENTS = ("stage", "report", "verify", "judge", "complete", "run.finished", "leaf.failed", "warning")


async def rewind_run(database: Database, run: str, stage: Stage) -> None:
    """Forget what was answered from `stage` on, and open the run again. One statement.

    Raises:
        UserError: `run_unknown`, or `run_active` while an attempt works on it.
    """
    row = await database.fetch_one(
        """
        WITH opened AS (
            UPDATE runs SET status = 'queued', outcome = '', reason = '', cancel_requested = false, deadline = NULL,
                epoch = epoch + 1, updated_at = clock_timestamp()
            WHERE id = %(run)s AND status <> 'running' RETURNING id
        ), forgotten AS (
            DELETE FROM journal USING opened WHERE run = opened.id AND key ~ %(pattern)s
        ), told AS (
            UPDATE run_events SET key = key || '!' || seq FROM opened
            WHERE run = opened.id AND (type = ANY(%(again)s) OR %(all)s)
        )
        SELECT (SELECT count(*) FROM opened), (SELECT status FROM runs WHERE id = %(run)s)
        """,
        {
            "run": validate_id(run),
            "pattern": _FORGOTTEN_KEYS[stage],
            "again": list(_REPEATED_EVENTS),
            "all": stage in (Stage.CLARIFY, Stage.PLAN, Stage.INVESTIGATE),
        },
        where="taking a run back",
    )
    if row is not None and row[0]:
        return
    if row is None or row[1] is None:
        raise UserError("run_unknown", f"There is no run {run} in this database.", next_step="See: corrobora runs list")
    raise UserError("run_active", f"Run {run} is being worked on.", next_step=f"First: corrobora cancel {run}")
