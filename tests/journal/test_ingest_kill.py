"""SIGKILL a `library add` in the middle of what it writes and run it again: nothing is lost, nothing is doubled.

The middle is where it waits for a table that the test has locked: progress, never time.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import LiteralString

import pytest
from psycopg import sql
from tests.journal.ingest_run import add

from corrobora.domain.evidence import Source, SourceId
from corrobora.ports import IngestItem
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres import Database

HELD: Sequence[LiteralString] = (
    "select url, title, s.digest from source s join space x on x.id = s.space where name = %s order by url, 2, 3",
    "select title, place, heading, body from passage p join space x on x.id = p.space where name = %s order by 4, 1, 2",
    "select alias, head from alias a join space x on x.id = a.space where name = %s order by 1",
    "select alias, sent from mention m join space x on x.id = m.space where name = %s order by 1, 2",
    "select docs, dl from lex_seg g join space x on x.id = g.space where name = %s order by 1, 2",
    "select dl, n from lex_new n join space x on x.id = n.space where name = %s order by 1, 2",
    "select n, length(post) from lex_post p join space x on x.id = p.space where name = %s order by 1, term",
    "select n, length(post) from lex_rare r join space x on x.id = r.space where name = %s order by 1, part",
)
WAITING: LiteralString = "select 1 from pg_locks where relation = %s::regclass and not granted"
QUESTIONS = ("What did the potter of Kiln 17 say?", "a glaze of n40", "Guild Hall")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """One folder for the outbox, and one that is a segment at once."""
    few, many = tmp_path / "few", tmp_path / "many"
    for folder, n in ((few, 3), (many, 4)):
        folder.mkdir()
        for at in range(n):
            parts = (
                f"## Kiln {at}{part}\n\nThe Guild Hall has a glaze of n{part} " + "x. " * 200 for part in range(80)
            )
            (folder / f"{at}.md").write_text(
                f"# Pots {at}\n\n" + "\n\n".join(parts if folder is many else ["Kiln 17."])
            )
    return few, many


async def stored(database: Database, space: str) -> list[object]:
    """Return all that a space holds, numbers apart, and what it answers."""
    held: list[object] = [await database.fetch_all(each, (space,)) for each in HELD]
    library = PostgresLibrary(database, [space])
    hits = [[(hit.url, hit.snippet, hit.score) for hit in await library.hybrid_search(text)] for text in QUESTIONS]
    return [*held, hits]


async def killed_at(database: Database, table: str, *arguments: str) -> None:
    """Start an attempt, and kill it while it waits to write into `table`."""
    async with database.connection() as lock, lock.transaction():
        await lock.execute(sql.SQL("lock table {} in share mode").format(sql.Identifier(table)))
        program = (sys.executable, "-m", "tests.journal.ingest_run", database.conninfo, *arguments)
        attempt = await asyncio.create_subprocess_exec(*program)
        while not await database.fetch_all(WAITING, (table,)):
            assert attempt.returncode is None, "it must come to this table"
            await asyncio.sleep(0.01)  # the server tells nobody
        attempt.kill()
        assert await attempt.wait() < 0


async def test_an_add_that_was_killed_while_it_wrote_is_done_by_the_next_one_and_nothing_is_doubled(
    database: Database, folders: tuple[Path, Path]
) -> None:
    few, many = folders
    await add(database, "whole", few, many)
    whole = await stored(database, "whole")
    await killed_at(database, "passage", "lib", str(many))
    await killed_at(database, "lex_seg", "lib", str(many))
    assert await stored(database, "lib") == [*([] for _ in HELD), [[] for _ in QUESTIONS]]
    reports = await add(database, "lib", few, many)
    assert [len(each.stored) for each in reports] == [3, 4]
    assert await stored(database, "lib") == whole
    reports = await add(database, "lib", few, many)
    assert [(each.stored, len(each.unchanged)) for each in reports] == [([], 3), ([], 4)]
    assert await stored(database, "lib") == whole


async def test_a_merge_that_was_killed_while_it_wrote_is_done_by_the_next_add_and_no_posting_is_lost(
    database: Database, folders: tuple[Path, Path]
) -> None:
    few, _ = folders
    await add(database, "lib", few)
    catalog = Catalog(database)
    space = await catalog.open("lib")
    for batch in range(8):
        titles = (f"Guild {batch} {at}" for at in range(256))
        items = [IngestItem(Source(SourceId(""), title, title, ""), f"The glaze of n{title[6:]}.") for title in titles]
        await catalog.store(space, items)
    before = await stored(database, "lib")
    await killed_at(database, "lex_seg", "lib", str(few))
    assert await stored(database, "lib") == before
    await add(database, "lib", few)
    after = await stored(database, "lib")
    assert await database.fetch_one("select array_agg(docs) from lex_seg") == ([8 * 256],)
    assert (after[0], after[-1]) == (before[0], before[-1])
