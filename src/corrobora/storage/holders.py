"""Holders: the indexed passages that hold all the words of a name, for thousands of names at once.

Knows posting blobs and how to read few of them. Does not know titles or sentences: a holder may have the words of a
name anywhere, so whoever asks looks at the text itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.storage import blobs

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.rows import TupleRow

    Connection = AsyncConnection[TupleRow]

Keys = NDArray[np.int64]  # term << 32 | passage, rising

_RAREST = 4  # terms of a name that are intersected
_SHORT = 64  # a blob of so many postings is read at once, a longer one if a name with holders needs it
_ABSENT = -1
_READ = """
select term, n, case when n <= %(short)s then post end from lex_post
  where space = %(space)s and term = any(string_to_array(%(terms)s, ' ')::int4[])
union all select -1 - id, n, post from lex_new where space = %(space)s
"""
_READ_LONG = """
select term, n, post from lex_post
where space = %(space)s and term = any(string_to_array(%(terms)s, ' ')::int4[]) and n > %(short)s
"""


class _Held(NamedTuple):
    """What the first statement read: postings, how many each term has in all, and terms with postings unread."""

    keys: Keys
    sizes: Mapping[int, int]
    partly: Collection[int]


async def of(connection: Connection, space: int, names: Mapping[str, Sequence[int]]) -> dict[int, list[str]]:
    """Return the indexed passages that hold the rarest terms of a name, each with those names.

    The long blobs of common words are read only for names that the short ones of their rare words leave in question.
    """
    held = await _read(connection, space, {term for terms in names.values() for term in terms})
    wanted = {
        name: sorted(terms, key=lambda term: (held.sizes.get(term, 0), term))[:_RAREST]
        for name, terms in names.items()
        if terms and all(term in held.sizes for term in terms)
    }
    whole = {name: [term for term in terms if term not in held.partly] for name, terms in wanted.items()}
    first = intersect([terms for terms in whole.values() if terms], held.keys)
    alive = {name for name, terms in whole.items() if not terms}
    alive |= {name for name, docs in zip((n for n, terms in whole.items() if terms), first, strict=True) if docs}
    asked = {name: terms for name, terms in wanted.items() if name in alive}
    keys = await _with_long(connection, space, held, {term for terms in asked.values() for term in terms})
    hits: dict[int, list[str]] = {}
    for name, docs in zip(asked, intersect(list(asked.values()), keys), strict=True):
        for doc in docs:
            hits.setdefault(doc, []).append(name)
    return hits


async def _read(connection: Connection, space: int, terms: Collection[int]) -> _Held:
    given = {"space": space, "terms": " ".join(map(str, terms)), "short": _SHORT}
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(_READ, given)
        rows = await cursor.fetchall()
    fresh = [row for row in rows if row[0] < 0]
    old = [row for row in rows if row[0] >= 0]
    outbox = _turned(_keys(fresh), terms)
    of_rows = np.array([row[0] for row in old], np.int64)
    number, place = np.unique(np.concatenate((of_rows, outbox >> 32)), return_inverse=True)
    weights = np.concatenate((np.array([row[1] for row in old], np.float64), np.ones(len(outbox))))
    totals = np.bincount(place, weights, len(number))
    keys = np.sort(np.concatenate((_keys([row for row in old if row[2] is not None]), outbox)))
    sizes = dict(zip(number.tolist(), totals.tolist(), strict=True))
    return _Held(keys, sizes, {row[0] for row in old if row[2] is None})


async def _with_long(connection: Connection, space: int, held: _Held, terms: Collection[int]) -> Keys:
    """Add the long blobs of those `terms` that have some."""
    unread = [term for term in terms if term in held.partly]
    if not unread:
        return held.keys
    given = {"space": space, "terms": " ".join(map(str, unread)), "short": _SHORT}
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(_READ_LONG, given)
        return np.sort(np.concatenate((held.keys, _keys(await cursor.fetchall()))))


def _keys(rows: Sequence[TupleRow]) -> Keys:
    """Turn rows of (number, n, blob) into number << 32 | what the blob lists, unsorted."""
    numbers = np.array([row[0] for row in rows], np.int64)
    sizes = np.array([row[1] for row in rows], np.int32)
    lists = blobs.split(sizes, b"".join([row[2] for row in rows]))
    return np.repeat(numbers << 32, sizes) | lists.docs


def _turned(keys: Keys, terms: Collection[int]) -> Keys:
    """Turn rows of the outbox (-1 - passage << 32 | term) into keys of the wanted terms."""
    term = keys & 0xFFFFFFFF
    wanted = np.isin(term, np.fromiter(terms, np.int64, len(terms)))
    return (term[wanted] << 32) | (-1 - (keys[wanted] >> 32))


def intersect(wanted: Sequence[Sequence[int]], keys: Keys) -> list[list[int]]:
    """Return for each list of terms the passages that hold all of them, rising; the first term should be rare."""
    table = np.full((len(wanted), _RAREST), _ABSENT, np.int64)
    for at, terms in enumerate(wanted):
        table[at, : len(terms)] = terms
    low, high = np.searchsorted(keys, table[:, 0] << 32), np.searchsorted(keys, (table[:, 0] + 1) << 32)
    n = high - low
    name = np.repeat(np.arange(len(wanted)), n)
    doc = keys[np.arange(n.sum()) + np.repeat(low - (np.cumsum(n) - n), n)] & 0xFFFFFFFF
    for column in range(1, _RAREST):
        term = table[name, column]
        key = (term << 32) | doc
        held = keys[np.minimum(np.searchsorted(keys, key), max(0, len(keys) - 1))] == key
        keep = (term == _ABSENT) | held
        name, doc = name[keep], doc[keep]
    found: list[list[int]] = [[] for _ in wanted]
    for at, passage in zip(name.tolist(), doc.tolist(), strict=True):
        found[at].append(passage)
    return found
