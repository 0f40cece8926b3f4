"""Holders: the indexed passages that hold all the words of a name, for thousands of names at once.

Knows posting blobs and how to read few of them. Does not know titles or sentences: a holder may have the words of a
name anywhere, so whoever asks looks at the text itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.storage import blobs

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.rows import TupleRow

    Connection = AsyncConnection[TupleRow]

PostingKeys = NDArray[np.int64]  # term << 32 | passage, rising

_RAREST = 4  # terms of a name that are intersected
_SHORT = 64  # a blob of so many postings is read at once, a longer one if a name with holders needs it
_ABSENT = -1
_SIEVE_BITS = 20
_READ = """
select term, n, case when n <= %(short)s then post end from lex_post
  where space = %(space)s and term = any(string_to_array(%(terms)s, ' ')::int4[])
union all select -1 - id, n, post from lex_new where space = %(space)s
"""
_READ_RARE = """
select r.n, r.post from (
  select distinct s.seg, t >> s.rare part from lex_seg s, unnest(string_to_array(%(terms)s, ' ')::int4[]) t
  where s.space = %(space)s
) p join lex_rare r on r.space = %(space)s and r.seg = p.seg and r.part = p.part
"""
_READ_LONG = """
select term, n, post from lex_post
where space = %(space)s and term = any(string_to_array(%(terms)s, ' ')::int4[]) and n > %(short)s
"""


class _FoundPostings(NamedTuple):
    """What the first statement read, for terms by rising number: postings, how many each term has, which have more."""

    terms: NDArray[np.int64]
    sizes: NDArray[np.int64]
    partly: NDArray[np.bool_]
    keys: PostingKeys


async def find_phrase_matches(
    connection: Connection, space: int, names: Mapping[str, Sequence[int]]
) -> dict[int, list[str]]:
    """Return the indexed passages that hold the rarest terms of a name, each with those names.

    The long blobs of common words are read only for names that the short ones of their rare words leave in question.
    """
    labels = [name for name, terms in names.items() if terms]
    terms = np.array([term for terms in names.values() for term in terms], np.int64)
    owner = np.repeat(np.arange(len(labels)), [len(names[label]) for label in labels])
    held = await _read_postings(connection, space, np.unique(terms))
    places = np.searchsorted(held.terms, terms)
    sizes = held.sizes[places]
    lacking = np.zeros(len(labels), np.bool_)
    lacking[owner[sizes == 0]] = True
    order = np.lexsort((terms, sizes, owner))
    order = order[~lacking[owner[order]]]
    order = order[_place_in_owner(owner[order]) < _RAREST]
    owner, terms, partly = owner[order], terms[order], held.partly[places[order]]
    short, _ = intersect_postings(owner[~partly], terms[~partly], held.keys)
    in_question = ~lacking
    in_question[owner[~partly]] = False
    in_question[short] = True
    asked = in_question[owner]
    keys = await _add_long_blobs(connection, space, held.keys, np.unique(terms[partly & asked]))
    hits: dict[int, list[str]] = {}
    found, docs = intersect_postings(owner[asked], terms[asked], keys)
    for at, doc in zip(found.tolist(), docs.tolist(), strict=True):
        hits.setdefault(doc, []).append(labels[int(at)])
    return hits


async def _read_postings(connection: Connection, space: int, terms: NDArray[np.int64]) -> _FoundPostings:
    given = {"space": space, "terms": " ".join(map(str, terms.tolist())), "short": _SHORT}
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(_READ, given)
        rows = await cursor.fetchall()
        await cursor.execute(_READ_RARE, given)
        parts = await cursor.fetchall()
    old = [row for row in rows if row[0] >= 0]
    outbox = _posting_keys([row for row in rows if row[0] < 0])
    outbox = (outbox << 32) | (-1 - (outbox >> 32))
    rare = blobs.read_rare_blobs(np.array([row[0] for row in parts], np.int32), b"".join([row[1] for row in parts]))
    rare = rare[_places_of_terms(rare["term"], terms)]
    single = np.concatenate(
        (outbox[_places_of_terms(outbox >> 32, terms)], (rare["term"].astype(np.int64) << 32) | rare["doc"])
    )
    of_rows = np.searchsorted(terms, np.array([row[0] for row in old], np.int64))
    unread = np.array([row[2] is None for row in old], np.bool_)
    sizes = np.bincount(of_rows, np.array([row[1] for row in old], np.float64), len(terms))
    sizes += np.bincount(np.searchsorted(terms, single >> 32), minlength=len(terms))
    partly = np.zeros(len(terms), np.bool_)
    partly[of_rows[unread]] = True
    keys = np.sort(np.concatenate((_posting_keys([row for row in old if row[2] is not None]), single)))
    return _FoundPostings(terms, sizes.astype(np.int64), partly, keys)


async def _add_long_blobs(
    connection: Connection, space: int, keys: PostingKeys, terms: NDArray[np.int64]
) -> PostingKeys:
    """Add the long blobs of some terms."""
    if not len(terms):
        return keys
    given = {"space": space, "terms": " ".join(map(str, terms.tolist())), "short": _SHORT}
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(_READ_LONG, given)
        return np.sort(np.concatenate((keys, _posting_keys(await cursor.fetchall()))))


def _posting_keys(rows: Sequence[TupleRow]) -> PostingKeys:
    """Turn rows of (number, n, blob) into number << 32 | what the blob lists, unsorted."""
    numbers = np.array([row[0] for row in rows], np.int64)
    sizes = np.array([row[1] for row in rows], np.int32)
    lists = blobs.split_blobs(sizes, b"".join([row[2] for row in rows]))
    return np.repeat(numbers << 32, sizes) | lists.docs


def _places_of_terms(found: NDArray[np.integer], terms: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the places in `found` of the wanted terms; a sieve leaves few to be looked up."""
    sieve = np.zeros(1 << _SIEVE_BITS, np.bool_)
    sieve[terms & (len(sieve) - 1)] = True
    places = np.flatnonzero(sieve[found & (len(sieve) - 1)])
    return places[np.isin(found[places], terms)]


def _place_in_owner(owner: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return for each place which one it is of its owner, whose places follow one another."""
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    return np.arange(len(owner)) - np.repeat(starts, np.diff(starts, append=len(owner)))


def intersect_postings(
    owner: NDArray[np.intp], terms: NDArray[np.int64], keys: PostingKeys
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return (owner, passage) for the passages that hold all terms of an owner, at most four.

    The terms of one owner follow one another; the first of them should be rare.
    """
    owners, row = np.unique(owner, return_inverse=True)
    table = np.full((len(owners), _RAREST), _ABSENT, np.int64)
    table[row, _place_in_owner(owner)] = terms
    low, high = np.searchsorted(keys, table[:, 0] << 32), np.searchsorted(keys, (table[:, 0] + 1) << 32)
    n = high - low
    name = np.repeat(np.arange(len(owners)), n)
    doc = keys[np.arange(n.sum()) + np.repeat(low - (np.cumsum(n) - n), n)] & 0xFFFFFFFF
    for column in range(1, _RAREST):
        term = table[name, column]
        key = (term << 32) | doc
        held = keys[np.minimum(np.searchsorted(keys, key), max(0, len(keys) - 1))] == key
        keep = (term == _ABSENT) | held
        name, doc = name[keep], doc[keep]
    return owners[name], doc
