"""Ingest cost: passages per CPU second, client and server, text rows, postings, links and merges included.

Run it as `python -m bench.ingest [--passages N]`. Knows already parsed text only; reading files is not in it. The same
passages go into SQLite FTS5 as well: the ratio holds on any machine. `--memory` instead adds one text of 30 MB with the
command, in plain letters, in Cyrillic and with one wide character, and prints the highest memory of its main process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import fts5
from bench.synthetic import Texts, postmaster, run_command, server_cpu
from corrobora.domain.evidence import Source, SourceId
from corrobora.ports import IngestItem
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres import Database

BATCH = 4_000
FLOOR = 5_000
FILE_BYTES = 29_900_000
MEMORY_GOAL = 250  # MB


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


def measure_memory() -> int:
    """Print the memory of `library add` for a short text and for long ones; return 1 above the goal."""
    words = Texts(5)
    short = "\n\n".join(words.passage() for _ in range(40))
    plain = short * (FILE_BYTES // len(short))
    wide = plain[: FILE_BYTES // 2] + " \U0001f30a " + plain[FILE_BYTES // 2 :]
    cyrillic = plain[: FILE_BYTES // 2].translate({ord("a") + at: 0x430 + at for at in range(26)})
    base = _add_text(short)
    print(f"base: {base:.0f} MB of the main process for a text of {len(short):,} bytes")
    above = {
        name: _add_text(text) - base for name, text in {"ASCII": plain, "Cyrillic": cyrillic, "wide": wide}.items()
    }
    for name, size in above.items():
        print(f"30 MB of {name} text: {size:.0f} MB above the base (goal {MEMORY_GOAL})")
    return 1 if max(above.values()) > MEMORY_GOAL else 0


def _add_text(text: str) -> float:
    """Add one file to a fresh library with the command; return the highest memory of its main process in MB."""
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder:
        path = Path(folder) / "text.txt"
        path.write_text(text, encoding="utf-8")
        environment = os.environ | {"CORROBORA_HOME": str(Path(folder) / "home")}
        command = (sys.executable, "-m", "corrobora", "library", "add", "bench", str(path))
        return run_command(environment, *command)[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=40_000)
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    raise SystemExit(measure_memory() if given.memory else asyncio.run(main(given.passages)))
