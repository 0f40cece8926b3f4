"""Authors: the names that a source, a register or a file states of those who wrote it, in one form.

A person's name is written "Family, Given"; any other name, such as that of an organisation, or one that nobody says is
a person's, stands as it was stated and has no comma; reference managers get it parted if it reads like a person's.
Knows how names are written and what programs put in their place. Does not know where a name was read; names are those
of strangers, so their number and length are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from corrobora.text.tokens import sanitize_text, stem_word
from corrobora.text.vocabulary import is_common

MOST_AUTHORS = 100
_MOST_LISTED = 12  # in one line
_MOST_CHARS = 120  # of one name
_MOST_WORDS = 4  # of a person's name, without particles
_PARTICLES = frozenset("van von der den de del della di da dos du la le ter ten zu zum zur af av bin ibn al el".split())
_SUFFIXES = frozenset("jr jr. sr sr. ii iii iv phd ph.d. md m.d.".split())
_NOBODY = frozenset(  # what programs and forms write where no author is named
    "admin administrator anonymous author editor guest n/a nobody none null owner root staff undefined unknown user "
    "webmaster".split()
) | {"microsoft office user", "windows user", "unknown author", "python-docx", "openpyxl", "un-named"}
_ADDRESS = re.compile(r"(?i)\b(?:https?:|www\.)|[\w.+-]+@[\w-]+\.\w|^@")
_NO_LETTER = re.compile(r"[\[\]<>|`*;#]")  # what part of a name is none, and marks in a list of sources
_INITIAL = re.compile(r"[^\W\d_]\.(?:-[^\W\d_]\.)?")
_AND = re.compile(r"(?:^|\s)(?:and|und|et|y|&)\s")
_BY = re.compile(r"(?i)^by\s+(?=\S)")


def name_person(name: str) -> str:
    """Return a person's name as "Family, Given", as reference managers split one; a single word stays alone.

    Example:
        >>> name_person("Ludwig van Beethoven"), name_person("Lund, Greta"), name_person("Plato")
        ('van Beethoven, Ludwig', 'Lund, Greta', 'Plato')
    """
    family, comma, given = _clean(name).partition(",")
    if comma:
        given = " ".join(part for part in given.replace(",", " ").split() if part.lower() not in _SUFFIXES)
        return f"{family.strip()}, {given}" if given and family.strip() else f"{family.strip()}{given}"
    words = family.split()
    while len(words) > 2 and words[-1].lower() in _SUFFIXES:  # noqa: PLR2004 - a name before it
        words.pop()
    begin = len(words) - 1
    while begin > 1 and words[begin - 1].lower() in _PARTICLES and words[begin - 1][0].islower():
        begin -= 1
    return f"{' '.join(words[begin:])}, {' '.join(words[:begin])}" if begin > 0 else " ".join(words)


def name_group(name: str) -> str:
    """Return the name of an organisation, or of whom nobody says that it is a person: without a comma."""
    return " ".join(_clean(name).replace(",", " ").split())


def read_byline(text: str) -> list[str]:
    """Return the names in a field that may hold several: by semicolons, else by commas between whole names.

    Example:
        >>> read_byline("Greta Lund, Ole Brandt"), read_byline("Lund, Greta; Brandt, Ole")
        (['Greta Lund', 'Ole Brandt'], ['Lund, Greta', 'Brandt, Ole'])
    """
    found: list[str] = []
    for part in _BY.sub("", " ".join(text.split())).split(";"):
        pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
        pieces = [name for piece in pieces for name in _split_persons(piece)]
        one = len(pieces) == 2 and " " not in pieces[0].strip()  # noqa: PLR2004 - family and given name
        found += [name_person(part)] if one else [name_group(piece) for piece in pieces]
    return found


def _split_persons(names: str) -> list[str]:
    """Return the persons that "and" joins; the whole if it may name an organisation: "Board of Bells and Ropes"."""
    parts = [part.strip() for part in _AND.split(names) if part.strip()]
    return parts if all(_is_person(part.split()) for part in parts) else [names]


def clean_authors(names: Iterable[str]) -> tuple[str, ...]:
    """Return names that may be printed: each once and on one line, without addresses and what programs fill in."""
    kept: dict[str, None] = {}
    for name in names:
        plain = _clean(name)
        if any(char.isalpha() for char in plain) and plain.lower() not in _NOBODY and not _ADDRESS.search(plain):
            kept.setdefault(plain)
        if len(kept) == MOST_AUTHORS:
            break
    return tuple(kept)


def split_name(name: str) -> tuple[str, str]:
    """Return family and given name of a person, or the whole name and "".

    A name without a comma is a person's if it is two to four capitalized words and has an initial, or no word that a
    dictionary writes in lower case: "Solveig Amundsen" and "Mark J. Brown", neither "World Bank" nor "Mark Brown".
    """
    if ", " not in name and _is_person(name.split()):
        name = name_person(name)
    family, comma, given = name.partition(", ")
    return (family, given) if comma else (name, "")


def _is_person(words: Sequence[str]) -> bool:
    full = [word for word in words if word.lower() not in _PARTICLES | _SUFFIXES]
    capitals = [sum(letter.isupper() for letter in word) for word in full if word[0].isupper()]
    if not 2 <= len(full) == len(capitals) <= _MOST_WORDS or max(capitals) > 2:  # noqa: PLR2004 - McDonald, not NASA
        return False
    initial = any(_INITIAL.fullmatch(word) for word in full)
    return initial or not any(is_common(stem_word(word.lower())) or word == "The" for word in full)


def join_authors(names: Sequence[str]) -> str:
    """Return names for a line of a list of sources; of many the first ones."""
    rest = f"; … ({len(names)})" if len(names) > _MOST_LISTED else ""
    return "; ".join(names[:_MOST_LISTED]) + rest


def _clean(name: str) -> str:
    plain = " ".join(_NO_LETTER.sub(" ", sanitize_text(name[: 4 * _MOST_CHARS])).split())
    return plain.replace(" ,", ",")[:_MOST_CHARS].strip(" ,")
