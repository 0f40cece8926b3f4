"""Search cost: p50, p95 and CPU per question at 6e3, 1e5 and (with --million) 1e6 synthetic passages.

Run it as `python -m bench.search [--million]`. Measures the whole `hybrid_search`, links and text rows included. Every
question is asked once: what the library keeps helps only as far as questions share words. The machine may be busy, so
the quietest of some rounds is printed, and beside it what SQLite FTS5 takes for the same questions over the same
passages: the ratio holds on any machine. The same library is measured again after runs have stored 10,000 web pages
beside it, alone and together with the pages of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import fts5
from bench.ingest import items
from bench.synthetic import Texts, postmaster, server_cpu
from corrobora.domain.evidence import Source, SourceId
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres import Database

QUESTIONS = 100
ROUNDS = 5
HITS = 50
PAGES, PAGES_OF_RUN = 10_000, 50
BATCH = 20_000  # as large as memory likes: fewer segments to merge


@dataclass(frozen=True, slots=True, order=True)
class Round:
    """One hundred questions: CPU milliseconds of each on average, and their times."""

    cpu: float
    client: float
    times: tuple[float, ...]
    questions: tuple[str, ...]

    def at(self, percent: int) -> float:
        """Return a percentile of the times."""
        return sorted(self.times)[QUESTIONS * percent // 100]


async def measure(database: Database, *names: str) -> Round:
    """Ask rounds of 100 new questions, the first to warm up; return the one with the least CPU."""
    texts = Texts(99)
    library = PostgresLibrary(database, names)
    server_id = await postmaster(database)
    rounds: list[Round] = []
    for _ in range(ROUNDS + 1):
        questions = tuple(texts.question() for _ in range(QUESTIONS))
        client, server = time.process_time(), server_cpu(server_id)
        times: list[float] = []
        for question in questions:
            begin = time.perf_counter()
            await library.hybrid_search(question, limit=HITS)
            times.append((time.perf_counter() - begin) * 1e3)
        client, server = time.process_time() - client, server_cpu(server_id) - server
        each = 1e3 / QUESTIONS
        rounds.append(Round((client + server) * each, client * each, tuple(times), questions))
    return min(rounds[1:])


async def add_pages(database: Database) -> None:
    """Store pages as runs read them from the web, each run in a space of its own."""
    texts = Texts(23)
    parts = [texts.passage() for _ in range(2_000)]
    for run in range(PAGES // PAGES_OF_RUN):
        library = PostgresLibrary(database, [f"run:{run}"])
        for page in range(PAGES_OF_RUN):
            at = 7 * (run * PAGES_OF_RUN + page)
            text = "\n\n".join(parts[(at + step) % len(parts)] for step in range(8))
            source = Source(
                SourceId(""), texts.title(), f"https://h{page}.example/{run}", "", publisher=f"h{page}.example"
            )
            await library.store(source, text, space=f"run:{run}")


def told(size: int, ours: Round, theirs: Sequence[float]) -> str:
    """Write a line about a size; `theirs` are the CPU milliseconds of the yardstick."""
    cpu = sum(theirs) / len(theirs)
    p95 = sorted(theirs)[len(theirs) * 95 // 100]
    return (
        f"{size:>9,}  p50 {ours.at(50):6.2f} ms  p95 {ours.at(95):6.2f} ms"
        f"  CPU {ours.cpu:6.2f} ms (client {ours.client:.2f}, server {ours.cpu - ours.client:.2f})"
        f"  FTS5 CPU {cpu:7.2f} ms, p95 {p95:.2f} ms  CPU ratio {ours.cpu / cpu:.3f}"
    )


async def build(database: Database, name: str, size: int, yardstick: fts5.Yardstick) -> None:
    """Store `size` passages in a space of that name; every batch is told on stderr."""
    catalog, texts = Catalog(database), Texts()
    space = await catalog.open(name)
    begin = time.perf_counter()
    for start in range(0, size, BATCH):
        end = min(start + BATCH, size)
        documents = items(texts, start, end - start)
        await catalog.store(space, documents)
        await catalog.upkeep(space)
        yardstick.add(documents)
        seconds = time.perf_counter() - begin
        print(f"{end:,} of {size:,} passages stored, {seconds:.0f} s", file=sys.stderr, flush=True)
    await database.execute("vacuum analyze")


async def main(sizes: list[int]) -> None:
    """Print a line for each size; the database is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder:
        async with await Database.connect(Path(folder)) as database:
            for size in sizes:
                with fts5.Yardstick(Path(folder) / f"fts5-{size}") as yardstick:
                    await build(database, f"n{size}", size, yardstick)
                    ours = await measure(database, f"n{size}")
                    theirs = [yardstick.ask(question, HITS) for question in ours.questions]
                print(told(size, ours, theirs), flush=True)
            await add_pages(database)
            for size in sizes:
                for names in ((f"n{size}",), (f"n{size}", "run:7")):
                    again = await measure(database, *names)
                    figures = f"p50 {again.at(50):6.2f} ms  p95 {again.at(95):6.2f} ms  CPU {again.cpu:6.2f} ms"
                    print(f"{size:>9,}  {figures}  after {PAGES:,} pages, in {' and '.join(names)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--million", action="store_true", help="also 1,000,000 passages: half an hour at most, 7 GB of disk"
    )
    options = parser.parse_args()
    asyncio.run(main([6_000, 100_000, *([1_000_000] if options.million else [])]))
