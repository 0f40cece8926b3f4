"""Segments: how posting blobs are written, folded from the outbox and merged in tiers (an LSM compaction).

Knows the outbox, immutable segments, size tiers and tombstones. Does not know questions or ranking.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.storage.index import posting_lists
from corrobora.storage.index.posting_lists import Codes, Ints, PostingBatch, unpack_blob, with_passage_ids

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from psycopg.rows import TupleRow

    from corrobora.storage.postgres import Connection


FOLD_AT = 256
FAN = 8
LIVE_SHARE = 0.7
_ROWS_A_STEP = 20_000
_LOCK_FOLD = 0x636F_7266
_LOCK_MERGE = 0x636F_726D
_MAX_PUBLISHERS = 1_000  # listed for one segment; every search reads all of them
_COLUMNS = ("int4", "int4", "int4", "int4", "bytea", "text")


async def add_passages(
    connection: Connection, space: int, ids: Sequence[int], postings: PostingBatch, publishers: Sequence[str]
) -> None:
    """Index new passages in the caller's transaction: a few go to the outbox, a bulk becomes a segment at once."""
    if len(ids) >= FOLD_AT:
        numbers = np.array(ids, np.int32)
        await _write_segment(
            connection, space, numbers, with_passage_ids(postings, numbers), _distinct_publishers(publishers)
        )
        return
    async with (
        connection.cursor() as cursor,
        cursor.copy("copy lex_new (id, space, dl, n, post, publisher) from stdin (format binary)") as copy,
    ):
        copy.set_types(_COLUMNS)
        for doc, length, n, post in postings.by_doc():
            await copy.write_row((ids[doc], space, length, n, post, publishers[doc]))


def _distinct_publishers(publishers: Iterable[str | None]) -> list[str] | None:
    """Return each publisher once; None if they are too many, or not all of them are known."""
    found = set(publishers) - {""}
    if len(found) > _MAX_PUBLISHERS or None in found:
        return None
    return sorted(each for each in found if each is not None)


async def _write_segment(
    connection: Connection, space: int, ids: Ints, postings: PostingBatch, publishers: Sequence[str] | None
) -> None:
    seg = await _next_segment(connection)
    common, rare = posting_lists.separate_rare_terms(
        posting_lists.group_by_term(postings.terms, postings.docs, postings.codes)
    )
    await _copy_postings(connection, space, seg, common)
    await _end_segment(connection, space, seg, _Members(ids, postings.lengths, publishers), rare)


async def _next_segment(connection: Connection) -> int:
    cursor = await connection.execute("select nextval(pg_get_serial_sequence('lex_seg', 'seg'))")
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def _copy_postings(connection: Connection, space: int, seg: int, lists: posting_lists.TermLists) -> None:
    async with (
        connection.cursor() as cursor,
        cursor.copy("copy lex_post (space, term, seg, n, post) from stdin (format binary)") as copy,
    ):
        await copy.write(posting_lists.encode_common_rows(space, seg, lists))


async def _end_segment(
    connection: Connection, space: int, seg: int, members: _Members, rare: posting_lists.RarePostings
) -> None:
    """Write the rare postings of a segment and list it, which makes it visible to searches."""
    shift = posting_lists.part_shift(len(rare))
    async with (
        connection.cursor() as cursor,
        cursor.copy("copy lex_rare (space, part, seg, n, post) from stdin (format binary)") as copy,
    ):
        await copy.write(posting_lists.encode_rare_rows(space, seg, shift, rare))
    ids, lengths, publishers = members
    low, high = (int(ids[0]), int(ids[-1])) if len(ids) else (0, 0)
    await connection.execute(
        "insert into lex_seg (seg, space, docs, dl, lo, hi, members, publishers, rare)"
        " values (%s, %s, %s, %s, %s, %s, %b, %s::text[], %s)",
        (
            *(seg, space, len(ids), int(lengths.sum()), low, high, ids.tobytes() + lengths.tobytes()),
            *(publishers, shift),
        ),
    )


async def fold_outbox(connection: Connection, space: int) -> int:
    """Turn the outbox of a space into one segment, in one transaction; return how many passages it held.

    Returns 0 while another process folds the same space.
    """
    async with connection.transaction():
        if not await _try_lock(connection, _LOCK_FOLD, space):
            return 0
        async with connection.cursor(binary=True) as cursor:
            await cursor.execute("delete from lex_new where space = %s returning id, n, dl, post, publisher", (space,))
            rows = sorted(await cursor.fetchall(), key=itemgetter(0))
        if not rows:
            return 0
        parts = [unpack_blob(row[3], row[1]) for row in rows]
        terms = np.concatenate([part[0] for part in parts])
        codes = np.concatenate([part[1] for part in parts])
        docs = np.repeat(np.array([row[0] for row in rows], np.int32), [row[1] for row in rows])
        order = np.lexsort((docs, terms))
        ids = np.array([row[0] for row in rows], np.int32)
        lengths = np.array([row[2] for row in rows], np.int32)
        postings = PostingBatch(docs[order], terms[order], codes[order], lengths)
        await _write_segment(connection, space, ids, postings, _distinct_publishers(row[4] for row in rows))
    return len(rows)


async def _try_lock(connection: Connection, kind: int, space: int) -> bool:
    cursor = await connection.execute("select pg_try_advisory_xact_lock(%s, %s)", (kind, space))
    row = await cursor.fetchone()
    return bool(row and row[0])


class Segment(NamedTuple):
    """What a merge needs from a row of `lex_seg`."""

    seg: int
    docs: int


async def merge_tier(connection: Connection, space: int, *, everything: bool = False) -> int:
    """Merge one tier of segments that is full, in a transaction of its own; return how many were merged.

    Tiers are powers of the fan, so every posting is rewritten about log8(n) times. `everything` merges all segments
    to drop tombstones; `needs_full_merge` says when.
    """
    async with connection.transaction():
        if not await _try_lock(connection, _LOCK_MERGE, space):
            return 0
        cursor = await connection.execute("select seg, docs from lex_seg where space = %s order by seg", (space,))
        segments = [Segment(*row) for row in await cursor.fetchall()]
        chosen = segments if everything else full_tier(segments)
        if not chosen:
            return 0
        await _merge_segments(connection, space, chosen)
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


async def _merge_segments(connection: Connection, space: int, chosen: Sequence[Segment]) -> None:
    numbers = [segment.seg for segment in chosen]
    ids, lengths, publishers = await _read_members(connection, numbers)
    if not len(ids):
        await _drop_segments(connection, space, numbers)
        return
    low = int(ids[0])
    living = await _mark_living(connection, space, (low, int(ids[-1])))
    keep = living[ids - low]
    old = await _read_rare(connection, space, numbers)
    seg = await _next_segment(connection)
    rare = [old[:0]]
    async for rows in _blobs_by_term(connection, space, numbers):
        end = int(np.searchsorted(old["term"], int(rows[-1][0]), "right")) if rows else len(old)
        lists = posting_lists.group_by_term(*_sorted_living(*_join_rare(rows, old[:end]), living=living, low=low))
        old = old[end:]
        common, few = posting_lists.separate_rare_terms(lists)
        rare.append(few)
        await _copy_postings(connection, space, seg, common)
    members = _Members(ids[keep], lengths[keep], publishers)
    await _end_segment(connection, space, seg, members, np.concatenate(rare))
    await _drop_segments(connection, space, numbers)


async def _blobs_by_term(connection: Connection, space: int, segs: Sequence[int]) -> AsyncIterator[Sequence[TupleRow]]:
    """Yield the blobs of some segments in steps sorted by term, a term never in two steps; the last step is empty."""
    async with connection.cursor("merged", binary=True) as cursor:  # one plan, and at most one sort, for all steps
        await cursor.execute(
            "select term, n, post from lex_post where space = %s and seg = any(%s) order by term, seg", (space, segs)
        )
        open_: list[TupleRow] = []
        while rows := await cursor.fetchmany(_ROWS_A_STEP):
            cut = bisect_left(rows, rows[-1][0], key=itemgetter(0))  # the last term may continue in the next rows
            if cut:
                yield [*open_, *rows[:cut]]
                open_ = []
            open_ += rows[cut:]
        if open_:
            yield open_
        yield ()


async def _read_rare(connection: Connection, space: int, segs: Sequence[int]) -> posting_lists.RarePostings:
    """Return the rare postings of some segments in ascending order of terms."""
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute("select n, post from lex_rare where space = %s and seg = any(%s)", (space, segs))
        rows = await cursor.fetchall()
    found = posting_lists.read_rare_blobs(
        np.array([row[0] for row in rows], np.int32), b"".join([row[1] for row in rows])
    )
    return found[np.argsort(found["term"], kind="stable")]


def _join_rare(rows: Sequence[TupleRow], rare: posting_lists.RarePostings) -> tuple[Ints, Ints, Codes]:
    """Concatenate the rows of terms with rare postings."""
    terms, sizes = (np.array([row[at] for row in rows], np.int32) for at in (0, 1))
    docs, codes = posting_lists.split_blobs(sizes, b"".join([row[2] for row in rows]))
    return (
        np.concatenate((np.repeat(terms, sizes), rare["term"])),
        np.concatenate((docs, rare["doc"])),
        np.concatenate((codes, rare["code"])),
    )


def _sorted_living(
    terms: Ints, docs: Ints, codes: Codes, living: NDArray[np.bool_], low: int
) -> tuple[Ints, Ints, Codes]:
    """Sort postings by term and document, without those of deleted passages."""
    alive = living[docs - low]
    if not alive.all():
        terms, docs, codes = terms[alive], docs[alive], codes[alive]
    order = np.argsort((terms.astype(np.int64) << 32) | docs, kind="stable")  # fast for input that is mostly sorted
    return terms[order], docs[order], codes[order]


async def _drop_segments(connection: Connection, space: int, segs: Sequence[int]) -> None:
    for table in ("lex_post", "lex_rare"):
        await connection.execute(f"delete from {table} where space = %s and seg = any(%s)", (space, segs))  # noqa: S608
    await connection.execute("delete from lex_seg where seg = any(%s)", (segs,))


class _Members(NamedTuple):
    """All passages of some segments in ascending order of ids, and their publishers."""

    ids: Ints
    lengths: Ints
    publishers: Sequence[str] | None


async def _read_members(connection: Connection, segs: Sequence[int]) -> _Members:
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute("select docs, members, publishers from lex_seg where seg = any(%s)", (segs,))
        rows = await cursor.fetchall()
    parts = [np.frombuffer(members, "<i4").reshape(2, docs) for docs, members, _ in rows]
    lists: list[Sequence[str] | None] = [publishers for _, _, publishers in rows]
    both = np.concatenate(parts, axis=1)
    both = both[:, np.argsort(both[0], kind="stable")]
    return _Members(
        both[0], both[1], _distinct_publishers(name for each in lists for name in ((None,) if each is None else each))
    )


async def _mark_living(connection: Connection, space: int, span: tuple[int, int]) -> NDArray[np.bool_]:
    """Mark the passages of a span that still exist."""
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(
            "select string_agg(int4send(id), '') from passage where space = %s and id between %s and %s", (space, *span)
        )
        row = await cursor.fetchone()
    found: bytes = (row[0] if row else None) or b""
    ids = np.frombuffer(found, ">i4")
    living = np.zeros(span[1] - span[0] + 1, np.bool_)
    living[ids - span[0]] = True
    return living


async def needs_full_merge(connection: Connection, space: int) -> bool:
    """True if less than 70 % of the documents of the segments still exist, so that everything should be merged."""
    cursor = await connection.execute(
        "select coalesce(sum(docs), 0)::int8, (select count(*) from passage where space = %(space)s)"
        " - (select count(*) from lex_new where space = %(space)s) from lex_seg where space = %(space)s",
        {"space": space},
    )
    row = await cursor.fetchone()
    return bool(row and row[0] and row[1] < LIVE_SHARE * row[0])


async def maintain_index(connection: Connection, space: int, *, deleted: bool = False) -> None:
    """Fold a full outbox and merge full tiers, each in its own transaction; after deletions drop tombstones too.

    Rows of an earlier version are upgraded first.
    """
    cursor = await connection.execute(
        "select count(*), count(*) filter (where publisher is null),"
        " (select count(*) from lex_seg where space = %(space)s and rare is null) from lex_new where space = %(space)s",
        {"space": space},
    )
    waiting, nameless, old = await cursor.fetchone() or (0, 0, 0)
    if nameless or old:
        await _fill_publishers(connection, space)
    if waiting >= FOLD_AT:
        await fold_outbox(connection, space)
    while await merge_tier(connection, space):
        pass
    if deleted and await needs_full_merge(connection, space):
        await merge_tier(connection, space, everything=True)


async def _fill_publishers(connection: Connection, space: int) -> None:
    """Fill in the publishers of segments and outbox rows that an earlier version wrote without them."""
    given = {"space": space, "shift": posting_lists.part_shift(0), "most": _MAX_PUBLISHERS}
    await connection.execute(
        "update lex_new n set publisher = s.publisher from passage p join source s on s.id = p.source"
        " where n.space = %(space)s and n.publisher is null and p.id = n.id",
        given,
    )
    await connection.execute(
        "update lex_seg g set rare = %(shift)s, publishers = coalesce(publishers, ("
        "  select case when count(*) <= %(most)s then coalesce(array_agg(publisher order by publisher), '{}') end"
        "  from (select distinct s.publisher from passage p join source s on s.id = p.source"
        "    where p.space = g.space and p.id between g.lo and g.hi and s.publisher <> '') d))"
        " where space = %(space)s and rare is null",
        given,
    )
