"""Refusals over small libraries: questions whose documents are there, and questions whose documents were withheld.

Knows how to cut small libraries out of the public sets. Another document may answer a question whose own are withheld,
so that no share of refusals is the right one: the questions that are refused although their documents are there count.
Run it as `python -m bench.eval_refusals --data DIR [--suite NAME]`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.eval_research import ask, refuses
from bench.eval_retrieval import SUITES, Doc, Question, Suite, fill, rows
from corrobora.app import Workspace
from corrobora.config import load_settings
from corrobora.storage.index.catalog import Catalog

SIZE = 25  # documents of a small library
TOGETHER = 6  # questions asked of one library, every second one about documents that are not there
NAMES = ("lihua", "cookbook", "twowiki")


@dataclass(frozen=True, slots=True)
class Library:
    """Some documents with questions: those that they answer, and those whose documents were withheld."""

    suite: Suite
    present: Sequence[Question]
    withheld: Sequence[Question]


def small(suite: Suite, most: int) -> Iterator[Library]:
    """Cut small libraries out of a set, always the same ones."""
    chance = random.Random(suite.name)
    questions = chance.sample(list(suite.questions), min(most, len(suite.questions)))
    documents = {doc.id: doc for doc in suite.docs}
    for start in range(0, len(questions), TOGETHER):
        asked = questions[start : start + TOGETHER]
        present, withheld = asked[::2], asked[1::2]
        needed = frozenset[str]().union(*(question.gold for question in present))
        absent = frozenset[str]().union(*(question.gold for question in withheld)) - needed
        others = [id_ for id_ in documents if id_ not in needed | absent]
        kept: list[Doc] = [documents[id_] for id_ in sorted(needed)]
        kept += [documents[id_] for id_ in chance.sample(others, max(0, min(len(others), SIZE - len(kept))))]
        chance.shuffle(kept)
        yield Library(
            replace(suite, name=f"{suite.name}{start}", docs=kept, questions=asked),
            present,
            [question for question in withheld if not question.gold & needed],
        )


async def refused(workspace: Workspace, library: str, questions: Sequence[Question]) -> int:
    """Ask questions of a library and count those that are refused."""
    return sum([refuses(await ask(workspace, question.text, library)) for question in questions])


async def measured(workspace: Workspace, name: str, data: Path, most: int) -> None:
    """Print the shares of one set."""
    counts = [0, 0, 0, 0]
    for library in small(SUITES[name](data), most):
        await fill(Catalog(workspace.database), library.suite)
        for at, questions in ((0, library.present), (2, library.withheld)):
            counts[at] += await refused(workspace, library.suite.name, questions)
            counts[at + 1] += len(questions)
    print(
        f"{name:9} libraries of {SIZE}: refused {counts[0]} of {counts[1]} with their documents, "
        f"{counts[2]} of {counts[3]} without",
        flush=True,
    )


async def unanswerable(workspace: Workspace, data: Path) -> None:
    """Print how many questions on the dated chats are refused that nothing there answers, and how many of the rest."""
    await fill(Catalog(workspace.database), SUITES["lihua"](data))
    found = rows(data / "lihua_world" / "queries_dev.jsonl.gz")
    null = [Question(row["question"], frozenset()) for row in found if row["type"] == "Null"]
    others = [Question(row["question"], frozenset()) for row in found if row["evidence_docs"] and row["type"] != "Null"]
    others = others[::3]
    print(
        f"lihua     whole: refused {await refused(workspace, 'lihua', null)} of {len(null)} without an answer, "
        f"{await refused(workspace, 'lihua', others)} of {len(others)} others",
        flush=True,
    )


async def main(options: Any) -> None:
    """Measure the sets that were asked for."""
    with tempfile.TemporaryDirectory(prefix="corrobora-eval-") as folder:
        settings = load_settings({"home": (folder, "--home")})
        async with Workspace.open(settings) as workspace:
            for name in options.suite or NAMES:
                await measured(workspace, name, options.data, options.sample)
            if not options.suite or "lihua" in options.suite:
                await unanswerable(workspace, options.data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--suite", action="append", choices=NAMES)
    parser.add_argument("--sample", type=int, default=90, help="questions of a set at most")
    asyncio.run(main(parser.parse_args()))
