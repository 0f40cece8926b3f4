"""Segments: how posting blobs are written, folded and merged.

Knows the outbox, immutable segments, size tiers and tombstones.
Does not know questions or ranking.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.storage import blobs
from corrobora.storage.tokens import Codes, Ints, Postings, renumbered, unpack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from psycopg import AsyncConnection
    from psycopg.rows import TupleRow

    Connection = AsyncConnection[TupleRow]

FOLD_AT = 256
FAN = 8
LIVE_SHARE = 0.7
_ROWS_A_STEP = 20_000
_LOCK_FOLD = 0x636F_7266
_LOCK_MERGE = 0x636F_726D
_MAX_PUBLISHERS = 1_000  # of one segment; more are not listed, and every search looks at them all
_COLUMNS = ("int4", "int4", "int4", "int4", "bytea", "text")


async def add(
    connection: Connection, space: int, ids: Sequence[int], postings: Postings, publishers: Sequence[str]
) -> None:
    """Index new passages in the caller's transaction: a few go to the outbox, a bulk becomes a segment at once."""
    if len(ids) >= FOLD_AT:
        numbers = np.array(ids, np.int32)
        await _write_segment(connection, space, numbers, renumbered(postings, numbers), _distinct(publishers))
        return
    async with (
        connection.cursor() as cursor,
        cursor.copy("copy lex_new (id, space, dl, n, post, publisher) from stdin (format binary)") as copy,
    ):
        copy.set_types(_COLUMNS)
        for doc, length, n, post in postings.by_doc():
            await copy.write_row((ids[doc], space, length, n, post, publishers[doc]))


def _distinct(publishers: Iterable[str | None]) -> list[str] | None:
    """Return each publisher once; None if they are too many, or not all of them are known."""
    found = set(publishers) - {""}
    if len(found) > _MAX_PUBLISHERS or None in found:
        return None
    return sorted(each for each in found if each is not None)


async def _write_segment(
    connection: Connection, space: int, ids: Ints, postings: Postings, publishers: Sequence[str] | None
) -> None:
    seg = await _new_segment(connection, space, ids, postings.lengths, publishers)
    await _copy(connection, space, seg, blobs.grouped(postings.terms, postings.docs, postings.codes))


async def _copy(connection: Connection, space: int, seg: int, lists: blobs.Lists) -> None:
    async with (
        connection.cursor() as cursor,
        cursor.copy("copy lex_post (space, term, seg, n, post) from stdin (format binary)") as copy,
    ):
        await copy.write(blobs.copy_stream(space, seg, lists))


async def _new_segment(
    connection: Connection, space: int, ids: Ints, lengths: Ints, publishers: Sequence[str] | None
) -> int:
    low, high = (int(ids[0]), int(ids[-1])) if len(ids) else (0, 0)
    cursor = await connection.execute(
        "insert into lex_seg (space, docs, dl, lo, hi, members, publishers)"
        " values (%s, %s, %s, %s, %s, %b, %s::text[]) returning seg",
        (space, len(ids), int(lengths.sum()), low, high, ids.tobytes() + lengths.tobytes(), publishers),
    )
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def fold(connection: Connection, space: int) -> int:
    """Turn the outbox of a space into one segment, in one transaction; return how many passages it held.

    Another fold of the same space at work means nothing to do here: 0.
    """
    async with connection.transaction():
        if not await _locked(connection, _LOCK_FOLD, space):
            return 0
        async with connection.cursor(binary=True) as cursor:
            await cursor.execute("delete from lex_new where space = %s returning id, n, dl, post, publisher", (space,))
            rows = sorted(await cursor.fetchall(), key=itemgetter(0))
        if not rows:
            return 0
        parts = [unpack(row[3], row[1]) for row in rows]
        terms = np.concatenate([part[0] for part in parts])
        codes = np.concatenate([part[1] for part in parts])
        docs = np.repeat(np.array([row[0] for row in rows], np.int32), [row[1] for row in rows])
        order = np.lexsort((docs, terms))
        ids = np.array([row[0] for row in rows], np.int32)
        lengths = np.array([row[2] for row in rows], np.int32)
        postings = Postings(docs[order], terms[order], codes[order], lengths)
        await _write_segment(connection, space, ids, postings, _distinct(row[4] for row in rows))
    return len(rows)


async def _locked(connection: Connection, kind: int, space: int) -> bool:
    cursor = await connection.execute("select pg_try_advisory_xact_lock(%s, %s)", (kind, space))
    row = await cursor.fetchone()
    return bool(row and row[0])


class Segment(NamedTuple):
    """What a merge must know of a row of `lex_seg`."""

    seg: int
    docs: int


async def merge(connection: Connection, space: int, *, everything: bool = False) -> int:
    """Merge one tier of segments that is full, in a transaction of its own; return how many were merged.

    Tiers are powers of the fan, so every posting is rewritten about log8(n) times. `everything` merges all of them,
    to drop tombstones; `crowded_by_dead` says when.
    """
    async with connection.transaction():
        if not await _locked(connection, _LOCK_MERGE, space):
            return 0
        cursor = await connection.execute("select seg, docs from lex_seg where space = %s order by seg", (space,))
        segments = [Segment(*row) for row in await cursor.fetchall()]
        chosen = segments if everything else full_tier(segments)
        if not chosen:
            return 0
        await _merge(connection, space, chosen)
    return len(chosen)


def full_tier(segments: Sequence[Segment]) -> Sequence[Segment]:
    """Return the eight oldest segments of the lowest tier that holds eight, or nothing."""
    tiers: dict[int, list[Segment]] = {}
    for segment in segments:
        tier = 0
        size = FOLD_AT * FAN
        while segment.docs >= size:
            tier, size = tier + 1, size * FAN
        tiers.setdefault(tier, []).append(segment)
    return next((tiers[tier][:FAN] for tier in sorted(tiers) if len(tiers[tier]) >= FAN), ())


async def _merge(connection: Connection, space: int, chosen: Sequence[Segment]) -> None:
    numbers = [segment.seg for segment in chosen]
    ids, lengths, publishers = await _members(connection, numbers)
    if not len(ids):
        await _drop(connection, space, numbers)
        return
    low = int(ids[0])
    living = await _living(connection, space, (low, int(ids[-1])))
    keep = living[ids - low]
    in_turn = bool(keep.all()) and await _follow(connection, numbers)
    seg = await _new_segment(connection, space, ids[keep], lengths[keep], publishers)
    async for rows in _by_terms(connection, space, numbers):
        terms, sizes = (np.array([row[at] for row in rows], np.int32) for at in (0, 1))
        docs, codes = blobs.split(sizes, b"".join([row[2] for row in rows]))
        terms = np.repeat(terms, sizes)
        if not in_turn:
            terms, docs, codes = _sorted_living(terms, docs, codes, living[docs - low])
        await _copy(connection, space, seg, blobs.grouped(terms, docs, codes))
    await _drop(connection, space, numbers)


async def _by_terms(connection: Connection, space: int, segs: Sequence[int]) -> AsyncIterator[Sequence[TupleRow]]:
    """Yield the blobs of some segments in steps by rising term, never one term in two steps."""
    async with connection.cursor("merged", binary=True) as cursor:  # one plan and at most one sort for all steps
        await cursor.execute(
            "select term, n, post from lex_post where space = %s and seg = any(%s) order by term, seg", (space, segs)
        )
        open_: list[TupleRow] = []
        while rows := await cursor.fetchmany(_ROWS_A_STEP):
            cut = bisect_left(rows, rows[-1][0], key=itemgetter(0))  # the last term may go on
            if cut:
                yield [*open_, *rows[:cut]]
                open_ = []
            open_ += rows[cut:]
        if open_:
            yield open_


def _sorted_living(terms: Ints, docs: Ints, codes: Codes, alive: NDArray[np.bool_]) -> tuple[Ints, Ints, Codes]:
    terms, docs, codes = terms[alive], docs[alive], codes[alive]
    order = np.lexsort((docs, terms))
    return terms[order], docs[order], codes[order]


async def _drop(connection: Connection, space: int, segs: Sequence[int]) -> None:
    await connection.execute("delete from lex_post where space = %s and seg = any(%s)", (space, segs))
    await connection.execute("delete from lex_seg where seg = any(%s)", (segs,))


class _Members(NamedTuple):
    """All passages of some segments by rising id, and who published them."""

    ids: Ints
    lengths: Ints
    publishers: Sequence[str] | None


async def _members(connection: Connection, segs: Sequence[int]) -> _Members:
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute("select docs, members, publishers from lex_seg where seg = any(%s)", (segs,))
        rows = await cursor.fetchall()
    parts = [np.frombuffer(members, "<i4").reshape(2, docs) for docs, members, _ in rows]
    lists: list[Sequence[str] | None] = [publishers for _, _, publishers in rows]
    both = np.concatenate(parts, axis=1)
    both = both[:, np.argsort(both[0], kind="stable")]
    return _Members(both[0], both[1], _distinct(name for each in lists for name in ((None,) if each is None else each)))


async def _follow(connection: Connection, segs: Sequence[int]) -> bool:
    """True if the ids of every segment lie above those of the segment numbered before it."""
    cursor = await connection.execute("select lo, hi from lex_seg where seg = any(%s) order by seg", (segs,))
    spans = await cursor.fetchall()
    return all(one[1] < two[0] for one, two in pairwise(spans))


async def _living(connection: Connection, space: int, span: tuple[int, int]) -> NDArray[np.bool_]:
    """Mark the passages of a span that still exist."""
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute("select id from passage where space = %s and id between %s and %s", (space, *span))
        ids = np.array([row[0] for row in await cursor.fetchall()], np.int64)
    living = np.zeros(span[1] - span[0] + 1, np.bool_)
    living[ids - span[0]] = True
    return living


async def crowded_by_dead(connection: Connection, space: int) -> bool:
    """True if less than 70 % of the documents of the segments still live: time to merge everything."""
    cursor = await connection.execute(
        "select coalesce(sum(docs), 0)::int8, (select count(*) from passage where space = %(space)s)"
        " - (select count(*) from lex_new where space = %(space)s) from lex_seg where space = %(space)s",
        {"space": space},
    )
    row = await cursor.fetchone()
    return bool(row and row[0] and row[1] < LIVE_SHARE * row[0])


async def upkeep(connection: Connection, space: int, *, deleted: bool = False) -> None:
    """Fold a full outbox and merge full tiers, each in its own transaction; after deletions drop tombstones too."""
    cursor = await connection.execute("select count(*) from lex_new where space = %s", (space,))
    row = await cursor.fetchone()
    if row and row[0] >= FOLD_AT:
        await fold(connection, space)
    while await merge(connection, space):
        pass
    if deleted and await crowded_by_dead(connection, space):
        await merge(connection, space, everything=True)
