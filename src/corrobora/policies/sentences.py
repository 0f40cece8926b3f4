"""Sentences: from a text to the character spans of its sentences.

Knows punctuation, abbreviations, initials, list markers, table rows and blank lines, in linear time on any input.
Does not know meaning: a sentence is what a reader would quote, never a rewritten one.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a text."""

    start: int
    end: int


# Never the last word of a sentence, or followed by what belongs to it: names, numbers, examples.
_BINDING_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof rev hon st mt ft gen col lt sgt capt cmdr adm maj gov sen rep pres messrs fr sr br "
    "e.g i.e eg ie vs cf viz fig figs eq eqs ref refs sec sect art no nos vol vols pp ch chap ed eds tab app "
    "approx ca est al nr op dept univ v bzw vgl ggf inkl zzgl sog mme".split()
)
_MONTH_NAMES = frozenset(
    "januar februar märz april juni juli august september oktober november dezember jahrhundert jahrhunderts".split()
)
_BEFORE_ORDINALS = frozenset("am vom zum zur im ab beim seit der dem den des".split())  # "der 3. Band", "am 1. Juni"
# May end a sentence: only a capital word that often opens one says so.
_ENDING_ABBREVIATIONS = frozenset(
    "inc ltd co corp llc plc gmbh jr etc a.m p.m am pm u.s u.k u.n e.u d.c b.c a.d ph.d m.d b.a m.a "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun "
    "ave blvd rd hrs min max bros assn".split()
)
_OPENERS = frozenset(
    "the a an this that these those it he she they we you i in on at by for from with when while if as but and or so "
    "however there here its his her their our my after before since because although though then thus what who why "
    "how where which some many most both each all one another such during under over until also".split()
)
_STOP = re.compile(r"[.!?…]+|[。！？]+|\n\s*")  # every alternative succeeds where it starts: linear on any text
_CLOSERS = "\"'”’)]»›*_"
_MARKER = re.compile(r"(?:[-*•‣◦–+#>|]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\[\d[\d:./ T-]{3,24}\])(?=\s)")
_GOES_ON = frozenset(",-–—'\"’”()/&")
_SHORT_LINE = 40
# Never the last word of a line that ends a sentence or a heading: what they belong to stands on the next line.
_CONTINUING_WORDS = frozenset(
    "a an the this these those of and or for with by from as our your their its his her any each every no which whose "
    "is are was were be been will shall must may can the der die das den dem des und oder von mit le la les un une des "
    "de du et ou el los las y o con".split()
)


def split_sentences(text: str) -> tuple[Span, ...]:
    """Split `text` into sentences; return their spans, trimmed of white space, in order and without overlap.

    Only white space lies between two spans. A full stop ends a sentence unless it belongs to an abbreviation, an
    initial, a list number or a decimal; a blank line, a list item and a table row always do.

    Example:
        >>> [("Dr. No left. Why?"[s.start:s.end]) for s in sentences("Dr. No left. Why?")]
        ['Dr. No left.', 'Why?']
    """
    found: list[Span] = []
    begin = 0
    line = 0
    size = len(text)
    for match in _STOP.finditer(text):
        start, end = match.start(), match.end()
        if text[start] == "\n":
            if not _line_ends(text, line, start, end):
                line = end
                continue
            border, line = start, end
        elif end < size and text[end].isalnum() and text[start] in ".!?":
            continue  # a decimal, an address, a name
        else:
            end = _skip_closers(text, end)
            if not _stop_ends(text, begin, line, start, end):
                continue
            border = end
        _add_span(found, text, begin, border)
        begin = border
    _add_span(found, text, begin, len(text))
    return tuple(found)


def _add_span(found: list[Span], text: str, begin: int, border: int) -> None:
    while begin < border and text[begin].isspace():
        begin += 1
    while border > begin and text[border - 1].isspace():
        border -= 1
    if border > begin:
        found.append(Span(begin, border))


def _skip_closers(text: str, at: int) -> int:
    """Step over closing quotes and brackets; more than four are not a sentence's end."""
    limit = min(len(text), at + 4)
    while at < limit and text[at] in _CLOSERS:
        at += 1
    return at


def _line_ends(text: str, line: int, start: int, end: int) -> bool:
    """True if the line break at `start` is a border: the line began at `line`, the next one begins at `end`."""
    if end >= len(text) or text.count("\n", start, end) > 1:
        return True
    last = start - 1
    while last > line and text[last] in " \t\r":
        last -= 1
    if last < line or _MARKER.match(text, end):
        return True
    tail = text[last]
    if not tail.isalnum() and tail not in _GOES_ON:
        return True
    if text[last - 12 if last - line > 12 else line : last + 1].rsplit(None, 1)[-1].lower() in _CONTINUING_WORDS:  # noqa: PLR2004 - a word
        return False
    if " | " in text[line:start] or _is_row(text, end) or _is_value_row(text, line, start, end):
        return True
    return last - line < _SHORT_LINE and (text[end].isupper() or text[end].isdigit())


def _is_row(text: str, at: int) -> bool:
    """True if the line at `at` looks like a table row; looks at its first 200 characters only."""
    stop = text.find("\n", at, at + 200)
    return text.find(" | ", at, stop if stop >= 0 else at + 200) >= 0


def _is_value_row(text: str, line: int, start: int, end: int) -> bool:
    """True if the lines around a break look like rows of a file of values, as many on each (first 200 characters)."""
    above = text[max(line, start - 200) : start]
    for mark in ",;\t":
        if above.count(mark) > 1 and f"{mark} " not in above:
            stop = text.find("\n", end, end + 200)
            below = text[end : stop if stop >= 0 else end + 200]
            return above.count(mark) == below.count(mark) and f"{mark} " not in below
    return False


def _stop_ends(text: str, begin: int, line: int, start: int, end: int) -> bool:
    """True if the punctuation `text[start:end]` ends the sentence that began at `begin`."""
    if end >= len(text):
        return True
    if text[start] in "。！？":
        return True
    follow = text[end]
    if not follow.isspace():
        return False
    at = end + 1
    limit = min(len(text), at + 8)
    while at < limit and (text[at].isspace() or text[at] in "\"'“‘([«*_"):
        at += 1
    if at >= len(text):
        return True
    if text[at].islower() and follow != "\n":
        return False
    if text[start] != "." or (end - start > 1 and text[start + 1] == "."):
        return True
    return _full_stop_ends(text, max(begin, line), start, at)


def _full_stop_ends(text: str, begin: int, start: int, follow: int) -> bool:
    """True if the single full stop at `start` is not part of the word before it."""
    low = max(begin, start - 12)
    parts = text[low:start].rsplit(None, 1)
    word = parts[-1].lstrip("(\"'“‘[/") if parts and not text[start - 1].isspace() else ""
    at = start - len(word)
    folded = word.lower()
    if folded in _BINDING_ABBREVIATIONS:
        return False
    if len(word) == 1 and word.isalpha():
        return _opens_sentence(text, follow)
    if word.isdigit() and len(word) <= 2 and _is_ordinal(text, begin, at, follow):  # noqa: PLR2004 - a day, a place
        return False
    if word.isdigit() and len(word) <= 3 and not text[begin:at].strip():  # noqa: PLR2004 - a list number
        return False
    if folded in _ENDING_ABBREVIATIONS or ("." in word and len(word) <= 6):  # noqa: PLR2004 - "U.S.S.R"
        return _opens_sentence(text, follow)
    return True


def _is_ordinal(text: str, begin: int, at: int, follow: int) -> bool:
    """True if the number at `at` is an ordinal as German writes it: a point, then a month or after an article."""
    before = text[max(begin, at - 12) : at].rsplit(None, 1)
    after = text[follow : follow + 16].split(None, 1)
    if after and after[0].lower().strip(".,;)") in _MONTH_NAMES:
        return True
    return bool(before) and before[-1].lower() in _BEFORE_ORDINALS and not _opens_sentence(text, follow)


def _opens_sentence(text: str, at: int) -> bool:
    """True if the word at `at` is capitalised and one that often opens a sentence."""
    stop = at
    limit = min(len(text), at + 12)
    while stop < limit and text[stop].isalpha():
        stop += 1
    word = text[at:stop]
    return word[:1].isupper() and word.lower() in _OPENERS
