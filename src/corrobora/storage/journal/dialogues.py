"""Dialogues: what a person and the manager said before a run exists, so that no word is lost with a process (TREE-6).

Knows the table `dialogue`. Does not know what a dialogue means: its text belongs to the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import LiteralString

from psycopg.rows import TupleRow

from corrobora.domain.errors import Stale, UserError
from corrobora.domain.run import Request, RunId
from corrobora.storage.journal.runs import dump_request, load_request, new_run_id, validate_id
from corrobora.storage.postgres import Database

_GET: LiteralString = """
SELECT id, request, said, pending, run, version, updated_at FROM dialogue
WHERE id = %(id)s OR (%(id)s = '' AND run IS NULL) ORDER BY updated_at DESC, id LIMIT 1
"""
_LIST: LiteralString = """
SELECT id, request, said, pending, run, version, updated_at FROM dialogue ORDER BY updated_at DESC, id LIMIT %s
"""
_SAVE: LiteralString = """
INSERT INTO dialogue AS kept (id, request, said, pending, run)
VALUES (%(id)s, %(request)s, %(said)s, %(pending)s, %(run)s)
ON CONFLICT (id) DO UPDATE SET said = excluded.said, pending = excluded.pending, run = excluded.run,
    version = kept.version + 1, updated_at = clock_timestamp()
WHERE kept.version = %(version)s RETURNING version
"""


@dataclass(frozen=True, slots=True)
class StoredDialogue:
    """One dialogue as it is stored. `version` is 0 before the first save."""

    id: str
    request: Request
    said: str = ""
    pending: str = ""
    run: RunId | None = None
    version: int = 0
    updated_at: str = ""


def new_dialogue(request: Request) -> StoredDialogue:
    """Return a dialogue that is not stored yet, under an id that nobody can guess."""
    return StoredDialogue(f"d_{new_run_id().removeprefix('r_')}", request)


def dialogue_run_id(dialogue: str) -> RunId:
    """Return the id of the run of a dialogue, which starts one run at most, however often it is confirmed."""
    return RunId(f"r_{dialogue.removeprefix('d_')}")


class Dialogues:
    """The dialogues of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, dialogue: StoredDialogue) -> StoredDialogue:
        """Store a dialogue and return it with its new version.

        Raises:
            Stale: another process has continued it since it was read.
        """
        values = {
            "id": validate_id(dialogue.id),
            "request": dump_request(dialogue.request),
            "said": dialogue.said,
            "pending": dialogue.pending,
            "run": dialogue.run,
            "version": dialogue.version,
        }
        row = await self._database.fetch_one(_SAVE, values, where="storing a dialogue")
        if row is None:
            raise Stale(f"The dialogue {dialogue.id} was continued elsewhere.")
        return replace(dialogue, version=int(row[0]))

    async def get(self, identity: str) -> StoredDialogue:
        """Return a dialogue; "" names the newest one that has no run. Raises `UserError` (`dialogue_unknown`)."""
        named = validate_id(identity) if identity else ""
        row = await self._database.fetch_one(_GET, {"id": named}, where="reading a dialogue")
        if row is None:
            raise UserError(
                "dialogue_unknown",
                f"There is no dialogue {identity}." if identity else "There is no dialogue to continue.",
                next_step="The dialogues: corrobora chat --list",
            )
        return _dialogue_from_row(row)

    async def list(self, *, limit: int = 50) -> Sequence[StoredDialogue]:
        """Return dialogues, the newest first."""
        return [
            _dialogue_from_row(row) for row in await self._database.fetch_all(_LIST, [limit], where="listing dialogues")
        ]

    async def remove(self, identity: str) -> bool:
        """Remove a dialogue; False if there was none. The run that it started is not removed."""
        return await self._database.execute("DELETE FROM dialogue WHERE id = %s", [validate_id(identity)]) > 0


def _dialogue_from_row(row: TupleRow) -> StoredDialogue:
    identity, request, said, pending, run, version, updated = row
    at = updated.astimezone().isoformat(timespec="seconds")
    return StoredDialogue(identity, load_request(identity, request), said, pending, run, version, at)
