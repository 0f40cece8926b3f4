"""Vocabulary: function words and languages, other names of what was asked, and how near two words are in meaning.

Knows scripts and the function words of some languages (data/function_words.toml): in which language a text is
written; how texts declare two names equal ("commonly referred to as", "see Y"); and a small table of English
(data/words.npz, made by `python -m bench.distill_words`) in which synonyms are near and antonyms are not. Words of one
kind that exclude each other ("snow" and "rain") are near as well, so that nearness may raise a score and never proves
anything.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING

from corrobora.domain.limits import read_table
from corrobora.text.tokens import (
    FAMILY_LETTERS,
    LAST_LATIN,
    STOP_WORDS,
    find_script,
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
_BREAK = re.compile(r"[.;:,()—–]|\s-\s")
_ARTICLE = re.compile(r"(?i)^(?:an?|the|its|their|simply|as)\s+")
_EDGE_WORDS = STOP_WORDS | frozenset(
    "use uses used using called known see also include includes including make makes made give given take "
    "taken many much new other likely common commonly often usually generally based following provide provides require "
    "requires".split()
)
_PHRASE_WORDS = 4
_WINDOW = 90


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two names for one thing, as a text states it."""

    one: str
    other: str


@lru_cache(maxsize=4_000)  # the same quotes are asked for in every round
def find_equivalences(text: str) -> tuple[Equivalence, ...]:
    """Return the pairs of names that the plain `text` declares equal, in order."""
    found: dict[Equivalence, None] = {}
    for match in _ALIAS.finditer(text):
        one = _phrase_before(text[max(0, match.start() - _WINDOW) : match.start()])
        for other in _names_after(text[match.end() : match.end() + _WINDOW]):
            if one and other and stem_text(one) != stem_text(other):
                found[Equivalence(one, other)] = None
    return tuple(found)


def _phrase_before(text: str) -> str:
    """Return the noun phrase that ends `text`: the words after the last break or function word."""
    kept: list[str] = []
    for raw in reversed(_BREAK.split(text.rstrip(" ,:—–-("))[-1].split()):
        word = raw.strip("\"'“”‘’")
        if fold_text(word) in _EDGE_WORDS or len(kept) >= _PHRASE_WORDS:
            break
        kept.append(word)
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


def format_equivalence(pair: Equivalence) -> str:
    """Write an equivalence as a term: the source's name, then the question's name in brackets."""
    return f"{pair.one} ({pair.other})"


def parse_equivalence(term: str) -> Equivalence | None:
    """Parse a term written by `format_equivalence`; None for a plain term."""
    one, bracket, rest = term.partition(" (")
    return Equivalence(one, rest[:-1]) if bracket and rest.endswith(")") and one and len(rest) > 1 else None


def collect_equivalences(terms: Iterable[str], texts: Iterable[str]) -> tuple[Equivalence, ...]:
    """Return the pairs of names among learned terms, and those that texts declare, each once."""
    learned = (pair for term in terms if (pair := parse_equivalence(term)) is not None)
    return tuple(dict.fromkeys((*learned, *(pair for text in texts for pair in find_equivalences(text)))))


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


def map_names(question: str, pairs: Sequence[Equivalence]) -> Aliases:
    """Map the words of a question to their other names: compounds, declared synonyms."""
    return {**map_compounds(question), **map_aliases(frozenset(stem_text(question)), pairs)}


def add_aliased_stems(own: Iterable[str], other_names: Aliases) -> frozenset[str]:
    """Add the wanted stems that a sentence expresses by another name (at least two thirds of its stems)."""
    held = frozenset(own)
    said = (term for term, names in other_names.items() if any(3 * len(held & name) >= 2 * len(name) for name in names))
    return held.union(said)


_COMMON_WORDS, _ALL_WORDS = 20, 60_000  # ranks in running text: of the least and of the most telling words
_LEAST = 0.15  # weight of the commonest word
_SYNONYM = 0.7  # reached by 76 % of WordNet's synonyms and by 12 % of the words that it puts under one head


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The table: rows of small whole numbers by stem, the last row all zeros for stems that have none."""

    rows: dict[str, int]
    vectors: NDArray[np.int8]
    lengths: Matrix
    ranks: NDArray[np.uint16]
    common: NDArray[np.bool_]  # by row: a dictionary writes it in lower case


@lru_cache(maxsize=1)
def load_words() -> WordVectors:
    """Read the table that ships with the package; only what compares sentences pays for it."""
    import numpy as np  # noqa: PLC0415 - help and version need no vectors

    with files("corrobora.data").joinpath("words.npz").open("rb") as file, np.load(file) as stored:
        stems = stored["stems"].tobytes().decode().split(" ")
        vectors = np.pad(stored["vectors"], ((0, 1), (0, 0)))
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float32))  # the squares are exact
        rows = {stem: row for row, stem in enumerate(stems)}
        return WordVectors(rows, vectors, lengths[:, None] + np.float32(1e-9), stored["ranks"], stored["common"])


@lru_cache(maxsize=50_000)
def weigh_stem(stem: str) -> float:
    """Return how telling a stem is, 0 to 1: by its rank in running text, 1 for what is in no table."""
    table = load_words()
    row = table.rows.get(stem)
    if row is None:
        return 1.0
    rank = (int(table.ranks[row]) + _COMMON_WORDS) / _COMMON_WORDS
    return max(_LEAST, min(1.0, math.log(rank) / math.log(_ALL_WORDS / _COMMON_WORDS)))


def weigh_stems(stems: Sequence[str]) -> Matrix:
    """Return the weights of stems, see `weigh_stem`."""
    import numpy as np  # noqa: PLC0415 - as above

    return np.array([weigh_stem(stem) for stem in stems], dtype=np.float32)


def list_vectors(stems: Sequence[str]) -> Matrix:
    """Return a unit vector for each stem, zeros for one without a vector."""
    import numpy as np  # noqa: PLC0415 - as above

    table = load_words()
    rows = [table.rows.get(stem, len(table.rows)) for stem in stems]
    return np.divide(table.vectors[rows], table.lengths[rows], dtype=np.float32)


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
    table = load_words()
    return stem in table.rows and bool(table.common[table.rows[stem]])


_WHOLE_CHARS, _NAME_CHARS = 6, 4  # of a word that is no abbreviation, of a name


def parts_sentences(before: str, after: str) -> bool:
    """True if a full stop between two words in small letters ends a sentence, as before the name of a program.

    The word before it is then no abbreviation: it is long, or a common word before one that no dictionary has.

    Example:
        >>> parts_sentences("met", "momepy"), parts_sentences("samples", "corner"), parts_sentences("temp", "sensor")
        (True, True, False)
    """
    named = len(after) >= _NAME_CHARS and not is_common(stem_word(after))
    return len(before) >= _WHOLE_CHARS or (named and is_common(stem_word(before)))


_MIN_FUNCTION_WORDS = 2  # of a language, not shared with English, before a text counts as written in it
_SCRIPT_SHARE = 0.25  # of the letters of a text in a script before it counts as written in one of its languages
# The language that most people write in a script, by the first word of the Unicode names of its letters.
_LANGUAGE_OF_SCRIPT = {
    "ARABIC": "ar",
    "ARMENIAN": "hy",
    "BENGALI": "bn",
    "CJK": "zh",
    "CYRILLIC": "ru",
    "DEVANAGARI": "hi",
    "GEORGIAN": "ka",
    "GREEK": "el",
    "HANGUL": "ko",
    "HEBREW": "he",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "TAMIL": "ta",
    "THAI": "th",
}
_UKRAINIAN = frozenset("ґєії")  # letters that Russian does not have


@cache
def read_function_words() -> Mapping[str, frozenset[str]]:
    """Return the folded function words of each language other than English by its code."""
    table = read_table("function_words.toml")
    return {code: frozenset(fold_text(words).split()) for code, words in table.items()}


@cache
def read_all_function_words() -> frozenset[str]:
    """Return the function words of all languages without initials."""
    return STOP_WORDS.union(*({word for word in own if len(word) > 1} for own in read_function_words().values()))


@lru_cache(maxsize=2_000)
def detect_language(text: str) -> str:
    """Return the language code of a short text, or "" for English and if nothing indicates another language.

    A script that several languages share stands for the one that most people write in it.
    """
    said = split_words(text)
    english = sum(word in STOP_WORDS for word in said)
    if not text.isascii() and not english and (written := _detect_by_script(text)):
        return written
    most, name = max((sum(word in own for word in said), name) for name, own in read_function_words().items())
    own = sum(word in read_function_words()[name] and word not in STOP_WORDS for word in said)
    return name if own >= _MIN_FUNCTION_WORDS and most > english else ""


def _detect_by_script(text: str) -> str:
    """Return the language of the script, other than Latin, of a good part of the letters of a text, or ""."""
    letters = [letter for letter in text.lower() if letter.isalpha()]
    scripts = Counter(_LANGUAGE_OF_SCRIPT.get(find_script(letter), "") for letter in letters)
    del scripts[""]
    if scripts["ja"]:  # Japanese is written in Chinese characters as well
        scripts["ja"] += scripts.pop("zh", 0)
    written, count = max(scripts.items(), key=lambda pair: pair[1], default=("", 0))
    if count < max(2, _SCRIPT_SHARE * len(letters)):
        return ""
    return "uk" if written == "ru" and not _UKRAINIAN.isdisjoint(letters) else written


def is_english(text: str) -> bool:
    """True if a short text has function words of English and does not seem to be in another language."""
    return not detect_language(text) and any(word in STOP_WORDS for word in split_words(text))


def find_function_words(text: str) -> frozenset[str]:
    """Return the folded function words of a short text's language; empty for English or an unknown language."""
    return read_function_words().get(detect_language(text), frozenset())


def function_word_share(said: Sequence[str]) -> float:
    """Return the share of folded words that are function words of any known language, 0.0 without words."""
    return sum(word in read_all_function_words() for word in said) / len(said) if said else 0.0


def is_in_other_script(text: str) -> bool:
    """True if much of a text is in another script than Latin."""
    if text.isascii():
        return False
    signs = [sign for sign in fold_text(text) if not sign.isspace()]
    return 2 * sum(sign > LAST_LATIN and sign.isalpha() for sign in signs) >= max(1, len(signs))
