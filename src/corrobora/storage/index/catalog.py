"""The catalog: spaces and what is written into them.

Knows how documents become sources, snapshots, passages, postings and links in one transaction, and how they are removed
again. Every write into a library goes through it. Does not know files, formats or questions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, LiteralString

from corrobora.domain.errors import UserError
from corrobora.ports import IngestItem
from corrobora.storage.index import facts
from corrobora.storage.index.documents import DocumentKey, PreparedDocument, StoredDocument
from corrobora.storage.index.terms import Fields, Tokenizer, make_fields
from corrobora.text.passages import PassageSpan
from corrobora.text.tokens import tokenizer_fingerprint

if TYPE_CHECKING:
    from corrobora.storage.index.vectors import VectorIndex
    from corrobora.storage.postgres import Connection, Database

PASSAGES_A_STEP = 4_000  # of new documents, whose words and links are in memory at once
_WRITER_LOCK = 0x636F_7277
_SNAPSHOT_LOCK = 0x636F_7273


# The snapshot lock is taken before anything is written: nobody removes a text meanwhile that is stored already.
_STORE: LiteralString = """
with held as materialized (
  select id, pg_advisory_xact_lock_shared(%s, 0) from space where name = %s for key share
), kept as (
  insert into snapshot (sha, body) select %s, %s from held on conflict do nothing
), made as (
  insert into source
    (space, snapshot, url, title, origin, version, published, publisher, kind, official, authors, indexed)
  select id, %s, %s, %s, %s, %s, %s, %s, %s, %s, %b::text[], false from held on conflict do nothing returning id, space
), cut as (
  insert into passage (space, source, title, meta, place, starts, ends, heading, body)
  select made.space, made.id, %s, %s, c.place - 1, c.starts, c.ends, c.heading, c.body
  from made, unnest(%b::int4[], %b::int4[], %b::text[], %b::text[])
    with ordinality c (starts, ends, heading, body, place)
  order by c.place returning id
)
select (select count(*) from held), (select id from made), array(select id from cut order by id)
"""
_PENDING: LiteralString = """
select s.id, s.title, s.publisher, p.id, p.body, p.heading, p.meta from source s join passage p on p.source = s.id
where s.space = %s and not s.indexed order by p.id
"""

# made of passages and titles
_INDEX_TABLES: tuple[LiteralString, ...] = (
    "lex_post",
    "lex_rare",
    "lex_new",
    "lex_seg",
    "alias",
    "mention",
)


@dataclass(frozen=True, slots=True)
class SpaceInfo:
    """A space as a list shows it."""

    name: str
    root: str
    sources: int
    passages: int
    characters: int

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders and files that it was read from."""
        return tuple(Path(line) for line in self.root.split("\n") if line)


class Catalog:
    """Writes and lists spaces. Every write is one transaction; a crash leaves all of it or nothing."""

    def __init__(
        self, database: Database, tokenizer: Tokenizer | None = None, *, vectors: VectorIndex | None = None
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._tokenizer = tokenizer or Tokenizer()
        self._checked = False

    async def list_spaces(self) -> list[SpaceInfo]:
        rows = await self._database.fetch_all(
            "select p.name, p.root, (select count(*) from source s where s.space = p.id and s.gone is null),"
            " (select count(*) from passage q where q.space = p.id),"
            " (select coalesce(sum(length(body)), 0) from passage q where q.space = p.id) from space p order by p.name"
        )
        return [SpaceInfo(*row) for row in rows]

    async def open(self, name: str, *, root: str = "") -> int:
        """Return the number of a space, made if it does not exist; `root`, if given, joins those it is read from."""
        await self.adopt_tokenizer()
        row = await self._database.fetch_one(
            "insert into space (name, root, read) values (%s, %s, now()) on conflict (name) do update set"
            " read = case when excluded.root = '' then space.read else excluded.read end, root = case"
            " when excluded.root = '' or excluded.root = any(string_to_array(space.root, E'\\n')) then space.root"
            " else concat_ws(E'\\n', nullif(space.root, ''), excluded.root) end returning id",
            (name, root),
        )
        return int(row[0]) if row else 0

    async def space_numbers(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of the spaces that exist, in the order of their numbers."""
        rows = await self._database.fetch_all("select id from space where name = any(%s) order by id", (list(names),))
        return [row[0] for row in rows]

    async def remove_space(self, name: str) -> bool:
        """Remove a space with all that is in it. Returns False if there is none of that name."""
        async with self._database.connection(f"removing the library {name}") as connection, connection.transaction():
            cursor = await connection.execute("delete from space where name = %s returning id", (name,))
            row = await cursor.fetchone()
            if row is None:
                return False
            for table in (*_INDEX_TABLES, "passage", "source"):
                await connection.execute(f"delete from {table} where space = %s", (row[0],))  # noqa: S608
            await _drop_orphans(connection)
        return True

    async def adopt_tokenizer(self) -> None:
        """Forget an index that another tokenizer made; `index_pending` makes it anew from the stored passages."""
        if self._checked:
            return
        own = tokenizer_fingerprint()
        row = await self._database.fetch_one("select value from library_setting where name = 'tokenizer'")
        if row is not None and row[0] == own:  # nothing is written, so that a role that may only read can search
            self._checked = True
            return
        await self._database.execute(
            "insert into library_setting values ('tokenizer', %s) on conflict do nothing", (own,)
        )
        async with self._database.connection("comparing tokenizers") as connection, connection.transaction():
            cursor = await connection.execute(
                "update library_setting set value = %s where name = 'tokenizer' and value <> %s returning true",
                (own, own),
            )
            if await cursor.fetchone() is not None:
                for table in _INDEX_TABLES:
                    await connection.execute(f"delete from {table}")  # noqa: S608
                await connection.execute("update source set indexed = false where gone is null")
                await facts.renumber_terms(connection, self._tokenizer)
        self._checked = True

    async def store(self, space: int, items: Sequence[IngestItem]) -> list[StoredDocument]:
        """Store documents in one transaction, content-addressed: the same text under the same address is stored once.

        A document with a `path` replaces the one that was read from the same path before.
        """
        await self.adopt_tokenizer()
        prepared = [PreparedDocument(item) for item in items]
        async with self._database.connection("storing documents") as connection, connection.transaction():
            await lock_space(connection, space)
            replaced = [item.path for item in items if item.path is not None]
            known = await self._find_stored(connection, space, prepared)
            if replaced:
                await self._retire_paths(connection, space, replaced, keep=list(known.values()))
            fresh = await self._insert_documents(
                connection, space, [each for each in prepared if each.key not in known]
            )
        return [
            fresh[each.key] if each.key in fresh else await self._load_stored(each, known[each.key])
            for each in prepared
        ]

    async def _find_stored(
        self, connection: Connection, space: int, prepared: Sequence[PreparedDocument]
    ) -> dict[DocumentKey, int]:
        """Return the numbers of the documents that are stored already."""
        # An array, not a join: without fresh statistics a join may be planned as a scan of all sources for every text.
        cursor = await connection.execute(
            "select url, snapshot, coalesce(path, ''), digest, id from source"
            " where space = %s and md5(url) = any(string_to_array(%s, ' ')) and gone is null",
            (space, " ".join({_hash_url(each.source.url) for each in prepared})),
            prepare=False,
        )
        wanted = {each.key for each in prepared}
        found = {(row[0], row[1], row[2], row[3]): row[4] for row in await cursor.fetchall()}
        return {key: number for key, number in found.items() if key in wanted}

    async def _insert_documents(
        self, connection: Connection, space: int, prepared: Sequence[PreparedDocument]
    ) -> dict[DocumentKey, StoredDocument]:
        unique = list({each.key: each for each in prepared}.values())
        if not unique:
            return {}
        sources = await _reserve_ids(connection, "source", len(unique))
        ids = await _reserve_ids(connection, "passage", sum(len(each.cuts) for each in unique))
        stored: list[StoredDocument] = []
        at = 0
        for number, each in zip(sources, unique, strict=True):
            stored.append(StoredDocument(each, number, ids[at : at + len(each.cuts)], each.cuts, new=True))
            at += len(each.cuts)
        await _copy_rows(connection, space, stored)
        titles = {number: each.source.title for number, each in zip(sources, unique, strict=True)}
        rows = (
            (*row, each.document.source.publisher)
            for each in stored
            for row in zip(each.ids, each.document.iter_fields(), strict=True)
        )
        await self._index_passages(connection, space, titles, rows)
        return {each.document.key: each for each in stored}

    async def _index_passages(
        self, connection: Connection, space: int, titles: dict[int, str], rows: Iterator[tuple[int, Fields, str]]
    ) -> None:
        """Index passages (number, fields, publisher) of new sources (number to title) in the caller's transaction."""
        from corrobora.storage.index import links, posting_lists, segments  # noqa: PLC0415 - numpy, not needed by all

        await links.add_aliases(connection, space, titles, self._tokenizer)
        while step := list(islice(rows, PASSAGES_A_STEP)):  # never all passages of a long text at once
            ids, fields, publishers = zip(*step, strict=True)
            bodies = dict(zip(ids, (each.body for each in fields), strict=True))
            await links.refresh_mentions(connection, space, bodies)
            postings = posting_lists.index_batch(self._tokenizer, fields)
            await segments.add_passages(connection, space, ids, postings, publishers)

    async def store_unindexed(self, space: str, item: IngestItem) -> StoredDocument:
        """Store one document with one statement; `index_pending` makes it searchable. The space is made if missing."""
        prepared = PreparedDocument(item)
        it, spans = prepared.source, [prepared.text[start:end] for start, end, _ in prepared.cuts]
        starts, ends, headings = zip(*prepared.cuts, strict=True)
        given = (
            *(_SNAPSHOT_LOCK, space, prepared.sha, prepared.text, prepared.sha, it.url, it.title),
            *(it.origin or prepared.sha, it.version, it.published, it.publisher, it.kind, it.primary),
            *(list(it.authors), it.title, prepared.meta, list(starts), list(ends), list(headings), spans),
        )
        row = await self._database.fetch_one(_STORE, given, where="storing a page")
        if row is None or not row[0]:
            await self.open(space)
            row = await self._database.fetch_one(_STORE, given, where="storing a page")
        if row is None or row[1] is None:  # stored before
            (known,) = await self.store(await self.open(space), [item])
            return known
        return StoredDocument(prepared, row[1], row[2], prepared.cuts, new=True)

    async def index_pending(self, names: Sequence[str]) -> None:
        """Index what was stored unindexed in these spaces, one transaction for each."""
        waiting = await self._database.fetch_all(
            "select distinct s.space from source s join space x on x.id = s.space where x.name = any(%s)"
            " and not s.indexed order by 1",
            (list(names),),
        )
        for (space,) in waiting:
            async with self._database.connection("indexing pages") as connection, connection.transaction():
                await connection.execute("select pg_advisory_xact_lock(%s, %s)", (_WRITER_LOCK, space))
                cursor = await connection.execute(_PENDING, (space,))
                rows = await cursor.fetchall()
                titles = {row[0]: row[1] for row in rows}
                found = ((row[3], make_fields(row[1], *row[4:]), row[2]) for row in rows)
                await self._index_passages(connection, space, titles, found)
                await connection.execute("update source set indexed = true where id = any(%s)", (list(titles),))
            await self.embed_missing(space)
            await self.upkeep(space)

    async def _load_stored(self, each: PreparedDocument, number: int) -> StoredDocument:
        """Return a document that was stored before."""
        rows = await self._database.fetch_all(
            "select id, starts, ends, heading from passage where source = %s order by place", (number,)
        )
        return StoredDocument(
            each, number, [row[0] for row in rows], [PassageSpan(*row[1:]) for row in rows], new=False
        )

    async def retire(self, space: int, paths: Sequence[str]) -> int:
        """Take documents out of search by the paths they were read from. Sources and snapshots stay for citations."""
        async with self._database.connection("removing documents") as connection, connection.transaction():
            await connection.execute("select pg_advisory_xact_lock(%s, %s)", (_WRITER_LOCK, space))
            return await self._retire_paths(connection, space, paths, keep=())

    async def _retire_paths(
        self, connection: Connection, space: int, paths: Sequence[str], *, keep: Sequence[int]
    ) -> int:
        cursor = await connection.execute(
            "update source set gone = now() where space = %s and path = any(%s) and gone is null"
            " and not id = any(%s::int4[]) returning id",
            (space, list(paths), list(keep)),
        )
        gone = [row[0] for row in await cursor.fetchall()]
        if gone:
            from corrobora.storage.index import links  # noqa: PLC0415 - as above

            await connection.execute("delete from passage where source = any(%s)", (gone,))
            await links.remove_links(connection, space, gone)
        return len(gone)

    async def files(self, space: int) -> dict[str, str]:
        """Return path to digest of every file that is in search now."""
        rows = await self._database.fetch_all(
            "select path, digest from source where space = %s and path is not null and gone is null", (space,)
        )
        return {row[0]: row[1] for row in rows}

    async def file_times(self, space: int) -> tuple[float, dict[str, tuple[str, float]]]:
        """Return when a space was last read, and path to digest and time of storing of every file in search now.

        Times are seconds since 1970.
        """
        rows = await self._database.fetch_all(
            "select path, digest, extract(epoch from added)::float8 from source"
            " where space = %s and path is not null and gone is null",
            (space,),
        )
        when = await self._database.fetch_one(
            "select coalesce(extract(epoch from read), 0)::float8 from space where id = %s", (space,)
        )
        return (when[0] if when else 0.0), {row[0]: (row[1], row[2]) for row in rows}

    async def embed_missing(self, space: int) -> int:
        """Compute the vectors that passages of a space lack, if an embedder is configured; return how many."""
        return 0 if self._vectors is None else await self._vectors.embed_missing(space)

    async def upkeep(self, space: int, *, deleted: bool = False) -> None:
        """Fold and merge what is due. Never call it within a request: a large merge takes seconds."""
        from corrobora.storage.index import segments  # noqa: PLC0415 - as above

        async with self._database.connection("merging the index") as connection:
            await segments.maintain_index(connection, space, deleted=deleted)


async def _reserve_ids(connection: Connection, table: str, n: int) -> list[int]:
    cursor = await connection.execute(
        "select string_agg(nextval(s)::text, ' ')"
        " from (select pg_get_serial_sequence(%s, 'id')::regclass s offset 0) x, generate_series(1, %s)",
        (table, n),
    )
    row = await cursor.fetchone()
    return sorted(map(int, row[0].split())) if row else []


async def _copy_rows(connection: Connection, space: int, stored: Sequence[StoredDocument]) -> None:
    documents = [each.document for each in stored]
    await connection.execute(
        "insert into snapshot (sha, body) select * from unnest(%b::text[], %b::text[]) on conflict do nothing",
        ([each.sha for each in documents], [each.text for each in documents]),
    )
    async with connection.cursor() as cursor:
        async with cursor.copy(
            "copy source (id, space, snapshot, url, title, origin, version, published, publisher, kind, official,"
            " path, digest, authors) from stdin (format binary)"
        ) as copy:
            copy.set_types(("int4", "int4", *("text",) * 8, "bool", "text", "text", "text[]"))
            for each, number, *_ in stored:
                it = each.source
                await copy.write_row(
                    (
                        *(number, space, each.sha, it.url, it.title, it.origin or each.sha, it.version, it.published),
                        *(it.publisher, it.kind, it.primary, each.item.path, each.item.digest, list(it.authors)),
                    )
                )
        async with cursor.copy(
            "copy passage (id, space, source, place, starts, ends, title, heading, meta, body) from stdin"
            " (format binary)"
        ) as copy:
            copy.set_types(("int4",) * 6 + ("text",) * 4)
            for each, number, ids, cuts, _ in stored:
                text, title, meta = each.text, each.source.title, each.meta
                for place, (id_, (start, end, heading)) in enumerate(zip(ids, cuts, strict=True)):
                    await copy.write_row((id_, space, number, place, start, end, title, heading, meta, text[start:end]))


async def lock_space(connection: Connection, space: int) -> None:
    """Lock a space for writing until the transaction ends; neither it nor any snapshot can be removed meanwhile.

    Raises:
        UserError: the space was removed.
    """
    await connection.execute("select pg_advisory_xact_lock(%s, %s)", (_WRITER_LOCK, space))
    cursor = await connection.execute("select id from space where id = %s for key share", (space,))
    if await cursor.fetchone() is None:
        raise UserError(
            "library_removed",
            "The library was removed while documents were being added to it.",
            next_step="Add them again if it is still wanted.",
        )
    await connection.execute("select pg_advisory_xact_lock_shared(%s, 0)", (_SNAPSHOT_LOCK,))


def _hash_url(url: str) -> str:
    return hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()


async def _drop_orphans(connection: Connection) -> None:
    """Remove snapshots without a source. Waits for running writers, because one of them may reuse such a text."""
    await connection.execute("select pg_advisory_xact_lock(%s, 0)", (_SNAPSHOT_LOCK,))
    await connection.execute(
        "delete from snapshot n where not exists (select 1 from source s where s.snapshot = n.sha)"
    )
