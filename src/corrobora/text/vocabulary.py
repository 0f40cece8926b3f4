"""Vocabulary: the words a source uses for what was asked, and how near two words are in meaning.

Knows how texts declare two names equal ("commonly referred to as", "X (Y)", "see Y"), which phrases occur near the
question's words, and a small table of English (data/words.npz, made by `python -m bench.distill_words`) in which
synonyms are near and antonyms are not. Words of one kind that exclude each other ("snow" and "rain") are near as well,
so that nearness may raise a score and never proves anything.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING

from corrobora.text.tokens import (
    FAMILY_LETTERS,
    STOP_WORDS,
    fold_text,
    is_same_family,
    split_words,
    stem_text,
    stem_word,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

Aliases = Mapping[str, tuple[frozenset[str], ...]]  # a stem of the question, and the stems of its other names
_ALIAS = re.compile(
    r"(?i)[\s,(—–:-]{1,3}(?:(?:is|are|was|were)\s+)?(?:(?:more|most|also|often|commonly|sometimes|usually|generally|"
    r"colloquially|frequently|formerly|otherwise|better|widely|previously)\s+){0,2}"
    r"(?:referred to(?: simply)? as|known as|called|termed|named|abbreviated(?: as| to)?|a\.?k\.?a\.?|i\.e\.,?|"
    r"that is,|or simply|synonymous with|short for|see(?: also)?)\s+"
)
_BRACKET = re.compile(r"\(([^()]{2,40})\)")
_BREAK = re.compile(r"[.;:,()—–]|\s-\s")
_ARTICLE = re.compile(r"(?i)^(?:an?|the|its|their|simply|as)\s+")
_EDGE_WORDS = STOP_WORDS | frozenset(
    "use uses used using called known see also include includes including make makes made give given take "
    "taken many much new other likely common commonly often usually generally based following provide provides require "
    "requires".split()
)
_GENERAL_HEADING = frozenset(
    stem_word(word)
    for word in "introduction overview conclusion conclusions summary general purpose background definition "
    "definitions note notes scope abstract preface appendix annex section chapter part contents discussion results "
    "requirements".split()
)
_PHRASE_WORDS = 4
_WINDOW = 90


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two names for one thing, as a text states it."""

    one: str
    other: str


def find_equivalences(text: str) -> tuple[Equivalence, ...]:
    """Return the pairs of names that the plain `text` declares equal, in order."""
    found: list[Equivalence] = []
    for match in _ALIAS.finditer(text):
        one = _phrase_before(text[max(0, match.start() - _WINDOW) : match.start()])
        for other in _names_after(text[match.end() : match.end() + _WINDOW]):
            if one and other and stem_text(one) != stem_text(other):
                found.append(Equivalence(one, other))  # noqa: PERF401 - a comprehension of three parts reads worse
    for match in _BRACKET.finditer(text):
        one, other = (
            _phrase_before(text[max(0, match.start() - _WINDOW) : match.start()], whole=True),
            match.group(1).strip(),
        )
        pair = _match_acronym(one, other)
        if pair is not None:
            found.append(pair)
    return tuple(dict.fromkeys(found))


def _phrase_before(text: str, *, whole: bool = False) -> str:
    """Return the noun phrase that ends `text`: the words after the last break or function word."""
    kept: list[str] = []
    for raw in reversed(_BREAK.split(text.rstrip(" ,:—–-("))[-1].split()):
        word = raw.strip("\"'“”‘’")
        if fold_text(word) in _EDGE_WORDS and not (whole and kept and fold_text(word) in ("of", "for", "and", "the")):
            break
        kept.append(word)
        if len(kept) >= (_PHRASE_WORDS if not whole else 8):
            break
    return " ".join(reversed(kept))


def _names_after(text: str) -> tuple[str, ...]:
    """Return the names that open `text`, up to two joined by "or"."""
    head = _BREAK.split(text)[0]
    found: list[str] = []
    for part in re.split(r"(?i)\s+or\s+(?:if\s+\w+\s*)?", head, maxsplit=2)[:2]:
        kept: list[str] = []
        for raw in _ARTICLE.sub("", part.strip()).split():
            word = raw.strip("\"'“”‘’")
            if fold_text(word) in _EDGE_WORDS or len(kept) >= _PHRASE_WORDS:
                break
            kept.append(word)
        if kept:
            found.append(" ".join(kept))
    return tuple(found)


def _match_acronym(one: str, other: str) -> Equivalence | None:
    """Return the pair if `other` is an acronym of the last words of `one`."""
    letters = [c for c in other if c.isalpha()]
    if not other.replace("-", "").isalnum() or not 2 <= len(letters) <= 8 or sum(c.isupper() for c in letters) < 2:  # noqa: PLR2004 - an acronym
        return None
    parts = [word for raw in one.split() for word in raw.split("-") if word]
    for take in range(1, len(parts) + 1):
        tail = parts[-take:]
        initials = "".join(word[0] for word in tail if fold_text(word) not in STOP_WORDS)
        if fold_text(initials) == fold_text("".join(letters)) and fold_text(tail[0]) not in STOP_WORDS:
            return Equivalence(" ".join(one.split()[-take:]) if "-" not in one else " ".join(tail), other)
    return None


def format_equivalence(pair: Equivalence) -> str:
    """Write an equivalence as a term: the source's name, then the question's name in brackets."""
    return f"{pair.one} ({pair.other})"


def parse_equivalence(term: str) -> Equivalence | None:
    """Parse a term written by `format_equivalence`; None for a plain term."""
    one, bracket, rest = term.partition(" (")
    return Equivalence(one, rest[:-1]) if bracket and rest.endswith(")") and one and len(rest) > 1 else None


def list_equivalent_terms(topic: frozenset[str], pairs: Sequence[Equivalence]) -> list[str]:
    """Return the other names of what the stems of `topic` name, as terms with the known name in brackets."""
    return [
        format_equivalence(Equivalence(there, here))
        for pair in pairs
        for here, there in ((pair.one, pair.other), (pair.other, pair.one))
        if (mine := frozenset(stem_text(here))) and mine <= topic and not frozenset(stem_text(there)) <= topic
    ]


def map_aliases(wanted: frozenset[str], pairs: Sequence[Equivalence]) -> Aliases:
    """Map each stem of `wanted` that is a whole name to the stems of its other names."""
    found: dict[str, dict[frozenset[str], None]] = {}
    for pair in pairs:
        for here, there in ((pair.one, pair.other), (pair.other, pair.one)):
            mine, theirs = frozenset(stem_text(here)), frozenset(stem_text(there))
            if len(mine) == 1 and mine <= wanted and theirs and not theirs & mine:
                found.setdefault(next(iter(mine)), {})[theirs] = None
    return {term: tuple(others) for term, others in found.items()}


def map_compounds(text: str) -> Aliases:
    """Map each word to the compound it forms with the next: "back up" also matches "backup"."""
    said = split_words(text)
    found: dict[str, tuple[frozenset[str], ...]] = {}
    for one, other in pairwise(said):
        if stem_word(one) and len(other) > 1 and not (one + other).isdigit():
            found.setdefault(stem_word(one), (frozenset(stem_text(one + other)),))
    return found


def add_aliased_stems(own: tuple[str, ...], other_names: Aliases) -> tuple[str, ...]:
    """Insert wanted stems that a sentence expresses by another name (at least two thirds of its stems).

    Each is placed after the name that expresses it, so that distances to other words are kept.
    """
    held = frozenset(own)
    said: dict[int, list[str]] = {}
    for term, others in other_names.items():
        if term in held:
            continue
        name = next((each for each in others if len(held & each) >= max(1, (2 * len(each) + 2) // 3)), None)
        if name is not None:
            said.setdefault(_find_name_end(own, name), []).append(term)
    if not said:
        return own
    return tuple(term for at, each in enumerate(own) for term in (each, *said.get(at, ())))


def _find_name_end(own: Sequence[str], name: frozenset[str]) -> int:
    """Return the last position of the first tightest window that contains the words of a name."""
    places = [at for at, each in enumerate(own) if each in name]
    least = min(len(name), len(set(own) & name))
    spans = [
        (last - first, last)
        for n, first in enumerate(places)
        for last in places[n : n + 2 * least]
        if len(set(own[first : last + 1]) & name) == least
    ]
    return min(spans)[1]


def find_recurring_pairs(
    texts: Sequence[tuple[str, float]], known: frozenset[str], *, limit: int = 3
) -> tuple[str, ...]:
    """Return the pairs of adjacent words without `known` stems that recur most over weighted texts."""
    worth: defaultdict[tuple[str, str], float] = defaultdict(float)
    shown: dict[tuple[str, str], str] = {}
    times: Counter[tuple[str, str]] = Counter()
    for text, weight in texts:
        folded = split_words(text)
        for first, second in dict.fromkeys(pairwise(folded)):
            key = (stem_word(first), stem_word(second))
            if not key[0] or not key[1] or key[0] in known or key[1] in known or not _is_searchable(first, second):
                continue
            worth[key] += weight
            times[key] += 1
            shown.setdefault(key, f"{first} {second}")
    ranked = sorted((key for key in worth if times[key] > 1), key=lambda key: (-worth[key], shown[key]))
    return tuple(shown[key] for key in ranked[:limit])


def _is_searchable(first: str, second: str) -> bool:
    """False for pairs that would match anything: numbers, common verbs, adverbs, generic headings."""
    numbered = not (first + second).isalpha() and any(map(str.isdigit, first + second))
    if numbered or first.endswith("ly") or min(len(first), len(second)) < 3:  # noqa: PLR2004 - letters
        return False
    return not any(word in _EDGE_WORDS or stem_word(word) in _GENERAL_HEADING for word in (first, second))


@lru_cache(maxsize=1_000)  # every sentence below a heading asks for it
def make_heading_phrase(heading: str) -> str:
    """Return a heading as a search phrase, without its number and in lower case; "" if it is generic."""
    kept = [word for word in heading.replace("—", " ").replace("–", " ").split() if any(c.isalpha() for c in word)]
    kept = [word for word in kept if not (len(word.rstrip(".")) == 1 or any(c.isdigit() for c in word))]
    kept = [word for word in kept if not {stem_word(part) for part in split_words(word)} & _GENERAL_HEADING]
    shown = " ".join(word if word.isupper() else word.lower() for word in kept).strip(" .:-")
    return shown if stem_text(shown) else ""


_COMMON_WORDS, _ALL_WORDS = 20, 60_000  # ranks in running text: of the least and of the most telling words
_LEAST = 0.15  # weight of the commonest word
_SYNONYM = 0.7  # reached by 76 % of WordNet's synonyms and by 12 % of the words that it puts under one head


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The table: rows of unit vectors by stem, the last row all zeros for stems that have none."""

    rows: dict[str, int]
    vectors: Matrix
    ranks: Sequence[int]
    common: frozenset[str]


@lru_cache(maxsize=1)
def load_words() -> WordVectors:
    """Read the table that ships with the package; only what compares sentences pays for it."""
    import numpy as np  # noqa: PLC0415 - help and version need no vectors

    with files("corrobora.data").joinpath("words.npz").open("rb") as file, np.load(file) as stored:
        stems = stored["stems"].tobytes().decode().split(" ")
        vectors = np.vstack([stored["vectors"], np.zeros((1, stored["vectors"].shape[1]))]).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
        common = frozenset(stem for stem, plain in zip(stems, stored["common"].tolist(), strict=True) if plain)
        rows = {stem: row for row, stem in enumerate(stems)}
        return WordVectors(rows, vectors, stored["ranks"].tolist(), common)


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


@lru_cache(maxsize=50_000)
def is_near(one: str, other: str) -> bool:
    """True if two stems are as near as synonyms are."""
    return float(compare_stems([one], [other])[0, 0]) >= _SYNONYM


def is_akin(one: str, other: str) -> bool:
    """True if two stems are of one word family or as near as synonyms are, and neither is empty."""
    return bool(one and other) and (is_same_family(one, other) or is_near(one, other))


def is_known(stem: str) -> bool:
    """True if the table holds a stem: any other is a name, a symbol or a term of some trade."""
    return stem in load_words().rows


def is_common(stem: str) -> bool:
    """True if a dictionary writes a stem's word in lower case, so that a capital does not make it a name."""
    return stem in load_words().common
