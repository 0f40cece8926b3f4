"""Retrieval quality on public data sets, every one with the same settings.

Knows how to turn each set into documents and questions, and its measure. Does not know the engine: it asks the
library only. Run it as `python -m bench.eval_retrieval --data DIR [--suite NAME]`.
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

from corrobora.domain.evidence import Source, SourceId
from corrobora.ports import IngestItem
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres import Database


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


def rows(path: Path) -> list[dict[str, Any]]:
    """Read a packed JSON-lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


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
    return Suite("cookbook", docs, questions, "mrr", 3, 0.79)


def lihua(data: Path) -> Suite:
    """Dated chats."""
    folder = data / "lihua_world"
    docs = [Doc(r["id"], "", r["text"]) for r in rows(folder / "docs.jsonl.gz")]
    questions = [Question(r["question"], frozenset(r["evidence_docs"])) for r in rows(folder / "queries_dev.jsonl.gz")]
    return Suite("lihua", docs, [q for q in questions if q.gold], "all", 5, 0.86)


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
    """Store a set in a space of its own; return url to document id."""
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
    await catalog.upkeep(space)
    return urls


async def run(suite: Suite, database: Database) -> dict[str, float]:
    """Fill a space and ask every question once."""
    begin = time.perf_counter()
    urls = await fill(Catalog(database), suite)
    filled = time.perf_counter()
    library = PostgresLibrary(database, [suite.name])
    scores: dict[str, list[float]] = {}
    times: list[float] = []
    for question in suite.questions:
        before = time.perf_counter()
        hits = await library.hybrid_search(question.text, limit=30)
        times.append(time.perf_counter() - before)
        ranked = distinct([urls[hit.url] for hit in hits])
        for name, k in ((suite.measure, suite.k), ("mrr", 10), ("ndcg", 10), ("recall", 8), ("recall", 20)):
            scores.setdefault(f"{name}@{k}", []).append(measure(name, ranked, question.gold, k))
    times.sort()
    figures = {name: sum(each) / len(each) for name, each in scores.items()}
    return figures | {
        "ms p50": times[len(times) // 2] * 1e3,
        "ms p95": times[len(times) * 19 // 20] * 1e3,
        "fill s": filled - begin,
        "questions": float(len(times)),
    }


async def main(data: Path, names: Sequence[str], target: str | None) -> int:
    """Print one line for each set; return 1 if one is below its floor."""
    low = 0
    with tempfile.TemporaryDirectory(prefix="corrobora-eval-") as folder:
        async with await Database.connect(target or Path(folder)) as database:
            for name in names:
                suite = SUITES[name](data)
                figures = await run(suite, database)
                head = f"{suite.measure}@{suite.k}"
                low += figures[head] < suite.floor
                rest = "  ".join(f"{key} {value:.3f}" for key, value in figures.items() if key != head)
                print(f"{name:9} {head} {figures[head]:.3f} (floor {suite.floor:.2f})  {rest}", flush=True)
    return 1 if low else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the evaluation sets")
    parser.add_argument("--suite", action="append", choices=sorted(SUITES), help="one set; repeat for more")
    parser.add_argument("--database", help="URL of a server; default: an embedded one in a temporary folder")
    options = parser.parse_args()
    raise SystemExit(asyncio.run(main(options.data, options.suite or list(SUITES), options.database)))
