"""Retrieval quality on public data sets, every one with the same settings.

Knows how to turn each set into documents and questions, and its measure; the questions of two sets also in other words
(reworded.txt). Does not know the engine: it asks the library only. With `--embedder FOLDER` passages are found by
meaning, too. Run it as `python -m bench.eval_retrieval --data DIR [--suite NAME] [--embedder FOLDER]`.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corrobora.adapters.embedders import OnnxEmbedder
from corrobora.domain.evidence import Source, SourceId
from corrobora.ports import Embedder, IngestItem
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.index.vectors import VectorIndex
from corrobora.storage.postgres import Database

REWORDED = Path(__file__).with_name("reworded.txt")


@dataclass(frozen=True, slots=True)
class Doc:
    """A document of a set."""

    id: str
    title: str
    text: str
    published: str = ""
    publisher: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the ids of the documents it needs."""

    text: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Suite:
    """A set with its measure and its floor."""

    name: str
    docs: Sequence[Doc]
    questions: Sequence[Question]
    measure: str
    k: int
    floor: float
    reworded: Sequence[Question] = ()  # some of the questions in other words


def rows(path: Path) -> list[dict[str, Any]]:
    """Read a packed JSON-lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_reworded(name: str) -> list[tuple[int, str]]:
    """Read the questions of a set in other words, each with the number of the row that it restates."""
    lines = [line.split(" | ", 2) for line in REWORDED.read_text("utf-8").splitlines() if line.startswith(f"{name} |")]
    return [(int(row), text) for _, row, text in lines]


def scifact(data: Path) -> Suite:
    """Claims and the abstracts they cite."""
    folder = data / "scifact"
    docs = [Doc(str(r["doc_id"]), r["title"], " ".join(r["abstract"])) for r in rows(folder / "corpus.jsonl.gz")]
    ids = {doc.id for doc in docs}
    questions = [
        Question(r["claim"], frozenset(str(each) for each in r["cited_doc_ids"]) & ids)
        for r in rows(folder / "claims_dev.jsonl.gz")
    ]
    return Suite("scifact", docs, [q for q in questions if q.gold], "ndcg", 10, 0.69)


def cookbook(data: Path) -> Suite:
    """Chunks of product documentation."""
    folder = data / "cookbook_docs_rag"
    docs = [Doc(r["chunk_link"], r["chunk_heading"], r["text"]) for r in rows(folder / "docs_chunks.jsonl.gz")]
    questions = [Question(r["question"], frozenset(r["correct_chunks"])) for r in rows(folder / "docs_eval.jsonl.gz")]
    other = [Question(text, questions[row].gold) for row, text in read_reworded("cookbook")]
    return Suite("cookbook", docs, questions, "mrr", 3, 0.79, other)


def lihua(data: Path) -> Suite:
    """Dated chats."""
    folder = data / "lihua_world"
    docs = [Doc(r["id"], "", r["text"]) for r in rows(folder / "docs.jsonl.gz")]
    questions = [Question(r["question"], frozenset(r["evidence_docs"])) for r in rows(folder / "queries_dev.jsonl.gz")]
    other = [Question(text, questions[row].gold) for row, text in read_reworded("lihua")]
    return Suite("lihua", docs, [q for q in questions if q.gold], "all", 5, 0.86, other)


def multihop(data: Path) -> Suite:
    """A pool of facts from news articles."""
    folder = data / "multihop_rag_500"
    docs = [
        Doc(r["id"], r["title"], r["fact"], r["published_at"], r["source"]) for r in rows(folder / "fact_pool.jsonl.gz")
    ]
    questions = [Question(r["query"], frozenset(r["gold_fact_ids"])) for r in rows(folder / "queries_dev.jsonl.gz")]
    return Suite("multihop", docs, [q for q in questions if q.gold], "all", 10, 0.77)


def twowiki(data: Path) -> Suite:
    """First paragraphs of an encyclopedia; this is the first round only."""
    folder = data / "twowiki_multihop"
    docs = [Doc(r["title"], r["title"], r["text"]) for r in rows(folder / "corpus.jsonl.gz")]
    questions = [Question(r["question"], frozenset(r["gold_titles"])) for r in rows(folder / "questions_dev.jsonl.gz")]
    return Suite("twowiki", docs, questions, "all", 8, 0.88)


SUITES: dict[str, Callable[[Path], Suite]] = {
    "scifact": scifact,
    "cookbook": cookbook,
    "lihua": lihua,
    "multihop": multihop,
    "twowiki": twowiki,
}


def distinct(ids: Sequence[str]) -> list[str]:
    """Drop repeats: several passages of one document count once."""
    return list(dict.fromkeys(ids))


def measure(name: str, ranked: Sequence[str], gold: frozenset[str], k: int) -> float:
    """Score one ranked list: all gold in k, reciprocal rank, recall, or nDCG with binary gain."""
    top = ranked[:k]
    match name:
        case "all":
            return float(gold <= set(top))
        case "recall":
            return len(gold & set(top)) / len(gold)
        case "mrr":
            return next((1 / rank for rank, each in enumerate(top, start=1) if each in gold), 0.0)
        case "ndcg":
            gain = sum(1 / math.log2(rank + 1) for rank, each in enumerate(top, start=1) if each in gold)
            return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(len(gold), k) + 1))
        case other:
            raise ValueError(other)


async def fill(catalog: Catalog, suite: Suite) -> dict[str, str]:
    """Store a set in a space of its own, with vectors if the catalog has an embedder; return url to document id."""
    space = await catalog.open(suite.name)
    urls = {f"doc:{number}": doc.id for number, doc in enumerate(suite.docs)}
    items = [
        IngestItem(
            Source(SourceId(""), doc.title, url, "", published=doc.published, publisher=doc.publisher),
            doc.text or doc.title,
        )
        for url, doc in zip(urls, suite.docs, strict=True)
    ]
    for start in range(0, len(items), 2_000):
        await catalog.store(space, items[start : start + 2_000])
    await catalog.embed_missing(space)
    await catalog.upkeep(space)
    return urls


async def ask(library: PostgresLibrary, suite: Suite, questions: Sequence[Question], urls: dict[str, str]) -> str:
    """Ask every question once; return the figures as text, the measure of the set first."""
    scores: dict[str, list[float]] = {}
    times: list[float] = []
    for question in questions:
        before = time.process_time()
        hits = await library.hybrid_search(question.text, limit=30)
        times.append(time.process_time() - before)
        ranked = distinct([urls[hit.url] for hit in hits])
        for name, k in ((suite.measure, suite.k), ("mrr", 10), ("ndcg", 10), ("recall", 8), ("recall", 20)):
            scores.setdefault(f"{name}@{k}", []).append(measure(name, ranked, question.gold, k))
    times.sort()
    figures = {name: sum(each) / len(each) for name, each in scores.items()}
    figures |= {"CPU ms p50": times[len(times) // 2] * 1e3, "questions": float(len(times))}
    return "  ".join(f"{key} {value:.3f}" for key, value in figures.items())


async def run(suite: Suite, database: Database, embedder: Embedder | None) -> float:
    """Fill a space, ask every question once and print the figures; return that of the set's measure."""
    begin = time.process_time()
    catalog = Catalog(database, vectors=VectorIndex(database, embedder) if embedder is not None else None)
    urls = await fill(catalog, suite)
    filled = time.process_time() - begin
    library = PostgresLibrary(database, [suite.name], embedder)
    found = await ask(library, suite, suite.questions, urls)
    print(f"{suite.name:9} {found}  (floor {suite.floor:.2f})  filled in {filled:.1f} CPU-s", flush=True)
    if suite.reworded:
        print(f"{'':9} {await ask(library, suite, suite.reworded, urls)}  in other words", flush=True)
    return float(found.split()[1])


async def main(options: Any) -> int:
    """Print one line for each set; return 1 if one is below its floor."""
    embedder = OnnxEmbedder(options.embedder) if options.embedder else None
    low = 0
    with tempfile.TemporaryDirectory(prefix="corrobora-eval-") as folder:
        async with await Database.connect(options.database or Path(folder)) as database:
            for name in options.suite or list(SUITES):
                suite = SUITES[name](options.data)
                low += await run(suite, database, embedder) < suite.floor
    return 1 if low else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the evaluation sets")
    parser.add_argument("--suite", action="append", choices=sorted(SUITES), help="one set; repeat for more")
    parser.add_argument("--database", help="URL of a server; default: an embedded one in a temporary folder")
    parser.add_argument("--embedder", type=Path, help="folder of an embedding model")
    raise SystemExit(asyncio.run(main(parser.parse_args())))
