"""Words: from a text to the terms that search and analysis share.

Knows how to fold case and accents, which words carry nothing, and the Porter stem; one version number stamps it all.
Does not know any index: the same text gives the same terms wherever it is asked.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

import Stemmer

TOKENIZER_VERSION = 1

STOP_WORDS = frozenset(
    "a about above after again against all also am an and any are aren as at be because been before being below "
    "between both but by can cannot could couldn did didn do does doesn doing don down during each either else ever "
    "few for from further had hadn has hasn have haven having he her here hers herself him himself his how i if in "
    "into is isn it its itself just let ll me might more most must mustn my myself neither no nor not of off on once "
    "only or other our ours ourselves out over own per same shan she should shouldn so some such than that the their "
    "theirs them themselves then there these they this those through to too under until up upon ve very via was wasn "
    "we were weren what when where whether which while who whom whose why will with within without won would wouldn "
    "you your yours yourself yourselves".split()
)

_MARKS = re.compile("[\u0300-\u036f]+")
_WORD = re.compile(r"([^\W_]+)(?:['’ʼ](?:s|t|d|m|re|ve|ll)(?![^\W_]))?")
_PLAIN_WORD = re.compile(r"[a-z0-9]+")  # the same words, three times as fast
_ENDING = re.compile(r"(?<=[a-z0-9])'(?:s|t|d|m|re|ve|ll)(?![a-z0-9])")
_TWO_ENDINGS = re.compile(r"'(?:s|t|d|m|re|ve|ll)'")
_FOREIGN = re.compile(r"[^\W_\x00-\x7f]")  # a letter or digit that folding does not make ASCII
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_stemmer = Stemmer.Stemmer("porter", 0)  # it keeps nothing: `stem` does


def tokenizer_fingerprint() -> str:
    """Name the tokenizer: two indexes with different fingerprints must never be mixed."""
    words = hashlib.sha256(" ".join(sorted(STOP_WORDS)).encode()).hexdigest()[:12]
    return f"porter-{TOKENIZER_VERSION}-{words}"


def fold_text(text: str) -> str:
    """Lower the case and drop accents, so that `Müller` and `muller` are one word."""
    if text.isascii():
        return text.lower()
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", plain).lower()


def split_words(text: str) -> list[str]:
    """Return the folded words of `text` in order, stop words included, the possessive "s" cut.

    Scripts without spaces between words give overlapping pairs of characters.
    """
    plain = fold_text(text)
    if plain.isascii() and "'" not in plain:
        return _PLAIN_WORD.findall(plain)
    found: list[str] = _WORD.findall(plain)
    if plain.isascii() or _UNSPACED.search(plain) is None:
        return found
    return [part for word in found for part in _character_pairs(word)]


def fold_to_ascii(text: str) -> str | None:
    """Return an ASCII text whose runs of a-z and 0-9 are `words(text)`; None where other letters make words."""
    folded = fold_text(text)
    if not folded.isascii():
        if _FOREIGN.search(folded) is not None:
            return None
        folded = folded.replace("’", "'").encode("ascii", "replace").decode("ascii")
    if "'" not in folded:
        return folded
    return None if _TWO_ENDINGS.search(folded) is not None else _ENDING.sub(" ", folded)


def find_unspaced(text: str) -> list[str]:
    """Return the characters of `text` that belong to scripts without spaces between words."""
    return _UNSPACED.findall(text)


def _character_pairs(word: str) -> list[str]:
    if len(word) == 1 or _UNSPACED.search(word) is None:
        return [word]
    return [word[at : at + 2] for at in range(len(word) - 1)]


@lru_cache(maxsize=200_000)
def stem_word(word: str) -> str:
    """Return the Porter stem of a folded word; empty for a stop word."""
    return "" if word in STOP_WORDS else _stemmer.stemWord(word)


def stem_text(text: str) -> tuple[str, ...]:
    """Return the stems of the words of `text` in order, stop words dropped.

    Example:
        >>> stems("The king's memorized secrets")
        ('king', 'memor', 'secret')
    """
    return tuple(found for word in split_words(text) if (found := stem_word(word)))


def content_words(text: str) -> tuple[str, ...]:
    """Return the folded words of `text` that are no stop words, unstemmed, each once, in order of first use."""
    return tuple(dict.fromkeys(word for word in split_words(text) if word not in STOP_WORDS))
