"""Runs: what was asked, where each run stands, who owns it, and what it left behind.

Knows the table `runs` and what belongs to a run. A run is the truth; a job of the queue is only one attempt at it.
Does not know how a run is executed, nor how attempts are queued.

The folder of a run: its files, written whole or not at all, and never outside of it.

Knows names, temporary files and renames. Does not know what the files mean.
"""

from __future__ import annotations

import base64
import os
import re
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import LiteralString, Self

from psycopg.rows import TupleRow
from pydantic import TypeAdapter, ValidationError

from corrobora.domain.errors import JournalError, Stale, UserError
from corrobora.domain.run import Request, RunId, RunRow, RunStatus
from corrobora.storage.postgres.database import Database

STATUS_CHANNEL = "corrobora_runs"
FINAL_STATUSES = tuple(status.value for status in RunStatus if status.final)
_NAME = re.compile(r"[a-z0-9_-]{1,64}")
_REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
_MAX_ARTIFACT_BYTES = 64_000_000
_GET: LiteralString = """
SELECT id, status, epoch, request, created_at, updated_at, outcome, reason, elapsed_seconds FROM runs WHERE id = %s
"""
_LIST: LiteralString = """
SELECT id, status, epoch, request, created_at, updated_at, outcome, reason, elapsed_seconds
FROM runs ORDER BY created_at DESC, id LIMIT %s OFFSET %s
"""
_CLAIM: LiteralString = """
UPDATE runs SET epoch = epoch + 1, status = 'running', owner = %s, outcome = '', reason = '',
    updated_at = clock_timestamp()
WHERE id = %s AND status <> ALL(%s) AND NOT cancel_requested RETURNING epoch
"""
_FINISH: LiteralString = """
WITH ended AS (
    UPDATE runs SET status = %(status)s, outcome = %(outcome)s, reason = %(reason)s, updated_at = clock_timestamp()
    WHERE id = %(run)s AND epoch = %(epoch)s AND status <> ALL(%(final)s) RETURNING id
)
SELECT pg_notify(%(channel)s, id) FROM ended
"""
_REMOVE: LiteralString = """
WITH gone AS (DELETE FROM runs WHERE id = %(run)s RETURNING id),
    entries AS (DELETE FROM journal WHERE run = %(run)s),
    intents AS (DELETE FROM journal_intent WHERE run = %(run)s),
    events AS (DELETE FROM run_events WHERE run = %(run)s),
    jobs AS (DELETE FROM procrastinate_jobs WHERE lock = %(run)s)
SELECT id FROM gone
"""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a run, kept in the database so that it survives on any machine."""

    name: str
    media_type: str
    content: bytes

    @classmethod
    def from_text(cls, name: str, text: str) -> Self:
        """Make the file of a text; the end of its name says of what kind it is."""
        return cls(name, _MEDIA.get(name.rsplit(".", 1)[-1], "text/plain"), text.encode("utf-8", "replace"))


_MEDIA = {"json": "application/json", "md": "text/markdown", "html": "text/html"}


def new_run_id() -> RunId:
    """Return an id that nobody can guess: 128 random bits as 26 letters and digits."""
    return RunId("r_" + base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower())


def validate_id(text: str) -> RunId:
    """Return `text` as a run id; raise `UserError` unless it looks like one (bad-input C14)."""
    if not _NAME.fullmatch(text):
        raise UserError(
            "run_id",
            f"{text[:80]!r} is not the id of a run: ids have 1 to 64 of a-z, 0-9, _ and -.",
            next_step="`corrobora runs list` shows the ids.",
        )
    return RunId(text)


def dump_request(request: Request) -> str:
    """Write a request as JSON."""
    return _REQUEST.dump_json(request).decode()


def load_request(run: str, text: str) -> Request:
    """Read a stored request; raise `JournalError` if it does not have the closed shape of this version."""
    try:
        return _REQUEST.validate_json(text)
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

    async def create(self, request: Request, *, run: RunId | None = None) -> RunId:
        """Store a request as a new run with status `queued`; it starts when it is submitted or claimed.

        With an id of the caller's own the call may be repeated: the same request gives the same run.

        Raises:
            UserError: the id is taken by another request (`run_exists`), or does not look like an id.
        """
        identity, text = validate_id(run) if run is not None else new_run_id(), dump_request(request)
        made = await self._database.execute(
            "INSERT INTO runs (id, request) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            [identity, text],
            where="creating a run",
        )
        if not made and (await self.get(identity)).request != request:
            raise UserError(
                "run_exists",
                f"The run {identity} exists already, and asks something else.",
                next_step="Choose another id, or leave it out.",
            )
        return identity

    async def get(self, run: str) -> RunRow:
        """Return a run. Raises `UserError` with code `run_unknown` if there is none with this id."""
        row = await self._database.fetch_one(_GET, [validate_id(run)], where="reading a run")
        if row is None:
            raise UserError(
                "run_unknown", f"There is no run {run} in this database.", next_step="See `corrobora runs list`."
            )
        return _run_row(row)

    async def list(self, *, limit: int = 50, offset: int = 0) -> Sequence[RunRow]:
        """Return runs, newest first."""
        rows = await self._database.fetch_all(_LIST, [limit, offset], where="listing runs")
        return [_run_row(row) for row in rows]

    async def remove(self, run: str) -> bool:
        """Remove a run with its journal, events, answers and artifacts. A live attempt learns that it is stale."""
        row = await self._database.fetch_one(_REMOVE, {"run": validate_id(run)}, where="removing a run")
        return row is not None

    async def claim(self, run: str, owner: str) -> int | None:
        """Begin a new attempt and return its epoch; None if the run is final, cancelled or unknown.

        From this moment an older attempt is stale: its events are refused, its answers kept where the key is free.
        """
        row = await self._database.fetch_one(_CLAIM, [owner, run, list(FINAL_STATUSES)], where="claiming a run")
        return None if row is None else int(row[0])

    async def finish(self, run: str, epoch: int, status: RunStatus, *, outcome: str = "", reason: str = "") -> None:
        """End this attempt with a status, final or waiting. Raises `Stale` if a newer attempt owns the run."""
        values = {"status": status.value, "outcome": outcome, "reason": reason, "run": run, "epoch": epoch}
        row = await self._database.fetch_one(
            _FINISH, {**values, "final": list(FINAL_STATUSES), "channel": STATUS_CHANNEL}, where="finishing a run"
        )
        if row is None:
            raise Stale(f"A newer attempt owns run {run}, or it has ended.")

    async def status_and_epoch(self, run: str) -> tuple[RunStatus, int] | None:
        """Return the status and the epoch of a run, or None if there is none."""
        row = await self._database.fetch_one(
            "SELECT status, epoch FROM runs WHERE id = %s", [run], where="reading a run"
        )
        return None if row is None else (RunStatus(row[0]), int(row[1]))

    async def set_status(self, run: str, status: RunStatus, *, reason: str = "") -> bool:
        """Set the status of a run that is not final, whoever owns it; False if it is final or unknown."""
        changed = await self._database.execute(
            """UPDATE runs SET status = %s, reason = %s, updated_at = clock_timestamp()
            WHERE id = %s AND status <> ALL(%s)""",
            [status.value, reason, run, list(FINAL_STATUSES)],
            where="changing a run",
        )
        return changed > 0

    async def cancel_requested(self, run: str) -> bool:
        """True if somebody asked to cancel the run."""
        row = await self._database.fetch_one(
            "SELECT cancel_requested FROM runs WHERE id = %s", [run], where="reading a run"
        )
        return row is not None and bool(row[0])

    async def store_elapsed(self, run: str, epoch: int, seconds: float) -> None:
        """Store the working time of all attempts so far. Raises `Stale` if a newer attempt owns the run."""
        changed = await self._database.execute(
            "UPDATE runs SET elapsed_seconds = %s WHERE id = %s AND epoch = %s",
            [seconds, run, epoch],
            where="storing the time of a run",
        )
        if not changed:
            raise Stale(f"A newer attempt owns run {run}.")

    async def store_answer(self, run: str, topic: str, text: str) -> None:
        """Store what a person decided ("plan": yes or no; a pause: a hint). The last answer to a topic counts.

        It does not start the run: submit it again afterwards.
        """
        await self._database.execute(
            """INSERT INTO run_answer (run, topic, answer) SELECT id, %s, %s FROM runs WHERE id = %s
            ON CONFLICT (run, topic) DO UPDATE SET answer = excluded.answer, at = clock_timestamp()""",
            [topic, text, validate_id(run)],
            where="storing an answer",
        )

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
        for file in files:
            if len(file.content) > _MAX_ARTIFACT_BYTES:
                raise UserError(
                    "artifact_too_large",
                    f"{file.name} has {len(file.content)} bytes; at most {_MAX_ARTIFACT_BYTES} are kept.",
                )
        changed = await self._database.execute(
            """INSERT INTO run_artifact (run, name, media_type, digest, bytes)
            SELECT r.id, f.* FROM runs r, unnest(%b::text[], %b::text[], %b::bytea[], %b::bytea[]) AS f
            WHERE r.id = %b AND r.epoch = %b
            ON CONFLICT (run, name) DO UPDATE SET media_type = excluded.media_type, digest = excluded.digest,
                bytes = excluded.bytes, at = clock_timestamp()""",
            [
                [file.name for file in files],
                [file.media_type for file in files],
                [blake2b(file.content, digest_size=16).digest() for file in files],
                [file.content for file in files],
                run,
                epoch,
            ],
            where="storing files of a run",
        )
        if changed < len(files):
            raise Stale(f"A newer attempt owns run {run}.")

    async def read_artifact(self, run: str, name: str) -> Artifact | None:
        """Return a file of a run, or None. Raises `JournalError` if its checksum does not match."""
        row = await self._database.fetch_one(
            "SELECT media_type, digest, bytes FROM run_artifact WHERE run = %s AND name = %s", [run, name]
        )
        if row is None:
            return None
        media_type, stored, content = str(row[0]), bytes(row[1]), bytes(row[2])
        if blake2b(content, digest_size=16).digest() != stored:
            raise JournalError(
                "artifact_damaged",
                f"The stored file {name} of run {run} is damaged: its checksum does not match.",
                next_step=f"Write it again with `corrobora resume {run}`, or restore the database from a copy.",
            )
        return Artifact(name, media_type, content)

    async def list_artifacts(self, run: str) -> Sequence[str]:
        """Return the names of a run's files, sorted: only these may be served."""
        rows = await self._database.fetch_all("SELECT name FROM run_artifact WHERE run = %s ORDER BY name", [run])
        return [str(name) for (name,) in rows]


def _run_row(row: TupleRow) -> RunRow:
    identity, status, epoch, request, created, updated, outcome, reason, elapsed = row
    return RunRow(
        RunId(identity),
        RunStatus(status),
        epoch,
        load_request(identity, request),
        _iso_time(created),
        _iso_time(updated),
        outcome,
        reason,
        elapsed,
    )


def _iso_time(at: datetime) -> str:
    return at.astimezone().isoformat(timespec="milliseconds")


_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,120}")


class RunFolder:
    """Files of one run below `base`; names are relative paths of plain parts (SAFE-6)."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def file_path(self, name: str) -> Path:
        """Return where a file of this name lies. Raises `UserError` for a name that could lead elsewhere."""
        parts = name.split("/")
        if not all(_PART.fullmatch(part) and ".." not in part for part in parts):
            raise UserError("file_name", f"{name!r} is not a name for a file of a run.")
        return self.base.joinpath(*parts)

    def write_file(self, name: str, content: bytes) -> Path:
        """Write a file atomically: temporary file, fsync, rename.

        Raises:
            JournalError: `disk`, if the disk is full or refuses; what was written before stays whole.
        """
        path = self.file_path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                Path(temporary).replace(path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise JournalError(
                "disk",
                f"{path} cannot be written: {error.strerror}.",
                next_step="Free space or rights, then: corrobora resume RUN. Nothing gathered is lost.",
            ) from error
        return path
