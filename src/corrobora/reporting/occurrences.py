"""Where a report cites: every `[n]` of its text, in order, with the statement that it stands behind.

Knows tokens of Markdown, sentences and rows of tables, and how the list of sources is told from the text before it.
Does not know which quote carries a statement.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from corrobora.domain.report import Citation
from corrobora.reporting.markdown import drop_marks, iter_row_statements, split_cited_sentences
from corrobora.text import phrases
from corrobora.text.frames import ENGLISH, Frame, list_frames

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

NUMBER = re.compile(r"\[(\d{1,5})\]")
_BRACKET = "\ue000"  # stands for one that opens no citation


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One `[n]` that leads to a reference, and the statement that cites it, as a viewer shows it."""

    number: int
    sentence: str


def make_parser() -> MarkdownIt:
    """Return the parser of reports: CommonMark with tables, without HTML and images."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only a delivery or a page needs it, and the import is slow

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def split_sources(markdown: str, cited: Sequence[Citation], frame: Frame = ENGLISH) -> tuple[str, bool]:
    """Cut off the list of sources, which is written again from the citations; False if it is not ours."""
    body, found, rest = markdown.rpartition(f"\n## {frame.translate('Sources')}\n")
    notice = f"**{frame.translate(phrases.NOTICE)}"
    listed = all(not line or line.startswith((">", "[", notice)) for line in rest.split("\n"))
    return (body, True) if found and cited and listed else (markdown, False)


def find_marks(children: Sequence[Token], numbers: Container[int]) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the citations of one block, none in links or code: the index of the token of each, and its place."""
    inside = 0
    for at, child in enumerate(children):
        inside += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        if child.type == "text" and not inside:
            yield from ((at, mark) for mark in NUMBER.finditer(child.content) if int(mark.group(1)) in numbers)


def list_occurrences(tokens: Sequence[Token], numbers: Container[int]) -> list[Occurrence]:
    """Return every citation of the text in order, each with its statement."""
    found: list[Occurrence] = []
    cells: list[str] | None = None
    for token in tokens:
        match token.type:
            case "tr_open":
                cells = []
            case "tr_close":
                found += _read_row(cells or ())
                cells = None
            case "inline":
                text = _show_text(token.children or [], numbers)
                if cells is None:
                    found += _read_sentences(text)
                else:
                    cells.append(text)
            case _:
                pass
    return found


@cache
def _compile_label() -> re.Pattern[str]:
    """The pattern of the labels that code writes behind sentences, in the languages that ship."""
    labels = {re.escape(frame.translate(label)) for frame in list_frames() for label in phrases.LABELS}
    return re.compile(rf"\((?:{'|'.join(sorted(labels))})\)")


def _show_text(children: Sequence[Token], numbers: Container[int]) -> str:
    """Return a block as shown, in which only citations are still numbers in brackets."""
    cited = {(at, mark.start()) for at, mark in find_marks(children, numbers)}
    shown: list[str] = []
    for at, child in enumerate(children):
        if child.type in ("text", "code_inline"):
            letters = list(child.content)
            for place, letter in enumerate(letters):
                if letter == "[" and (at, place) not in cited:
                    letters[place] = _BRACKET
            shown.append("".join(letters))
        elif child.type in ("softbreak", "hardbreak"):
            shown.append(" ")
    return _compile_label().sub(lambda label: " " * len(label.group()), "".join(shown))


def _read_sentences(text: str) -> list[Occurrence]:
    told = {mark.start(): said.text for said in split_cited_sentences(text, NUMBER) for mark in said.marks}
    return [_make_occurrence(mark.group(), told.get(mark.start(), "")) for mark in NUMBER.finditer(text)]


def _read_row(cells: Sequence[str]) -> list[Occurrence]:
    """Return the citations of a row: of a cell with words it is the statement, of numbers alone what the others say."""
    said = [text for text, _ in iter_row_statements(f"| {' | '.join(_escape_bars(cells))} |", NUMBER)]
    found: list[Occurrence] = []
    for cell in cells:
        marks = NUMBER.findall(cell)
        if marks and any(letter.isalnum() for letter in drop_marks(cell, NUMBER)):
            own = said.pop(0) if said else cell
            found += [_make_occurrence(mark, own) for mark in marks]
        else:
            found += [_make_occurrence(mark, "") for mark in marks]
    return [_make_occurrence(str(each.number), each.sentence or " ".join(said)) for each in found]


def _escape_bars(cells: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in cells]


def _make_occurrence(mark: str, sentence: str) -> Occurrence:
    return Occurrence(int(mark.strip("[]")), " ".join(sentence.replace(_BRACKET, "[").split()))
