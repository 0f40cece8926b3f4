"""Webhooks of runs: the deliveries that are due, taken by one sender each, and what became of every attempt.

A row is made by the database in the transaction that ends a run. A sender takes it for a time; if it dies, the delivery
is due again. Does not know how a webhook is signed or sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, LiteralString

from corrobora.storage.postgres import Database

_TAKE: LiteralString = """
WITH due AS (
    SELECT id FROM webhook_delivery WHERE next_at <= clock_timestamp()
    ORDER BY next_at LIMIT %(most)s FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE webhook_delivery d
    SET attempts = d.attempts + 1, next_at = clock_timestamp() + make_interval(secs => %(seconds)s::float8)
    FROM due WHERE d.id = due.id
    RETURNING d.id, d.run, d.url, d.status, d.outcome, d.reason, d.ended_at, d.attempts
), begun AS (
    INSERT INTO webhook_attempt (delivery, number) SELECT id, attempts FROM taken
)
SELECT * FROM taken
"""
_STORE: LiteralString = """
WITH told AS (
    UPDATE webhook_attempt SET result = %(result)s WHERE delivery = %(id)s AND number = %(number)s
)
UPDATE webhook_delivery SET
    delivered_at = CASE WHEN %(delivered)s THEN clock_timestamp() END,
    next_at = clock_timestamp() + make_interval(secs => %(again)s::float8)
WHERE id = %(id)s AND delivered_at IS NULL AND (attempts = %(number)s OR %(delivered)s)
"""
_LIST: LiteralString = """
SELECT d.id, d.url, d.status, d.ended_at, d.next_at, d.delivered_at, a.at, a.result
FROM webhook_delivery d LEFT JOIN webhook_attempt a ON a.delivery = d.id
WHERE d.run = %s ORDER BY d.ended_at, d.id, a.number
"""
_SEND_AGAIN: LiteralString = """
UPDATE webhook_delivery d SET next_at = clock_timestamp(), delivered_at = NULL
WHERE d.id = %s AND NOT EXISTS (
    SELECT FROM webhook_attempt a
    WHERE a.delivery = d.id AND a.number = d.attempts AND a.result = '' AND d.next_at > clock_timestamp()
)
RETURNING d.id
"""
DeliveryState = Literal["waiting", "delivered", "given_up"]


@dataclass(frozen=True, slots=True)
class DueWebhook:
    """One delivery that a sender has taken. `id` is the same in every attempt."""

    id: str
    run: str
    url: str
    status: str
    outcome: str
    reason: str
    ended_at: str
    attempt: int  # from 1


@dataclass(frozen=True, slots=True)
class WebhookAttempt:
    """One attempt; `result` is "" while it is not known."""

    at: str
    result: str


@dataclass(frozen=True, slots=True)
class WebhookRecord:
    """A delivery with its attempts, as it stands."""

    id: str
    url: str
    status: str
    ended_at: str
    state: DeliveryState
    next_at: str | None
    attempts: tuple[WebhookAttempt, ...]


class Webhooks:
    """The webhooks of one database. Every method is one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_url(self, run: str) -> str:
        """Return where the end of a run is told, "" for nowhere."""
        row = await self._database.fetch_one("SELECT webhook FROM runs WHERE id = %s", [run], where="reading a run")
        return str(row[0]) if row is not None else ""

    async def take_due(self, *, most: int, seconds: float) -> Sequence[DueWebhook]:
        """Take deliveries that are due; each is due again after `seconds`, unless its result is stored before."""
        rows = await self._database.fetch_all(
            _TAKE, {"most": most, "seconds": seconds}, where="looking for due webhooks"
        )
        return [
            DueWebhook(identity, run, url, status, outcome, reason, _iso_time(ended), int(attempt))
            for identity, run, url, status, outcome, reason, ended, attempt in rows
        ]

    async def store_result(self, due: DueWebhook, result: str, *, delivered: bool, again: float | None) -> None:
        """Store what became of an attempt; the next one is due in `again` seconds, None for never.

        What a later attempt has taken over is left to it.
        """
        values = {"id": due.id, "number": due.attempt, "result": result, "delivered": delivered, "again": again}
        await self._database.execute(_STORE, values, where="storing the result of a webhook")

    async def send_again(self, identity: str) -> bool:
        """Make a delivery due now, whatever became of it; False if an attempt is under way, or there is none."""
        row = await self._database.fetch_one(_SEND_AGAIN, [identity], where="sending a webhook again")
        return row is not None

    async def list(self, run: str) -> Sequence[WebhookRecord]:
        """Return the deliveries of a run with their attempts, oldest first."""
        found: dict[str, WebhookRecord] = {}
        rows = await self._database.fetch_all(_LIST, [run], where="listing webhooks")
        for identity, url, status, ended, due, delivered, at, result in rows:
            state: DeliveryState = "delivered" if delivered else "waiting" if due else "given_up"
            made = (WebhookAttempt(_iso_time(at), result),) if at is not None else ()
            earlier = found[identity].attempts if identity in found else ()
            next_at = _iso_time(due) if due else None
            found[identity] = WebhookRecord(identity, url, status, _iso_time(ended), state, next_at, (*earlier, *made))
        return list(found.values())


def _iso_time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
