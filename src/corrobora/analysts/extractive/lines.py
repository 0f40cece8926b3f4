"""Lines: the sentences of one source's passages with everything they are ranked and quoted by.

Knows headings, paragraphs, lists, and the turns and labels of conversations ("Ann: ...", "Date: ...").
Does not know questions or speakers; one or two lines that look like turns are no conversation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from corrobora.analysts.extractive.ranker import Sentence, find_exchanges, is_question, split_joined_names
from corrobora.domain.evidence import Passage
from corrobora.roles.extract import Excerpt
from corrobora.text.entries import find_entries, is_numbered_heading, read_terms
from corrobora.text.letterheads import find_letterhead
from corrobora.text.reference_lists import find_references
from corrobora.text.segmentation import Span, is_entry, split_sentences
from corrobora.text.tokens import (
    COMMENT,
    LIST_ITEM,
    fold_whitespace,
    is_code_block,
    is_table_row,
    skip_item_mark,
    split_words,
    stem_text,
)
from corrobora.text.vocabulary import function_word_share, is_in_other_script, read_all_function_words

_HEADING_CHARS = 120
_FUNCTION_WORDS = 0.08  # share of stop words below which a line states nothing
_COMMAND = re.compile(r"(?:[$#%>] )?(?:sudo )?[a-z][\w.+-]*(?: \S+)*? (?:--?[A-Za-z]|[~.]{0,2}/\S|[<$]\w)")
_ANSWER_MARK = re.compile(r"[^\W\d_]{1,8}:\s")
_ADDRESS = re.compile(r"\S+://\S+")
_LITERAL = re.compile(r"([\"'`])[^\"'`\n]*\1(?=\s*[,)\]};])")  # words that a program handles say nothing of it
_VALUE = re.compile(r": .*\d")
_DRAWN = re.compile(r"([^\w\s])\1{7}|(?:\. ?){7}")  # a rule, a bar of progress, or what leads to the number of a page
_MAIL_HEADERS = re.compile(  # RFC 5322: they address a message and state nothing of what it is about
    r"(?m)(?:^(?:From|To|Cc|Bcc|Reply-To|Subject|Date|Sent|Von|An|Betreff|Datum|Gesendet):[ \t][^\n]*(?:\n|\Z)){2,}"
)
_KEYWORDS = re.compile(r"(?i)(?:key ?words?(?: and phrases)?|index terms|schlüsselwörter|mots[- ]clés)\s?[:—]\s?[^:]+")
_CAPTION = re.compile(r"(?:Figure|Fig\.|Table|Abbildung|Tabelle|Listing) \d+: .{1,200}")
_TITLE_WORDS = 12
_TORN = (",", ";", ")", "]", "}")  # with which the rest of a formula begins
_JOINING = frozenset("A An And For Of Or The a an and for of or the".split())  # the small words of a title
_NAMED = re.compile(r"[^\W\d]\w{4,}")  # long enough to be the name of something in code
_LABELLED = re.compile(r"\(?[A-Z][\w '’/()-]{1,40}: \S")


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of a passage: its position, its text, and what it is ranked by."""

    passage: int
    start: int
    end: int
    text: str
    sentence: Sentence
    paragraph: int
    opened: int = -1  # where the heading right above it begins, if the sentence is the first below it
    turn: int = -1  # of a conversation, counted in its passage; -1: no conversation
    item: bool = False  # of a list
    entry: int = -1  # where the entry of a list begins below whose term it stands; -1: none, or it begins with it
    comment: bool = False  # of a configuration or program: "# seconds to wait", above what it is about
    code: bool = False  # a block of code
    shown: bool = False  # code that the line before leads in
    inner_heading: str = ""  # the heading inside its passage
    asked: int = -1  # the line where the question begins that its paragraph answers; -1: none


def read_lines(given: Excerpt) -> list[Line]:
    """Split the passages into sentences with headings and paragraphs; headings themselves are no lines.

    In a conversation each turn is a paragraph, with its speaker as the heading above it.
    """
    about = frozenset(stem_text(f"{given.title} {given.version} {given.published[:4]}"))
    found: list[Line] = []
    for number, passage in enumerate(given.passages):
        above = about | frozenset(stem_text(f"{passage.heading} {read_labels(passage.text)}"))
        paragraph = found[-1].paragraph + 1 if found else 0
        lines = _PassageReader(number, passage, above, paragraph).read_lines()
        found += _read_with_code(_read_with_comments(lines))
    source = f"{given.title} > {given.published}"
    found = [replace(line, sentence=replace(line.sentence, source=source)) for line in found]
    return _read_with_questions(found)


def _read_with_questions(lines: list[Line]) -> list[Line]:
    """Let what answers a question be read with it, as it does not say what is asked; the question states nothing."""
    rows = [(line.text, (line.passage if line.turn < 0 else -1, line.paragraph)) for line in lines]
    for at, asking in find_exchanges(rows).items():
        asked = [lines[each] for each in asking]
        stems = tuple(stem for each in asked for stem in each.sentence.stems)
        own = replace(lines[at].sentence, stems=(*stems, *lines[at].sentence.stems), bare=False)
        lines[at] = replace(lines[at], sentence=own, asked=asking.start)
        for each in asking:
            lines[each] = replace(lines[each], sentence=replace(lines[each].sentence, bare=True))
    return lines


def stem_heading(heading: str) -> frozenset[str]:
    """Return the stems of the innermost heading of a path of headings."""
    return frozenset(stem_text(split_joined_names(heading.rsplit(" > ", 1)[-1])))


class _PassageReader:
    """Reads the lines of one passage in order: what stands above a sentence is known from those before it."""

    def __init__(self, number: int, passage: Passage, about: frozenset[str], paragraph: int) -> None:
        self._number, self._passage, self._text = number, passage, passage.text
        self._about, self._paragraph = about, paragraph
        self._titles = frozenset(map(fold_whitespace, passage.heading.split(" > ")))  # that stand in its text as well
        self._turns = find_speaker_turns(passage.text)
        self._starts = [turn.start for turn in self._turns]
        self._silent = [  # what addresses a message or names works
            match.span()
            for match in _MAIL_HEADERS.finditer(passage.text)
            if not is_table_row(match.group().split("\n", 1)[0])
        ]
        if passage.start == 0 and (end := find_letterhead(passage.text)):
            self._silent.append((0, end))
        self._silent += find_references(passage.text, passage.heading.rsplit(" > ", 1)[-1])
        self._local, self._opened = "", -1  # the heading inside the passage, and where it begins until a line is read
        self._last: int = 0  # the end and the turn of the line before
        self._turn: int = -1

    def read_lines(self) -> list[Line]:
        """Return the lines; headings themselves are none."""
        spans = split_sentences(self._text)
        entries, terms = find_entries(self._text, spans), read_terms(self._text, spans)
        rows = zip(spans, entries, terms, find_shown_code(self._text, spans), strict=True)
        begins = [(span, spans[entry].start if entry >= 0 else -1, term, led) for span, entry, term, led in rows]
        return [line for row in begins if (line := self._read_span(*row)) is not None]

    def _read_span(self, span: Span, entry: int, term: str, led: bool) -> Line | None:  # noqa: FBT001 - of a row
        """Read one sentence below the entry at `entry`, if any; it may define `term`, or be code that is `led` in."""
        code = is_code_block(self._text, *span)
        start = span.start if code else skip_item_mark(self._text, span.start)
        read = fold_whitespace(self._text[start : span.end])
        turn = bisect_right(self._starts, span.start) - 1
        heads = turn < 0 and not code and (read in self._titles or is_numbered_heading(self._text, *span))
        item = not (heads or code) and self._is_item(span, turn)
        alone = self._text[span.end : span.end + 2] == "\n\n"
        comment = not (code or alone) and COMMENT.match(self._text, span.start) is not None
        plain = turn < 0 and not (item or comment or code)
        if heads or (plain and _is_heading(self._text, span, read) and not is_question(read)):
            goes_on = self._opened >= 0
            self._local, self._opened = (f"{self._local} {read}", self._opened) if goes_on else (read, span.start)
            return None
        self._enter_line(span, turn, item=item)
        if not any(map(str.isalnum, read)):
            return None
        sentence = self._make_sentence(span, read, turn, term, item=item)
        begins = skip_item_mark(self._text, entry) if entry >= 0 else -1
        shown = led and self._opened < 0
        place = (self._paragraph, self._opened, turn, item, begins, comment, code, shown)
        self._opened = -1
        return Line(self._number, start, span.end, read, sentence, *place, inner_heading=self._local)

    def _is_item(self, span: Span, turn: int) -> bool:
        return LIST_ITEM.match(self._text, span.start) is not None or (turn < 0 and is_entry(self._text, span.start))

    def _enter_line(self, span: Span, turn: int, *, item: bool) -> None:
        if item or "\n\n" in self._text[self._last : span.start] or turn != self._turn or self._opened >= 0:
            self._paragraph += 1
        self._last, self._turn = span.end, turn

    def _make_sentence(self, span: Span, read: str, turn: int, term: str, *, item: bool) -> Sentence:
        speaker = split_joined_names(self._turns[turn].speaker) if turn >= 0 else ""
        above = self._about | frozenset(stem_text(f"{self._local} {speaker}"))
        above |= frozenset(stem_text(split_joined_names(term)))
        bare = _is_bare(read, listed=item) if turn < 0 or item else False
        bare = bare or any(begin <= span.start < end for begin, end in self._silent)
        stems, heading = stem_text(split_joined_names(read)), stem_heading(self._local or self._passage.heading)
        name, place = str(self._passage.id), self._passage.heading
        return Sentence(read, stems, above, name, turn >= 0, item, bare, 0.0, heading, place, term)


def _read_with_comments(lines: list[Line]) -> list[Line]:
    """Let the line below a comment be read with it: it is what the comment is about."""
    for at, (comment, line) in enumerate(pairwise(lines), start=1):
        if comment.comment and not line.comment and comment.paragraph == line.paragraph:
            above = line.sentence.above | frozenset(comment.sentence.stems)
            lines[at] = replace(line, sentence=replace(line.sentence, above=above, bare=False))
    return lines


def _read_with_code(lines: list[Line]) -> list[Line]:
    """Let what leads in code be read with it, as it is quoted with it; the code alone says little."""
    for at in range(1, len(lines)):
        before, line = lines[at - 1], lines[at]
        if line.shown:
            said = before.sentence.above | frozenset(line.sentence.stems)
            lines[at - 1] = replace(before, sentence=replace(before.sentence, above=said))
            lines[at] = replace(line, sentence=replace(line.sentence, bare=True))
    return lines


def find_shown_code(text: str, spans: Sequence[Span]) -> list[bool]:
    """Say of each sentence whether it is code that the one before announces, names something of, or begins."""
    shown: list[bool] = []
    for at, span in enumerate(spans):
        code, before = is_code_block(text, *span), text[spans[at - 1].start : spans[at - 1].end]
        shown.append(at > 0 and code and (shown[-1] or _leads_in_code(before, text[span.start : span.end])))
    return shown


def _leads_in_code(sentence: str, code: str) -> bool:
    named = set(_NAMED.findall(sentence)) - read_all_function_words()
    return sentence.endswith(":") or not named.isdisjoint(_NAMED.findall(code))


def _is_heading(text: str, span: Span, read: str) -> bool:
    """True for a short line of its own that ends like no sentence, or asks."""
    if is_command(read):
        return False
    if (
        len(read) > _HEADING_CHARS
        or read[-1:] in ".!:;,|"
        or "\n" in read
        or _VALUE.search(read)
        or _ANSWER_MARK.match(read)
    ):
        return False
    before = text[: span.start].rstrip(" \t")
    alone = before[-1:] in ("", "\n") and text[span.end : span.end + 1] in ("", "\n")
    return alone and not before.rstrip().endswith(":") and (not before.strip() or before.endswith("\n\n"))


def is_command(line: str) -> bool:
    """True for what is typed at a prompt: a name in small letters with an option, a path or a place to fill in."""
    return _COMMAND.match(line) is not None


def _is_bare(text: str, *, listed: bool) -> bool:
    """True for prose that states nothing, and for an item of a list that is an address."""
    return not any(map(str.isalnum, _ADDRESS.sub("", text))) if listed else _states_nothing(text)


def _states_nothing(text: str) -> bool:
    """True for titles, captions, keywords, addresses (few function words), a shell's dialogue and drawn lines."""
    if (
        text.startswith(("[", ">>>", *_TORN))
        or _DRAWN.search(text)
        or _KEYWORDS.fullmatch(text)
        or _CAPTION.fullmatch(text)
    ):
        return True
    if _LABELLED.match(text) or is_table_row(text) or is_in_other_script(text):
        return False
    said = split_words(_LITERAL.sub(" ", _ADDRESS.sub(" ", text)))
    return _is_title(text) or function_word_share(said) < max(1 / max(1, len(said)), _FUNCTION_WORDS)


def _is_title(text: str) -> bool:
    """True for a few words with a stop that are capitalised but for the small ones, as a title is: "Bells of Lund."."""
    words = text.strip(' .“”"').split()
    small = {word for word in words if word.lower() in read_all_function_words()}
    rest = [word for word in words[1:] if word not in small and not word.isupper()]
    titled = text[-1:] in '.”"' and len(words) <= _TITLE_WORDS and small <= _JOINING and words[0][0].isupper()
    return titled and bool(rest) and all(word[0].isupper() for word in rest)


_TURN = re.compile(
    r"(?m)^[ \t]{0,4}(?:[-*>][ \t]+)?(?:\[[^\]\n]{1,40}\][ \t]*|\(?\d{1,4}[\d:./ -]{1,20}(?:[ap]m)?\)?[ \t,–-]*)?"
    r"<?([A-Z][\w.'’-]{0,30}(?: [A-Z(][\w.'’)-]{0,30}){0,3}|@?[a-z][\w.-]{1,30})>?:[ \t]+(?=\S)"
)
_LABEL = re.compile(r"^[ \t]{0,4}([A-Z][A-Za-z ]{1,20}):[ \t]+(\S[^\n]{0,160})$")
_TURNS, _SHARE = 3, 0.5
_LABELS = frozenset("QA")  # of questions with their answers, which nobody speaks
_MAX_LABEL_LINES = 6  # lines at the top that may be labels


class SpeakerTurn(NamedTuple):
    """One turn: where it begins and who speaks."""

    start: int
    speaker: str


def find_speaker_turns(text: str) -> tuple[SpeakerTurn, ...]:
    """Return the turns of a conversation: at least three, half of all lines, with a repeated speaker.

    Questions with their answers are none.
    """
    found = [
        SpeakerTurn(match.start(), match.group(1))
        for match in _TURN.finditer(text)
        if not is_table_row(text[match.start() : (text.find("\n", match.start()) + 1 or len(text) + 1) - 1])
    ]
    lines = sum(bool(line.strip()) for line in text.split("\n"))
    while found and _is_label(text, found[0]) and sum(turn.speaker == found[0].speaker for turn in found) == 1:
        found = found[1:]
    speakers = {turn.speaker for turn in found}
    if speakers <= _LABELS or len(found) < _TURNS or len(found) < _SHARE * lines or len(speakers) == len(found):
        return ()
    return tuple(found)


def is_turn(text: str) -> bool:
    """True if a text begins with the name of a speaker."""
    return _TURN.match(text) is not None and not is_table_row(text.split("\n", 1)[0])


def _is_label(text: str, turn: SpeakerTurn) -> bool:
    """True for a labelled line at the top that is not a sentence."""
    stop = text.find("\n", turn.start)
    match = _LABEL.match(text[turn.start : stop if stop >= 0 else len(text)])
    return match is not None and match.group(2).rstrip()[-1] not in ".!?"


def read_labels(text: str) -> str:
    """Return the values of the labelled lines at the top of a text: "3 May" for "Date: 3 May"."""
    said: list[str] = []
    for line in text.split("\n")[:_MAX_LABEL_LINES]:
        match = _LABEL.match(line)
        if match is None and line.strip():
            break
        if match is not None and not match.group(2).rstrip().endswith((".", "!", "?")):
            said.append(match.group(2))
    return " ".join(said)
