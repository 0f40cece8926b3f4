"""Whether each hand rule of the extractive analyst earns its place: what figures do when it is switched off.

Knows the rules of `ablate.toml`, each as a text of the source and what it becomes, and documents with questions whose
answers are written down: chats, product documentation, and sets of one's own as in `bench.fit_ranker`. What a search
finds is stored once; then each copy of the source, one rule off, extracts and writes from it. Printed is, in
thousandths, what a rule adds to the mean share of the answer's own words in the first 75 words (with its standard
error) and in the whole text, and how many of the reports it changes there. A rule that makes no figure worse when it is
off earns nothing on these sets. Run: `python -m bench.ablate --data DIR [--own DIR ...] [RULE ...]`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corrobora.analysts.extractive.extract import extract_quotes
from corrobora.analysts.extractive.write import write_draft
from corrobora.domain.evidence import Document, Fact, Passage, Source
from corrobora.domain.plan import SubQuestion
from corrobora.roles.extract import Excerpt
from corrobora.roles.synthesize import Material, Part
from corrobora.text.tokens import stem_text

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".toml")
WORDS, HITS, DECIMALS = 75, 10, 1_000
_MARKER = re.compile(r"\[S\d+[^\]]*\]|^#.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """One question with its answer and what a search found, best first."""

    question: str
    answers: tuple[str, ...]  # any of them will do
    found: tuple[tuple[Document, float], ...]  # documents with the passages that were found, and their scores


def write_report(case: Case) -> str:
    """Extract from what was found and write, as a run of one round does."""
    parts = (SubQuestion("sq-1", case.question),)
    facts: list[Fact] = []
    for document, score in case.found:
        source = document.source
        given = Excerpt("", source.title, source.version, source.published, document.passages, case.question, parts)
        for quote in extract_quotes(given).quotes:
            passage = next(each for each in document.passages if each.id == quote.passage)
            more: Any = {"claim": quote.claim, "confidence": quote.confidence, "answers": quote.answers, "score": score}
            fact = Fact.from_quote(document, passage, quote.quote, **more)
            facts += [fact] if fact is not None else []
    return write_draft(Material("", "report", case.question, "", (Part("", "", "", tuple(facts)),), parts, (), ())).body


def measure_case(case: Case) -> tuple[float, float]:
    """Return the share of the answer's own words in the first words of the report, and in all of it."""
    said = _MARKER.sub(" ", write_report(case)).split()
    asked = frozenset(stem_text(case.question))
    shares: list[tuple[float, float]] = []
    for answer in case.answers:
        whole = frozenset(stem_text(answer))
        own = whole - asked or whole
        first, every = (frozenset(stem_text(" ".join(part))) for part in (said[:WORDS], said))
        shares.append((len(own & first) / max(1, len(own)), len(own & every) / max(1, len(own))))
    return max(shares)


def measure(cases: Mapping[str, Sequence[Case]]) -> dict[str, list[float]]:
    """Return for each set the shares of its questions, one after the other: first words, whole report."""
    return {name: [share for case in own for share in measure_case(case)] for name, own in cases.items()}


async def collect(data: Path, own: Sequence[Path], most: int) -> dict[str, list[Case]]:
    """Search every set for its questions."""
    from bench.eval_answers import QUESTIONS, sample  # noqa: PLC0415 - a copy of the source that measures needs neither
    from bench.eval_retrieval import SUITES, fill  # noqa: PLC0415 - as above
    from corrobora.app.libraries import ingest_files  # noqa: PLC0415 - as above
    from corrobora.storage.index import PostgresLibrary  # noqa: PLC0415 - as above
    from corrobora.storage.index.catalog import Catalog  # noqa: PLC0415 - as above
    from corrobora.storage.postgres import Database  # noqa: PLC0415 - as above

    found: dict[str, list[Case]] = {}
    with tempfile.TemporaryDirectory(prefix="corrobora-ablate-") as folder:
        async with await Database.connect(Path(folder)) as database:
            asked: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
            for name, read in QUESTIONS.items():
                await fill(Catalog(database), SUITES[name](data))
                known = [one for one in read(data) if one.answer.strip(". ").lower() not in ("", "yes", "no")]
                asked[name] = [(one.text, (one.answer,)) for one in sample(known, most)]
            for further in own:
                await ingest_files(database, further.name, (further / "docs",), lambda *_: None)
                rows = [each for each in json.loads((further / "questions.json").read_text()) if not each["absent"]]
                rows = rows[:: max(1, len(rows) // most)]
                asked[further.name] = [(r["question"], tuple(p["passage"] for p in r["passages"])) for r in rows]
            for name, questions in asked.items():
                library = PostgresLibrary(database, [name])
                found[name] = [await _search(library, text, answers) for text, answers in questions]
    return found


async def _search(library: Any, question: str, answers: tuple[str, ...]) -> Case:
    hits = [hit for hit in await library.hybrid_search(question, limit=HITS) if hit.passage]
    passages: dict[str, Passage] = {each.id: each for each in await library.passages([hit.passage for hit in hits])}
    grouped: dict[str, list[Any]] = {}
    for hit in hits:
        grouped.setdefault(str(passages[hit.passage].source), []).append(hit)
    found: list[tuple[Document, float]] = []
    for number, (name, own) in enumerate(grouped.items(), start=1):
        source = Source(f"S{number}", own[0].title, name, name, name, published=own[0].published)  # type: ignore[arg-type]
        kept = [passages[hit.passage] for hit in own]
        text = "\n\n".join(each.text for each in kept)
        starts = [0]
        for each in kept:
            starts.append(starts[-1] + len(each.text) + 2)
        moved = tuple(
            Passage(each.id, source.id, each.text, start, start + len(each.text), each.heading)
            for each, start in zip(kept, starts, strict=False)
        )
        found.append((Document(source, text, moved), own[0].score))
    return Case(question, answers, tuple(found))


def measure_copy(folder: Path, stored: Path) -> dict[str, list[float]]:
    """Measure a copy of the source in a process of its own."""
    environment = os.environ | {"PYTHONPATH": f"{folder / 'src'}:{folder}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "bench.ablate", "--measure", str(stored)]
    done = subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def compare(before: Mapping[str, list[float]], after: Mapping[str, list[float]]) -> str:
    """Describe what a rule adds: the means of each set with it less those without it, and how many reports differ."""
    told: list[str] = []
    for name, own in before.items():
        changes = [one - other for one, other in zip(own, after[name], strict=True)]
        first, every = (DECIMALS * sum(changes[at::2]) / max(1, len(changes[at::2])) for at in (0, 1))
        spread = DECIMALS * math.sqrt(sum(each**2 for each in changes[::2])) / max(1, len(changes[::2]))
        told.append(f"{name} {first:+.0f}±{spread:.0f} / {every:+.0f} ({sum(map(bool, changes[::2]))})")
    return "  ".join(told)


def main(options: Any) -> None:
    """Measure the source as it is, then once with each rule off."""
    if options.measure:
        print(json.dumps(measure(pickle.loads(options.measure.read_bytes()))))
        return
    table = tomllib.loads(options.table.read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="corrobora-ablate-") as name:
        folder = Path(name)
        stored = options.stored or folder / "cases"
        if not stored.exists():
            stored.write_bytes(pickle.dumps(asyncio.run(collect(options.data, options.own, options.sample))))
        for each in ("src", "bench"):
            shutil.copytree(ROOT / each, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
        before = measure_copy(folder, stored)
        sizes = {name: len(own) // 2 for name, own in before.items()}
        print({name: (n, [round(sum(before[name][at::2]) / n, 3) for at in (0, 1)]) for name, n in sizes.items()})
        for rule, row in table.items():
            if options.rules and rule not in options.rules:
                continue
            file = folder / "src" / "corrobora" / row["file"]
            whole = file.read_text("utf-8")
            if whole.count(row["find"]) != 1:
                raise SystemExit(f"{rule}: its text stands {whole.count(row['find'])} times in {row['file']}")
            file.write_text(whole.replace(row["find"], row["put"]), "utf-8")
            print(f"{rule:28} {compare(before, measure_copy(folder, stored))}", flush=True)
            file.write_text(whole, "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", help="names of rules; all without one")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--own", type=Path, action="append", default=[], help="the folder of a further set")
    parser.add_argument("--sample", type=int, default=100, help="questions of a set at most")
    parser.add_argument("--stored", type=Path, help="keep what the searches found in this file, or read it from there")
    parser.add_argument("--table", type=Path, default=TABLE, help="the rules")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    main(parser.parse_args())
