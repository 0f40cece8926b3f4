"""Foreign names: what a sentence names that its evidence does not hold.

Knows names, identifiers, paths, words that no dictionary has and letters of other alphabets, with the other spellings
under which evidence may hold them. Does not know numbers, or what is said of a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from corrobora.text.bindings import NEGATED
from corrobora.text.clauses import parse_clause
from corrobora.text.measures import find_identifiers, find_measures, find_unit
from corrobora.text.mentions import Mention, MentionKind, find_mentions, strip_to_alphanumeric
from corrobora.text.quantities import is_calendar_name
from corrobora.text.reading import Discrepancy, ParsedEvidence
from corrobora.text.tokens import (
    STOP_WORDS,
    find_function_words,
    fold_text,
    is_same_family,
    split_words,
    stem_text,
    stem_word,
)
from corrobora.text.vocabulary import is_common, is_known

_LITERAL = re.compile(r"(?<![\w./])(?:\.[A-Za-z]\w*|(?<!-)[\w.-]*[/_][\w./-]*\w|[#?]{2,})")
_ADJECTIVE, _LEAST_NAME = "a|n|an|ian|ean|ese|ish|ic|y", 5


def find_foreign_names(sentence: str, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Find names and identifiers that the evidence does not hold, and words in letters of another alphabet."""
    for each in (*_find_identifiers(sentence, reading), *_find_literals(sentence, reading)):
        yield Discrepancy(f"{each} stands in none of its sources", each)
    for mention in find_mentions(sentence):
        if mention.kind is not MentionKind.QUOTED and _is_foreign(mention, reading):
            yield Discrepancy(f"the name {mention.text} stands in none of its sources", mention.text)
    connecting = find_function_words(sentence)
    for word in dict.fromkeys(split_words(sentence)):
        stem = stem_word(word)
        coined = stem and word not in connecting and not is_known(stem) and not word[0].isdigit()
        if coined and not _is_spelled_alike(word, reading):
            yield Discrepancy(f"the word {word} stands in none of its sources", word)
    for word in re.findall(r"[^\W_]+", sentence):
        if not word.isascii() and fold_text(word) not in connecting and word.lower() not in reading.everything.lower():
            yield Discrepancy(f"the letters of {word} stand in none of its sources", word)


def _is_foreign(mention: Mention, reading: ParsedEvidence) -> bool:
    """True if the evidence lacks the last or most words of a name, and nothing there is another form of it.

    Days and months, amounts, and a word that is a capital's only for opening its sentence are no names.
    """
    name, parts = mention.text, stem_text(mention.text)
    missing = [part for part in parts if part not in reading.stems]
    if not parts or not (parts[-1] in missing or 2 * len(missing) > len(parts)) or is_calendar_name(name):
        return False
    if (len(parts) == 1 and _is_derived_name(name, reading.everything)) or _is_abbreviated(name, reading.everything):
        return False
    opens = mention.start == 0 and mention.kind is MentionKind.NAME and name[1:].islower()
    if opens and (parse_clause(name).shades or (" " not in name and all(map(is_common, missing)))):
        return False
    return not find_measures(name) and find_unit(name) is None


def _find_identifiers(sentence: str, reading: ParsedEvidence) -> list[str]:
    """Return the identifiers of which the evidence has not the letters and digits in a row."""
    identifiers = find_identifiers(sentence)
    squashed = strip_to_alphanumeric(reading.everything) if identifiers else ""
    return [each for each in identifiers if strip_to_alphanumeric(each) not in squashed]


def _find_literals(sentence: str, reading: ParsedEvidence) -> Iterator[str]:
    """Yield paths, extensions, names with a slash or underscore, and masks, of which the evidence lacks a part."""
    for match in _LITERAL.finditer(sentence):
        parts = [part for part in split_words(match.group()) if part not in STOP_WORDS and find_unit(part) is None]
        written = match.group().lower() in reading.everything.lower()
        composed = parts or "/" in match.group()  # "and/or" is no path
        if not written and not (composed and frozenset(map(stem_word, parts)) <= reading.stems):
            yield match.group()


def _is_spelled_alike(word: str, reading: ParsedEvidence) -> bool:
    """True if the evidence has a word that no dictionary holds, or one of its family, British or American."""
    forms = (word, match.group(2)) if (match := NEGATED.match(word)) else (word,)
    stems = list(map(stem_word, forms))
    return any(is_same_family(stem, each) for stem in stems for each in reading.stems)


def _is_derived_name(name: str, text: str) -> bool:
    """True if the evidence has the adjective of a name, or the name of an adjective: "Europe" and "European"."""
    pattern = rf"(?i)\b{re.escape(name)}(?:{_ADJECTIVE})\b|\b{re.escape(re.sub(rf'(?:{_ADJECTIVE})$', '', name))}\b"
    return len(name) >= _LEAST_NAME and re.search(pattern, text) is not None


def _is_abbreviated(name: str, text: str) -> bool:
    """True if the evidence spells out an acronym, or a name's initials stand in it."""
    if name.isupper() and len(name) > 1:
        words = split_words(text)
        letters = ("".join(word[0] for word in part) for part in (words, [w for w in words if w not in STOP_WORDS]))
        return any(name.lower() in each for each in letters)
    initials = "".join(word[0] for word in name.split() if word[0].isupper())
    return len(initials) > 1 and re.search(rf"\b{re.escape(initials)}\b", text) is not None
