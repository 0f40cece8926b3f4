"""Whether the answer is said first: known answers against the quotes that reports cite, extractive analyst.

Knows two sets with written answers, some questions also in other words, and one measure: the share of an answer's words
that stand in the statements that open a report, and in all it cites. With `--embedder FOLDER` passages are found by
meaning, too. Run it as `python -m bench.eval_answers --data DIR [--embedder FOLDER]`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from bench.eval_research import ask, refuses
from bench.eval_retrieval import SUITES, Suite, fill, read_reworded, rows
from corrobora.app import Workspace
from corrobora.config import load_settings
from corrobora.domain.report import Report
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.index.vectors import VectorIndex
from corrobora.text.tokens import stem_text

FIRST = 3  # statements that a reader sees at once
WORDS = 75  # words at which reports are compared, as three sentences reward long ones
_WHOLE, _SHOWN = 0.99, 0.7  # shares of an answer: all of it; so little that it is worth reading why
_NO_WORDS = frozenset(("yes", "no"))  # answers that no quote repeats


@dataclass(frozen=True, slots=True)
class Known:
    """A question with its answer; "" where the documents hold none."""

    text: str
    answer: str


def lihua(data: Path) -> list[Known]:
    """Questions on dated chats, unanswerable ones among them."""
    found = rows(data / "lihua_world" / "queries_dev.jsonl.gz")
    return [Known(r["question"], "" if r["type"] == "Null" else r["answer"].split("\t")[0]) for r in found]


def cookbook(data: Path) -> list[Known]:
    """Questions on product documentation, each with an answer of one or two sentences."""
    return [Known(r["question"], r["correct_answer"]) for r in rows(data / "cookbook_docs_rag" / "docs_eval.jsonl.gz")]


QUESTIONS = {"lihua": lihua, "cookbook": cookbook}


def list_questions(name: str, data: Path, most: int) -> dict[str, list[Known]]:
    """Return a sample of the questions of a set and those in other words; yes and no are left out."""
    known = QUESTIONS[name](data)
    asked = sample([one for one in known if one.answer.strip(". ").lower() not in _NO_WORDS], most)
    return {name: asked, f"{name}*": [Known(text, known[row].answer) for row, text in read_reworded(name)]}


def recall(answer: str, texts: Sequence[str]) -> float:
    """Share of the answer's word stems that stand in the texts."""
    wanted = frozenset(stem_text(answer))
    return len(wanted & frozenset(stem_text(" ".join(texts)))) / len(wanted) if wanted else 0.0


def opening(report: Report, most: int) -> list[str]:
    """Return the quotes behind the first cited statements of the report."""
    facts = {str(fact.id): fact for fact in report.findings.facts}
    cited = [check for check in report.checks if check.facts][:most]
    said = [(check, [facts[i].quote for i in check.facts if i in facts]) for check in cited]
    return [
        next((q for q in quotes if set(stem_text(check.sentence)) <= set(stem_text(q))), "") or check.sentence
        for check, quotes in said
    ]


def first_words(report: Report, most: int = WORDS) -> list[str]:
    """Return the cited sentences that open the report, cut after so many words in all."""
    found: list[str] = []
    for check in report.checks:
        found += check.sentence.split()[: most - len(found)] if check.facts else []
    return [" ".join(found)]


def sample(questions: Sequence[Known], most: int) -> list[Known]:
    """Take every n-th question, so that all kinds stay."""
    step = max(1, len(questions) // most)
    return list(questions[::step][:most])


async def store_suite(workspace: Workspace, suite: Suite) -> None:
    """Store a set as a library, with vectors if an embedder is configured."""
    embedder = workspace.embedder
    vectors = VectorIndex(workspace.database, embedder) if embedder is not None else None
    await fill(Catalog(workspace.database, vectors=vectors), suite)


async def measured(workspace: Workspace, library: str, name: str, asked: Sequence[Known], *, show: bool) -> None:
    """Ask a library some questions and print the figures."""
    first: list[float] = []
    three: list[float] = []
    every: list[float] = []
    equal: list[float] = []
    words: list[int] = []
    refused = {True: [0, 0], False: [0, 0]}
    begin = time.process_time()
    for one in asked:
        report = await ask(workspace, one.text, library)
        absent = not one.answer
        refused[absent][0] += refuses(report)
        refused[absent][1] += 1
        if absent:
            continue
        first.append(recall(one.answer, opening(report, 1)))
        equal.append(recall(one.answer, first_words(report)))
        three.append(recall(one.answer, opening(report, FIRST)))
        every.append(recall(one.answer, [quote for each in report.citations for quote in each.quotes]))
        words.append(len(report.markdown.split("## Methodology")[0].split()))
        if show and three[-1] < _SHOWN:
            print(f"  {three[-1]:.2f} {every[-1]:.2f} {one.text} => {one.answer}\n        {opening(report, 1)}")
    whole = mean(share > _WHOLE for share in three)
    spent = (time.process_time() - begin) / len(first) * 1e3
    print(
        f"{name:9} answer words in the first statement {mean(first):.3f}, in the first {FIRST} {mean(three):.3f} "
        f"(whole answer {whole:.3f}), "
        f"in the first {WORDS} words {mean(equal):.3f}, in any cited quote {mean(every):.3f}; "
        f"absent refused {refused[True][0]} of {refused[True][1]}, others {refused[False][0]} of {refused[False][1]}; "
        f"{mean(words):.0f} words, "
        f"{len(first)} questions, {spent:.0f} CPU ms each",
        flush=True,
    )


async def main(options: Any) -> None:
    """Measure the sets that were asked for."""
    with tempfile.TemporaryDirectory(prefix="corrobora-eval-") as folder:
        given = {"home": (folder, "--home"), "embedder.model": (options.embedder, "--embedder")}
        settings = load_settings({key: value for key, value in given.items() if value[0]})
        async with Workspace.open(settings) as workspace:
            names = options.suite or list(QUESTIONS)
            for name in names:
                await store_suite(workspace, SUITES[name](options.data))
                for label, asked in list_questions(name, options.data, options.sample).items():
                    await measured(workspace, name, label, asked, show=options.show)


def arguments() -> Any:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--suite", action="append", choices=sorted(QUESTIONS))
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--embedder", help="folder of an embedding model")
    parser.add_argument("--show", action="store_true", help="print the questions whose answer does not stand first")
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main(arguments()))
