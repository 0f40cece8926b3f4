"""Lines: the sentences of the passages of one source, with all that they are ranked by.

Knows headings, paragraphs and what states nothing. Does not know questions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corrobora.domain.evidence import Passage
from corrobora.policies.dialogue import Turn, apart, labels, turns
from corrobora.policies.languages import function_share, written_without_spaces
from corrobora.policies.markup import plain
from corrobora.policies.prose import ITEM
from corrobora.policies.relevance import Unit
from corrobora.policies.sentences import Span, sentences
from corrobora.policies.tables import cells, same_table
from corrobora.policies.words import stems, words
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
    unit: Unit
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
    titled = frozenset(stems(given.title))
    about = frozenset(stems(f"{given.title} {given.version} {given.published[:4]}"))
    paragraph = 0
    for number, passage in enumerate(given.passages):
        whole = about | frozenset(stems(plain(passage.heading))) | frozenset(stems(labels(passage.text)))
        lines, paragraph = _passage_lines(number, passage, whole, paragraph + 1)
        found += (replace(line, title=titled) for line in _surrounded(lines))
    return found


def _passage_lines(number: int, passage: Passage, about: frozenset[str], paragraph: int) -> tuple[list[Line], int]:
    """Split one passage; return its lines and the number of its last paragraph."""
    text = passage.text
    spoken = turns(text)
    spans = sentences(text)
    tables = _tables(text, spans, headless=passage.start > 0)
    found: list[Line] = []
    above = _Above()
    last, open_turn = 0, -1
    for at, span in enumerate(spans):
        read = plain(text[span.start : span.end])
        turn = _turn_at(spoken, span.start)
        row = at in tables
        heads = not row and turn < 0 and _is_heading(text, span, read)
        item = not heads and ITEM.match(text, span.start) is not None
        if item or row or "\n\n" in text[last : span.start] or turn != open_turn:
            paragraph += 1
        last, open_turn = span.end, turn
        if heads:
            above = above.under(read, span.start)
            if not (asks(read) or _leads_in(text, spans, at, tables)):
                paragraph += 1
                continue
        own = stems(apart(above.told if heads else read))
        if not own and not (item or row):
            continue
        speaker = frozenset(stems(apart(spoken[turn].speaker))) if turn >= 0 else frozenset[str]()
        columns = frozenset(stems(text[spans[tables[at]].start : spans[tables[at]].end])) if row else frozenset[str]()
        lead = frozenset(stems(above.lead)) if item else frozenset[str]()
        unit = Unit(own, about | frozenset(stems(above.local)) | speaker | columns | lead, paragraph)
        found.append(
            Line(
                number,
                above.opened if heads else span.start,
                span.end,
                above.told if heads else read,
                unit,
                _weight(read, passage.heading, above.local, listed=item or row or heads or turn >= 0),
                above.local,
                above.opened if not heads and above.fresh else -1,
                above.opened,
                first=passage.start + span.start < _OPENING,
                turn=turn,
                item=item,
                table=spans[tables[at]].start if row else -1,
            )
        )
        above = above.passed(read, item=item, keeps=heads)
    return found, paragraph


@dataclass(frozen=True, slots=True)
class _Above:
    """What stands above a sentence: the headings right above it, and what leads in the list it belongs to."""

    local: str = ""
    opened: int = -1  # where the run of headings begins
    run: tuple[str, ...] = ()  # headings that stand right under one another, with nothing between
    fresh: bool = False  # nothing stands between the last heading and here
    lead: str = ""

    @property
    def told(self) -> str:
        """The run of headings as what leads in a list; a question stays as it is."""
        text = ": ".join(self.run)
        return text if asks(text) else f"{text.rstrip(':')}:"

    def under(self, read: str, start: int) -> _Above:
        run = (*self.run[-1:], read) if self.fresh and self.run and not asks(read) else (read,)
        return _Above(read, self.opened if len(run) > 1 else start, run, fresh=True)

    def passed(self, read: str, *, item: bool, keeps: bool) -> _Above:
        if keeps:
            return self
        lead = self.lead if item else read if read.endswith(":") else ""
        return replace(self, fresh=False, run=(), lead=lead)


def _tables(text: str, spans: Sequence[Span], *, headless: bool) -> dict[int, int]:
    """Map each row of a table to the row of its heads: rows that follow each other line by line.

    Rows that open a passage may go on a table of the one before: `headless` leaves them as they are.
    """
    found: dict[int, int] = {}
    begun = not headless
    for at in range(1, len(spans)):
        one, other = spans[at - 1], spans[at]
        near = text[one.end : other.start].count("\n") == 1
        rows = near and same_table(text[one.start : one.end], text[other.start : other.end])
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
    mark = ITEM.match(below)
    if mark is None or at + 1 in tables:
        return at + 1 in tables
    clause = mark.group()[0] == "(" and below.rstrip().endswith(".")
    return not clause and not _is_heading(text, spans[at + 1], plain(below))


def _turn_at(spoken: Sequence[Turn], place: int) -> int:
    """Return the number of the turn that holds a place, -1 before the first one or where nobody speaks."""
    return bisect_right([turn.start for turn in spoken], place) - 1


def _weight(read: str, heading: str, local: str, *, listed: bool) -> float:
    """Weigh what a sentence states. Items, rows and turns say something in few words; lists of contents do not."""
    above = f"{heading} {local}"
    nothing = _REFERENCES.search(above) or _CONTENTS.search(local) or (not listed and _states_nothing(read))
    nothing = nothing or (not listed and _bare_row(read))
    weight = NO_STATEMENT if nothing else 1.0
    weight = min(weight, ASIDE if beside_the_body(above) else 1.0)
    return min(weight, QUESTION if asks(read) else 1.0)


def _bare_row(read: str) -> bool:
    """True for the row of a table whose heads are not known, unless a cell of it says something by itself."""
    parts = cells(read)
    return len(parts) > 1 and all(len(part.split()) < _TELLING_CELL for part in parts)


def asks(text: str) -> bool:
    """True for a question, whatever signs follow its mark."""
    return _ASKS.search(text) is not None


def beside_the_body(heading: str) -> bool:
    """True below a heading of an appendix, a list of changes, contents or terms: the rule itself stands elsewhere."""
    return _ASIDE.search(heading) is not None


def _surrounded(lines: Sequence[Line]) -> list[Line]:
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
    if _LABELLED.match(text) or written_without_spaces(text):
        return False
    said = words(text)
    return function_share(said) < max(1 / max(1, len(said)), _FUNCTION_WORDS)
