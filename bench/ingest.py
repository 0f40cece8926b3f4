"""Ingest cost: passages per CPU second, client and server, text rows, postings, links and merges included.

Run it as `python -m bench.ingest [--passages N]`. Knows already parsed text only; reading files is not in it. The same
passages go into SQLite FTS5 as well: the ratio holds on any machine.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import fts5
from bench.synthetic import Texts, postmaster, server_cpu
from corrobora.domain.documents import IngestItem
from corrobora.domain.evidence import Source, SourceId
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres.database import Database

BATCH = 4_000
FLOOR = 5_000


def items(texts: Texts, start: int, n: int) -> list[IngestItem]:
    """Draw documents of one passage each."""
    return [
        IngestItem(Source(SourceId(""), texts.title(), f"doc:{number}", ""), texts.passage())
        for number in range(start, start + n)
    ]


async def fill(catalog: Catalog, space: int, documents: Sequence[IngestItem]) -> None:
    """Store in batches, merging as a real ingest does."""
    for start in range(0, len(documents), BATCH):
        await catalog.store(space, documents[start : start + BATCH])
        await catalog.upkeep(space)


async def main(passages: int) -> int:
    """Print what was measured; return 1 below the floor."""
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder:
        async with await Database.connect(Path(folder)) as database:
            catalog = Catalog(database)
            space = await catalog.open("bench")
            await fill(catalog, await catalog.open("warm"), items(Texts(3), 0, 2_000))
            documents = items(Texts(), 0, passages)
            server_id = await postmaster(database)
            client, server, wall = time.process_time(), server_cpu(server_id), time.perf_counter()
            await fill(catalog, space, documents)
            client, server = time.process_time() - client, server_cpu(server_id) - server
            wall = time.perf_counter() - wall
            row = await database.fetch_one("select count(*), sum(length(body)) from passage where space = %s", (space,))
            stored, characters = (row[0], row[1]) if row else (0, 0)
        with fts5.Yardstick(Path(folder) / "fts5") as yardstick:
            for start in range(0, passages, BATCH):
                yardstick.add(documents[start : start + BATCH])
    rate = stored / (client + server)
    print(
        f"{stored} passages, {characters / stored:.0f} characters each: {rate:,.0f} passages/CPU-s (floor {FLOOR:,});"
        f" client {client:.1f} s, server {server:.1f} s CPU, {wall:.1f} s wall"
    )
    print(
        f"{fts5.NAME}, the same passages: {passages / yardstick.cpu:,.0f} passages/CPU-s;"
        f" ours takes {(client + server) / yardstick.cpu:.2f} times its CPU"
    )
    return 1 if rate < FLOOR else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=40_000)
    raise SystemExit(asyncio.run(main(parser.parse_args().passages)))
