"""Lines: the sentences of the passages of one source, with all that they are ranked by.

Knows headings, paragraphs and what states nothing. Does not know questions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corrobora.domain.evidence import Passage
from corrobora.policies.dialogue import SpeakerTurn, find_speaker_turns, read_labels, split_joined_names
from corrobora.policies.languages import function_word_share, lacks_word_spaces
from corrobora.policies.markup import strip_markup
from corrobora.policies.prose import LIST_ITEM
from corrobora.policies.relevance import SentenceTerms
from corrobora.policies.sentences import Span, split_sentences
from corrobora.policies.tables import is_same_table, split_cells
from corrobora.policies.words import split_words, stem_text
from corrobora.roles.extract import Excerpt

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
    """One sentence of a passage: where it stands, how it reads, and what it is ranked by."""

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
    """Split the passages into sentences with headings and paragraphs; marks alone are no sentence.

    In a conversation each turn is a paragraph, and whoever speaks stands above it like a heading.
    """
    found: list[Line] = []
    titled = frozenset(stem_text(given.title))
    about = frozenset(stem_text(f"{given.title} {given.version} {given.published[:4]}"))
    paragraph = 0
    for number, passage in enumerate(given.passages):
        whole = (
            about
            | frozenset(stem_text(strip_markup(passage.heading)))
            | frozenset(stem_text(read_labels(passage.text)))
        )
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
        read = strip_markup(text[span.start : span.end])
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
        columns = (
            frozenset(stem_text(text[spans[tables[at]].start : spans[tables[at]].end])) if row else frozenset[str]()
        )
        lead = frozenset(stem_text(above.lead)) if item else frozenset[str]()
        unit = SentenceTerms(own, about | frozenset(stem_text(above.local)) | speaker | columns | lead, paragraph)
        found.append(
            Line(
                number,
                above.opened if heads else span.start,
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
                table=spans[tables[at]].start if row else -1,
            )
        )
        above = above.after_sentence(read, item=item, keeps=heads)
    return found, paragraph


@dataclass(frozen=True, slots=True)
class _HeadingContext:
    """What stands above a sentence: the headings right above it, and what leads in the list it belongs to."""

    local: str = ""
    opened: int = -1  # where the run of headings begins
    run: tuple[str, ...] = ()  # headings that stand right under one another, with nothing between
    fresh: bool = False  # nothing stands between the last heading and here
    lead: str = ""

    @property
    def heading_line(self) -> str:
        """The run of headings as what leads in a list; a question stays as it is."""
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
    """Map each row of a table to the row of its heads: rows that follow each other line by line.

    Rows that open a passage may go on a table of the one before: `headless` leaves them as they are.
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
    """True if a list or a table stands right below a heading and is told by it; numbered clauses tell themselves."""
    if at + 1 >= len(spans):
        return False
    below = text[spans[at + 1].start : spans[at + 1].end]
    mark = LIST_ITEM.match(below)
    if mark is None or at + 1 in tables:
        return at + 1 in tables
    clause = mark.group()[0] == "(" and below.rstrip().endswith(".")
    return not clause and not _is_heading(text, spans[at + 1], strip_markup(below))


def _turn_number(spoken: Sequence[SpeakerTurn], place: int) -> int:
    """Return the number of the turn that holds a place, -1 before the first one or where nobody speaks."""
    return bisect_right([turn.start for turn in spoken], place) - 1


def _weigh_sentence(read: str, heading: str, local: str, *, listed: bool) -> float:
    """Weigh what a sentence states. Items, rows and turns say something in few words; lists of contents do not."""
    above = f"{heading} {local}"
    nothing = _REFERENCES.search(above) or _CONTENTS.search(local) or (not listed and _states_nothing(read))
    nothing = nothing or (not listed and _is_bare_row(read))
    weight = NO_STATEMENT if nothing else 1.0
    weight = min(weight, ASIDE if is_aside(above) else 1.0)
    return min(weight, QUESTION if is_question(read) else 1.0)


def _is_bare_row(read: str) -> bool:
    """True for the row of a table whose heads are not known, unless a cell of it says something by itself."""
    parts = split_cells(read)
    return len(parts) > 1 and all(len(part.split()) < _TELLING_CELL for part in parts)


def is_question(text: str) -> bool:
    """True for a question, whatever signs follow its mark."""
    return _ASKS.search(text) is not None


def is_aside(heading: str) -> bool:
    """True below a heading of an appendix, a list of changes, contents or terms: the rule itself stands elsewhere."""
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
    """True for entries of a reference list, titles and bare addresses: hardly any function word of any language.

    A label with its value ("Weight: 4 kg") states something, and so does a text without spaces between its words.
    """
    if text.startswith("[") or _MAIL_HEAD.match(text):
        return True
    if _LABELLED.match(text) or lacks_word_spaces(text):
        return False
    said = split_words(text)
    return function_word_share(said) < max(1 / max(1, len(said)), _FUNCTION_WORDS)
