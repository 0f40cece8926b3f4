"""Runs: what was asked, their statuses, the attempt that owns each, and the files that they leave.

Knows the table `runs` and what belongs to a run. A run is the truth; a job of the queue is only one attempt at it. A
report with its files, and the end of an attempt, are one statement each: no crash leaves half of either. Does not know
how a run is executed or how attempts are queued.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, LiteralString

from psycopg.rows import TupleRow

from corrobora.domain.errors import JournalError, Stale, UserError
from corrobora.domain.run import Event, Request, RunId, RunRow, RunStatus, validate_id
from corrobora.ports import Entry
from corrobora.storage.journal.artifacts import OF_A_REPORT, Artifact, compute_checksum, list_columns
from corrobora.storage.journal.commits import (
    EVENT_CHANNEL,
    dump_event_data,
    entry_digest,
    require_storable,
    verify_entry,
)
from corrobora.storage.postgres import Database
from corrobora.storage.postgres.processes import has_ended

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NEWEST = "last"  # what a person may write for the newest run
STATUS_CHANNEL = "corrobora_runs"
FINAL_STATUSES = tuple(status.value for status in RunStatus if status.final)
# The end of an attempt stores its time; until then its calls tell it.
_ROW: LiteralString = """SELECT id, status, epoch, request, created_at, updated_at, outcome, reason, owner,
    greatest(elapsed_seconds, worked), extract(epoch FROM clock_timestamp() - last)::float8 FROM runs LEFT JOIN LATERAL
    (SELECT max((meta::jsonb->>'elapsed')::float8) AS worked, max(at) FILTER (WHERE j.epoch = runs.epoch) AS last
    FROM journal j WHERE run = runs.id AND status IN ('running', 'interrupted')) AS calls ON true """
_FIND: LiteralString = """
SELECT id FROM runs WHERE starts_with(id, %(name)s) ORDER BY id <> %(name)s, id LIMIT 2
"""
_LIST: LiteralString = f"""{_ROW}
WHERE created_at <= %(at)s AND (created_at < %(at)s OR id > %(last)s)
    AND (%(statuses)s::text[] = '{{}}' OR status = ANY(%(statuses)s))
    AND (%(text)s = ''
    OR strpos(lower(substring(request FROM '"question":"((?:[^"\\\\]|\\\\.)*)"')), lower(%(text)s)) > 0)
ORDER BY created_at DESC, id LIMIT %(limit)s
"""
_CLAIM: LiteralString = """
UPDATE runs SET epoch = epoch + 1, status = 'running', owner = %s, outcome = '', reason = '',
    updated_at = clock_timestamp()
WHERE id = %s AND status <> ALL(%s) AND NOT cancel_requested RETURNING epoch
"""
# The end of an attempt, whole or not at all: its time, its status and outcome, the last event, what is answered by it.
_FINISH: LiteralString = """
WITH ended AS (
    UPDATE runs SET updated_at = clock_timestamp(),
        elapsed_seconds = coalesce(%(seconds)s::float8, elapsed_seconds),
        next_seq = next_seq + CASE WHEN %(event)s = '' THEN 0 ELSE 1 END,
        status = CASE WHEN cancel_requested AND %(waits)s THEN 'cancelled' ELSE %(status)s END,
        outcome = CASE WHEN cancel_requested AND %(waits)s THEN 'cancelled' ELSE %(outcome)s END,
        reason = CASE WHEN cancel_requested AND %(waits)s THEN '' ELSE %(reason)s END
    WHERE id = %(run)s AND epoch = %(epoch)s AND status <> ALL(%(final)s) RETURNING id, epoch, next_seq
), told AS (
    INSERT INTO run_events (run, seq, epoch, type, key, path, data)
    SELECT id, next_seq, epoch, %(type)s, %(event)s, %(path)s, %(data)s FROM ended WHERE %(event)s <> ''
), answered AS (
    INSERT INTO run_answer (run, topic, answer) SELECT id, %(answered)s, '' FROM ended WHERE %(answered)s <> ''
    ON CONFLICT (run, topic) DO UPDATE SET at = clock_timestamp(), answer = ''
)
SELECT pg_notify(%(events)s, id || ' ' || next_seq), pg_notify(%(channel)s, id) FROM ended
"""
_FILES: LiteralString = """unnest(%(names)b::text[], %(kinds)b::text[], %(digests)b::bytea[], %(contents)b::bytea[])
        AS f (name, media_type, digest, bytes)
    ON CONFLICT (run, name) DO UPDATE SET media_type = excluded.media_type, digest = excluded.digest,
        bytes = excluded.bytes, at = clock_timestamp()"""
_STORE_FILES: LiteralString = f"""
INSERT INTO run_artifact (run, name, media_type, digest, bytes)
SELECT r.id, f.* FROM (SELECT id FROM runs WHERE id = %(run)b AND epoch = %(epoch)b) AS r, {_FILES}
"""  # noqa: S608 - it is given no values, as the next one
# A report that was sealed first stays the one. What an earlier report left, as before its run was taken back, goes.
_SEAL: LiteralString = f"""
WITH own AS MATERIALIZED (
    SELECT id FROM runs WHERE id = %(run)b AND epoch = %(epoch)b FOR NO KEY UPDATE
), sealed AS (
    INSERT INTO journal (run, key, epoch, digest, meta, out)
    SELECT id, %(key)b, %(epoch)b, %(digest)b, %(meta)b, %(out)b FROM own ON CONFLICT DO NOTHING RETURNING run
), gone AS (
    DELETE FROM run_artifact USING sealed WHERE run_artifact.run = sealed.run
        AND name ~ %(old)b AND name <> ALL(%(names)b::text[])
), written AS (
    INSERT INTO run_artifact (run, name, media_type, digest, bytes)
    SELECT sealed.run, f.* FROM sealed, {_FILES}
)
SELECT (SELECT count(*) FROM own), (SELECT count(*) FROM sealed)
"""  # noqa: S608 - as above
_SEALED: LiteralString = "SELECT digest, meta, out FROM journal WHERE run = %s AND key = %s"
_REMOVE: LiteralString = """
WITH gone AS (DELETE FROM runs WHERE id = %(run)s RETURNING id),
    entries AS (DELETE FROM journal WHERE run = %(run)s),
    intents AS (DELETE FROM journal_intent WHERE run = %(run)s),
    events AS (DELETE FROM run_events WHERE run = %(run)s),
    keys AS (DELETE FROM request_key WHERE run = %(run)s),
    jobs AS (DELETE FROM procrastinate_jobs WHERE lock = %(run)s)
SELECT id FROM gone
"""
_CLAIM_KEY: LiteralString = """
INSERT INTO request_key (digest, run) VALUES (%s, %s)
ON CONFLICT (digest) DO UPDATE SET run = request_key.run RETURNING run
"""


def new_run_id() -> RunId:
    """Return an id that nobody can guess: 128 random bits as 26 letters and digits."""
    return RunId("r_" + base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower())


@cache
def _request_adapter() -> TypeAdapter[Request]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - building it takes 60 ms, which listing runs does not need

    return TypeAdapter(Request)


def answer_mark(run: str) -> str:
    """Return what is notified when a person has answered something of a run, beside changes of the run itself."""
    return f"answer:{run}"


def unknown_run_error(run: str) -> UserError:
    """Return the error for an id without a run."""
    why = "are no runs yet" if run == NEWEST else f"is no run {run} in this database"
    return UserError("run_unknown", f"There {why}.", next_step="See: corrobora runs list")


def dump_request(request: Request) -> str:
    """Write a request as JSON."""
    return _request_adapter().dump_json(request).decode()


def load_request(run: str, text: str) -> Request:
    """Read a stored request; raise `JournalError` if it does not have the closed shape of this version."""
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    try:
        return _request_adapter().validate_json(text)
    except ValidationError as error:
        raise JournalError(
            "run_request",
            f"The stored request of {run} cannot be read: {error.errors()[0]['msg']}.",
            next_step="It was written by another version of corrobora; use that one.",
        ) from error


class Runs:
    """The runs of one database. Every method is one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, request: Request, *, run: RunId | None = None, webhook: str = "") -> RunId:
        """Store a request as a new run with status `queued`; it starts when it is submitted or claimed.

        The address `webhook` is notified of its end. With an id of the caller's own the call may be repeated: the same
        request gives the same run.

        Raises:
            UserError: the id is taken by another request (`run_exists`), or does not look like an id.
        """
        identity, text = validate_id(run) if run is not None else new_run_id(), dump_request(request)
        made = await self._database.execute(
            "INSERT INTO runs (id, request, webhook) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            [identity, text, webhook],
            where="creating a run",
        )
        if not made and (await self.get(identity)).request != request:
            raise UserError(
                "run_exists",
                f"The run {identity} exists already, with another request.",
                next_step="Choose another id, or leave it out.",
            )
        return identity

    async def get(self, run: str) -> RunRow:
        """Return a run. Raises `UserError` with code `run_unknown` if there is none with this id."""
        row = await self._database.fetch_one(_ROW + "WHERE id = %s", [validate_id(run)], where="reading a run")
        if row is None:
            raise unknown_run_error(run)
        return _run_row(row)

    async def find_id(self, given: str) -> RunId:
        """Return the id of the run that a person means: an id, the start of one that no other has, or `last`.

        Raises `UserError` `run_unknown`, or `run_ambiguous` where several ids start so.
        """
        name = validate_id(given)
        rows = await self._database.fetch_all(_FIND, {"name": name}, where="finding a run")
        found = [RunId(row[0]) for row in rows]
        if not found and name == NEWEST:
            found = [each.id for each in await self.list(limit=1)]
        if not found:
            raise unknown_run_error(name)
        if len(found) > 1 and name != found[0]:
            raise UserError(
                "run_ambiguous", f"Several runs start with {name}.", next_step="Write more of it: corrobora runs list"
            )
        return found[0]

    async def list(
        self, *, limit: int = 50, after: str = "infinity ", search: str = "", statuses: Sequence[str] = ()
    ) -> Sequence[RunRow]:
        """Return runs, newest first: those after "TIME ID", whose question has `search`, with these statuses."""
        text = json.dumps(search.encode(errors="replace").decode(), ensure_ascii=False)[1:-1]  # as it is stored
        at, last = after.split(" ")
        values = {"at": at, "last": last, "text": text, "limit": limit, "statuses": list(statuses)}
        rows = await self._database.fetch_all(_LIST, values, where="listing runs")
        return [_run_row(row) for row in rows]

    async def replace_request(self, run: str, request: Request) -> None:
        """Change what a run that nobody works on was asked for."""
        await self._database.execute(
            "UPDATE runs SET request = %s, updated_at = clock_timestamp() WHERE id = %s AND status <> ALL(%s)",
            [dump_request(request), run, [status.value for status in RunStatus if status.active]],
            where="changing a run",
        )

    async def remove(self, run: str) -> bool:
        """Remove a run with its journal, events, answers and artifacts. A live attempt learns that it is stale."""
        row = await self._database.fetch_one(_REMOVE, {"run": validate_id(run)}, where="removing a run")
        return row is not None

    async def claim_key(self, digest: str) -> RunId:
        """Return the id of the run that a key belongs to, by the key's digest: the same until that run is removed."""
        row = await self._database.fetch_one(_CLAIM_KEY, [digest, new_run_id()], where="finding the run of a key")
        assert row is not None
        return RunId(str(row[0]))

    async def claim(self, run: str, owner: str) -> int | None:
        """Begin a new attempt and return its epoch; None if the run is final, cancelled or unknown.

        From now on an older attempt is stale: its events are refused, its answers stored only where the key is free.
        """
        row = await self._database.fetch_one(_CLAIM, [owner, run, list(FINAL_STATUSES)], where="claiming a run")
        return None if row is None else int(row[0])

    async def finish(  # noqa: PLR0913 - all that ends with it; what is optional is a keyword
        self,
        run: str,
        epoch: int,
        status: RunStatus,
        *,
        outcome: str = "",
        reason: str = "",
        seconds: float | None = None,
        last: Event | None = None,
        answered: str = "",
    ) -> None:
        """End this attempt with a status, final or waiting, and all that goes with it. Raises `Stale` if it may not.

        `seconds` is the working time of all attempts, `last` the last event, `answered` the topic of a request that
        this end fulfils. A run that was cancelled meanwhile does not begin to wait: it is cancelled.
        """
        values = {"status": status.value, "outcome": outcome, "reason": reason, "waits": not status.final}
        values |= {"run": run, "epoch": epoch, "final": list(FINAL_STATUSES), "channel": STATUS_CHANNEL}
        values |= {"seconds": seconds, "answered": answered, "events": EVENT_CHANNEL}
        values |= {"event": last.key if last else "", "type": last.type.value if last else ""}
        values |= {"path": last.path if last else "", "data": dump_event_data(last) if last else ""}
        row = await self._database.fetch_one(_FINISH, values, where="finishing a run")
        if row is None:
            raise Stale(f"A newer attempt owns run {run}, or it has ended.")

    async def status_and_epoch(self, run: str) -> tuple[RunStatus, int] | None:
        row = await self._database.fetch_one(
            "SELECT status, epoch FROM runs WHERE id = %s", [run], where="reading a run"
        )
        return None if row is None else (RunStatus(row[0]), int(row[1]))

    async def cancel_requested(self, run: str) -> bool:
        row = await self._database.fetch_one(
            "SELECT cancel_requested FROM runs WHERE id = %s", [run], where="reading a run"
        )
        return row is not None and bool(row[0])

    async def store_answer(self, run: str, topic: str, text: str, *, once: bool = False) -> str:
        """Store what a person decided; return which answer counts: the last, with `once` the first. Starts no run."""
        row = await self._database.fetch_one(
            """WITH answered AS (
                INSERT INTO run_answer (run, topic, answer) SELECT id, %s, %s FROM runs WHERE id = %s
                ON CONFLICT (run, topic) DO UPDATE SET at = clock_timestamp(),
                    answer = CASE WHEN %s THEN run_answer.answer ELSE excluded.answer END RETURNING answer
            ) SELECT answer, pg_notify(%s, %s) FROM answered""",
            [topic, text, validate_id(run), once, STATUS_CHANNEL, answer_mark(run)],
            where="storing an answer",
        )
        return str(row[0]) if row is not None else text

    async def read_answers(self, run: str) -> dict[str, str]:
        """Return what people decided, by topic."""
        rows = await self._database.fetch_all("SELECT topic, answer FROM run_answer WHERE run = %s", [run])
        return dict(rows)

    async def store_artifacts(self, run: str, epoch: int, files: Sequence[Artifact]) -> None:
        """Store files of the run together, replacing those of the same names.

        Raises:
            UserError: a file is larger than 64 MB.
            Stale: a newer attempt owns the run.
        """
        values = {**list_columns(files), "run": run, "epoch": epoch}
        if await self._database.execute(_STORE_FILES, values, where="storing files of a run") < len(files):
            raise Stale(f"A newer attempt owns run {run}.")

    async def seal_report(self, run: str, epoch: int, files: Sequence[Artifact], entry: Entry) -> Entry:
        """Store the files of a report and the journal's entry of it, both or neither; return the entry that counts.

        That is the first one of its key: of a report that comes later nothing is stored. Raises as `store_artifacts`.
        """
        values = {**list_columns(files), "run": run, "epoch": epoch, "digest": entry_digest(require_storable(entry))}
        values |= {"key": entry.key, "meta": entry.meta, "out": entry.out, "old": OF_A_REPORT}
        row = await self._database.fetch_one(_SEAL, values, where="storing a report")
        if row is None or not row[0]:
            raise Stale(f"A newer attempt owns run {run}.")
        if row[1]:
            return entry
        first = await self._database.fetch_one(_SEALED, [run, entry.key], where="reading a report")
        if first is None:
            raise Stale(f"The run {run} was taken back.")
        return verify_entry(run, Entry(entry.key, first[2], first[1]), first[0])

    async def read_text(self, run: str, name: str) -> str | None:
        """Return the text of a file of a run, or None. Raises as `read_artifact`."""
        stored = await self.read_artifact(run, name)
        return None if stored is None else stored.content.decode("utf-8", "replace")

    async def read_artifact(self, run: str, name: str) -> Artifact | None:
        """Return a file of a run, or None. Raises `JournalError` if its checksum does not match."""
        row = await self._database.fetch_one(
            "SELECT media_type, digest, bytes FROM run_artifact WHERE run = %s AND name = %s", [run, name]
        )
        if row is None:
            return None
        media_type, stored, content = str(row[0]), bytes(row[1]), bytes(row[2])
        if compute_checksum(content) != stored:
            raise JournalError(
                "artifact_damaged",
                f"The stored file {name} of run {run} is damaged: its checksum does not match.",
                next_step=f"Write it again with `corrobora resume {run}`, or restore the database from a copy.",
            )
        return Artifact(name, media_type, content)

    async def read_scores(self, runs: Sequence[str]) -> Mapping[str, float]:
        """Return the judge's overall score of those runs that have one, by id (ANGLES-35)."""
        rows = await self._database.fetch_all(
            "SELECT run, bytes FROM run_artifact WHERE name = 'verification.json' AND run = ANY(%s)", [list(runs)]
        )
        found = ((str(run), json.loads(bytes(content))["overall"]) for run, content in rows)
        return {run: float(score) for run, score in found if score is not None}

    async def list_artifacts(self, run: str) -> Sequence[str]:
        """Return the names of a run's files, sorted: only these may be served."""
        rows = await self._database.fetch_all("SELECT name FROM run_artifact WHERE run = %s ORDER BY name", [run])
        return [str(name) for (name,) in rows]


def _run_row(row: TupleRow) -> RunRow:
    """Read a row. A run whose process on this machine has ended does not run, though nobody could store that."""
    identity, status, epoch, request, created, updated, outcome, reason, owner, worked, since = row
    if status == RunStatus.RUNNING and has_ended(owner or ""):
        status, since = RunStatus.INTERRUPTED, None
    asked, times = load_request(identity, request), (_iso_time(created), _iso_time(updated))
    worked += (since or 0.0) if status == RunStatus.RUNNING else 0.0
    return RunRow(RunId(identity), RunStatus(status), epoch, asked, *times, outcome, reason, worked)


def _iso_time(at: datetime) -> str:
    return at.astimezone().isoformat(timespec="microseconds")
