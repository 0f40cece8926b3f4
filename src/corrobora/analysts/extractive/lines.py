"""Lines: the sentences of one source's passages with everything they are ranked by.

Knows headings, paragraphs, lists, tables, references, and the turns and labels of conversations ("Ann: ...", "Date:
..."). Does not know questions or speakers; one or two lines that look like turns are no conversation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from corrobora.analysts.extractive.relevance import SentenceTerms
from corrobora.domain.evidence import Passage
from corrobora.roles.extract import Excerpt
from corrobora.text.layout import LIST_ITEM, is_same_table, read_heads, skip_item_mark, split_cells
from corrobora.text.segmentation import Span, split_sentences
from corrobora.text.tokens import fold_whitespace, function_word_share, lacks_word_spaces, split_words, stem_text

_OPENING = 400  # characters: who or what a source is about is said first
_HEADING_CHARS = 120
_REFERENCES = re.compile(r"(?i)\b(?:references|bibliography|works cited|further reading|see also)\b")
_CONTENTS = re.compile(r"(?i)^(?:table of )?contents$|^list of (?:tables|figures)$|^inhalt(?:sverzeichnis)?$")
_VALUE = re.compile(r": .*\d")
_MAIL_HEAD = re.compile(r"(?i)(?:from|to|cc|bcc|date|sent|subject|reply-to|betreff|von|an|objet|asunto): ")
_LABELLED = re.compile(r"[A-Z][\w '’/()-]{1,40}: \S")
_TELLING_CELL = 8  # words of a cell that is a sentence
_FUNCTION_WORDS = 0.08  # share of stop words below which a line states nothing
_ASIDE = re.compile(
    r"(?i)\b(?:appendix|annex|change log|changelog|change history|revision history|document history|release notes|"
    r"table of contents|contents|list of (?:tables|figures)|acknowledge?ments?|preface|foreword|glossary|acronyms|"
    r"abbreviations|(?:terms and )?definitions)\b"
)
ASIDE = 0.8  # what stands beside the body of a document: changes, appendices, lists of terms
NO_STATEMENT = 0.3
_ASKS = re.compile(r"\?[^\w.!]*$")
_REACH = 3  # sentences before and after, that say what a sentence is about
QUESTION = 0.7  # a question in a source states little


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of a passage: its position, its text, and what it is ranked by."""

    passage: int
    start: int
    end: int
    text: str
    unit: SentenceTerms
    weight: float = 1.0  # less than 1 for what states nothing: references, titles, addresses
    above: str = ""  # the heading right above it
    opened: int = -1  # where that heading begins, if the sentence is the first below it
    under: int = -1  # where the headings above it begin, if they stand in its passage
    title: frozenset[str] = frozenset()  # stems of the source's title
    first: bool = False  # one of the sentences that open the source
    around: frozenset[str] = frozenset()  # stems of its neighbours in the passage
    before: frozenset[str] = frozenset()  # stems of the sentence before it in its paragraph
    turn: int = -1  # of a conversation, counted in its passage; -1: no conversation
    item: bool = False  # of a list
    table: int = -1  # where the heads of its table begin, if it is a row


def read_lines(given: Excerpt) -> list[Line]:
    """Split the passages into sentences with headings and paragraphs.

    In a conversation each turn is a paragraph, with its speaker as the heading above it.
    """
    found: list[Line] = []
    titled = frozenset(stem_text(given.title))
    about = frozenset(stem_text(f"{given.title} {given.version} {given.published[:4]}"))
    paragraph = 0
    for number, passage in enumerate(given.passages):
        whole = about | frozenset(stem_text(passage.heading)) | frozenset(stem_text(read_labels(passage.text)))
        lines, paragraph = _split_passage(number, passage, whole, paragraph + 1)
        found += (replace(line, title=titled) for line in _add_neighbours(lines))
    return found


def _split_passage(number: int, passage: Passage, about: frozenset[str], paragraph: int) -> tuple[list[Line], int]:
    """Split one passage; return its lines and the number of its last paragraph."""
    text = passage.text
    spoken = find_speaker_turns(text)
    spans = split_sentences(text)
    tables = _find_tables(text, spans, headless=passage.start > 0)
    found: list[Line] = []
    above = _HeadingContext()
    last, open_turn = 0, -1
    for at, span in enumerate(spans):
        read = fold_whitespace(text[(start := skip_item_mark(text, span.start)) : span.end])
        turn = _turn_number(spoken, span.start)
        row = at in tables
        heads = not row and turn < 0 and _is_heading(text, span, read)
        item = not heads and LIST_ITEM.match(text, span.start) is not None
        if item or row or "\n\n" in text[last : span.start] or turn != open_turn:
            paragraph += 1
        last, open_turn = span.end, turn
        if heads:
            above = above.add_heading(read, span.start)
            if not (is_question(read) or _leads_in(text, spans, at, tables)):
                paragraph += 1
                continue
        own = stem_text(split_joined_names(above.heading_line if heads else read))
        if not own and not (item or row):
            continue
        speaker = frozenset(stem_text(split_joined_names(spoken[turn].speaker))) if turn >= 0 else frozenset[str]()
        head = spans[tables[at]] if row else None
        columns = frozenset(stem_text(text[head.start : head.end])) if head else frozenset[str]()
        lead = frozenset(stem_text(above.lead)) if item else frozenset[str]()
        unit = SentenceTerms(own, about | frozenset(stem_text(above.local)) | speaker | columns | lead, paragraph)
        found.append(
            Line(
                number,
                above.opened if heads else start,
                span.end,
                above.heading_line if heads else read,
                unit,
                _weigh_sentence(read, passage.heading, above.local, listed=item or row or heads or turn >= 0),
                above.local,
                above.opened if not heads and above.fresh else -1,
                above.opened,
                first=passage.start + span.start < _OPENING,
                turn=turn,
                item=item,
                table=head.start if head else -1,
            )
        )
        above = above.after_sentence(read, item=item, keeps=heads)
    return found, paragraph


@dataclass(frozen=True, slots=True)
class _HeadingContext:
    """What stands above a sentence: the headings right above it and the lead-in of its list."""

    local: str = ""
    opened: int = -1  # where the run of headings begins
    run: tuple[str, ...] = ()  # headings that stand right under one another, with nothing between
    fresh: bool = False  # nothing stands between the last heading and here
    lead: str = ""

    @property
    def heading_line(self) -> str:
        """The run of headings as the lead-in of a list; a question stays unchanged."""
        text = ": ".join(self.run)
        return text if is_question(text) else f"{text.rstrip(':')}:"

    def add_heading(self, read: str, start: int) -> _HeadingContext:
        run = (*self.run[-1:], read) if self.fresh and self.run and not is_question(read) else (read,)
        return _HeadingContext(read, self.opened if len(run) > 1 else start, run, fresh=True)

    def after_sentence(self, read: str, *, item: bool, keeps: bool) -> _HeadingContext:
        if keeps:
            return self
        lead = self.lead if item else read if read.endswith(":") else ""
        return replace(self, fresh=False, run=(), lead=lead)


def _find_tables(text: str, spans: Sequence[Span], *, headless: bool) -> dict[int, int]:
    """Map each table row to its header row.

    Rows that open a passage may continue a table of the previous one; with `headless` they are left unchanged.
    """
    found: dict[int, int] = {}
    begun = not headless
    for at in range(1, len(spans)):
        one, other = spans[at - 1], spans[at]
        near = text[one.end : other.start].count("\n") == 1
        rows = near and is_same_table(text[one.start : one.end], text[other.start : other.end])
        begun = begun or not rows
        if rows and begun:
            found.setdefault(at - 1, at - 1)
            found[at] = found[at - 1]
    return found


def _leads_in(text: str, spans: Sequence[Span], at: int, tables: Mapping[int, int]) -> bool:
    """True if a list or a table right below a heading depends on it; numbered clauses do not."""
    if at + 1 >= len(spans):
        return False
    below = text[spans[at + 1].start : spans[at + 1].end]
    mark = LIST_ITEM.match(below)
    if mark is None or at + 1 in tables:
        return at + 1 in tables
    clause = mark.group()[0] == "(" and below.rstrip().endswith(".")
    return not clause and not _is_heading(text, spans[at + 1], fold_whitespace(below))


def _turn_number(spoken: Sequence[SpeakerTurn], place: int) -> int:
    """Return the number of the turn at a position, or -1."""
    return bisect_right([turn.start for turn in spoken], place) - 1


def _weigh_sentence(read: str, heading: str, local: str, *, listed: bool) -> float:
    """Weigh how much a sentence states; list items, rows and turns may be short."""
    above = f"{heading} {local}"
    nothing = _REFERENCES.search(above) or _CONTENTS.search(local) or (not listed and _states_nothing(read))
    nothing = nothing or (not listed and _is_bare_row(read))
    weight = NO_STATEMENT if nothing else 1.0
    weight = min(weight, ASIDE if is_aside(above) else 1.0)
    return min(weight, QUESTION if is_question(read) else 1.0)


def _is_bare_row(read: str) -> bool:
    """True for a table row without a known header, unless one of its cells is a sentence."""
    parts = split_cells(read)
    return len(parts) > 1 and all(len(part.split()) < _TELLING_CELL for part in parts)


def is_question(text: str) -> bool:
    """True for a question, whatever punctuation follows its question mark."""
    return _ASKS.search(text) is not None


def is_aside(heading: str) -> bool:
    """True for a heading of an appendix, a change log, contents or terms: the rule itself stands elsewhere."""
    return _ASIDE.search(heading) is not None


def _add_neighbours(lines: Sequence[Line]) -> list[Line]:
    """Give every line the stems of its neighbours in the passage."""
    own = [frozenset(line.unit.stems) for line in lines]
    return [
        replace(
            line,
            around=frozenset[str]().union(*own[max(0, at - _REACH) : at + _REACH + 1]),
            before=own[at - 1] if at and lines[at - 1].unit.paragraph == line.unit.paragraph else frozenset(),
        )
        for at, line in enumerate(lines)
    ]


def _is_heading(text: str, span: Span, read: str) -> bool:
    """True for a marked heading, and for a short line of its own that ends like no sentence or asks."""
    if text.startswith("#", span.start):
        return True
    if len(read) > _HEADING_CHARS or read[-1:] in ".!:;,|" or "\n" in text[span.start : span.end]:
        return False
    if _VALUE.search(read) or text[: span.start].rstrip().endswith(":"):
        return False  # a label with its value, and the example after a colon
    alone = text[max(0, span.start - 2) : span.start] in ("", "\n\n") and text[span.end : span.end + 2] == "\n\n"
    return alone and text[span.start] not in "-*•|"


def _states_nothing(text: str) -> bool:
    """True for references, titles and bare addresses, which have hardly any function words."""
    if text.startswith("[") or _MAIL_HEAD.match(text):
        return True
    if _LABELLED.match(text) or read_heads(text) or lacks_word_spaces(text):
        return False
    said = split_words(text)
    return function_word_share(said) < max(1 / max(1, len(said)), _FUNCTION_WORDS)


_TURN = re.compile(
    r"(?m)^[ \t]{0,4}(?:[-*>][ \t]+)?(?:\[[^\]\n]{1,40}\][ \t]*|\(?\d{1,4}[\d:./ -]{1,20}(?:[ap]m)?\)?[ \t,–-]*)?"
    r"\*{0,2}<?([A-Z][\w.'’-]{0,30}(?: [A-Z(][\w.'’)-]{0,30}){0,3}|@?[a-z][\w.-]{1,30})>?\*{0,2}:\*{0,2}[ \t]+(?=\S)"
)
_LABEL = re.compile(r"^[ \t]{0,4}\*{0,2}([A-Z][A-Za-z ]{1,20})\*{0,2}:\*{0,2}[ \t]+(\S[^\n]{0,160})$")
_JOINED_NAMES = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_TURNS, _SHARE = 3, 0.5
_MAX_LABEL_LINES = 6  # lines at the top that may be labels


class SpeakerTurn(NamedTuple):
    """One turn: where it begins and who speaks."""

    start: int
    speaker: str


def find_speaker_turns(text: str) -> tuple[SpeakerTurn, ...]:
    """Return the turns of a conversation: at least three, half of all lines, with a repeated speaker."""
    found = [
        SpeakerTurn(match.start(), match.group(1))
        for match in _TURN.finditer(text)
        if not read_heads(text[match.start() : (text.find("\n", match.start()) + 1 or len(text) + 1) - 1])
    ]
    lines = sum(bool(line.strip()) for line in text.split("\n"))
    while found and _is_label(text, found[0]) and sum(turn.speaker == found[0].speaker for turn in found) == 1:
        found = found[1:]
    speakers = {turn.speaker for turn in found}
    if len(found) < _TURNS or len(found) < _SHARE * lines or len(speakers) == len(found):
        return ()
    return tuple(found)


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
        if match is None and line.strip() and not line.startswith("#"):
            break
        if match is not None and not match.group(2).rstrip().endswith((".", "!", "?")):
            said.append(match.group(2))
    return " ".join(said)


def split_joined_names(text: str) -> str:
    """Split names joined by capitals: "AnnMiller" becomes "Ann Miller"."""
    return _JOINED_NAMES.sub(" ", text)
