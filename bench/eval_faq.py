"""Search over answers whose questions were taken away: how often the answer to a question is found first.

Each file of the folder, `NAME.json`, is a list of pairs: a question of a published list of frequently asked questions,
and its answer. The answers of a file become a library, each a document without its question, so that nothing but what
the answer says leads to it. No weight or constant was fitted on such lists.
Run it as `python -m bench.eval_faq --data FOLDER`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path

import numpy as np

from corrobora.app.libraries import ingest_files
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.postgres import Database

SHOWN = 20  # passages of a search
PLACES = (1, 3, 10)


def write_answers(folder: Path, answers: list[str]) -> Path:
    """Write each answer as a document of its own, whose title tells its number only."""
    folder.mkdir()
    for number, answer in enumerate(answers):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n{answer}\n", encoding="utf-8")
    return folder


async def measure_list(database: Database, home: Path, name: str, pairs: list[tuple[str, str]]) -> list[float]:
    """Return the mean reciprocal rank among ten, and the share of answers found in so many places."""
    await ingest_files(database, name, (write_answers(home / name, [a for _, a in pairs]),), lambda *_: None)
    library = PostgresLibrary(database, [name])
    ranks: list[int] = []
    for number, (question, _) in enumerate(pairs):
        hits = await library.hybrid_search(question, limit=SHOWN)
        found = list(dict.fromkeys(Path(hit.url).stem for hit in hits))
        ranks.append(found.index(str(number)) + 1 if str(number) in found else SHOWN + 1)
    place = np.array(ranks)
    return [float(np.where(place <= max(PLACES), 1 / place, 0).mean()), *(float((place <= n).mean()) for n in PLACES)]


async def main(lists: dict[str, list[tuple[str, str]]]) -> None:
    """Print the figures of each list, and their mean over the lists."""
    every: list[list[float]] = []
    with tempfile.TemporaryDirectory(prefix="corrobora-faq-") as folder:
        home = Path(folder)
        async with await Database.connect(home / "database") as database:
            for name, pairs in lists.items():
                every.append(await measure_list(database, home, name, pairs))
                print(f"{name:12} {len(pairs):4} questions  {_format(every[-1])}", flush=True)
    print(f"{'mean':12} {len(every):4} lists      {_format(np.mean(every, axis=0).tolist())}")


def _format(figures: list[float]) -> str:
    named = zip(("mrr@10", *(f"in {n}" for n in PLACES)), figures, strict=True)
    return "  ".join(f"{name} {figure:.3f}" for name, figure in named)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    files = sorted(parser.parse_args().data.glob("*.json"))
    asyncio.run(main({path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}))
