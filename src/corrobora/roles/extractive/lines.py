"""Lines: the sentences of the passages of one source, with all that they are ranked by.

Knows headings, paragraphs and what states nothing. Does not know questions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from corrobora.domain.evidence import Passage
from corrobora.policies.dialogue import Turn, apart, labels, turns
from corrobora.policies.markup import plain
from corrobora.policies.relevance import Unit
from corrobora.policies.sentences import Span, sentences
from corrobora.policies.words import STOP_WORDS, stems, words
from corrobora.roles.extract import Excerpt

_OPENING = 400  # characters: who or what a source is about is said first
_HEADING_CHARS = 120
_ITEM = re.compile(r"(?:[-*+•‣–]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s")
_REFERENCES = re.compile(r"(?i)\b(?:references|bibliography|works cited|further reading|see also)\b")
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
    title: frozenset[str] = frozenset()  # stems of the source's title
    first: bool = False  # one of the sentences that open the source
    around: frozenset[str] = frozenset()  # stems of its neighbours in the passage
    turn: int = -1  # of a conversation, counted in its passage; -1: no conversation
    item: bool = False  # of a list


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
    found: list[Line] = []
    spoken = turns(passage.text)
    local, opened, last, open_turn = "", -1, 0, -1
    for span in sentences(passage.text):
        read = plain(passage.text[span.start : span.end])
        turn = _turn_at(spoken, span.start)
        item = _ITEM.match(passage.text, span.start) is not None
        if item or "\n\n" in passage.text[last : span.start] or turn != open_turn:
            paragraph += 1
        last, open_turn = span.end, turn
        if turn < 0 and _is_heading(passage.text, span, read):
            local, opened = read, span.start
            paragraph += 1
            continue
        own = stems(apart(read))
        if not own:
            continue
        speaker = frozenset(stems(apart(spoken[turn].speaker))) if turn >= 0 else frozenset[str]()
        unit = Unit(own, about | frozenset(stems(local)) | speaker, paragraph)
        found.append(
            Line(
                number,
                span.start,
                span.end,
                read,
                unit,
                _weight(read, passage.heading, local),
                local,
                opened,
                first=passage.start + span.start < _OPENING,
                turn=turn,
                item=item,
            )
        )
        opened = -1
    return found, paragraph


def _turn_at(spoken: Sequence[Turn], place: int) -> int:
    """Return the number of the turn that holds a place, -1 before the first one or where nobody speaks."""
    return bisect_right([turn.start for turn in spoken], place) - 1


def _weight(read: str, heading: str, local: str) -> float:
    weight = NO_STATEMENT if _states_nothing(read, f"{heading} {local}") else 1.0
    weight = min(weight, ASIDE if beside_the_body(f"{heading} {local}") else 1.0)
    return min(weight, QUESTION if asks(read) else 1.0)


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
        replace(line, around=frozenset[str]().union(*own[max(0, at - _REACH) : at + _REACH + 1]))
        for at, line in enumerate(lines)
    ]


def _is_heading(text: str, span: Span, read: str) -> bool:
    """True for a marked heading, and for a short line of its own that ends like no sentence."""
    if text.startswith("#", span.start):
        return True
    if len(read) > _HEADING_CHARS or read[-1:] in ".!?:;,|" or "\n" in text[span.start : span.end]:
        return False
    alone = text[max(0, span.start - 2) : span.start] in ("", "\n\n") and text[span.end : span.end + 2] == "\n\n"
    return alone and text[span.start] not in "-*•|"


def _states_nothing(text: str, above: str) -> bool:
    """True for entries of a reference list, titles and bare addresses: hardly any function word, or a known heading."""
    if _REFERENCES.search(above) or text.startswith("["):
        return True
    said = words(text)
    return sum(word in STOP_WORDS for word in said) < max(1, len(said) * _FUNCTION_WORDS)
