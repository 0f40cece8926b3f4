"""Fit the weights of the sentence ranker on development data, and print how well each set is ranked without itself.

Knows five sets: chats and product documentation with written answers, claims with their rationale sentences, news
facts, and the demo's anchors. A sentence is worth the share of the answer's words that it adds, or 1 where it is a
gold one. Further sets are folders of `--own DIR`: `docs/` with `questions.json`, each
question with the passages that answer it. Weights are fitted on pairs of sentences of one question (logistic, ridge),
every set counting alike, the demo a quarter. Run it as `python -m bench.fit_ranker --data DIR [--write]`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.eval_answers import WORDS
from bench.eval_retrieval import SUITES, fill, rows
from corrobora.analysts.extractive.lines import read_lines
from corrobora.analysts.extractive.ranker import FEATURES, Sentence, measure_features, split_joined_names
from corrobora.app.libraries import ingest_files
from corrobora.data import demo_documents
from corrobora.domain.evidence import Passage
from corrobora.roles.extract import Excerpt
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres import Database
from corrobora.text.tokens import split_words, stem_text
from corrobora.text.vocabulary import Equivalence, map_names

HITS = 10
RIDGE = 0.01
SMALL = {"demo": 0.25}  # what a set of four questions counts
OWN = 0.3  # what a set of one's own counts, whose questions may be made from a few patterns
FORMS = {
    "prose": ("cookbook", "scifact", "multihop", "lihua", "demo"),
    "dialogue": ("lihua",),
}
WEIGHTS = Path("src/corrobora/data/ranker.json")
_NEARLY = 0.8  # of the shorter sentence's words: a repetition, which no reader is shown twice
_DEMO = (  # the parts of the demo's questions, and the anchors of each
    ("How did NIST guidance on password rotation change between SP 800-63-3 and the draft of SP 800-63-4", (0, 1, 6)),
    ("How did NIST guidance on password composition rules change between SP 800-63-3 and SP 800-63-4", (2, 3)),
    ("How did NIST guidance on password length change between SP 800-63-3 and SP 800-63-4", (4, 5)),
    ("Is SMS acceptable as a second factor under NIST SP 800-63B, and under which conditions?", (7, 8, 9)),
)
_DEMO_NAMES = (Equivalence("memorized secret", "password"),)  # as a run learns them
Floats = NDArray[np.float64]
Label = Callable[[str, Passage, Sentence, int], float]  # of the address, the passage, a sentence and its start


def overlap_coefficient(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of the smaller set that the other contains, 0.0 if either is empty."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with how much each sentence is worth; `answer` is "" where gold sentences are known."""

    text: str
    label: Label
    answer: str = ""
    searches: tuple[str, ...] = ()  # other wordings
    names: tuple[Equivalence, ...] = ()


@dataclass(frozen=True, slots=True)
class Pool:
    """The sentences that a search found for one question."""

    asked: Asked
    sentences: Sequence[Sentence]
    features: Floats
    worth: Floats


def _by_answer(question: str, answer: str) -> Asked:
    wanted = frozenset(stem_text(answer)) - frozenset(stem_text(question)) or frozenset(stem_text(answer))
    return Asked(question, lambda _u, _p, one, _s: len(wanted.intersection(one.stems)) / len(wanted), answer)


def _written(name: str, data: Path) -> list[Asked]:
    """Questions of chats or documentation with their answers."""
    if name == "cookbook":
        found = [(r["question"], r["correct_answer"]) for r in rows(data / "cookbook_docs_rag" / "docs_eval.jsonl.gz")]
    else:
        chats = rows(data / "lihua_world" / "queries_dev.jsonl.gz")
        found = [(r["question"], r["answer"].split("\t")[0]) for r in chats if r["type"] != "Null"]
    return [_by_answer(q, a) for q, a in found if a.strip(". ").lower() not in ("yes", "no") and stem_text(a)]


def _claims(data: Path) -> list[Asked]:
    texts = {str(r["doc_id"]): r["abstract"] for r in rows(data / "scifact" / "corpus.jsonl.gz")}
    found: list[Asked] = []
    for row in rows(data / "scifact" / "claims_dev.jsonl.gz"):
        gold: dict[str, set[int]] = {}
        for id_, sets in row["evidence"].items():
            starts = np.cumsum([0, *(len(text) + 1 for text in texts[id_])])
            gold[id_] = {int(starts[n]) for each in sets for n in each["sentences"]}

        def label(
            url: str, _passage: Passage, _one: Sentence, start: int, gold: Mapping[str, set[int]] = gold
        ) -> float:
            return float(start in gold.get(url, ()))

        found += [Asked(row["claim"], label)] if gold else []
    return found


def _news(data: Path) -> list[Asked]:
    found = [r for r in rows(data / "multihop_rag_500" / "queries_dev.jsonl.gz") if r["gold_fact_ids"]]
    return [
        Asked(r["query"], lambda url, _p, _o, _s, gold=frozenset(r["gold_fact_ids"]): float(url in gold)) for r in found
    ]


def _own(folder: Path) -> list[Asked]:
    """Questions on documents of one's own, each with the passages that answer it."""
    found = [each for each in json.loads((folder / "questions.json").read_text()) if not each["absent"]]
    return [_by_passages(each["question"], [one["passage"] for one in each["passages"]]) for each in found]


def _by_passages(question: str, passages: Sequence[str]) -> Asked:
    wanted = [_list_grams(each) for each in passages]

    def label(_url: str, _passage: Passage, one: Sentence, _start: int) -> float:
        said = _list_grams(one.text)
        return max(len(each & said) / len(each) for each in wanted)

    return Asked(question, label)


def _list_grams(text: str) -> frozenset[tuple[str, ...]]:
    said = split_words(text)
    return frozenset(tuple(said[at : at + 3]) for at in range(max(1, len(said) - 2)))


def _demo(documents: Path) -> list[Asked]:
    stored = json.loads((documents.parent / "demo_questions.json").read_text())
    anchors = [" ".join(each["anchor"].split()) for question in stored for each in question["must_cover"]]

    def make(text: str, numbers: Sequence[int]) -> Asked:
        wanted = [anchors[n] for n in numbers]
        other = text.replace("password", "memorized secret").replace("SMS", "PSTN out-of-band")
        return Asked(
            text,
            lambda _u, _p, one, _s: float(any(each in " ".join(one.text.split()) for each in wanted)),
            searches=(other,),
            names=_DEMO_NAMES,
        )

    return [make(text, numbers) for text, numbers in _DEMO]


async def make_pool(library: PostgresLibrary, urls: Mapping[str, str], asked: Asked) -> Pool:
    """Search for a question and measure the sentences of what is found."""
    hits = [hit for text in (asked.text, *asked.searches) for hit in await library.hybrid_search(text, limit=HITS)]
    passages = {p.id: p for p in await library.passages([hit.passage for hit in hits if hit.passage])}
    seen: dict[str, Any] = {}
    sentences: list[Sentence] = []
    worth: list[float] = []
    for hit in hits:
        if hit.passage is None or hit.passage in seen:
            continue
        seen[hit.passage] = passage = passages[hit.passage]
        for line in read_lines(Excerpt("", hit.title, "", hit.published, (passage,), "", ())):
            sentences.append(replace(line.sentence, score=hit.score))
            worth.append(asked.label(urls.get(hit.url, hit.url), passage, line.sentence, passage.start + line.start))
    question = split_joined_names(asked.text)
    features, _ = measure_features(question, sentences, map_names(question, asked.names))
    return Pool(asked, sentences, np.array(features), np.array(worth))


async def collect(data: Path, own: Sequence[Path]) -> dict[str, list[Pool]]:
    """Search every set for its questions; those without anything to learn from are left out."""
    found: dict[str, list[Pool]] = {}
    with tempfile.TemporaryDirectory(prefix="corrobora-fit-") as folder:
        async with await Database.connect(Path(folder)) as database:
            documents = demo_documents(Path(folder) / "unpacked")
            await ingest_files(database, "demo", (documents,), lambda *_: None)
            suites = {name: SUITES[name](data) for name in ("cookbook", "scifact", "multihop", "lihua")}
            urls = {name: await fill(Catalog(database), suite) for name, suite in suites.items()}
            asked = {
                **{name: _written(name, data) for name in ("cookbook", "lihua")},
                "scifact": _claims(data),
                "multihop": _news(data),
                "demo": _demo(documents),
            }
            for further in own:
                await ingest_files(database, further.name, (further / "docs",), lambda *_: None)
                asked[further.name] = _own(further)
            for name, questions in asked.items():
                library = PostgresLibrary(database, [name])
                pools = [await make_pool(library, urls.get(name, {}), each) for each in questions]
                found[name] = [pool for pool in pools if len(pool.worth) > 1 and pool.worth.max() > 0]
                print(f"{name:12} {len(found[name])} questions, {sum(len(p.worth) for p in found[name])} sentences")
    return found


def weigh_set(name: str) -> float:
    """Return what a set counts against the others."""
    return SMALL.get(name, 1.0) if name in FORMS["prose"] else OWN


def fit(sets: Mapping[str, Sequence[Pool]], ridge: float) -> Floats:
    """Fit the weights of `FEATURES`: the three best sentences of a question against each that is worth less."""
    rows_: list[Floats] = []
    counts: list[Floats] = []
    for name, pools in sets.items():
        pairs: list[Floats] = []
        gains: list[Floats] = []
        for pool in pools:
            for best in np.argsort(-pool.worth)[:3]:
                gain = pool.worth[best] - pool.worth
                less = gain > 0.05
                if less.any():
                    pairs.append(pool.features[best] - pool.features[less])
                    gains.append(gain[less] / gain[less].sum() * pool.worth[best])
        rows_.append(np.vstack(pairs))
        counts.append(np.concatenate(gains) / np.concatenate(gains).sum() * weigh_set(name))
    x, weight = np.vstack(rows_), np.concatenate(counts) / sum(map(weigh_set, sets))
    scale = np.sqrt((x**2 * weight[:, None]).sum(0)) + 1e-9
    z, fitted = x / scale, np.zeros(x.shape[1])
    for _ in range(30):
        doubt = 1 / (1 + np.exp(z @ fitted))
        slope = ridge * fitted - (z * (weight * doubt)[:, None]).sum(0)
        curve = (z * (weight * doubt * (1 - doubt))[:, None]).T @ z + ridge * np.eye(len(fitted))
        fitted -= np.linalg.solve(curve, slope)
    return fitted / scale


def calibrate(pools: Sequence[Pool], weights: Floats) -> tuple[float, float]:
    """Return slope and intercept that turn a score into the expected worth of a sentence."""
    score = np.concatenate([pool.features @ weights for pool in pools])
    worth = np.concatenate([pool.worth for pool in pools])
    mean, spread = score.mean(), score.std()
    z, fitted = np.stack([np.ones_like(score), (score - mean) / spread], 1), np.zeros(2)
    for _ in range(50):
        share = 1 / (1 + np.exp(-z @ fitted))
        curve = (z * (share * (1 - share))[:, None]).T @ z + 1e-6 * np.eye(2)
        fitted -= np.linalg.solve(curve, z.T @ (share - worth))
    return fitted[1] / spread, fitted[0] - fitted[1] * mean / spread


def measure(pools: Sequence[Pool], weights: Floats) -> float:
    """Return the share of answer words in the first 75, or of questions with a gold sentence among the first three."""
    return float(np.mean([_measure_pool(pool, weights) for pool in pools]))


def _measure_pool(pool: Pool, weights: Floats) -> float:
    order = np.argsort(-(pool.features @ weights), kind="stable")
    if not pool.asked.answer:
        return float(pool.worth[order[:3]].max() > 0)
    said: list[str] = []
    seen: list[frozenset[str]] = []
    for at in order:
        own = frozenset(pool.sentences[at].stems)
        if len(said) < WORDS and not any(overlap_coefficient(own, other) >= _NEARLY for other in seen):
            seen.append(own)
            said += pool.sentences[at].text.split()[: WORDS - len(said)]
    wanted = frozenset(stem_text(pool.asked.answer))
    return len(wanted & frozenset(stem_text(" ".join(said)))) / len(wanted)


def list_forms(pools: Mapping[str, list[Pool]]) -> dict[str, tuple[str, ...]]:
    """Return the sets of each form of text; sets of one's own are prose."""
    return {**FORMS, "prose": tuple(name for name in pools if name not in FORMS["dialogue"] or name in FORMS["prose"])}


def leave_one_out(pools: Mapping[str, list[Pool]]) -> None:
    """Print each set ranked by weights that were fitted without it; the only set of a form in five folds."""
    for form, names in list_forms(pools).items():
        for name in names:
            others = {each: pools[each] for each in names if each != name}
            if others:
                score = measure(pools[name], fit(others, RIDGE))
            else:
                folds = [[p for n, p in enumerate(pools[name]) if n % 5 != k] for k in range(5)]
                score = float(np.mean([measure(pools[name][k::5], fit({name: folds[k]}, RIDGE)) for k in range(5)]))
            print(f"{form:9} {name:12} left out: {score:.3f}")


def main(options: Any) -> None:
    """Print the figures of each set left out; with `--write`, store the weights fitted on all."""
    pools = asyncio.run(collect(options.data, options.own))
    leave_one_out(pools)
    stored: dict[str, Any] = {"fitted_by": "python -m bench.fit_ranker --data DIR --own DIR --write"}
    for form, names in list_forms(pools).items():
        fitted = fit({name: pools[name] for name in names}, RIDGE)
        slope, intercept = calibrate([pool for name in names for pool in pools[name]], fitted)
        weights = {name: round(float(value * slope), 3) for name, value in zip(FEATURES, fitted, strict=True)}
        stored[form] = {"intercept": round(float(intercept), 3), "weights": weights}
        print(form, stored[form])
    if options.write:
        WEIGHTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--own", type=Path, action="append", default=[], help="the folder of a further set")
    parser.add_argument("--write", action="store_true", help=f"store the weights in {WEIGHTS}")
    main(parser.parse_args())
