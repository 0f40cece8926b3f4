"""Word vectors: how near two stems are in meaning, how rare a stem is, and which is no name.

Knows a small table of English (data/words.npz, made by `python -m bench.distill_words`) in which synonyms are near and
antonyms are not. Does not know sentences; words of one kind that exclude each other ("snow" and "rain") are near as
well, so that nearness may raise a score and never proves anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from corrobora.text.tokens import FAMILY_LETTERS, is_same_family

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

_COMMON_WORDS, _ALL_WORDS = 20, 60_000  # ranks in running text: of the least and of the most telling words
_LEAST = 0.15  # weight of the commonest word
_SYNONYM = 0.7  # reached by 76 % of WordNet's synonyms and by 12 % of the words that it puts under one head


@dataclass(frozen=True, slots=True)
class WordTable:
    """The table: rows of unit vectors by stem, the last row all zeros for stems that have none."""

    rows: dict[str, int]
    vectors: Matrix
    ranks: Sequence[int]
    common: frozenset[str]


@lru_cache(maxsize=1)
def load_words() -> WordTable:
    """Read the table that ships with the package; only what compares sentences pays for it."""
    import numpy as np  # noqa: PLC0415 - help and version need no vectors

    with files("corrobora.data").joinpath("words.npz").open("rb") as file, np.load(file) as stored:
        stems = stored["stems"].tobytes().decode().split(" ")
        vectors = np.vstack([stored["vectors"], np.zeros((1, stored["vectors"].shape[1]))]).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
        common = frozenset(stem for stem, plain in zip(stems, stored["common"].tolist(), strict=True) if plain)
        rows = {stem: row for row, stem in enumerate(stems)}
        return WordTable(rows, vectors, stored["ranks"].tolist(), common)


@lru_cache(maxsize=50_000)
def weigh_stem(stem: str) -> float:
    """Return how telling a stem is, 0 to 1: by its rank in running text, 1 for what is in no table."""
    table = load_words()
    row = table.rows.get(stem)
    if row is None:
        return 1.0
    rank = (table.ranks[row] + _COMMON_WORDS) / _COMMON_WORDS
    return max(_LEAST, min(1.0, math.log(rank) / math.log(_ALL_WORDS / _COMMON_WORDS)))


def weigh_stems(stems: Sequence[str]) -> Matrix:
    """Return the weights of stems, see `weigh_stem`."""
    import numpy as np  # noqa: PLC0415 - as above

    return np.array([weigh_stem(stem) for stem in stems], dtype=np.float32)


def list_vectors(stems: Sequence[str]) -> Matrix:
    """Return a row for each stem, of zeros for one without a vector."""
    table = load_words()
    return table.vectors[[table.rows.get(stem, len(table.rows)) for stem in stems]]


def compare_stems(wanted: Sequence[str], held: Sequence[str]) -> Matrix:
    """Return how near each wanted stem is to each held one, 0 to 1; 1 for the same stem or family."""
    near = (list_vectors(wanted) @ list_vectors(held).T).clip(0.0, 1.0)
    families: dict[str, list[int]] = {}
    for at, stem in enumerate(held):
        families.setdefault(stem[:FAMILY_LETTERS], []).append(at)
    for row, stem in enumerate(wanted):
        for at in families.get(stem[:FAMILY_LETTERS], ()):
            if is_same_family(stem, held[at]):
                near[row, at] = 1.0
    return near


def is_near(one: str, other: str) -> bool:
    """True if two stems are as near as synonyms are."""
    return float(compare_stems([one], [other])[0, 0]) >= _SYNONYM


def is_common(stem: str) -> bool:
    """True if a dictionary writes a stem's word in lower case, so that a capital does not make it a name."""
    return stem in load_words().common
