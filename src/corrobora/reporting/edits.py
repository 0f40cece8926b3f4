"""Edits of a delivered report: its sentences with their ids, and plain edits applied to them.

Knows the Markdown of a report as sections, lines and sentences whose bytes are never written anew: an edit takes pieces
out, puts them elsewhere or puts new ones in, and all others stay as they are. Does not know facts or checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from corrobora.domain.report import Citation, Report
from corrobora.reporting.seal import strip_seal
from corrobora.roles.edit import Edit, EditAction
from corrobora.text import phrases
from corrobora.text.markdown import (
    FENCE,
    LEAD,
    drop_marks,
    fold_quotes,
    is_heading,
    is_row,
    is_rule,
    split_cited_sentences,
    split_lines,
)
from corrobora.text.phrases import ENGLISH, Frame, find_frame
from corrobora.text.tokens import read_inline

CITATION = re.compile(r"(?<!\\)\[(\d{1,5})\](?!\(|:)")
_LABEL = re.compile(r"\s*\*\([^()*\d]{1,40}\)\*$|\s*\*\([^()*\d]{1,40}\)\*(?=\s)")
LINE_START = re.compile(r"\s*(?:#{1,6}\s|```|[-*+]\s|\d{1,3}[.)]\s|\||>)")  # of what is no plain sentence
CODE_TITLES = (phrases.CONFLICTS, "Gaps", "Methodology", phrases.ACCOUNT, "Sources")
_LINE_MARK = re.compile(r"(?:[-*+]|#{1,6})\s|[>|]|```")  # what begins no sentence in Markdown
_GONE = "\0"  # stands for a line whose last sentence went
Rewrite = Callable[["Piece"], Sequence["Piece"]]


class UnknownPlace(ValueError):
    """An edit names a sentence or section that the report does not have."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence or row with its citations, as it stands in the report, and the bytes between it and what is before.

    `id` is "" for what code wrote, such as the note in the place of a withheld sentence: no edit may touch it.
    """

    id: str
    lead: str
    text: str
    row: bool = False  # it is a whole line: a row, or of a draft a heading or a block of code

    @property
    def words(self) -> str:
        """What it says, without citations and labels, as a viewer shows it."""
        plain = drop_marks(_LABEL.sub("", self.text), CITATION)
        return " ".join(read_inline(plain).split())

    @property
    def label(self) -> str:
        """The label that a reader sees behind it, such as *(unclear)*, or nothing."""
        found = _LABEL.search(self.text)
        return found.group().strip() if found else ""

    @property
    def cited(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(int(number) for number in CITATION.findall(self.text)))


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One line of the body: its sentences, or `raw` where it has none."""

    section: str
    pieces: tuple[Piece, ...] = ()
    tail: str = ""
    raw: str = ""

    @property
    def text(self) -> str:
        return self.raw + "".join(each.lead + each.text for each in self.pieces) + self.tail


@dataclass(frozen=True, slots=True)
class EditableReport:
    """A report in three parts: what code wrote above, the lines of the body, and what code wrote below."""

    head: str
    lines: tuple[ReportLine, ...]
    tail: str
    quoted: str = ""  # the quotes of its sources, which tell where copied sentences end

    @property
    def body(self) -> str:
        """The text that a writer wrote."""
        return "\n".join(line.text for line in self.lines)

    @property
    def text(self) -> str:
        """The whole report, without its seal."""
        return self.head + self.body + self.tail

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All sentences in order, those of code included."""
        return tuple(piece for line in self.lines for piece in line.pieces)

    @property
    def code(self) -> tuple[str, ...]:
        blocks = (line.raw.split("\n")[1:-1] for line in self.lines if line.raw.startswith(FENCE))
        return tuple(" ".join(" ".join(each).split()) for each in blocks)

    @property
    def sections(self) -> tuple[str, ...]:
        """The ids of the sections, in order."""
        return tuple(dict.fromkeys(line.section for line in self.lines))

    def find_piece(self, name: str) -> Piece:
        """Return a sentence by its id. Raises `UnknownPlace`."""
        found = next((each for each in self.pieces if name and each.id == name), None)
        if found is None:
            message = f"the report has no sentence {name!r}" if name else "no sentence or section is named"
            raise UnknownPlace(message)
        return found

    def list_pieces(self, section: str) -> tuple[Piece, ...]:
        """Return the sentences of a section that an edit may touch. Raises `UnknownPlace`."""
        if section not in self.sections:
            message = f"the report has no section {section!r}" if section else "no sentence or section is named"
            raise UnknownPlace(message)
        inside = (piece for line in self.lines if line.section == section for piece in line.pieces)
        return tuple(piece for piece in inside if piece.id)

    def dump_outline(self) -> dict[str, object]:
        sentences = [{"id": each.id, "text": each.words, "cited": each.cited} for each in self.pieces if each.id]
        return {
            "sections": [{"id": name, "title": self.read_title(name)} for name in self.sections],
            "sentences": sentences,
        }

    def read_title(self, section: str) -> str:
        first = next((line for line in self.lines if line.section == section), None)
        return first.raw.lstrip("# ").strip() if first is not None and is_heading(first.raw) else ""


def parse_document(report: Report) -> EditableReport:
    """Take a report apart; joined again it is the same text, byte for byte."""
    frame = find_frame(report.language, report.translation)
    return split_document(strip_seal(report.markdown).rstrip("\n") + "\n", report.citations, frame)


def split_document(text: str, citations: Sequence[Citation] = (), frame: Frame = ENGLISH) -> EditableReport:
    """Take the Markdown of a report apart. `citations` hold the quotes that tell where copied sentences end."""
    lines = split_lines(text)
    begin = 0
    while begin < len(lines) and (not lines[begin].strip() or _is_head(lines[begin])):
        begin += 1
    headings = {f"## {frame.translate(title)}" for title in CODE_TITLES}
    end = next((at for at in range(begin, len(lines)) if lines[at].strip() in headings), len(lines))
    quoted = fold_quotes(quote for each in citations for quote in each.quotes)
    return EditableReport(
        "".join(f"{line}\n" for line in lines[:begin]),
        tuple(iter_report_lines(lines[begin:end], quoted, frame)),
        "".join(f"\n{line}" for line in lines[end:]),
        quoted,
    )


def _is_head(line: str) -> bool:
    """True for the title, and for what code tells below it in italics: status, question asked, question researched."""
    return line.startswith("# ") or (line.startswith("*") and line.endswith("*") and line[1:2] not in "*[ ")


def iter_report_lines(lines: Sequence[str], quoted: str, frame: Frame | None) -> Iterator[ReportLine]:
    """Split lines into pieces; without the `frame` of a report they are a draft's, whose headings are pieces, too."""
    section = number = 0
    for line, after in zip(lines, (*lines[1:], ""), strict=False):
        if line.startswith("## "):
            section, number = section + 1, 0
        whole = is_heading(line) or line.startswith(FENCE)
        silent = not line.strip() or is_rule(line) or set(line) <= set("-*_`= ")
        if silent or (whole and frame) or (is_row(line) and is_rule(after)):
            yield ReportLine(str(section), raw=line)
            continue
        found = [Piece("-", "", line, row=True)] if whole or is_row(line) else list(_split_pieces(line, quoted))
        named: list[Piece] = []
        for piece in found:
            own = any(map(str.isalnum, piece.words)) and not (
                frame and phrases.is_written_by_code(frame.restore(piece.text.strip("*")))
            )
            number += own
            named.append(replace(piece, id=f"{section}.{number}" if own else ""))
        rest = line[sum(len(each.lead) + len(each.text) for each in named) :]
        yield ReportLine(str(section), tuple(named), rest)


def _split_pieces(line: str, quoted: str) -> Iterator[Piece]:
    found = LEAD.match(line)
    lead = found.end() if found else 0
    shown = _LABEL.sub(lambda label: " " * len(label.group()), line[lead:])
    starts = [each.start + lead for each in split_cited_sentences(shown, CITATION, quoted)] or [lead]
    starts = [lead, *(_skip_label(line, start) for start in starts[1:])]
    done = 0
    for start, end in zip(starts, (*starts[1:], len(line)), strict=True):
        text = line[start:end].strip()
        at = line.index(text, start) if text else start
        yield Piece("-", line[done:at], text)
        done = at + len(text)


def _skip_label(line: str, start: int) -> int:
    """Return where a sentence begins behind the label of the sentence before it."""
    label = _LABEL.match(line, start)
    return label.end() if label else start


def apply_edit(given: EditableReport, edit: Edit) -> EditableReport:
    """Apply one plain edit: add, drop, reword or move. Ids stay those of the report that was read.

    Raises:
        UnknownPlace: the edit names a sentence or section that is not there (any more).
    """
    match edit.action:
        case EditAction.DROP:
            return _drop_place(given, edit.target)
        case EditAction.REWORD:
            given.find_piece(edit.target)
            return _replace_piece(given, edit.target, lambda piece: (replace(piece, text=edit.text),))
        case EditAction.ADD:
            return _insert_text(given, edit.target, Piece("", "", edit.text))
        case EditAction.MOVE:
            return _move_place(given, edit.target, edit.after)
        case EditAction.SHORTEN | EditAction.RESEARCH:
            message = f"{edit.action.value} is made of plain edits"
            raise ValueError(message)


def _replace_piece(given: EditableReport, name: str, change: Rewrite) -> EditableReport:
    """Put what `change` makes of a sentence in its place."""
    lines: list[ReportLine] = []
    for line, below in zip(given.lines, (*given.lines[1:], None), strict=True):
        pieces = tuple(new for piece in line.pieces for new in (change(piece) if piece.id == name else (piece,)))
        made = line if pieces == line.pieces else replace(line, pieces=pieces)
        lines += [made] if made is line else _part_sentences(made, line, below, given.quoted)
    return replace(given, lines=tuple(lines))


def _part_sentences(line: ReportLine, before: ReportLine, below: ReportLine | None, quoted: str) -> list[ReportLine]:
    """Begin a paragraph with each sentence that would be read as the end of the one before it, as after a colon.

    `before` is the line as it was, and `below` the one that follows.
    """
    joined = _list_joined(line, quoted) - _list_joined(before, quoted)
    texts = [each.text for each in line.pieces]
    starts = [at for at in range(1, len(texts)) if {texts[at - 1], texts[at]} <= joined]
    if not starts:
        return [line]
    made = [replace(line, pieces=line.pieces[: starts[0]], tail="")]
    for start, end in pairwise((*starts, len(texts))):
        first, *rest = line.pieces[start:end]
        made += [ReportLine(line.section), ReportLine(line.section, (_open_line(first), *rest))]
    made[-1] = replace(made[-1], tail=line.tail)
    return [*made, ReportLine(line.section)] if below is not None and below.text else made


def _list_joined(line: ReportLine, quoted: str) -> set[str]:
    """Return the sentences of a line that are read as parts of others."""
    return {each.text for each in line.pieces} - {each.text for each in _split_pieces(line.text, quoted)}


def _drop_place(given: EditableReport, name: str) -> EditableReport:
    if "." not in name:
        given.list_pieces(name)
        return replace(given, lines=tuple(line for line in given.lines if line.section != name))
    dropped = given.find_piece(name)
    at, line = next(found for found in enumerate(given.lines) if dropped in found[1].pieces)
    left = tuple(each for each in line.pieces if each is not dropped)
    below = given.lines[at + 1 :]
    if not left or (line.pieces[-1] is dropped and dropped.words.endswith(":")):
        below = _drop_code(below)
    # What now begins the line takes the mark of its item.
    opened = replace(line, pieces=(_open_line(left[0], line.pieces[0].lead), *left[1:])) if left else None
    lines = (*given.lines[:at], opened or ReportLine(line.section, raw=_GONE), *below)
    return replace(given, lines=tuple(_close_gap(lines)))


def _drop_code(lines: Sequence[ReportLine]) -> Sequence[ReportLine]:
    """Return the lines below a sentence without the code that it leads in, and without the citations of that code."""
    while (filled := [at for at, line in enumerate(lines) if line.text][:2]) and lines[filled[0]].raw.startswith(FENCE):
        cites = [
            at for at in filled[1:] if CITATION.search(lines[at].text) and not any(it.id for it in lines[at].pieces)
        ]
        lines = lines[[*filled[:1], *cites][-1] + 1 :]
    return lines


def _open_line(piece: Piece, lead: str = "") -> Piece:
    """Return a sentence as the first of its line: a sign that it begins with is no mark of a list, heading or table."""
    shown = lead.removesuffix("\\")
    return replace(piece, lead=f"{shown}\\" if _LINE_MARK.match(piece.text) else shown)


def _close_gap(lines: Sequence[ReportLine]) -> list[ReportLine]:
    """Remove the line that became empty, the empty line beside it, and a lead-in of code that introduces nothing."""
    at = next((at for at, line in enumerate(lines) if line.raw == _GONE), None)
    if at is None:
        return list(lines)
    before, after = list(lines[:at]), list(lines[at + 1 :])
    if not before and after and not after[0].text:
        after.pop(0)
    if before and not before[-1].text and (not after or not after[0].text):
        before.pop()
    above = next((line for line in reversed(before) if line.text), None)
    below = next((line for line in after if line.text), None)
    introduces = below is not None and below.pieces and (below.pieces[0].id or above is None)
    if above is not None and above.section == lines[at].section and _leads_in(above) and not introduces:
        while before and before[-1] is not above:
            before.pop()
        before.pop()
        while before and not before[-1].text and (not after or not after[0].text):
            before.pop()
    return [*before, *after]


def _leads_in(line: ReportLine) -> bool:
    return len(line.pieces) == 1 and not line.pieces[0].id and line.text.rstrip().endswith(":")


def _insert_text(given: EditableReport, place: str, new: Piece) -> EditableReport:
    """Insert a sentence behind another one in its line, or as a paragraph at the end of a section.

    Where it would be read as a part of its neighbours, and others follow in the line, it is a paragraph below the line:
    these stay where they are.
    """
    if "." in place:
        if given.find_piece(place).row:
            return _insert_lines(given, _find_table_end(given, place), new)
        at, line = next(found for found in enumerate(given.lines) if any(each.id == place for each in found[1].pieces))
        inside = replace(new, lead=" ")
        pieces = tuple(each for piece in line.pieces for each in (piece, *([inside] if piece.id == place else [])))
        if new.text in _list_joined(replace(line, pieces=pieces), given.quoted) and line.pieces[-1].id != place:
            return _insert_lines(given, at, new)
        return _replace_piece(given, place, lambda piece: (piece, inside))
    given.list_pieces(place)
    inside = [at for at, line in enumerate(given.lines) if line.section == place]
    filled = [at for at in inside if given.lines[at].pieces or is_heading(given.lines[at].raw)]
    return _insert_lines(given, filled[-1] if filled else inside[0] - 1, new)


def _find_table_end(given: EditableReport, place: str) -> int:
    at = next(at for at, line in enumerate(given.lines) if any(each.id == place for each in line.pieces))
    while at + 1 < len(given.lines) and is_row(given.lines[at + 1].text):
        at += 1
    return at


def _insert_lines(given: EditableReport, after: int, new: Piece) -> EditableReport:
    """Insert a paragraph behind a line, with an empty line before it and one behind it."""
    section, new = given.lines[max(after, 0)].section, _open_line(new)
    added = (
        [ReportLine(section), ReportLine(section, (new,))]
        if after >= 0
        else [ReportLine(section, (new,)), ReportLine(section)]
    )
    if after >= 0 and (after + 1 >= len(given.lines) or given.lines[after + 1].text):
        added.append(ReportLine(section))
    lines = (*given.lines[: after + 1], *added, *given.lines[after + 1 :])
    return replace(given, lines=lines)


def _move_place(given: EditableReport, name: str, after: str) -> EditableReport:
    if "." not in name and "." not in after:
        given.list_pieces(name)
        given.list_pieces(after)
        if name in (after, "0"):
            message = "a section moves after another one; the opening stays first"
            raise UnknownPlace(message)
        moved = tuple(line for line in given.lines if line.section == name)
        rest = [line for line in given.lines if line.section != name]
        at = max(at for at, line in enumerate(rest) if line.section == after) + 1
        return replace(given, lines=(*rest[:at], *moved, *rest[at:]))
    piece, rest = given.find_piece(name), _drop_place(given, name)
    if piece.row or name == after or rest.code != given.code:
        message = "a row of a table, a sentence that leads in code, or a sentence after itself, cannot be moved"
        raise UnknownPlace(message)
    if "." in after:
        given.find_piece(after)
        return _insert_text(rest, after, replace(piece, lead=""))
    given.list_pieces(after)
    inside = [at for at, line in enumerate(rest.lines) if line.section == after]
    if not inside:  # the only sentence of its section stands at its begin
        return given
    headed = is_heading(rest.lines[inside[0]].text)
    return _insert_lines(rest, inside[0] if headed else inside[0] - 1, replace(piece, lead=""))
