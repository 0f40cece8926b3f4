"""The statements that commit the journal: answers, intents and events of one flush in a single round trip.

Knows the tables and their locks: each statement is a transaction of its own, so that no lock is held between round
trips and a crash leaves all of a flush or nothing. Does not know what is written or who waits for it.
"""

from __future__ import annotations

from typing import LiteralString

EVENT_CHANNEL = "corrobora_events"

# The lock makes the statement wait for a concurrent claim, so that it sees which attempt owns the run. It is the one
# that numbering needs: two attempts that first shared a weaker one would wait for each other. A late answer is stored
# if its key is free, because it was paid for. Intents and events of an old attempt are not stored.
# The statement that inserts events also takes their numbers, so they rise in commit order without gaps. `expected` is
# -1, or the last number that a repeated group saw, so that a first try that committed after all is not written twice.
WRITE_GROUP: LiteralString = """
WITH own AS MATERIALIZED (
    SELECT id, epoch FROM runs WHERE id = ANY(%b::text[]) ORDER BY id FOR NO KEY UPDATE
), answered AS (
    INSERT INTO journal (run, key, epoch, digest, meta, out)
    SELECT i.* FROM unnest(%b::text[], %b::text[], %b::int[], %b::bytea[], %b::text[], %b::text[])
        AS i (run, key, epoch, digest, meta, out)
    WHERE i.run IN (SELECT id FROM own)
    ON CONFLICT DO NOTHING RETURNING 1
), begun AS (
    INSERT INTO journal_intent (run, key, epoch)
    SELECT i.* FROM unnest(%b::text[], %b::text[], %b::int[]) AS i (run, key, epoch)
    WHERE (i.run, i.epoch) IN (SELECT id, epoch FROM own)
    ON CONFLICT DO NOTHING
), numbered AS (
    UPDATE runs r SET next_seq = r.next_seq + c.n
    FROM unnest(%b::text[], %b::int[], %b::bigint[], %b::bigint[]) AS c (run, epoch, n, expected)
        JOIN own ON own.id = c.run AND own.epoch = c.epoch
    WHERE r.id = c.run AND c.expected IN (-1, r.next_seq)
    RETURNING r.id, r.epoch, r.next_seq - c.n AS base, r.next_seq AS last
), appended AS (
    INSERT INTO run_events (run, seq, epoch, type, key, path, round, data)
    SELECT e.run, numbered.base + e.n, e.epoch, e.type, e.key, e.path, nullif(e.round, -1), e.data
    FROM unnest(%b::text[], %b::int[], %b::int[], %b::text[], %b::text[], %b::text[], %b::int[], %b::text[])
        AS e (run, epoch, n, type, key, path, round, data)
    JOIN numbered ON numbered.id = e.run AND numbered.epoch = e.epoch
), notes AS (
    SELECT string_agg(id || ' ' || last, ',') AS payload
    FROM (SELECT id, last, (row_number() OVER () - 1) / 90 AS part FROM numbered) AS parts GROUP BY part
)
SELECT (SELECT count(*) FROM answered), ARRAY(SELECT id FROM own), ARRAY(SELECT epoch FROM own),
    ARRAY(SELECT id FROM numbered), ARRAY(SELECT epoch FROM numbered),
    (SELECT count(pg_notify(%b::text, payload)) FROM notes)
"""

READ_WINNERS: LiteralString = """
SELECT j.run, j.key, j.digest, j.meta, j.out
FROM unnest(%b::text[], %b::text[]) AS i (run, key) JOIN journal j USING (run, key)
"""

READ_EVENT_KEYS: LiteralString = """
SELECT r.id, r.epoch, r.next_seq, ARRAY(SELECT e.key FROM run_events e WHERE e.run = r.id)
FROM runs r WHERE r.id = ANY(%b::text[])
"""
