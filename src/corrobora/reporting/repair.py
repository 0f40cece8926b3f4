"""Edits of a draft: its sentences with their ids, those that a check withholds, and new words in their place.

Knows drafts with their markers, the ids of their sentences, and checks. Every byte that no edit names stays, and an
edit whose words hold no better than the old ones is not made. Does not know models or who words a sentence anew.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from corrobora.domain.evidence import Fact
from corrobora.domain.report import Draft, SentenceCheck
from corrobora.reporting.edits import (
    CITATION,
    LINE_START,
    EditableReport,
    Piece,
    ReportLine,
    UnknownPlace,
    apply_edit,
    iter_report_lines,
)
from corrobora.reporting.verify import CheckedDraft
from corrobora.roles.edit import Edit, EditAction, order_edits
from corrobora.roles.review import OPENING, Failing, Revision
from corrobora.text.derivations import is_about_reading
from corrobora.text.markdown import (
    FENCE,
    LEAD,
    MARKER,
    fold_quotes,
    is_heading,
    is_row,
    is_rule,
    iter_cited_sentences,
    normalize_markers,
    split_cells,
    split_lines,
)
from corrobora.text.tokens import GOES_ON, read_inline, split_words

_NUMBER = re.compile(r"\[\d{1,5}\]")
# "[7]:" and "[7](" are no citations: behind the number of a marker this sign, which no text has, stands before them.
_GUARD = "\ufdd0"
_LINK = re.compile(r"\[([^\]\[]*)\]\([^()\s]*\)|https?://\S+")


@dataclass(frozen=True, slots=True)
class NumberedDraft:
    """A draft as sentences with ids. Inside of it markers are numbers, as in a report."""

    document: EditableReport
    numbers: dict[str, str]  # of the markers of the draft and of all facts

    @classmethod
    def read(cls, draft: Draft, facts: Sequence[Fact], more: Sequence[str] = ()) -> NumberedDraft:
        """Take a draft apart; a number that it, or `more` text, has in brackets stands for no marker."""
        body = normalize_markers(draft.body, {fact.marker: fact.title for fact in facts})
        first = 1 + max((int(each[1:-1]) for text in (body, *more) for each in _NUMBER.findall(text)), default=0)
        markers = dict.fromkeys((*(each.group() for each in MARKER.finditer(body)), *(fact.marker for fact in facts)))
        numbers = {marker: f"[{number}]" for number, marker in enumerate(markers, first)}
        quoted = fold_quotes(fact.quote for fact in facts)
        lines = split_lines(_replace_markers(body, numbers))
        return cls(EditableReport("", tuple(iter_report_lines(lines, quoted, None)), "", quoted), numbers)

    def show_ids(self) -> str:
        """Return the draft with the id of each sentence before it, such as {2.3}."""
        lines = (
            line.raw + "".join(f"{it.lead}{{{it.id}}} {it.text}" if it.id else it.lead + it.text for it in line.pieces)
            for line in self.document.lines
        )
        tails = (line.tail for line in self.document.lines)
        return self.show("\n".join(map("".join, zip(lines, tails, strict=True))))

    @property
    def places(self) -> tuple[str, ...]:
        """The ids of all sentences, rows, headings and blocks of code, then those of the sections."""
        sections = dict.fromkeys((OPENING, *self.document.sections))  # words can be put before the first section
        return (*(each.id for each in self.document.pieces if each.id), *sections)

    def show(self, text: str) -> str:
        """Return a text of the document with its markers."""
        markers = {number: marker for marker, number in self.numbers.items()}
        return _NUMBER.sub(lambda found: markers.get(found[0], found[0]), text).replace(_GUARD, "")


def _replace_markers(text: str, numbers: dict[str, str]) -> str:
    def replace_marker(found: re.Match[str]) -> str:
        number = numbers.get(found.group())
        return found.group() if number is None else number + _GUARD * text.startswith((":", "("), found.end())

    return MARKER.sub(replace_marker, text)


def list_withheld(draft: NumberedDraft, checks: Sequence[SentenceCheck], most: int) -> tuple[Failing, ...]:
    """Return what is withheld of a draft, in its order, at most so many: id, reasons and text."""
    found = _match_checks(draft.document.pieces, checks)
    shown = ((piece, [each.withheld for each in found[piece.id] if each.withheld]) for piece in draft.document.pieces)
    failing = ((piece, "; ".join(dict.fromkeys(why))) for piece, why in shown if why)
    return tuple((piece.id, (why, draft.show(piece.text))) for piece, why in failing)[:most]


def _match_checks(pieces: Sequence[Piece], checks: Sequence[SentenceCheck]) -> dict[str, list[SentenceCheck]]:
    """Return the checks of each piece by its id: both come in the order of the text."""
    found: dict[str, list[SentenceCheck]] = defaultdict(list)
    single: dict[str, list[str]] = defaultdict(list)  # sentences may come again
    for piece in pieces:
        if not is_row(piece.text):
            for line in piece.text.split("\n"):
                single[_fold(line)].append(piece.id)
    rows = [(piece.id, set(split_words(CITATION.sub("", piece.text)))) for piece in pieces if is_row(piece.text)]
    for check in checks:
        if check.row or not (same := single[_fold(check.sentence)]):
            said, row = set(split_words(check.sentence)), set(split_words(check.row))
            names = (name for name, words in rows if said <= words and (not row or words <= row))
            found[next(names, "")].append(check)
        else:
            found[same.pop(0) if len(same) > 1 else same[0]].append(check)
    return found


def _fold(text: str) -> str:
    """Return a sentence without marks of Markdown, citations and addresses, which the check drops."""
    plain = _LINK.sub(r"\1", MARKER.sub("", CITATION.sub("", text))).lstrip("# ")
    return "".join(filter(str.isalnum, read_inline(plain).casefold()))


def select_lines(draft: NumberedDraft, failing: Sequence[Failing]) -> str:
    """Return the paragraphs of a draft in which something is withheld, heads of tables and all headings.

    A sign stands for what is left out.
    """
    wanted, lines = {name for name, _ in failing}, draft.document.lines
    shown: list[str] = []
    head: list[str] = []  # of the table that the line stands in
    for line in lines:
        head = [] if not is_row(line.text) else head if line.pieces else [*head, line.text]
        if is_heading(line.text) or any(piece.id in wanted for piece in line.pieces):
            shown += ["", *head, line.text]
            head = []
        elif line.pieces and shown[-1:] != [GOES_ON]:
            shown += ["", GOES_ON]
    return draft.show("\n".join(shown)).strip()


def apply_repair(draft: Draft, edits: Sequence[Edit], facts: Sequence[Fact]) -> Draft:
    """Put new words in the place of old ones or behind them, move and drop what is named. All other bytes stay.

    New words that are no row, heading or block of code where the old ones were are not taken; nor is an edit of a
    place that another one took out. New words that cite nothing keep the markers of the old ones, unless they tell what
    was not found.
    """
    edits = [replace(each, text=normalize_markers(each.text.strip())) for each in edits]
    numbered = NumberedDraft.read(draft, facts, [each.text for each in edits])
    document, markers = numbered.document, frozenset(numbered.numbers.values())
    for edit in order_edits([replace(each, text=_replace_markers(each.text, numbered.numbers)) for each in edits]):
        with suppress(UnknownPlace):
            document = _apply_to_draft(document, edit, markers)
    return replace(draft, body=numbered.show(document.body))


def apply_revision(draft: Draft, made: Revision, facts: Sequence[Fact]) -> Draft:
    """Return the draft as its reviser wants it: with the edits made, or written anew; itself if nothing is changed."""
    if made.whole is not None:
        return made.whole
    body = apply_repair(draft, made.edits, facts).body
    same = body == normalize_markers(draft.body)
    return replace(draft, title=made.title or draft.title, body=draft.body if same else body)


def _apply_to_draft(document: EditableReport, edit: Edit, markers: Container[str]) -> EditableReport:
    if edit.action is EditAction.REWORD:
        piece = document.find_piece(edit.target)
        text = _keep_markers(_fit_text(edit.text, piece), piece, markers)
        return apply_edit(document, replace(edit, text=text)) if text else document
    if edit.action is not EditAction.ADD:
        return apply_edit(document, edit)
    if edit.target == OPENING and not any(each.id.startswith(f"{OPENING}.") for each in document.pieces):
        return replace(document, lines=(ReportLine(OPENING, raw=edit.text), ReportLine(OPENING), *document.lines))
    if any(not line.strip() or LINE_START.match(line) for line in edit.text.split("\n")):
        return _insert_block(document, edit.target, edit.text)
    return apply_edit(document, replace(edit, text=" ".join(edit.text.split())))


def _insert_block(document: EditableReport, place: str, text: str) -> EditableReport:
    """Insert lines of Markdown below the line of a sentence, or at the end of a section; rows and items join theirs."""
    lines = document.lines
    own = [at for at, line in enumerate(lines) if place in (line.section, *(each.id for each in line.pieces))]
    filled = [at for at in own if lines[at].pieces]
    if not filled:
        message = f"the draft has no sentence or section {place!r}"
        raise UnknownPlace(message)
    at = filled[-1]
    above = lines[at].text
    is_table = any(map(is_rule, text.split("\n")))
    joins = is_row(text) and not is_table if is_row(above) else bool(_find_mark(above) and _find_mark(text))
    while not joins and is_row(lines[at].text) and at + 1 < len(lines) and is_row(lines[at + 1].text):
        at += 1
    gap, new = ReportLine(lines[at].section), ReportLine(lines[at].section, raw=text)
    followed = at + 1 < len(lines) and bool(lines[at + 1].text)
    added = [new] if joins else [gap, new, *([gap] if followed else [])]
    return replace(document, lines=(*lines[: at + 1], *added, *lines[at + 1 :]))


def _find_mark(line: str) -> str:
    """Return the mark of a list with which a line begins, or nothing."""
    found = LEAD.match(line)
    return found.group().strip() if found else ""


def _fit_text(text: str, piece: Piece) -> str:
    """Return new words as they stand in the line of the old ones; "" if they cannot stand there."""
    said, line = text.strip(), piece.text.lstrip()
    if line.startswith(FENCE):
        return said if said.startswith(FENCE) and said.endswith(FENCE) and len(split_lines(said)) == 1 else ""
    if is_heading(line):
        named = said.lstrip("# ")
        return f"{line[: len(line) - len(line.lstrip('#'))]} {named}" if named and "\n" not in named else ""
    said = " ".join(said.split())
    if is_row(line):
        return said if is_row(said) and len(split_cells(said)) == len(split_cells(line)) else ""
    mark = piece.lead.strip()
    said = said.removeprefix(mark).lstrip() if mark else said
    return "" if said.startswith(FENCE) or is_row(said) or is_heading(said) else said


def _keep_markers(said: str, piece: Piece, markers: Container[str]) -> str:
    """Return new words with the markers of the old ones, if they have none and claim something; "" for such a row."""
    old, new = ([it.group() for it in CITATION.finditer(text) if it.group() in markers] for text in (piece.text, said))
    if not said or new or not old or is_about_reading(said):
        return said
    return "" if piece.row else " ".join((said, *dict.fromkeys(old)))


def select_better(
    draft: Draft, edits: Sequence[Edit], before: CheckedDraft, after: CheckedDraft, facts: Sequence[Fact]
) -> tuple[Edit, ...]:
    """Return the edits whose words hold better than what they replace: of the others the old words stay withheld."""
    quoted = fold_quotes(fact.quote for fact in facts)
    pieces = NumberedDraft.read(draft, facts).document.pieces
    old = {name: sum(bool(each.withheld) for each in own) for name, own in _match_checks(pieces, before.checks).items()}
    return tuple(edit for edit in edits if _is_better(edit, old.get(edit.target, 0), after.checks, quoted))


def _is_better(edit: Edit, withheld: int, checks: Sequence[SentenceCheck], quoted: str) -> bool:
    if edit.action is EditAction.DROP:
        return True
    said = " ".join(edit.text.split())
    if is_row(said):
        words = set(split_words(MARKER.sub("", said)))
        own = [each for each in checks if set(split_words(each.sentence)) <= words]
    else:
        lines = edit.text.split("\n") if edit.text.startswith(FENCE) else [said]
        new = {_fold(text) for line in lines for text, _ in iter_cited_sentences(line, quoted)}
        own = [each for each in checks if _fold(each.sentence) in new]
    failing = sum(bool(each.withheld) for each in own)
    return bool(own) and (failing < withheld or (failing == withheld < len(own) and not is_row(said)))
