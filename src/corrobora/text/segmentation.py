"""Segmentation: the sentences of a text.

Knows punctuation, abbreviations, list markers, table rows and blank lines, in linear time on any input. Does not know
meaning or passages: a sentence is a literal span, never rewritten.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from corrobora.text.tokens import CODE_GAP, TERM_GAP, find_code_blocks, stem_word
from corrobora.text.vocabulary import is_common, parts_sentences, read_all_function_words


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a text."""

    start: int
    end: int


# Never end a sentence: a name, number or example follows.
_BINDING_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof rev hon st mt ft gen col lt sgt capt cmdr adm maj gov sen rep pres messrs fr sr br "
    "e.g i.e eg ie vs cf viz fig figs eq eqs ref refs sec sect art no nos vol vols pp ch chap ed eds tab app "
    "approx ca est al nr op dept esp resp incl excl misc univ v bzw vgl ggf inkl zzgl sog mme "
    "abzgl bezgl bzgl einschl ausschl entspr insbes".split()
)
_MONTH_NAMES = frozenset(
    "januar februar märz april juni juli august september oktober november dezember jahrhundert jahrhunderts".split()
)
_BEFORE_ORDINALS = frozenset("am vom zum zur im ab beim seit der dem den des".split())  # "der 3. Band", "am 1. Juni"
# May end a sentence, but only if a capitalised word that often opens one follows.
_ENDING_ABBREVIATIONS = frozenset(
    "inc ltd co corp llc plc gmbh jr etc a.m p.m am pm u.s u.k u.n e.u d.c b.c a.d ph.d m.d b.a m.a "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun "
    "ave blvd rd hrs min max bros assn".split()
)
_ABBREVIATIONS = _BINDING_ABBREVIATIONS | _ENDING_ABBREVIATIONS
_LOWER, _WORD_CHARS = re.compile(r"(?s)(?:.*[\s(])?([a-z]{3,})\0([a-z]\w*(?:[.-]\w+)*).*"), 40
_OPENERS = frozenset(
    "the a an this that these those it he she they we you i in on at by for from with when while if as but and or so "
    "however there here its his her their our my after before since because although though then thus what who why "
    "how where which some many most both each all one another such during under over until also".split()
)
_INITIALS = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)+")
_NUMBERED = re.compile(r"\(?(\d{1,2})\.\s+\S")
_LEADS_IN = frozenset({"are", "were", "sind", "sont", "son"})  # "the steps are 1. ..."
_COUNT_CHARS = 1_500  # within which the items of a list that runs inside a paragraph follow each other
_BRACKET_CHARS = 200
_SHORT = 6  # letters of an abbreviation before a number
_PUNCTUATION = ".,;:!?"
QUESTION_MARKS = ("?", "？", "؟")
STOPS = "。．｡！？।॥؟۔։።៕"  # of other scripts: no white space need follow
_CLOSERS = "\"'”’)]»›*_」』）】》〉］"
_STOP = re.compile(  # every alternative succeeds where it starts: linear on any text
    rf"([.!?…]+|[{STOPS}]+)[{re.escape(_CLOSERS)}]{{0,4}}|\n\s*"
)
_WITHIN = "，、；："  # a stop before one of these stands in brackets or a quotation
_MARKER = re.compile(
    r"(?:[-*•‣◦–+#>|]\)?|(?<=  )o|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)](?!\s+\d)|\[\d[\d:./ T-]{3,24}\])(?=\s)"
)
_LIST_CHARS = 2_000  # within which an item follows the one before it
_GOES_ON = frozenset(",-–—'\"’”()/&")
_SHORT_LINE = 40
_GAP = re.compile(r"(?<=\S) {3,}(?=\S)")  # between two columns; lines set to a width have gaps of two spaces
_WIDE_GAP = re.compile(r"(?<=\S) {8,}(?=\S)")  # no text that goes on leaves one: names to the left and the right
_COMMENT = re.compile(r"#+[ \t]*(?=[^\s#])")
# The name of a field at the start of a line (RFC 5322, section 2.2): "Requires-Dist: ", "Apologies for absence: ".
_FIELD = re.compile(r"[A-Z][\w-]{0,30}(?: [\w-]{1,20}){0,2}: ")
# Never end a sentence or a heading at the end of a line: the phrase continues on the next line.
_CONTINUING_WORDS = frozenset(
    "a an the this these those of and or for with by from as our your their its his her any each every no which whose "
    "is are was were be been will shall must may can the der die das den dem des und oder von mit le la les un une des "
    "de du et ou el los las y o con".split()
)


def list_sentences(text: str) -> list[str]:
    """Return the sentences of a text as they stand there, in order."""
    return [text[span.start : span.end] for span in split_sentences(text)]


def split_sentences(text: str) -> tuple[Span, ...]:
    """Split `text` into sentences; return their spans in order, trimmed and without overlap.

    Only white space lies between two spans. A full stop ends a sentence unless it belongs to an abbreviation, an
    initial, a list number or a decimal; a blank line, a list item, a table row or code always ends one.
    """
    if CODE_GAP not in text:
        return tuple(_split_prose(text))
    found: list[Span] = []
    begin = 0
    for start, end in find_code_blocks(text):
        found += (*_split_prose(text[begin:start], begin), *trim_span(text, start, end))
        begin = end
    return (*found, *_split_prose(text[begin:], begin))


def _split_prose(text: str, offset: int = 0) -> list[Span]:
    found: list[Span] = []
    begin = line = 0
    size = len(text)
    for match in _STOP.finditer(text):
        start, end = match.span()
        border = start if text[start] == "\n" else end
        if text[start] == "\n":
            ends = _line_ends(text, line, start, end)
            line = end
        else:  # a decimal, an address or a name goes on
            inside = match.end(1) < size and text[match.end(1)].isalnum() and text[start] in ".!?"
            ends = not inside and _stop_ends(text, begin, line, start, end)
        if not ends:
            continue
        found += trim_span(text, begin, border)
        begin = border
    found += trim_span(text, begin, len(text))
    return [Span(start + offset, end + offset) for start, end in found] if offset else found


def trim_span(text: str, begin: int, border: int) -> tuple[Span, ...]:
    """Return a span without the white space around it, none if nothing is left."""
    part = text[begin:border]
    start, end = border - len(part.lstrip()), begin + len(part.rstrip())
    return (Span(start, end),) if start < end else ()


def _line_ends(text: str, line: int, start: int, end: int) -> bool:
    """True if the line break at `start` ends a sentence; the line began at `line`, the next begins at `end`."""
    if end >= len(text) or text.count("\n", start, end) > 1:
        return True
    last = start - 1
    while last > line and text[last] in " \t\r":
        last -= 1
    long, tail = last - line >= _SHORT_LINE, text[last]
    hash_mark = text[line] == "#" and not text[line + 1].isdigit()  # "#80" is a number
    of_comment = hash_mark or (line == 0 and long and text[end] == "#")  # a quote may begin within it
    comment = _COMMENT.match(text, end) if of_comment else None
    if last < line or (of_comment and comment is None) or (comment is None and _is_marked(text, end, long=long)):
        return True
    goes_on = tail.isalnum() or tail in _GOES_ON or tail == "."  # of what is no end of a sentence, as it was not taken
    below = long and text[end].islower() and (line == 0 or _read_indent(text, line) == _read_indent(text, end))
    goes_on = goes_on or below
    if (_FIELD.match(text, end) and _FIELD.match(text, line)) or not goes_on:
        return True
    if text[last - 12 if last - line > 12 else line : last + 1].rsplit(None, 1)[-1].lower() in _CONTINUING_WORDS:  # noqa: PLR2004 - a word
        return False
    if comment is not None:
        return not long and not text[comment.end()].islower()
    return _is_in_columns(text, line, start, end) or (not long and (text[end].isupper() or text[end].isdigit()))


def _read_indent(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 : at]


def _is_marked(text: str, at: int, *, long: bool) -> bool:
    """True if a line begins with the mark of an item; a number that counts on nothing is none in wrapped text."""
    mark = _MARKER.match(text, at)
    number = mark[0].strip("().") if mark and long else ""
    if mark is None or not number.isdecimal() or int(number) <= 1:
        return mark is not None
    return mark[0].replace(number, str(int(number) - 1)) in text[max(0, at - _LIST_CHARS) : at]


def _is_in_columns(text: str, line: int, start: int, end: int) -> bool:
    """True if one of the lines around a break looks like a row of a table, or like an entry of a list."""
    above, below = text[line:start], _read_line(text, end)
    wide = _WIDE_GAP.search(above) or _WIDE_GAP.search(below)
    return bool(wide) or " | " in above or " | " in below or TERM_GAP in below or _has_first_cell(text, end, line)


def is_entry(text: str, at: int) -> bool:
    """True if the line at `at` is an entry of a list in two columns, as options and their meaning are listed."""
    begin, end = text.rfind("\n", 0, at), text.find("\n", at)
    if TERM_GAP in text[at : end if end >= 0 else len(text)]:
        return True
    beside = ([begin - 1] if begin > 0 else []) + ([end + 1] if 0 <= end < len(text) - 1 else [])
    return any(_has_first_cell(text, at, other) for other in beside)


def _has_first_cell(text: str, at: int, beside: int) -> bool:
    """True if the line at `at` has a second cell in the column where one of a neighbour begins, and a first before it.

    A text that was cut out of another begins without its indentation, which is then that of the neighbour.
    """
    line, neighbour = _read_line(text, at), _read_line(text, beside)
    if text.rfind("\n", 0, at) < 0:
        line = neighbour[: len(neighbour) - len(neighbour.lstrip())] + line.lstrip()
    elif text.rfind("\n", 0, beside) < 0:
        neighbour = line[: len(line) - len(line.lstrip())] + neighbour.lstrip()
    line, neighbour = line.expandtabs(), neighbour.expandtabs()
    gap = _GAP.search(line) or _GAP.search(neighbour)
    if gap is None:
        return False
    column = gap.end()
    met = all(each[column - 2 : column].isspace() and each[column : column + 1].strip() for each in (line, neighbour))
    return met and len(line) - len(line.lstrip()) < column


def _read_line(text: str, at: int) -> str:
    """Return the line that holds the place `at`; at most 200 characters on either side."""
    begin = text.rfind("\n", max(0, at - 200), at) + 1 or max(0, at - 200)
    stop = text.find("\n", at, at + 200)
    return text[begin : stop if stop >= 0 else at + 200]


def _stop_ends(text: str, begin: int, line: int, start: int, end: int) -> bool:
    """True if the punctuation `text[start:end]` ends the sentence that began at `begin`."""
    if end >= len(text):
        return True
    follow = text[end]
    if text[start] in STOPS:
        return follow not in _WITHIN and not (text[start] == "．" and follow.isdigit())
    if not follow.isspace():
        return False
    at = end + 1
    limit = min(len(text), at + 8)
    while at < limit and (text[at].isspace() or text[at] in "\"'“‘([«*_"):
        at += 1
    sign = start > 1 and text[start - 1] == follow == " " != text[start - 2]  # not what a citation stood before
    if at >= len(text) or (sign and not text[at].isalnum()):
        return at >= len(text)  # else one of several signs: "@ ! # &"
    if text[at].islower() and follow != "\n":
        return _ends_before_lower(text, start, end, at)
    if text[start] != "." or (end - start > 1 and text[start + 1] == "."):
        return True
    return _full_stop_ends(text, begin, line, start, at)


def _ends_before_lower(text: str, start: int, end: int, follow: int) -> bool:
    """True if the punctuation `text[start:end]` ends a sentence though a word in small letters follows it."""
    words = _LOWER.fullmatch(text[max(0, start - _WORD_CHARS) : start] + "\0" + text[follow : follow + _WORD_CHARS])
    if words is None or text[start:end] != ".":
        return False
    return _ABBREVIATIONS.isdisjoint(words.groups()) and parts_sentences(*words.groups())


def _full_stop_ends(text: str, begin: int, line: int, start: int, follow: int) -> bool:
    """True if the single full stop at `start` ends the sentence that began at `begin`; `follow` is the next word.

    `line` is where its line begins.
    """
    if _stands_in_dots(text, begin, start, follow) or _is_in_brackets(text, begin, start):
        return False
    own = max(begin, line)
    low = max(own, start - 12)
    parts = text[low:start].rsplit(None, 1)
    word = parts[-1].lstrip("(\"'“‘[/") if parts and not text[start - 1].isspace() else ""
    at = start - len(word)
    folded = word.lower()
    if folded in _BINDING_ABBREVIATIONS or _is_item_number(text, at):
        return False
    if _is_item_number(text, follow):
        return True
    if word.isdigit() or ("." in word and word.replace(".", "").isdigit()):
        return _number_ends(text, own, at, word, follow)
    opens = _opens_sentence(text, follow)
    if word.isalpha() and (len(word) == 1 or _shortens(text, at, folded, follow)):
        return opens
    timed = folded.lstrip("0123456789:")  # "6:00p.m"
    return opens if timed in _ENDING_ABBREVIATIONS or (len(word) <= 6 and _INITIALS.fullmatch(word)) else True  # noqa: PLR2004 - "U.S.S.R"


def _number_ends(text: str, begin: int, at: int, word: str, follow: int) -> bool:
    """True if a sentence ends with the number at `at`: it is no day, no item of a list, no section before its title."""
    first = not text[begin:at].strip()
    if len(word) <= 2 and _is_ordinal(text, begin, at, follow):  # noqa: PLR2004 - a day, a place
        return False
    return not (first and (len(word) <= 3 or "." in word))  # noqa: PLR2004 - a list number


def _shortens(text: str, at: int, word: str, follow: int) -> bool:
    """True for what is no word and stands before a number: "ext. 71"."""
    own = text[at].islower() and word.isascii() and len(word) <= _SHORT and text[follow].isdigit()
    return own and not is_common(stem_word(word)) and word not in read_all_function_words()


def _is_item_number(text: str, at: int) -> bool:
    """True for a number with a full stop that counts on with those of a list inside the same paragraph."""
    found = _NUMBERED.match(text, at)
    if found is None:
        return False
    number = int(found[1])
    behind, ahead = text[max(0, at - _COUNT_CHARS) : at], text[found.end() : found.end() + _COUNT_CHARS]
    behind, ahead = behind[behind.rfind("\n\n") + 1 :], ahead.split("\n\n", 1)[0]
    if number > 1:
        counted = re.search(rf"(?:^|\s)\(?{number - 1}\.\s", behind) is not None
        return counted and behind.rstrip()[-1:] in _PUNCTUATION
    if number == 1 and not _LEADS_IN.isdisjoint(behind[-10:].lower().split()[-1:]):
        return True  # a quote may end before the others
    return number == 1 and re.search(rf"[{_PUNCTUATION})]\s+\(?2\.\s+\S", ahead) is not None


def _stands_in_dots(text: str, begin: int, start: int, follow: int) -> bool:
    """True for one of the dots with spaces between them, as in "1, . . . , n"."""
    apart = start > begin and text[start - 1].isspace()
    return apart and (text[follow] in _PUNCTUATION or text[max(begin, start - 4) : start].rstrip()[-1:] in (".", ","))


def _is_in_brackets(text: str, begin: int, start: int) -> bool:
    """True if a bracket is open that closes soon, so that what it holds is shown as a whole."""
    before, after = text[max(begin, start - _BRACKET_CHARS) : start], text[start + 1 : start + _BRACKET_CHARS]
    opened = before.count("(") > before.count(")")
    closed = after.find(")")
    holds = any(map(str.isalnum, after[: max(closed, 0)]))
    return opened and holds and "(" not in after[:closed] and "\n\n" not in after[:closed]


def _is_ordinal(text: str, begin: int, at: int, follow: int) -> bool:
    """True if the number at `at` is a German ordinal: a full stop, then a month or after an article."""
    before = text[max(begin, at - 12) : at].rsplit(None, 1)
    after = text[follow : follow + 16].split(None, 1)
    if after and after[0].lower().strip(".,;)") in _MONTH_NAMES:
        return True
    return bool(before) and before[-1].lower() in _BEFORE_ORDINALS and not _opens_sentence(text, follow)


def _opens_sentence(text: str, at: int) -> bool:
    """True if the word at `at` is capitalised and often opens a sentence."""
    stop = at
    limit = min(len(text), at + 12)
    while stop < limit and text[stop].isalpha():
        stop += 1
    word = text[at:stop]
    return word[:1].isupper() and word.lower() in _OPENERS
