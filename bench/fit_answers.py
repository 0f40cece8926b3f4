"""Fit when a report without a model counts as complete, and print its risk by the share of questions it covers.

Knows three kinds of library (chats, product documentation, news facts) with written answers, questions that nothing
answers, and small libraries from which documents were withheld. A question is answered if the words that open its
report hold half of the answer's own words, or a third of those of a long answer. Each kind is rated by weights fitted
without it. Run it as `python -m bench.fit_answers --data DIR [--write]`; it takes some minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.eval_answers import first_words
from bench.eval_refusals import small
from bench.eval_research import ask
from bench.eval_retrieval import SUITES, Suite, fill, rows
from bench.fit_abstention import KINDS
from corrobora.app import Workspace
from corrobora.config import load_settings
from corrobora.domain.report import Report
from corrobora.policies.assessment import EvidenceView
from corrobora.storage.index.catalog import Catalog
from corrobora.text.answer_match import RATED, UNRATED, list_features, measure_standing, read_ratings
from corrobora.text.tokens import stem_text

RIGHT = 0.8  # share of the reports called complete that must hold the answer, each kind left out of the fit
LONG, PART, THIRD = 8, 0.5, 0.35  # an answer of as many own words is long; shares of them that answer
RIDGE = 0.02
WEIGHTS = Path("src/corrobora/data/abstention.json")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the features of each of its parts, with and without the rating of its library, and its fate."""

    kind: str
    rated: Floats
    unrated: Floats
    answered: bool


def list_answers(data: Path) -> dict[str, dict[str, str]]:
    """Return the written answers of each set by question; "" where nothing answers. Yes and no are left out."""
    chats = rows(data / "lihua_world" / "queries_dev.jsonl.gz")
    pages = rows(data / "cookbook_docs_rag" / "docs_eval.jsonl.gz")
    news = rows(data / "multihop_rag_500" / "queries_dev.jsonl.gz")
    found = {
        "lihua": {r["question"]: "" if r["type"] == "Null" else r["answer"].split("\t")[0] for r in chats},
        "cookbook": {r["question"]: r["correct_answer"] for r in pages},
        "multihop": {r["query"]: "" if r["question_type"] == "null_query" else r["answer"] for r in news},
    }
    return {
        name: {asked: answer for asked, answer in own.items() if answer.strip(". ").lower() not in ("yes", "no")}
        for name, own in found.items()
    }


def holds_answer(report: Report, question: str, answer: str) -> bool:
    """True if the words that open a report hold enough of an answer's words that are not the question's."""
    whole = frozenset(stem_text(answer))
    own = whole - frozenset(stem_text(question)) or whole
    held = len(own & frozenset(stem_text(" ".join(first_words(report)))))
    return bool(own) and held >= (PART if len(own) < LONG else THIRD) * len(own)


def measure_report(kind: str, report: Report, question: str, answer: str) -> Asked | None:
    """Return the features of each part of a question, and whether the opening of its report holds the answer."""
    statements = EvidenceView(report.findings.facts).statements
    parts = [part for part in report.findings.sub_questions if part.likely is not None]
    if not parts or not statements:
        return None
    standings = [measure_standing(part.text, statements) for part in parts]
    rated = [list_features(one, part.likely) for one, part in zip(standings, parts, strict=True)]
    unrated = [list_features(one, None) for one in standings]
    return Asked(kind, np.array(rated), np.array(unrated), holds_answer(report, question, answer))


def list_libraries(data: Path, most: int) -> Iterator[tuple[str, Suite, list[str]]]:
    """Yield every library with the questions that it is asked: whole sets, then small libraries."""
    answers = list_answers(data)
    for name, own in answers.items():
        yield name, SUITES[name](data), list(own)
    for name in ("cookbook", "lihua"):
        for library in small(SUITES[name](data), most):
            texts = [question.text for question in (*library.present, *library.withheld)]
            yield name, library.suite, [text for text in texts if text in answers[name]]


async def collect(data: Path, most: int) -> list[Asked]:
    """Ask every library its questions."""
    answers, found = list_answers(data), list[Asked]()
    with tempfile.TemporaryDirectory(prefix="corrobora-fit-") as folder:
        async with Workspace.open(load_settings({"home": (folder, "--home")})) as workspace:
            for name, suite, texts in list_libraries(data, most):
                await fill(Catalog(workspace.database), suite)
                for text in texts:
                    report = await ask(workspace, text, suite.name)
                    row = measure_report(KINDS[name], report, text, answers[name][text])
                    found += [row] if row is not None else []
    return found


def fit(x: Floats, y: Floats, kinds: Sequence[str]) -> Floats:
    """Fit a logistic rating, intercept first; every kind of library counts alike."""
    mean, spread = x.mean(0), x.std(0) + 1e-6
    z, ridge = np.c_[np.ones(len(x)), (x - mean) / spread], RIDGE * np.diag([0.0, *[1.0] * x.shape[1]])
    weight = np.array([1 / list(kinds).count(kind) for kind in kinds])
    weight, fitted = weight / weight.sum(), np.zeros(z.shape[1])
    for _ in range(40):
        share = 1 / (1 + np.exp(-z @ fitted))
        curve = (z * (weight * share * (1 - share))[:, None]).T @ z + ridge
        fitted += np.linalg.solve(curve, z.T @ (weight * (y - share)) - ridge @ fitted)
    slopes = fitted[1:] / spread
    return np.r_[fitted[0] - mean @ slopes, slopes]


def join_parts(parts: Sequence[Floats]) -> Floats:
    """Return one row for each question: its least likely part, and the mean of what its statements show."""
    return np.array([[own[:, 0].min(), *own[:, 1:].mean(0)] for own in parts])


def rate(parts: Sequence[Floats], weights: Floats) -> Floats:
    """Return the probabilities of an answer: each that of the part that is least likely answered."""
    return np.array([(1 / (1 + np.exp(-(weights[0] + own @ weights[1:])))).min() for own in parts])


def rate_left_out(asked: Sequence[Asked], parts: Sequence[Floats], y: Floats) -> Floats:
    """Rate the questions of each kind by weights fitted on the other kinds."""
    kinds, found = np.array([one.kind for one in asked]), np.zeros(len(asked))
    x = join_parts(parts)
    for kind in sorted(set(kinds)):
        others = kinds != kind
        weights = fit(x[others], y[others], list(kinds[others]))
        found[~others] = rate([own for own, other in zip(parts, others, strict=True) if not other], weights)
    return found


def find_point(ratings: Floats, y: Floats) -> float:
    """Return the lowest rating from which a share `RIGHT` of the questions is answered."""
    order = np.argsort(-ratings, kind="stable")
    right = np.cumsum(y[order]) / np.arange(1, len(y) + 1)
    return float(ratings[order][max(np.flatnonzero(right >= RIGHT), default=0)])


def print_curve(name: str, asked: Sequence[Asked], ratings: Floats, y: Floats, point: float) -> None:
    """Print the share of wrong answers by the share of questions answered, and what is called complete."""
    print(f"{name}: complete from {point:.2f}")
    for kind in ("", *sorted({one.kind for one in asked})):
        mine = np.array([kind in ("", one.kind) for one in asked])
        wrong = 1 - y[mine][np.argsort(-ratings[mine], kind="stable")]
        points = [(share, wrong[: max(1, round(share * len(wrong)))].mean()) for share in (0.05, 0.1, 0.2, 0.4, 1.0)]
        called = mine & (ratings >= point)
        right = f"{y[called].sum():.0f} of {called.sum()}"
        print(
            f"  {kind or 'all':14} {mine.sum():4} questions, answered {y[mine].mean():.2f}; complete, right {right}; "
            "risk " + "  ".join(f"{share:.0%}: {risk:.2f}" for share, risk in points)
        )


def fit_rating(asked: Sequence[Asked], names: Sequence[str], parts: Sequence[Floats]) -> dict[str, Any]:
    """Fit one rating, print its figures with each kind left out, and return it as it is stored."""
    y = np.array([float(one.answered) for one in asked])
    ratings = rate_left_out(asked, parts, y)
    point = find_point(ratings, y)
    print_curve(", ".join(names), asked, ratings, y, point)
    weights = fit(join_parts(parts), y, [one.kind for one in asked])
    values = {name: round(float(each), 3) for name, each in zip(names, weights[1:], strict=True)}
    covered = float((ratings >= point).mean())
    answered = float(np.quantile(rate(parts, weights), 1 - covered))  # as many questions as each kind left out
    return {"intercept": round(float(weights[0]), 3), "weights": values, "answered": round(answered, 3)}


def main(options: Any) -> None:
    """Print the figures; with `--write`, store the weights beside those of `bench.fit_abstention`."""
    asked = asyncio.run(collect(options.data, options.sample))
    found = {
        "rated": fit_rating(asked, RATED, [one.rated for one in asked]),
        "unrated": fit_rating(asked, UNRATED, [one.unrated for one in asked]),
    }
    print(found)
    y = np.array([float(one.answered) for one in asked])
    for name, own, parts in zip(
        found, read_ratings()[1:], ([a.rated for a in asked], [a.unrated for a in asked]), strict=True
    ):
        print_curve(
            f"{name}, by the weights that ship",
            asked,
            rate(parts, np.array([own.intercept, *own.weights])),
            y,
            own.answered,
        )
    if options.write:
        WEIGHTS.write_text(json.dumps(json.loads(WEIGHTS.read_text("ascii")) | found, indent=1) + "\n", "ascii")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=90, help="questions of a set for small libraries, at most")
    parser.add_argument("--write", action="store_true", help=f"store the weights in {WEIGHTS}")
    main(parser.parse_args())
