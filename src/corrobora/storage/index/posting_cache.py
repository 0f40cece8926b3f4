"""Kept: what an index says of a question, read once and kept for the next one.

Knows the statement that reads segments and outbox, and that no row of theirs ever changes: what is kept is right as
long as the database lists the same rows, which every statement asks. Does not know how postings are ranked.

Heads: the beginnings of the names that many texts may mention, found in all of them at once.

Knows runs of letters and where a capital begins one: the same answer as `policies.names.heads` text by text, without a
step of its own for each word. Does not know which names exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.storage.index.bm25 import Blob, QueryPostings
from corrobora.storage.index.posting_lists import Codes, Ints, read_rare_blobs, unpack_blob
from corrobora.text import title_aliases
from corrobora.text.ranking import list_publisher_names

if TYPE_CHECKING:
    from psycopg.rows import TupleRow

    from corrobora.storage.postgres.database import Connection


MAX_BYTES = 64_000_000
_POSTING_BYTES = 6  # a document and its code

# One statement is one snapshot: a fold that runs meanwhile can neither hide nor double a passage. An array behind a
# select is not looked into by the planner, so that one plan serves all questions.
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
"""
_POST, _SEGMENT, _FRESH, _WAITING, _ALIAS, _RARE = range(6)


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
    """What was read for one question, all of one moment.

    `bearers` are the sources by alias; `publishers` is None if those of some passages are not known.
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
    """All rows of the outbox, turned: parallel arrays by rising term."""

    terms: Ints
    docs: Ints
    codes: Codes


class PostingCache:
    """Keeps what was read of some spaces: postings of the terms asked last up to a limit, and all of what is small."""

    def __init__(self, spaces: Sequence[str], max_bytes: int = MAX_BYTES) -> None:
        self._spaces = list(spaces)
        self._max_bytes = max_bytes
        self._clear_cache()

    def _clear_cache(self) -> None:
        self._blobs: dict[int, Blob] = {}  # by term, of all segments together; the last asked last
        self._bytes = 0
        self._segments: dict[int, _Segment] = {}
        self._fresh: dict[int, _OutboxRow] = {}
        self._update_totals()

    async def read(self, connection: Connection, terms: Sequence[int], heads: Sequence[str] = ()) -> IndexSnapshot:
        """Read what the spaces hold of `terms`, and who bears an alias with one of the `heads`."""
        asked = [term for term in terms if term not in self._blobs]
        rows = await self._query_index(connection, asked, heads)
        if not self._apply_rows(rows, asked) or not all(term in self._blobs for term in terms):
            self._clear_cache()  # other segments than before: read everything at one moment
            rows = await self._query_index(connection, terms, heads)
            self._apply_rows(rows, terms)
        blobs = [self._blobs[term] for term in terms if len(self._blobs[term].docs)]
        found = replace(self._totals, blobs=(*blobs, *self._outbox_blobs(terms)))
        self._evict_blobs(terms)
        return IndexSnapshot(found, _alias_sources(rows), self._publishers)

    async def read_more(self, connection: Connection, terms: Sequence[int]) -> QueryPostings:
        """Return further postings of the moment of the last `read`; asks nothing if all of them are kept."""
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
            return await cursor.fetchall()

    def _apply_rows(self, rows: Sequence[TupleRow], asked: Sequence[int]) -> bool:
        """Keep what was read, `asked` in full; False if a row came without its values that is not known any more."""
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
        """Work out what follows from the segments and the outbox."""
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
        """Return what the outbox holds of some terms."""
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
        self._bytes += _POSTING_BYTES * (len(blob.docs) - (0 if old is None else len(old.docs)))
        self._blobs[blob.term] = blob

    def _evict_blobs(self, asked: Sequence[int]) -> None:
        """Drop what was asked longest ago until the rest is within the limit."""
        for term in asked:
            self._blobs[term] = self._blobs.pop(term)
        while self._bytes > self._max_bytes:
            term = next(iter(self._blobs))
            self._bytes -= _POSTING_BYTES * len(self._blobs.pop(term).docs)


def array_literal(numbers: Iterable[int]) -> str:
    """Write numbers as PostgreSQL reads an array: many times as fast as a list that the driver looks through."""
    return f"{{{','.join(map(str, numbers))}}}"


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
    """Return what was read of each term: blobs of its own, and its postings among the rare ones."""
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
    """Turn the forward rows of the outbox."""
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


_BETWEEN = "\n\n\n\n"  # more than may stand between the two words of a head
_REACH = 3
_OTHER, _IN_WORD, _INITIAL = range(3)  # what a byte is; an initial is in a word as well
_KINDS = bytes(
    (_IN_WORD if chr(byte).islower() else _INITIAL) if chr(byte).isascii() and chr(byte).isalnum() else _OTHER
    for byte in range(256)
)


class AliasPrefixes(NamedTuple):
    """Heads of many texts, each as often as it stands there; `texts[i]` is the place of the text of `heads[i]`."""

    texts: Sequence[int]
    heads: Sequence[str]


def find_alias_prefixes(texts: Sequence[str]) -> AliasPrefixes:
    """Return the heads of all aliases that each of `texts` could mention."""
    ready = [text if text.isascii() else "" for text in texts]
    joined = _BETWEEN.join(ready)
    padded = f"\0{joined}\0\0".encode("ascii")
    data = np.frombuffer(padded, np.uint8)
    kinds = np.frombuffer(padded.translate(_KINDS), np.uint8)
    inside = kinds != _OTHER
    borders = np.flatnonzero(inside[1:] != inside[:-1])
    starts, ends = borders[::2], borders[1::2]
    first = np.flatnonzero(kinds[starts + 1] == _INITIAL)
    second, reached = _next_words(data, starts, ends, first)
    low = joined.lower()
    begin, end = starts[first].tolist(), ends[first].tolist()
    ones = [low[at:to] for at, to in zip(begin, end, strict=True)]
    pairs = [
        f"{ones[at]} {low[start:to]}"
        for at, start, to in zip(
            np.flatnonzero(reached).tolist(),
            starts[second[reached]].tolist(),
            ends[second[reached]].tolist(),
            strict=True,
        )
    ]
    borders = np.cumsum([len(text) + len(_BETWEEN) for text in ready])
    owner = np.searchsorted(borders, starts[first], side="right")
    others = [
        (at, head)
        for at, text in enumerate(texts)
        if not text.isascii()
        for head in title_aliases.list_alias_prefixes(text)
    ]
    return AliasPrefixes(
        [*owner.tolist(), *owner[reached].tolist(), *(at for at, _ in others)],
        [*ones, *pairs, *(head for _, head in others)],
    )


def _next_words(
    data: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp], first: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the word after each of the words `first`, the possessive "s" passed over, and whether it is near enough.

    `data` has one byte more before the text than `starts` and `ends` count.
    """
    last = len(starts) - 1
    second = np.minimum(first + 1, last)
    gap = starts[second] - ends[first]
    third = np.minimum(second + 1, last)
    beyond = starts[third] - ends[second]
    owned = (data[ends[first] + 1] == ord("'")) & (gap == 1) & (ends[second] - starts[second] == 1)
    owned &= (data[starts[second] + 1] == ord("s")) & (beyond >= 1) & (beyond <= _REACH)
    return np.where(owned, third, second), owned | ((gap >= 1) & (gap <= _REACH))
