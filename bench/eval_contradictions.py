"""Contradictions between single sentences: how many are found, and how often one is told where there is none.

Knows SciFact (a claim and the sentences that support or refute it), Climate-FEVER (the evidence of disputed claims and
of undisputed ones) and pairs of sentences of the demo documents. Run it as `python -m bench.eval_contradictions --data
DIR [--show]`.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from bench.derivations import read_demo
from bench.eval_retrieval import rows
from corrobora.domain.report import Support
from corrobora.text.comparison import find_difference, parse_statement
from corrobora.text.segmentation import split_sentences
from corrobora.text.support import Evidence, check_support

PAIRS = 200_000  # random pairs of sentences of different demo documents


def differ(one: str, other: str) -> str:
    """Return the difference told between two sentences, "" if there is none."""
    found = find_difference(parse_statement(one), parse_statement(other))
    return "" if found is None else f"{found.aspect}: {found.text}"


def pair_scifact(data: Path) -> Iterator[tuple[str, str, str]]:
    """Yield label, claim and sentence of the evidence."""
    corpus = {str(row["doc_id"]): row["abstract"] for row in rows(data / "scifact" / "corpus.jsonl.gz")}
    for row in rows(data / "scifact" / "claims_dev.jsonl.gz"):
        for document, found in row["evidence"].items():
            for each in found:
                for at in each["sentences"]:
                    yield each["label"], row["claim"], corpus[str(document)][at]


def measure_climate(data: Path) -> None:
    """Print how many disputed claims have differing evidence or are denied by some of it, and how many others."""
    counts, denied = {True: [0, 0], False: [0, 0]}, {True: 0, False: 0}
    for row in rows(data / "climate_fever" / "dev.jsonl.gz"):
        texts = [row["claim"], *(each["evidence"] for each in row["evidences"])]
        disputed = row["claim_label"] == "DISPUTED"
        counts[disputed][0] += any(differ(one, other) for one, other in combinations(texts, 2))
        counts[disputed][1] += 1
        found = [
            check_support(row["claim"], [Evidence(each["evidence"], each["article"])]) for each in row["evidences"]
        ]
        denied[disputed] += 0 < sum(each.support is Support.CONTRADICTED for each in found) < len(found)
    (differing, of), (false, others) = counts[True], counts[False]
    print(f"climate-fever  disputed claims with a difference {differing} of {of}, other claims {false} of {others}")
    print(f"climate-fever  of these denied by some of it: {denied[True]} and {denied[False]}")


def measure_pairs(*, show: bool) -> None:
    """Print how many random pairs of sentences of different demo documents are told to differ."""
    texts = read_demo()
    said = [
        (one.id, one.text[span.start : span.end])
        for one in texts
        for span in split_sentences(one.text)
        if 40 < span.end - span.start < 400 and "\n" not in one.text[span.start : span.end]
    ]
    chance, found = random.Random(8), dict[tuple[str, str], str]()
    stems = [(place, text, parse_statement(text).topic) for place, text in said if not re.search(r"[|#<]", text)]
    for _ in range(PAIRS):
        (place, one, topic), (where, other, theirs) = chance.sample(stems, 2)
        if place != where and topic & theirs and (told := differ(one, other)):
            found[one, other] = told
    print(f"demo           {len(found)} of {PAIRS} random pairs of sentences told to differ")
    for (one, other), told in list(found.items())[: 40 if show else 0]:
        print(f"  {told}\n    {one}\n    {other}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    counts: dict[str, list[int]] = {}
    for label, claim, sentence in pair_scifact(options.data):
        told = differ(claim, sentence)
        found = counts.setdefault(label, [0, 0])
        found[0] += bool(told)
        found[1] += 1
        if told and options.show:
            print(f"  {label} {told}\n    {claim}\n    {sentence}")
    print("scifact        differing:", ", ".join(f"{label} {n} of {of}" for label, (n, of) in sorted(counts.items())))
    measure_climate(options.data)
    measure_pairs(show=options.show)


if __name__ == "__main__":
    main()
