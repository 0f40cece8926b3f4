"""Search cost: p50, p95 and CPU per question at 6e3, 1e5 and (with --million) 1e6 synthetic passages.

Run it as `python -m bench.search [--million]`. Measures the whole `hybrid_search`, links and text rows included.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from bench.ingest import fill, items
from bench.synthetic import Texts, postmaster, server_cpu
from corrobora.storage.catalog import Catalog
from corrobora.storage.database import Database
from corrobora.storage.library import PostgresLibrary

QUESTIONS = 100


async def measure(database: Database, name: str, size: int) -> str:
    """Ask 100 questions twice, the first time to warm up; return a line."""
    texts = Texts(99)
    questions = [texts.question() for _ in range(QUESTIONS)]
    library = PostgresLibrary(database, [name])
    for question in questions:
        await library.hybrid_search(question, limit=50)
    server_id = await postmaster(database)
    client, server = time.process_time(), server_cpu(server_id)
    times: list[float] = []
    for question in questions:
        begin = time.perf_counter()
        await library.hybrid_search(question, limit=50)
        times.append((time.perf_counter() - begin) * 1e3)
    client, server = time.process_time() - client, server_cpu(server_id) - server
    times.sort()
    each = 1e3 / QUESTIONS
    return (
        f"{size:>9,}  p50 {times[QUESTIONS // 2]:6.2f} ms  p95 {times[QUESTIONS * 95 // 100]:6.2f} ms"
        f"  CPU {(client + server) * each:6.2f} ms (client {client * each:.2f}, server {server * each:.2f})"
    )


async def main(sizes: list[int]) -> None:
    """Print a line for each size."""
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder:
        async with await Database.connect(Path(folder) / "db") as database:
            catalog = Catalog(database)
            for size in sizes:
                texts = Texts()
                space = await catalog.open(f"n{size}")
                for start in range(0, size, 20_000):
                    await fill(catalog, space, items(texts, start, min(20_000, size - start)))
                await database.run("vacuum analyze")
                print(await measure(database, f"n{size}", size), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true", help="also 1,000,000 passages: some minutes, 5 GB of disk")
    options = parser.parse_args()
    asyncio.run(main([6_000, 100_000, *([1_000_000] if options.million else [])]))
