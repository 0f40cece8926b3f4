"""Segmentation: the sentences of a text, and the passages it is cut into for search and citation.

Knows punctuation, abbreviations, list markers, table rows, blank lines, headings and a size in UTF-8 bytes, in linear
time on any input. Does not know meaning, titles, storage or ranking: a sentence is a literal span, never rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from corrobora.text.quantities import find_days, find_releases
from corrobora.text.tokens import CODE_GAP, TERM_GAP, find_code_blocks
from corrobora.text.vocabulary import parts_sentences

if TYPE_CHECKING:
    from corrobora.ports import Heading


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
QUESTION_MARKS = ("?", "？", "؟")
STOPS = "。．｡！？।॥؟۔։።៕"  # of other scripts: no white space need follow
_CLOSERS = "\"'”’)]»›*_」』）】》〉］"
_STOP = re.compile(  # every alternative succeeds where it starts: linear on any text
    rf"([.!?…]+|[{STOPS}]+)[{re.escape(_CLOSERS)}]{{0,4}}|\n\s*"
)
_WITHIN = "，、；："  # a stop before one of these stands in brackets or a quotation
_MARKER = re.compile(r"(?:[-*•‣◦–+#>|]\)?|(?<=  )o|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\[\d[\d:./ T-]{3,24}\])(?=\s)")
_LIST_CHARS = 2_000  # within which an item follows the one before it
_GOES_ON = frozenset(",-–—'\"’”()/&")
_SHORT_LINE = 40
_GAP = re.compile(r"(?<=\S) {3,}(?=\S)")  # between two columns; lines set to a width have gaps of two spaces
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
        found += (*_split_prose(text[begin:start], begin), *_trim_span(text, start, end))
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
        found += _trim_span(text, begin, border)
        begin = border
    found += _trim_span(text, begin, len(text))
    return [Span(start + offset, end + offset) for start, end in found] if offset else found


def _trim_span(text: str, begin: int, border: int) -> tuple[Span, ...]:
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
    of_comment = text[line] == "#" or (line == 0 and long and text[end] == "#")  # a quote may begin within it
    comment = _COMMENT.match(text, end) if of_comment else None
    if last < line or (of_comment and comment is None) or (comment is None and _is_marked(text, end, long=long)):
        return True
    if (_FIELD.match(text, end) and _FIELD.match(text, line)) or not (tail.isalnum() or tail in _GOES_ON):
        return True
    if text[last - 12 if last - line > 12 else line : last + 1].rsplit(None, 1)[-1].lower() in _CONTINUING_WORDS:  # noqa: PLR2004 - a word
        return False
    if comment is not None:
        return not long and not text[comment.end()].islower()
    return _is_in_columns(text, line, start, end) or (not long and (text[end].isupper() or text[end].isdigit()))


def _is_marked(text: str, at: int, *, long: bool) -> bool:
    """True if a line begins with the mark of an item; a number that counts on nothing is none in wrapped text."""
    mark = _MARKER.match(text, at)
    number = mark[0].strip("().") if mark and long else ""
    if mark is None or not number.isdecimal() or int(number) <= 1:
        return mark is not None
    return mark[0].replace(number, str(int(number) - 1)) in text[max(0, at - _LIST_CHARS) : at]


def _is_in_columns(text: str, line: int, start: int, end: int) -> bool:
    """True if one of the lines around a break looks like a row of a table, or like an entry of a list."""
    below = _read_line(text, end)
    return " | " in text[line:start] or " | " in below or TERM_GAP in below or _has_first_cell(text, end, line)


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
    if at >= len(text):
        return True
    if text[at].islower() and follow != "\n":
        words = _LOWER.fullmatch(text[max(0, start - _WORD_CHARS) : start] + "\0" + text[at : at + _WORD_CHARS])
        if words is None or text[start:end] != ".":
            return False
        return _ABBREVIATIONS.isdisjoint(words.groups()) and parts_sentences(*words.groups())
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
    if "." in word and word.replace(".", "").isdigit():  # a release, or the number of a section before its title
        return bool(text[begin:at].strip())
    if folded in _ENDING_ABBREVIATIONS or ("." in word and len(word) <= 6):  # noqa: PLR2004 - "U.S.S.R"
        return _opens_sentence(text, follow)
    return True


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


_ENTRY = re.compile(rf"[^\n{TERM_GAP}]{{1,300}}{TERM_GAP}")  # whoever asks for a term finds it by its begin
PASSAGE_BYTES = 1_100  # about 256 tokens of English
_MIN_PASSAGE_BYTES = 350  # a shorter passage continues past the next heading
_MIN_REST_BYTES = 250  # a smaller remainder joins the previous passage


class PassageSpan(NamedTuple):
    """One passage: characters `start` to `end` of the text, and the path of headings above all of it."""

    start: int
    end: int
    heading: str


def segment_passages(
    text: str, headings: Sequence[Heading] = (), *, size: int = PASSAGE_BYTES
) -> tuple[PassageSpan, ...]:
    """Cut `text` at sentence boundaries into non-empty passages of about `size` bytes.

    Passages are in order, do not overlap, begin and end with a visible character, and omit white space only. A passage
    begins at a heading unless the text before it is very short, and always at one that names a release or a date: of
    what stands below it, the heading alone says when it was. So it does at a term that an entry defines, unless the
    text before it is very short. A question stands with what answers it. A sentence longer
    than `size` is cut at white space, or anywhere if it has none.
    """
    plain = text.isascii()
    if plain and not headings and len(text) <= size:
        end = len(text.rstrip())
        return (PassageSpan(len(text) - len(text.lstrip()), end, ""),) if end else ()
    found: list[PassageSpan] = []
    open_: list[Span] = []
    used = 0
    path = ""
    bare = True  # the open passage contains only headings
    starts = {heading.start for heading in headings}
    dated = {heading.start for heading in headings if find_releases(heading.title) or find_days(heading.title)}
    for begin, end, label in iterate_sections(text, headings):
        if used >= _MIN_PASSAGE_BYTES or not open_ or (begin in dated and not bare):
            _close_passage(found, open_, path)
            open_, used, path, bare = [], 0, label, True
        else:  # it goes on below another heading, and has the headings that stand above both
            path = label if bare else _find_common_path(path, label)
        first = len(found)
        for span in _iterate_units(text, begin, end, size):
            weight = span.end - span.start if plain else len(text[span.start : span.end].encode(errors="replace"))
            if open_ and (used + weight > size or (used >= _MIN_PASSAGE_BYTES and _ENTRY.match(text, span.start))):
                kept = _take_lead_in(text, open_, size - weight)
                _close_passage(found, open_, path)
                open_, path, bare = kept, label, not kept
                used = sum(len(text[each.start : each.end].encode(errors="replace")) + 1 for each in kept)
            open_.append(span)
            used += weight + 1
            bare = bare and span.start in starts and "\n" not in text[span.start : span.end]
        if 0 < used < _MIN_REST_BYTES and len(found) > first:
            last = found.pop()
            open_, used, path = [Span(last.start, last.end), *open_], size, last.heading
    _close_passage(found, open_, path)
    return tuple(found)


def _take_lead_in(text: str, spans: list[Span], room: int) -> list[Span]:
    """Take from the end of a passage what asks, leads in or names what the next one says, if both fit."""
    last = spans[-1]
    opens = text[last.end - 1] in "?:" or TERM_GAP in text[last.start : last.end]
    leads = opens and len(text[last.start : last.end].encode(errors="replace")) < room
    return [spans.pop()] if leads and len(spans) > 1 else []


def _find_common_path(one: str, other: str) -> str:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one.split(" > "), other.split(" > "), strict=False))
    return " > ".join(part for part, _ in pairs)


def _close_passage(found: list[PassageSpan], spans: list[Span], path: str) -> None:
    if spans:
        found.append(PassageSpan(spans[0].start, spans[-1].end, path))


def iterate_sections(text: str, headings: Sequence[Heading]) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, path of headings) for the text before the first heading and after each heading."""
    stack: list[Heading] = []
    begin, path = 0, ""
    for heading in headings:
        if heading.start > begin:
            yield begin, heading.start, path
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        stack.append(heading)
        begin, path = heading.start, " > ".join(part.title for part in stack[-6:])
    if begin < len(text):
        yield begin, len(text), path


def _iterate_units(text: str, begin: int, end: int, size: int) -> Iterator[Span]:
    """Yield a section that fits as a whole, else its short blocks, sentences, or pieces of long sentences."""
    if end - begin <= size and (text.isascii() or len(text[begin:end].encode(errors="replace")) <= size):
        yield from _trim_span(text, begin, end)
        return
    while begin < end:
        border = text.find("\n\n", begin, end)
        border = end if border < 0 else border
        block = text[begin:border]
        if len(block) <= size // 2 and (block.isascii() or len(block) <= size // 6):
            yield from _trim_span(text, begin, border)
        else:
            for span in split_sentences(block):
                start, stop = span.start + begin, span.end + begin
                if stop - start <= size // 4 or len(text[start:stop].encode(errors="replace")) <= size:
                    yield Span(start, stop)
                else:
                    yield from _split_long_span(text, start, stop, size)
        begin = border + 2


def _split_long_span(text: str, start: int, stop: int, size: int) -> Iterator[Span]:
    while start < stop:
        end = _fit_bytes(text, start, stop, size)
        if end < stop:
            at = end
            low = start + (end - start) // 2
            while at > low and not text[at].isspace():
                at -= 1
            end = at if at > low else end
        yield from _trim_span(text, start, end)
        start = end
        while start < stop and text[start].isspace():
            start += 1


def _fit_bytes(text: str, start: int, stop: int, size: int) -> int:
    """Return the largest end such that `text[start:end]` has at most `size` bytes and at least one character."""
    piece = text[start : min(stop, start + size)]
    while len(piece) > 1 and len(piece.encode(errors="replace")) > size:
        piece = piece[: max(1, len(piece) * size // len(piece.encode(errors="replace")))]
    return start + len(piece)
