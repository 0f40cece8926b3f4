"""Derived sentences over stored texts: how many honest ones are executed again, and how many mutations are caught.

Knows how to write sums, differences, percentages, ratios, averages, comparisons, trends, counts and absences from the
demo documents, and from the abstracts of SciFact with `--data`, and how to falsify each. A mutation is caught unless
it is executed or called supported. Run it as `python -m bench.derivations [--data DIR]`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.eval_retrieval import rows
from corrobora.data import demo_documents
from corrobora.domain.report import Support
from corrobora.text.claims import CitedEvidence, Number, scan_numbers
from corrobora.text.derivations import ReadDocument, ReadingSet, check_derivation, find_mention
from corrobora.text.segmentation import split_sentences
from corrobora.text.support import Evidence, check_support
from corrobora.text.tokens import stem_text

HONEST, MUTATED = 400, 2_000
_FIRST_YEAR = 1500  # from here on, a number in a text is more often a year
_UNIT = re.compile(r"\s([a-z]{4,20})\b")


@dataclass(frozen=True, slots=True)
class Text:
    """One stored text with what its source says about itself."""

    id: str
    title: str
    text: str
    version: str = ""
    published: str = ""

    @property
    def label(self) -> str:
        """How a writer names it."""
        return f"{self.title}, {self.version.split(' (')[0]}" if self.version else f"“{self.title}”"


@dataclass(frozen=True, slots=True)
class Operand:
    """A sentence of a text with the one number that it states."""

    source: Text
    sentence: str
    number: Number
    noun: str

    @property
    def cited(self) -> CitedEvidence:
        """The sentence as evidence."""
        one = self.source
        return CitedEvidence(Evidence(self.sentence, one.title, one.version, one.published), one.id)


@dataclass(frozen=True, slots=True)
class Derived:
    """A sentence with what it cites, and what was read; `name` tells its kind or how it was falsified."""

    name: str
    sentence: str
    cited: tuple[CitedEvidence, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    failed: int = 0
    unread: int = 0

    def is_executed(self) -> bool | None:
        """Return what the derivation says: True, False, or None if nothing was executed."""
        return check_derivation(self.sentence, self.cited, self.reading()).holds

    def is_caught(self) -> bool:
        """True unless it is executed or called supported."""
        holds = self.is_executed()
        if holds is None:
            return check_support(self.sentence, [one.evidence for one in self.cited]).support is not Support.SUPPORTED
        return not holds

    def reading(self) -> ReadingSet | None:
        """The reading set, None if the sentence speaks of none."""
        if not self.texts:
            return None
        documents = tuple(ReadDocument(id_) for id_ in self.texts)
        return ReadingSet(documents, lambda id_, words: find_mention(self.texts[id_], words), self.failed, self.unread)


def read_demo() -> list[Text]:
    """Return the texts of the demo library."""
    with tempfile.TemporaryDirectory() as folder:
        documents = demo_documents(Path(folder))
        found = [json.loads(line) for line in (documents.parent / "manifest.jsonl").read_text().splitlines()]
        return [
            Text(row["path"], row["doc"], (documents / row["path"]).read_text(), row["version"], _year(row["version"]))
            for row in found
        ]


def _year(version: str) -> str:
    return next(iter(re.findall(r"\b20\d\d\b", version)), "")


def read_abstracts(data: Path) -> list[Text]:
    """Return the abstracts of SciFact."""
    found = rows(data / "scifact" / "corpus.jsonl.gz")
    return [Text(str(row.get("doc_id", row.get("_id"))), row["title"], _join(row)) for row in found]


def _join(row: Mapping[str, object]) -> str:
    told = row.get("abstract", row.get("text", ""))
    return " ".join(str(part) for part in told) if isinstance(told, list) else str(told)


def find_operands(texts: Sequence[Text]) -> dict[str, list[Operand]]:
    """Return the sentences with exactly one number and its noun, by the noun."""
    found: dict[str, list[Operand]] = defaultdict(list)
    for one in texts:
        for span in split_sentences(one.text):
            said = one.text[span.start : span.end]
            numbers = [number for number in scan_numbers(said) if not number.is_year]
            if len(said) > 400 or "\n" in said or "|" in said or len(numbers) != 1 or "%" in numbers[0].unit:
                continue
            noun = _UNIT.match(said[numbers[0].end :])
            if noun is not None and numbers[0].unit and 1 < numbers[0].value < _FIRST_YEAR:
                found[noun.group(1)].append(Operand(one, said, numbers[0], noun.group(1)))
    return found


def pick_pairs(operands: Mapping[str, Sequence[Operand]], chance: random.Random) -> Iterator[tuple[Operand, Operand]]:
    """Yield pairs of numbers of one noun from two sources, the larger one first, for ever."""
    nouns = sorted(
        noun for noun, held in operands.items() if len({(one.source.label, one.number.value) for one in held}) > 1
    )
    while True:
        one, other = chance.sample(operands[chance.choice(nouns)], 2)
        if one.source.label != other.source.label and one.number.value != other.number.value:
            yield (one, other) if one.number.value > other.number.value else (other, one)


def show(value: float) -> str:
    """Return a number as a writer would write it."""
    return f"{value:.0f}" if value == round(value) else f"{value:.2f}"


def write_operations(a: Operand, b: Operand, chance: random.Random) -> Iterator[tuple[Derived, list[Derived]]]:
    """Yield honest sentences over two numbers, each with its falsifications."""
    x, y, noun = a.number.value, b.number.value, a.noun
    one, two, cited = a.source.label, b.source.label, (a.cited, b.cited)
    wrong = x + chance.choice((1, 2, 3, 7, 10))
    forms = (
        ("sum", "{one} ({x} {noun}) and {two} ({y} {noun}) together have {r} {noun}.", x + y),
        ("sum", "The {x} {noun} of {one} and the {y} {noun} of {two} are {r} {noun} in total.", x + y),
        ("difference", "{one} states {r} {noun} more than {two} ({x} against {y}).", x - y),
        ("difference", "With {y} {noun}, {two} states {r} {noun} fewer than {one} with {x}.", x - y),
        ("percentage", "{one} states {r} % more {noun} than {two} ({x} against {y}).", 100 * (x - y) / y),
        ("ratio", "The ratio of the {x} {noun} in {one} to the {y} {noun} in {two} is {r}.", x / y),
        ("times", "{one} states {r} times as many {noun} as {two} ({x} against {y}).", x / y),
        ("average", "The average of the {x} {noun} in {one} and the {y} {noun} in {two} is {r} {noun}.", (x + y) / 2),
        ("comparison", "{one} states more {noun} ({x}) than {two} ({y}).", 0.0),
        ("comparison", "The {y} {noun} of {two} are fewer than the {x} {noun} of {one}.", 0.0),
    )
    swaps = {"together have": "on average have", "in total": "on average", "more": "fewer", "fewer": "more",
             "The ratio of": "The sum of", "times as many": "% more", "average": "sum"}  # fmt: skip
    for name, form, result in forms:
        given = {"one": one, "two": two, "x": show(x), "y": show(y), "noun": noun, "r": show(result)}
        honest = Derived(name, form.format(**given), cited)
        bad = [("operand", form.format(**{**given, "x": show(wrong)}))]
        bad.append(("sides swapped", form.format(**{**given, "one": two, "two": one})))
        bad += [("unit", form.format(**{**given, "noun": "kilograms"}))]
        old = next(word for word in swaps if word in form)
        bad.append(("operator", form.replace(old, swaps[old]).format(**given)))
        if result:
            bad.append(("result", form.format(**{**given, "r": show(result * chance.choice((0.5, 0.9, 1.1, 2)) + 1)})))
        if name in ("sum", "average", "ratio"):  # which number belongs to which source does not change the result
            bad = [each for each in bad if each[0] != "sides swapped"]
        yield honest, [Derived(f"{name}: {how}", said, cited) for how, said in bad if said != honest.sentence]


def write_trends(a: Operand, b: Operand) -> Iterator[tuple[Derived, list[Derived]]]:
    """Yield honest trends over two dated numbers, each with its falsifications."""
    old, new = (a, b) if a.source.published < b.source.published else (b, a)
    if not old.source.published or old.source.published == new.source.published:
        return
    form = "The number of {noun} {verb} from {x} in {one} to {y} in {two}."
    verb, other = ("rose", "fell") if new.number.value > old.number.value else ("fell", "rose")
    given = {"noun": a.noun, "verb": verb, "x": show(old.number.value), "y": show(new.number.value),
             "one": old.source.published, "two": new.source.published}  # fmt: skip
    bad = {
        "operator": {"verb": other},
        "flat": {"verb": "remained unchanged"},
        "operand": {"x": show(new.number.value + 1 if verb == "rose" else old.number.value + 3)},
        "scope": {"one": "2009"},
        "sides swapped": {"x": given["y"], "y": given["x"]},
    }
    cited = (old.cited, new.cited)
    yield (
        Derived("trend", form.format(**given), cited),
        [Derived(f"trend: {how}", form.format(**{**given, **change}), cited) for how, change in bad.items()],
    )


def write_readings(
    texts: Sequence[Text], words: Sequence[str], chance: random.Random
) -> Iterator[tuple[Derived, list[Derived]]]:
    """Yield counts and absences over a random reading set, each with its falsifications."""
    read = {one.id: one.text for one in chance.sample(list(texts), chance.randint(3, 9))}
    failed, unread = chance.randint(0, 4), chance.randint(0, 30)
    size, word = len(read), chance.choice(words)
    holding = sum(bool(find_mention(text, word)) for text in read.values())
    if holding:
        form = "{n} of the {m} documents read mention {word}."
        given = Derived("count", form.format(n=holding, m=size, word=word), (), read)
        yield (
            given,
            [
                replace(given, name="count: number", sentence=form.format(n=holding % size + 1, m=size, word=word)),
                replace(given, name="count: set", sentence=form.format(n=holding, m=size + 1, word=word)),
                replace(given, name="count: one more read", texts={**read, "new": f"They mention {word} as well."}),
            ],
        )
        return
    tail = "; {f} more could not be read and {u} were not opened." if failed and unread else "."
    failed, unread = (failed, unread) if failed and unread else (0, 0)
    form = chance.choice(
        ("None of the {m} documents read mentions {word}", "“{word}” was not found in the {m} documents read")
    )
    full = form + tail
    given = Derived("absence", full.format(m=size, word=word, f=failed, u=unread), (), read, failed, unread)
    place = chance.choice(list(read))
    planted = {**read, place: f"{read[place]}\n\nOnce the text speaks of {word} here."}
    bad = [
        replace(given, name="absence: counter-example planted", texts=planted),
        replace(given, name="absence: set", sentence=full.format(m=size - 1, word=word, f=failed, u=unread)),
        replace(given, name="absence: unread hidden", unread=unread + 1),
        replace(given, name="absence: failure hidden", failed=failed + 1),
        replace(given, name="absence: of the world", sentence=f"There is no rule on {word}."),
    ]
    if failed:
        bad.append(replace(given, name="absence: tail cut", sentence=form.format(m=size, word=word) + "."))
    yield given, bad


def write_all(texts: Sequence[Text], chance: random.Random) -> Iterator[tuple[Derived, list[Derived]]]:
    """Yield derived sentences of every kind in turn, for ever."""
    pairs = pick_pairs(find_operands(texts), chance)
    words = sorted({word for one in texts for word in re.findall(r"\b[a-z]{7,14}\b", one.text) if stem_text(word)})
    for a, b in pairs:
        yield from write_operations(a, b, chance)
        yield from write_trends(a, b)
        for _ in range(4):
            yield from write_readings(texts, words, chance)


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--show", action="store_true", help="print what failed")
    options = parser.parse_args()
    for name, texts in {
        "demo": read_demo(),
        **({"scifact": read_abstracts(options.data)} if options.data else {}),
    }.items():
        measure(name, texts, show_failures=options.show)


def measure(name: str, texts: Sequence[Text], *, show_failures: bool) -> None:
    """Print how many honest sentences over some texts are executed, and how many mutations are caught."""
    executed: Counter[tuple[str, bool]] = Counter()
    caught: Counter[tuple[str, bool]] = Counter()
    for honest, bad in write_all(texts, random.Random(8)):
        if executed.total() < HONEST:
            good = honest.is_executed() is True
            executed[honest.name, good] += 1
            if show_failures and not good:
                print(
                    f"  NOT EXECUTED {honest.sentence}\n    ",
                    check_derivation(honest.sentence, honest.cited, honest.reading()),
                )
        for each in bad:
            found = each.is_caught()
            caught[each.name, found] += 1
            if show_failures and not found:
                print(f"  MISSED {each.name}: {each.sentence}")
        if caught.total() >= MUTATED and executed.total() >= HONEST:
            break
    for told, counts in (("honest executed", executed), ("mutations caught", caught)):
        print(f"{name:8} {told}: {sum(n for (_, good), n in counts.items() if good)} of {counts.total()}")
        for kind in sorted({kind for kind, _ in counts}):
            print(f"    {kind:34} {counts[kind, True]} of {counts[kind, True] + counts[kind, False]}")


if __name__ == "__main__":
    main()
