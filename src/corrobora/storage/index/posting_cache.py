"""The posting cache: what the index says about the terms of a question, read once and kept for the next question.

Knows the statement that reads segments and outbox. A row of theirs never changes, so a cached posting is valid as long
as the database lists the same rows, which every statement checks. Does not know how postings are ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corrobora.storage.index.bm25 import Blob, QueryPostings
from corrobora.storage.index.posting_lists import POSTING_BYTES, Codes, Ints, read_rare_blobs, unpack_blob
from corrobora.storage.postgres import array_literal
from corrobora.text.ranking import list_publisher_names

if TYPE_CHECKING:
    from psycopg.rows import TupleRow

    from corrobora.storage.postgres import Connection


MAX_BYTES = 64_000_000

# One statement is one snapshot: a fold that runs at the same time can neither hide nor duplicate a passage. The arrays
# stand in a subselect, where the planner does not look at their values, so that one plan serves all questions.
_READ = """
with named as materialized (
  select coalesce(array_agg(id), '{}') ids from space where name = any((select %(spaces)s::text[])::text[])
)
select 0, term, n, post, null::text[] from lex_post
  where space = any((select ids from named)::int4[]) and term = any((select %(terms)s::int4[])::int4[])
union all select 5, t, r.n, r.post, null from lex_seg s, unnest((select %(terms)s::int4[])) t,
  lateral (select n, post from lex_rare where space = s.space and seg = s.seg and part = t >> s.rare offset 0) r
  where s.space = any((select ids from named)::int4[])
union all select 1, seg, docs,
    case when seg <> all((select %(segments)s::int4[])::int4[]) then int4send(lo) || int4send(hi) || int8send(dl) end,
    case when seg <> all((select %(segments)s::int4[])::int4[]) then publishers end
  from lex_seg where space = any((select ids from named)::int4[])
union all select 2, id, n, int4send(dl) || post, array[publisher] from lex_new
  where space = any((select ids from named)::int4[]) and id <> all((select %(fresh)s::int4[])::int4[])
union all select 3, 0, 0, string_agg(int4send(id), ''), null from lex_new
  where space = any((select ids from named)::int4[])
union all select 4, source, 0, null, array[alias] from alias
  where space = any((select ids from named)::int4[]) and head = any((select %(heads)s::text[])::text[])
union all (select 6, 0, 0, null, null from source
  where space = any((select ids from named)::int4[]) and not indexed limit 1)
"""
_POST, _SEGMENT, _FRESH, _WAITING, _ALIAS, _RARE, _PENDING = range(7)


class PublisherNames:
    """The names by which a question may name a publisher of what is indexed."""

    def __init__(self, publishers: Iterable[str]) -> None:
        self._by_first: dict[str, set[str]] = {}
        for name in {name for publisher in set(publishers) for name in list_publisher_names(publisher)}:
            self._by_first.setdefault(name.split(" ", 1)[0], set()).add(name)

    def any_in(self, joined: str) -> bool:
        """True if the question, as " words with spaces ", names a publisher."""
        words = set(joined.split()) & self._by_first.keys()
        return any(f" {name} " in joined for word in words for name in self._by_first[word])


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """What was read for one question, all in one snapshot of the database.

    `bearers` maps an alias to the sources of that name; `publishers` is None if those of some passages are unknown.
    """

    postings: QueryPostings
    bearers: Mapping[str, Sequence[int]]
    publishers: PublisherNames | None


class _Segment(NamedTuple):
    docs: int
    length: int
    lowest: int
    highest: int
    publishers: Sequence[str] | None


class _OutboxRow(NamedTuple):
    """A row of the outbox."""

    length: int
    terms: Ints
    codes: Codes
    publisher: str | None


class _Outbox(NamedTuple):
    """All rows of the outbox, inverted: parallel arrays in ascending order of the term."""

    terms: Ints
    docs: Ints
    codes: Codes


class PostingCache:
    """An LRU cache of the postings of some spaces, up to a limit; segments and outbox are cached whole.

    `behind` says whether the last `read` missed something: what is stored in the spaces and not indexed yet.
    """

    def __init__(self, spaces: Sequence[str], max_bytes: int = MAX_BYTES) -> None:
        self.behind = False
        self._spaces = list(spaces)
        self._max_bytes = max_bytes
        self._clear_cache()

    def _clear_cache(self) -> None:
        self._blobs: dict[int, Blob] = {}  # by term, of all segments together; the most recently used last
        self._bytes = 0
        self._segments: dict[int, _Segment] = {}
        self._fresh: dict[int, _OutboxRow] = {}
        self._update_totals()

    async def read(self, connection: Connection, terms: Sequence[int], heads: Sequence[str] = ()) -> IndexSnapshot:
        """Read the postings of `terms`, and the sources that have an alias with one of the prefixes `heads`."""
        asked = [term for term in terms if term not in self._blobs]
        rows = await self._query_index(connection, asked, heads)
        if not self._apply_rows(rows, asked) or not all(term in self._blobs for term in terms):
            self._clear_cache()  # other segments than before: read everything in one snapshot
            rows = await self._query_index(connection, terms, heads)
            self._apply_rows(rows, terms)
        blobs = [self._blobs[term] for term in terms if len(self._blobs[term].docs)]
        found = replace(self._totals, blobs=(*blobs, *self._outbox_blobs(terms)))
        self._evict_blobs(terms)
        return IndexSnapshot(found, _alias_sources(rows), self._publishers)

    async def read_more(self, connection: Connection, terms: Sequence[int]) -> QueryPostings:
        """Return further postings, from the snapshot of the last `read` if all of them are cached."""
        if not all(term in self._blobs for term in terms):
            return (await self.read(connection, terms)).postings
        blobs = [self._blobs[term] for term in terms if len(self._blobs[term].docs)]
        return replace(self._totals, blobs=(*blobs, *self._outbox_blobs(terms)))

    async def _query_index(self, connection: Connection, terms: Sequence[int], heads: Sequence[str]) -> list[TupleRow]:
        given = {
            "spaces": self._spaces,
            "terms": array_literal(terms),
            "segments": array_literal(self._segments),
            "fresh": array_literal(self._fresh),
            "heads": list(heads),
        }
        async with connection.cursor(binary=True) as cursor:
            await cursor.execute(_READ, given)
            rows = await cursor.fetchall()
        self.behind = any(row[0] == _PENDING for row in rows)
        return rows

    def _apply_rows(self, rows: Sequence[TupleRow], asked: Sequence[int]) -> bool:
        """Cache what was read, `asked` in full; False if a row without values is no longer in the cache."""
        segments: dict[int, _Segment | None] = {}
        fresh = dict(self._fresh)
        waiting: list[int] = []
        for kind, number, n, values, names in rows:
            if kind == _SEGMENT:
                segments[number] = self._segments.get(number) if values is None else _parse_segment(n, values, names)
            elif kind == _FRESH:
                fresh[number] = _parse_outbox_row(n, values, names)
            elif kind == _WAITING and values:
                waiting = np.frombuffer(values, ">i4").tolist()
        known = {number: segment for number, segment in segments.items() if segment is not None}
        if len(known) < len(segments) or not fresh.keys() >= set(waiting):
            return False
        if known.keys() != self._segments.keys():
            self._blobs, self._bytes = {}, 0
        if known.keys() != self._segments.keys() or set(waiting) != self._fresh.keys():
            self._segments, self._fresh = known, {number: fresh[number] for number in waiting}
            self._update_totals()
        for term, lists in _lists_by_term(rows, asked).items():
            self._put_blob(_join_blobs(term, lists))
        return True

    def _update_totals(self) -> None:
        """Compute the totals of segments and outbox."""
        filled = [segment for segment in self._segments.values() if segment.docs]
        rows = self._fresh
        self._outbox = _transpose_outbox(rows)
        self._totals = QueryPostings(
            (),
            sum(segment.docs for segment in filled) + len(rows),
            sum(segment.length for segment in filled) + sum(row.length for row in rows.values()),
            min((*(segment.lowest for segment in filled), *rows), default=0),
            max((*(segment.highest for segment in filled), *rows), default=0),
        )
        lists = [segment.publishers for segment in filled]
        known = [each for each in lists if each is not None]
        waiting = [row.publisher for row in rows.values() if row.publisher is not None]
        complete = len(known) == len(lists) and len(waiting) == len(rows)
        self._publishers = PublisherNames([*(name for each in known for name in each), *waiting]) if complete else None

    def _outbox_blobs(self, terms: Sequence[int]) -> list[Blob]:
        box = self._outbox
        if not len(box.terms):
            return []
        wanted = np.array(terms, np.int32)
        low, high = (np.searchsorted(box.terms, wanted, side).tolist() for side in ("left", "right"))
        return [
            Blob(term, box.docs[start:end], box.codes[start:end])
            for term, start, end in zip(terms, low, high, strict=True)
            if start < end
        ]

    def _put_blob(self, blob: Blob) -> None:
        old = self._blobs.pop(blob.term, None)
        self._bytes += POSTING_BYTES * (len(blob.docs) - (0 if old is None else len(old.docs)))
        self._blobs[blob.term] = blob

    def _evict_blobs(self, asked: Sequence[int]) -> None:
        """Evict the least recently used terms until the rest is within the limit."""
        for term in asked:
            self._blobs[term] = self._blobs.pop(term)
        while self._bytes > self._max_bytes:
            term = next(iter(self._blobs))
            self._bytes -= POSTING_BYTES * len(self._blobs.pop(term).docs)


def _parse_segment(docs: int, values: bytes, publishers: Sequence[str] | None) -> _Segment:
    lowest, highest, length = (int.from_bytes(values[at:end], "big") for at, end in ((0, 4), (4, 8), (8, 16)))
    return _Segment(docs, length, lowest, highest, publishers)


def _parse_outbox_row(n: int, values: bytes, publisher: Sequence[str | None]) -> _OutboxRow:
    return _OutboxRow(int.from_bytes(values[:4], "big"), *unpack_blob(memoryview(values)[4:], n), publisher[0])


def _join_blobs(term: int, parts: Sequence[tuple[Ints, Codes]]) -> Blob:
    if len(parts) == 1:
        return Blob(term, *parts[0])
    if not parts:
        return Blob(term, np.empty(0, np.int32), np.empty(0, np.uint16))
    return Blob(term, np.concatenate([docs for docs, _ in parts]), np.concatenate([codes for _, codes in parts]))


def _lists_by_term(rows: Sequence[TupleRow], asked: Sequence[int]) -> dict[int, list[tuple[Ints, Codes]]]:
    """Return the postings of each term: from its own rows, and from the rows of rare terms."""
    found: dict[int, list[tuple[Ints, Codes]]] = {term: [] for term in asked}
    parts: list[TupleRow] = []
    for row in rows:
        kind, term, n, post, _ = row
        if kind == _POST:
            found[term].append(unpack_blob(post, n))
        elif kind == _RARE:
            parts.append(row)
    if not parts:
        return found
    sizes = np.array([row[2] for row in parts], np.int32)
    rare = read_rare_blobs(sizes, b"".join([row[3] for row in parts]))
    rare = rare[rare["term"] == np.repeat(np.array([row[1] for row in parts], np.int32), sizes)]  # read for one term
    rare = rare[np.argsort(rare["term"], kind="stable")]
    terms, starts = np.unique(rare["term"], return_index=True)
    for term, start, end in zip(terms.tolist(), starts.tolist(), [*starts.tolist(), len(rare)][1:], strict=True):
        found[term].append((rare["doc"][start:end].astype(np.int32), rare["code"][start:end].astype(np.uint16)))
    return found


def _transpose_outbox(rows: Mapping[int, _OutboxRow]) -> _Outbox:
    """Invert the rows of the outbox, which list the terms of a passage."""
    if not rows:
        return _Outbox(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.uint16))
    numbers = sorted(rows)
    terms = np.concatenate([rows[number].terms for number in numbers])
    codes = np.concatenate([rows[number].codes for number in numbers])
    docs = np.repeat(np.array(numbers, np.int32), [len(rows[number].terms) for number in numbers])
    order = np.argsort(terms, kind="stable")
    return _Outbox(terms[order], docs[order], codes[order])


def _alias_sources(rows: Sequence[TupleRow]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for kind, source, _, _, alias in rows:
        if kind == _ALIAS:
            found.setdefault(alias[0], []).append(source)
    return found
