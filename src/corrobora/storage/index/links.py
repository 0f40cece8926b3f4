"""Links: which passages mention the title of which source, kept up to date while documents come and go.

Knows aliases, mentions with their sentences, and how to find the passages that hold all words of a name, for thousands
of names at once. Does not know ranking: the weights of a hop belong to the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, LiteralString, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corrobora.storage.index import posting_lists
from corrobora.storage.postgres import array_literal
from corrobora.text.mentions import (
    AliasMention,
    alias_prefix,
    find_alias_mentions,
    group_by_prefix,
    list_alias_prefixes,
    make_alias,
)
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import fold_text

if TYPE_CHECKING:
    from psycopg.rows import TupleRow

    from corrobora.storage.index.terms import Tokenizer
    from corrobora.storage.postgres import Connection


PostingKeys = NDArray[np.int64]  # term << 32 | passage, rising

_RAREST = 4  # terms of a name that are intersected
_SHORT = 64  # a blob with at most this many postings is read at once, a longer one only if a name depends on it
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
    """What the first statement read, in ascending order of terms: postings, their number, and which have more."""

    terms: NDArray[np.int64]
    sizes: NDArray[np.int64]
    partly: NDArray[np.bool_]
    keys: PostingKeys


async def find_phrase_matches(
    connection: Connection, space: int, names: Mapping[str, Sequence[int]]
) -> dict[int, list[str]]:
    """Return the indexed passages that hold the rarest terms of a name, each with those names.

    The long blobs of common words are read only for names that the short blobs of their rare words cannot rule out.
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
    rare = posting_lists.read_rare_blobs(
        np.array([row[0] for row in parts], np.int32), b"".join([row[1] for row in parts])
    )
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
    lists = posting_lists.split_blobs(sizes, b"".join([row[2] for row in rows]))
    return np.repeat(numbers << 32, sizes) | lists.docs


def _places_of_terms(found: NDArray[np.integer], terms: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the places in `found` of the wanted terms; a sieve leaves few to be looked up."""
    sieve = np.zeros(1 << _SIEVE_BITS, np.bool_)
    sieve[terms & (len(sieve) - 1)] = True
    places = np.flatnonzero(sieve[found & (len(sieve) - 1)])
    return places[np.isin(found[places], terms)]


def _place_in_owner(owner: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rank of each element within its owner; the elements of one owner are adjacent."""
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    return np.arange(len(owner)) - np.repeat(starts, np.diff(starts, append=len(owner)))


def intersect_postings(
    owner: NDArray[np.intp], terms: NDArray[np.int64], keys: PostingKeys
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return (owner, passage) for the passages that hold all terms of an owner, at most four.

    The terms of one owner are adjacent; the first of them should be rare.
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


SENTENCE_CHARS = 400
MAX_FAN = 4  # a name that more sources have is ambiguous and is not followed
# The links from the passages that a select yields as `id`, by names that at most %(fan)s sources have, numbered.
LINKS_FROM_SEEDS: LiteralString = """
select l.src, l.alias, l.sent, l.source, row_number() over (order by l.src, l.alias, l.source)::int4 turn,
  array(select q.id from passage q where q.source = l.source and q.place < 200 order by q.place) passages
from (
  select m.src, m.alias, m.sent, a.source, count(*) over (partition by m.src, m.alias) fan
  from ({seeds}) x join mention m on m.src = x.id join alias a on a.space = m.space and a.alias = m.alias
) l where l.fan <= (select %(fan)s::int8)
"""
_OF_ARRAY = LINKS_FROM_SEEDS.format(seeds="select unnest((select %(ids)s::int4[])) id")
_FROM_PASSAGES = f"select src, alias, sent, source, passages from ({_OF_ARRAY}) l order by turn"  # noqa: S608


class Link(NamedTuple):
    """A mention that leads from a passage to a source."""

    src: int
    alias: str
    sentence: str
    source: int
    passages: tuple[int, ...] | list[int]  # the first ones of the source


async def add_aliases(connection: Connection, space: int, titles: Mapping[int, str], tokenizer: Tokenizer) -> None:
    """Add the titles of new sources (id to title), and the links to them from passages that are indexed.

    Then refresh the mentions of the new passages and index them, in the same transaction: so adding documents one by
    one gives the same links as adding them together.
    """
    fresh = await _insert_aliases(connection, space, titles)
    if fresh:
        old = await find_phrase_matches(connection, space, {name: tokenizer.query_terms(name) for name in fresh})
        bodies = await _read_bodies(connection, list(old))
        naming = {id_: body for id_, body in bodies.items() if may_mention(body, old[id_])}
        await refresh_mentions(connection, space, naming)


async def remove_links(connection: Connection, space: int, sources: Sequence[int]) -> None:
    """Delete the aliases of removed sources, and refresh the passages that mention them."""
    cursor = await connection.execute(
        "with lost as (delete from alias where source = any(%(sources)s) returning alias)"
        " select distinct m.src from mention m join lost l on m.alias = l.alias and m.space = %(space)s"
        " where not exists (select 1 from alias a where a.space = %(space)s and a.alias = l.alias"
        "                   and not a.source = any(%(sources)s))",
        {"space": space, "sources": list(sources)},
    )
    touched = [row[0] for row in await cursor.fetchall()]
    if touched:
        await refresh_mentions(connection, space, await _read_bodies(connection, touched))


async def _insert_aliases(connection: Connection, space: int, titles: Mapping[int, str]) -> list[str]:
    """Insert the aliases of new sources; return those that no source of the space had before."""
    named = {source: alias for source, title in titles.items() if (alias := make_alias(title))}
    if not named:
        return []
    cursor = await connection.execute(
        "select distinct alias from alias where space = %s and alias = any(string_to_array(%s, E'\\n'))",
        (space, "\n".join(set(named.values()))),
    )
    known = {row[0] for row in await cursor.fetchall()}
    async with (
        connection.cursor() as cursor,
        cursor.copy("copy alias (space, alias, head, source) from stdin (format binary)") as copy,
    ):
        copy.set_types(("int4", "text", "text", "int4"))
        for source, alias in named.items():
            await copy.write_row((space, alias, alias_prefix(alias), source))
    return sorted(set(named.values()) - known)


def may_mention(body: str, aliases: Sequence[str]) -> bool:
    """True if the first two words of one of `aliases` are adjacent in `body`: a cheap test before the exact one."""
    folded = fold_text(body)
    return any(_occur_together(folded, *alias_prefix(alias).split(" ")) for alias in aliases)


def _occur_together(folded: str, first: str, second: str = "") -> bool:
    at = folded.find(first)
    while at >= 0:
        after = at + len(first)
        if not second or second in folded[after : after + len(second) + 5]:
            return True
        at = folded.find(first, after)
    return False


async def _read_bodies(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    if not ids:
        return {}
    cursor = await connection.execute("select id, body from passage where id = any(%s)", (list(ids),))
    return {row[0]: row[1] for row in await cursor.fetchall()}


async def refresh_mentions(connection: Connection, space: int, passages: Mapping[int, str]) -> None:
    """Find the mentions of some passages again and replace what was stored for them."""
    prefixes = {number: list_alias_prefixes(body) for number, body in passages.items()}
    asked = set[str]().union(*prefixes.values())
    if not asked:
        return
    cursor = await connection.execute(
        "select distinct alias from alias where space = %s and head = any(string_to_array(%s, E'\\n'))",
        (space, "\n".join(asked)),
    )
    known = group_by_prefix(row[0] for row in await cursor.fetchall())
    await connection.execute("delete from mention where src = any(%s::int4[])", (array_literal(passages),))
    if not known:
        return
    async with connection.cursor() as writer, writer.copy("copy mention (src, space, alias, sent) from stdin") as copy:
        for number, body in passages.items():
            if prefixes[number].isdisjoint(known):
                continue
            for alias, sentence in _first_mentions(body, find_alias_mentions(body, known)).items():
                await copy.write_row((number, space, alias, sentence))


def _first_mentions(body: str, found: Sequence[AliasMention]) -> dict[str, str]:
    """Return for each alias the sentence that mentions it first."""
    if not found:
        return {}
    spans = split_sentences(body)
    first: dict[str, str] = {}
    at = 0
    for mention in found:
        if mention.alias in first:
            continue
        while at + 1 < len(spans) and spans[at].end <= mention.start:
            at += 1
        first[mention.alias] = body[spans[at].start : spans[at].end][:SENTENCE_CHARS]
    return first


async def read_links(connection: Connection, passages: Sequence[int]) -> list[Link]:
    """Return the links from some passages by names that at most four sources have, in a fixed order."""
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(_FROM_PASSAGES, {"ids": array_literal(passages), "fan": MAX_FAN})
        return [Link(*row) for row in await cursor.fetchall()]


def sources_named_in(text: str, bearers: Mapping[str, Sequence[int]]) -> set[int]:
    """Return the sources that `text` names, given the aliases that it may mention and the sources of each."""
    named = {mention.alias for mention in find_alias_mentions(text, group_by_prefix(bearers))}
    return {source for alias in named if len(bearers[alias]) <= MAX_FAN for source in bearers[alias]}
