"""Verification of sentences: honest restatements, one-edit falsifications of them, forged copies, and rated claims.

Knows pairs written by hand (support_pairs.txt) and, with `--data`, free paraphrases of real documents (`dev` was looked
at, `claim` kept apart) and the sentences and rated claims of SciFact, which nothing was tuned on. Prints the share that
is caught by kind and what becomes of honest sentences.
Run it as `python -m bench.support [--data DIR] [--show]`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from corrobora.domain.report import Support
from corrobora.text.claims import CitedEvidence
from corrobora.text.derivations import check_derivation
from corrobora.text.quantities import NUMBER_WORDS
from corrobora.text.support import Evidence, SupportCheck, check_support

PAIRS = Path(__file__).with_name("support_pairs.txt")
COPIES = 60  # of each kind
_UNITS = {
    "mg": "g",
    "days": "hours",
    "years": "months",
    "weeks": "days",
    "%": " kg",
    "hours": "days",
    "months": "weeks",
}
_LONG = 12  # words: two halves still say something
_EDITS = (  # kind, what is replaced, by what
    ("negation added", r"\b(is|are|was|were|can|may)\b(?! not)", r"\1 not"),
    ("negation dropped", r" not ", " "),
    ("comparative", r" increased ", " decreased "),
    ("comparative", r" higher ", " lower "),
    ("comparative", r" reduced ", " raised "),
    ("comparative", r" before ", " after "),
    ("names swapped", r"(?<=. )([A-Z][\w-]{2,}) (.{5,80}) ([A-Z][\w-]{2,})\b", r"\3 \2 \1"),
    ("homoglyph", "(?<=.)a", "а"),
    ("modal", " may ", " must "),
    ("strength", r"\b(?:is|are|was|were) associated with", "caused"),
)


class Case(NamedTuple):
    """A sentence with its evidence and what was made false in it, "" if nothing was."""

    kind: str
    sentence: str
    evidence: Sequence[Evidence]


def read_cases(path: Path) -> Iterator[Case]:
    """Read honest restatements and their falsifications; ` | ` parts the passages of one source."""
    quotes, honest, metadata = [""], "", dict[str, str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(": ")
        evidence = tuple(Evidence(quote, **metadata) for quote in quotes)
        if mark == "Q":
            quotes, metadata = text.split(" | "), {}
        elif mark == "M":
            metadata |= dict([text.split("=", 1)])
        elif mark == "H":
            honest = text
            yield Case("", honest, evidence)
        elif mark == "X":
            kind, _, forged = text.partition(" | ")
            yield Case(kind, forged, evidence)
        elif mark == "F":
            kind, old, new = text.split(" | ", 2) if text.count(" | ") > 1 else (*text.split(" | ", 1), "")
            old, new = old.removesuffix(" |"), new.strip()
            if honest.count(old) != 1:
                raise ValueError(f"{old!r} does not stand once in {honest!r}")
            yield Case(kind, honest.replace(old, new), evidence)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a compressed file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def forge_copies(sentences: Sequence[str], chance: random.Random) -> Iterator[Case]:
    """Yield copies of sentences with one change each, at most `COPIES` of a kind."""
    made: Counter[str] = Counter()
    for number, sentence in enumerate(sentences):
        evidence = (Evidence(" ".join(sentences[max(0, number - 2) : number + 3])),)
        if made["honest"] < COPIES * 2:
            made["honest"] += 1
            yield Case("", sentence, evidence)
        for kind, forged in _forge(sentence, sentences[number - 1], chance):
            if made[kind] < COPIES and forged != sentence:
                made[kind] += 1
                yield Case(kind, forged, evidence)


def _forge(sentence: str, before: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    for kind, pattern, change in _EDITS:
        if found := re.search(pattern, sentence):
            yield kind, sentence[: found.start()] + found.expand(change) + sentence[found.end() :]
    if number := re.search(r"(?<![\w.,-])\d{2,4}(?![\w.,-])", sentence):
        for kind, wrong in _perturb_number(int(number.group()), chance):
            yield f"number {kind}", sentence[: number.start()] + wrong + sentence[number.end() :]
    if unit := re.search(r"(?<=\d)\s?(mg|days|years|weeks|%|hours|months)(?!\w)", sentence):
        yield "unit", sentence[: unit.start(1)] + _UNITS[unit.group(1)] + sentence[unit.end(1) :]
    if cut := re.search(r",? (?:if|when|unless|except|only|until) ", sentence[20:]):
        yield "condition cut", sentence[: 20 + cut.start()] + "."
    if head := re.search(r"\b(?:not|no) (?=[a-z]+ [a-z]+ [a-z]+ [a-z]+)", sentence):
        yield "head cut", sentence[head.end() :]
    words = sentence.split()
    if len(words) > _LONG:
        yield "spliced", " ".join(before.split()[: len(before.split()) // 2] + words[len(words) // 2 :])
        place = chance.randrange(3, len(words) - 3)
        if other := re.search(r"\b[a-z]{7,}\b", before):
            yield "word", " ".join([*words[:place], other.group(), *words[place + 1 :]])


def _perturb_number(number: int, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield a number made false in six ways: said roughly, drawn, as a range, masked, negated, in words."""
    wrong = number + max(2, number // 2) + chance.randint(0, 9)
    yield "approximate", f"about {wrong}"
    yield "random", str(number + chance.randint(1, 9))
    yield "range", f"{wrong} to {wrong + max(2, number // 4)}"
    yield "masked", "#" * len(str(number))
    yield "negated", f"-{number}"
    yield "in words", chance.choice([word for word, value in NUMBER_WORDS.items() if value != number and value > 1])


def judge_sentence(sentence: str, evidence: Sequence[Evidence]) -> SupportCheck:
    """Check a sentence as a report's is checked: a derivation is executed, anything else compared."""
    derived = check_derivation(sentence, [CitedEvidence(each, "source") for each in evidence])
    found = check_support(sentence, evidence)
    if derived.holds is None or (not derived.holds and found.withholds and not derived.withholds):
        return found
    status = Support.SUPPORTED if derived.holds else Support.CONTRADICTED if derived.withholds else Support.UNCLEAR
    return SupportCheck(status, found.overlap, (derived.reason,), found.failing, withholds=derived.withholds)


def print_cases(title: str, cases: Sequence[Case], *, show: bool) -> None:
    """Check cases; print what becomes of the honest ones and the share of each kind that is not called supported."""
    kinds: defaultdict[str, list[SupportCheck]] = defaultdict(list)
    begin = time.perf_counter()
    for case in cases:
        found = judge_sentence(case.sentence, case.evidence)
        kinds[case.kind].append(found)
        if show and (found.support is Support.SUPPORTED) != (not case.kind):
            print(f"   {case.kind or 'honest':14} {found.support}: {case.sentence} | {'; '.join(found.reasons)}")
    spent = (time.perf_counter() - begin) / max(1, len(cases))
    honest = kinds.pop("", [])
    shares = Counter("withheld" if each.withholds else str(each.support) for each in honest)
    print(f"{title}: {len(honest)} honest: {', '.join(f'{name} {number}' for name, number in shares.most_common())}"
          f" ({1000 * spent:.2f} ms a check)")  # fmt: skip
    for kind, found in sorted(kinds.items()):
        caught = sum(each.support is not Support.SUPPORTED for each in found)
        marked = sum(bool(each.failing) for each in found)
        print(f"   {kind:16} caught {caught} of {len(found)}, withheld {sum(each.withholds for each in found)}, "
              f"failing words marked {marked}")  # fmt: skip


def print_claims(data: Path, documents: dict[str, dict[str, Any]]) -> None:
    """Print what becomes of SciFact's claims that abstracts support, contradict, or say nothing about."""
    shares: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in read_rows(data / "scifact" / "claims_dev.jsonl.gz"):
        for document, rationales in row["evidence"].items():
            source = documents[document]
            quotes = [" ".join(source["abstract"][at] for at in each["sentences"]) for each in rationales]
            found = check_support(row["claim"], [Evidence(quote, source["title"]) for quote in quotes])
            shares[rationales[0]["label"]]["withheld" if found.withholds else str(found.support)] += 1
        for document in row["cited_doc_ids"] if not row["evidence"] else ():
            source = documents[str(document)]
            found = check_support(row["claim"], [Evidence(" ".join(source["abstract"]), source["title"])])
            shares["unknown"]["withheld" if found.withholds else str(found.support)] += 1
    for label, counts in shares.items():
        shown = ", ".join(f"{name} {number}" for name, number in counts.most_common())
        print(f"SciFact {label} {counts.total()}: {shown}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--show", action="store_true", help="print each case that goes wrong")
    wanted = parser.parse_args()
    print_cases("restatements", list(read_cases(PAIRS)), show=wanted.show)
    if wanted.data:
        for path in sorted((wanted.data / "paraphrases").glob("*.txt")):
            print_cases(f"free paraphrases, {path.stem}", list(read_cases(path)), show=wanted.show)
        documents = {str(row["doc_id"]): row for row in read_rows(wanted.data / "scifact" / "corpus.jsonl.gz")}
        sentences = [each for row in documents.values() for each in row["abstract"] if len(each.split()) > 8]
        print_cases("copies", list(forge_copies(sentences[:6000], random.Random(8))), show=wanted.show)
        print_claims(wanted.data, documents)


if __name__ == "__main__":
    main()
