"""Search cost: p50, p95 and CPU per question at 6e3, 1e5 and (with --million) 1e6 synthetic passages.

Run it as `python -m bench.search [--million]`. Measures the whole `hybrid_search`, links and text rows included. Every
question is asked once: what the library keeps helps only as far as questions share words. The machine may be busy, so
the quietest of some rounds is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from bench.ingest import items
from bench.synthetic import Texts, postmaster, server_cpu
from corrobora.storage.catalog import Catalog
from corrobora.storage.database import Database
from corrobora.storage.library import PostgresLibrary

QUESTIONS = 100
ROUNDS = 5
HITS = 50
BATCH = 20_000  # as large as memory likes: fewer segments to merge


async def measure(database: Database, name: str, size: int) -> str:
    """Ask rounds of 100 new questions, the first to warm up; return a line about the one with the least CPU."""
    texts = Texts(99)
    library = PostgresLibrary(database, [name])
    server_id = await postmaster(database)
    rounds: list[tuple[float, str]] = []
    for _ in range(ROUNDS + 1):
        questions = [texts.question() for _ in range(QUESTIONS)]
        client, server = time.process_time(), server_cpu(server_id)
        times: list[float] = []
        for question in questions:
            begin = time.perf_counter()
            await library.hybrid_search(question, limit=HITS)
            times.append((time.perf_counter() - begin) * 1e3)
        client, server = time.process_time() - client, server_cpu(server_id) - server
        times.sort()
        each = 1e3 / QUESTIONS
        line = (
            f"{size:>9,}  p50 {times[QUESTIONS // 2]:6.2f} ms  p95 {times[QUESTIONS * 95 // 100]:6.2f} ms"
            f"  CPU {(client + server) * each:6.2f} ms (client {client * each:.2f}, server {server * each:.2f})"
        )
        rounds.append((client + server, line))
    return min(rounds[1:])[1]


async def build(database: Database, name: str, size: int) -> None:
    """Store `size` passages in a space of that name; every batch is told on stderr."""
    catalog, texts = Catalog(database), Texts()
    space = await catalog.open(name)
    begin = time.perf_counter()
    for start in range(0, size, BATCH):
        end = min(start + BATCH, size)
        await catalog.store(space, items(texts, start, end - start))
        await catalog.upkeep(space)
        seconds = time.perf_counter() - begin
        print(f"{end:,} of {size:,} passages stored, {seconds:.0f} s", file=sys.stderr, flush=True)
    await database.run("vacuum analyze")


async def main(sizes: list[int]) -> None:
    """Print a line for each size; the database is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder:
        async with await Database.connect(Path(folder) / "db") as database:
            for size in sizes:
                await build(database, f"n{size}", size)
                print(await measure(database, f"n{size}", size), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true", help="also 1,000,000 passages: some minutes, 5 GB of disk")
    options = parser.parse_args()
    asyncio.run(main([6_000, 100_000, *([1_000_000] if options.million else [])]))
