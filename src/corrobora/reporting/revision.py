"""A new version of a report: every edit checked, what it loses listed, and the version laid out by code.

Knows the rules by which a report cannot get worse: a re-worded sentence passes the same check as a written one and is
no worse than the old one, it keeps all citations, an added one needs a source, and what is lost is listed. Sections
that code writes are written anew; all other bytes stay. Does not know models, runs or readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from corrobora.domain.evidence import Fact
from corrobora.domain.report import Draft, Report, SentenceCheck, Support
from corrobora.reporting.edits import (
    CITATION,
    LINE_START,
    EditableReport,
    Piece,
    UnknownPlace,
    apply_edit,
    parse_document,
)
from corrobora.reporting.render import CitedSource, build_citations
from corrobora.reporting.report_format import translate_body
from corrobora.reporting.verify import CheckedDraft, Rulings, check_draft
from corrobora.reporting.versions import lay_out_version, list_breaks, list_cited, list_losses, list_shortening
from corrobora.roles.edit import Change, Edit, EditAction, Loss, order_edits
from corrobora.text.markdown import MARKER, escape_markdown, iter_cited_sentences, normalize_markers
from corrobora.text.phrases import Frame, find_frame
from corrobora.text.tokens import sanitize_text

_RANK = {
    Support.SUPPORTED: 5,
    Support.UNCITED: 4,
    Support.PARTLY: 3,
    Support.UNCLEAR: 2,
    Support.NOT_CHECKABLE: 2,
    Support.UNSUPPORTED: 1,
    Support.CONTRADICTED: 0,
}
NOT_RESEARCHED = "it was not researched"  # of a change until the run has done it
_ENDS = re.compile(r"(.*?)((?:\s*\[S\d+:C\d+\])*)", re.DOTALL)  # a sentence, and the markers at its end
_MAX_CHARS = 2_000  # of one new text
_MOST_CELLS = 9  # of a row whose checks go with it


@dataclass(frozen=True, slots=True)
class Base:
    """The report that is edited, and the facts that new words may cite: its own, and those of a new search."""

    report: Report
    document: EditableReport
    facts: tuple[Fact, ...]
    rulings: Rulings = field(default_factory=dict[tuple[str, tuple[str, ...]], str])  # of a model, on new words

    @classmethod
    def read(cls, report: Report, more: Sequence[Fact] = ()) -> Base:
        """Take a report apart."""
        return cls(report, parse_document(report), (*report.findings.citable, *more))

    @property
    def markers(self) -> Mapping[int, str]:
        """The markers of facts behind the numbers of the report."""
        return {each.number: f"[{each.source}:{each.passage}]" for each in self.report.citations}

    @property
    def numbers(self) -> dict[str, int]:
        return {marker: number for number, marker in self.markers.items()}

    @property
    def frame(self) -> Frame:
        return find_frame(self.report.language, self.report.translation)

    def find_check(self, piece: Piece) -> SentenceCheck | None:
        return next((each for each in self.report.checks if _fold(each.sentence) == _fold(piece.words)), None)


def plan_changes(base: Base, edits: Sequence[Edit]) -> tuple[Change, ...]:
    """Check every edit against the report and its facts; one that may not be made says why."""
    planned: list[Change] = []
    made: list[Edit] = []
    changed: set[str] = set()  # what the changes before this one take out, re-word or move
    for number, edit in enumerate(edits, 1):
        own = _list_changed([edit])
        why = f"another change already concerns {edit.target}" if own & changed else _find_conflict(edit, edits)
        try:
            change = Change(number, edit, refused=why) if why else _plan_change(base, number, edit, edits)
            apply_parts(base, [*made, *change.parts])  # an edit before this one may have emptied its section
        except UnknownPlace as error:
            change = Change(number, edit, refused=f"{error}")
        parts = _list_changed(change.parts)
        if parts & changed:
            change = Change(number, edit, refused=f"another change already concerns {min(parts & changed)}")
        if not change.refused:
            changed |= own | parts
            made += change.parts
        planned.append(change)
    return tuple(planned)


def _list_changed(edits: Sequence[Edit]) -> set[str]:
    """Return the ids of what some edits change; an addition leaves its place as it is."""
    return {each.target for each in edits if each.action is not EditAction.ADD}


def _find_conflict(edit: Edit, edits: Sequence[Edit]) -> str:
    """Say why an edit cannot be made beside the others: one of them drops what another one, made or refused, needs."""
    dropped = {each.target for each in edits if each.action is EditAction.DROP and each is not edit}
    gone = {place.partition(".")[0] for place in (edit.target, edit.after)} & dropped
    if gone:
        return f"another change drops the section {min(gone)}"
    keep = (each for each in edits if each.action in (EditAction.REWORD, EditAction.ADD, EditAction.MOVE))
    needed = {place for each in keep for place in (each.target, each.after) if "." in place}
    if edit.action is EditAction.DROP and edit.target in needed:
        return f"another change keeps {edit.target}; to put other words in its place, re-word it"
    return ""


def plan_additions(base: Base, number: int, edit: Edit, texts: Sequence[str]) -> Change:
    """Check the statements that a new search found for a section; those that do not hold are left out."""
    base.document.list_pieces(edit.target)
    known = {_fold(piece.words) for piece in base.document.pieces}
    found = [_plan_text(base, Edit(EditAction.ADD, edit.target, text)) for text in texts]
    held = [each for each in found if isinstance(each, Edit) and _fold(_strip_markers(each.text)) not in known]
    if not held:
        failed = [each for each in found if isinstance(each, str)]
        return Change(
            number, edit, refused=failed[0] if failed else "nothing was found that the report does not say already"
        )
    whole = replace(held[0], text=" ".join(each.text for each in held))
    return _describe(base, Change(number, edit, parts=(whole,)))


def _strip_markers(text: str) -> str:
    """Return new words as they will stand in the report, without their citations."""
    return Piece("", "", MARKER.sub("", text)).words


def _plan_change(base: Base, number: int, edit: Edit, edits: Sequence[Edit]) -> Change:
    document = base.document
    if bool(edit.after) is not (edit.action is EditAction.MOVE):
        lacks = "it does not say behind which sentence or section: `after` is missing"
        return Change(number, edit, refused=lacks if not edit.after else "only a move has an `after`")
    match edit.action:
        case EditAction.REWORD | EditAction.ADD:
            made = _plan_text(base, edit)
            if isinstance(made, str):
                return Change(number, edit, refused=made)
            return _describe(base, Change(number, edit, parts=(made,)))
        case EditAction.SHORTEN:
            kept = {place for each in edits if each is not edit for place in (each.target, each.after)}
            drops = list_shortening(document, edit.target, kept)
            if not drops:
                return Change(number, edit, refused=f"section {edit.target} has no sentence that could go")
            return _describe(base, Change(number, edit, parts=drops))
        case EditAction.RESEARCH:
            document.list_pieces(edit.target)
            return Change(number, edit, refused=NOT_RESEARCHED)
        case EditAction.DROP | EditAction.MOVE:
            return _describe(base, Change(number, edit, parts=(edit,)))


def _plan_text(base: Base, edit: Edit) -> Edit | str:
    """Return the edit with its text as it will be printed, with markers; or why it may not be made."""
    text = " ".join(edit.text.split())
    if not text or len(text) > _MAX_CHARS or LINE_START.match(text):
        return f"the new words must be plain sentences of at most {_MAX_CHARS} characters"
    old: SentenceCheck | None = None
    if edit.action is EditAction.REWORD:
        piece = base.document.find_piece(edit.target)
        if piece.row:
            return "a row of a table cannot be re-worded; drop it and add a sentence"
        old = base.find_check(piece)
    elif "." in edit.target:
        base.document.find_piece(edit.target)
    else:
        base.document.list_pieces(edit.target)
    checked = check_new_text(base, _cite_new_text(base, edit))
    problem = _explain_problem(checked, old, adds=edit.action is EditAction.ADD)
    return problem or replace(edit, text=translate_body(checked.draft.body.strip(), base.frame))


def _cite_new_text(base: Base, edit: Edit) -> str:
    """Return new words with their markers and all those of the old ones: new words never lose a citation.

    Without a final stop the sentence behind them would be read as theirs.
    """
    said = CITATION.sub(lambda found: base.markers.get(int(found.group(1)), ""), normalize_markers(edit.text))
    said = _end_sentence(" ".join(said.split()))
    if edit.action is not EditAction.REWORD:
        return said
    own = (base.markers[number] for number in base.document.find_piece(edit.target).cited if number in base.markers)
    return said + "".join(f" {marker}" for marker in own if marker not in said)


def _end_sentence(said: str) -> str:
    found = _ENDS.fullmatch(said)
    words = found[1] if found is not None else said
    return f"{words}.{said[len(words) :]}" if words.rstrip("\"”’')]*_`")[-1:].isalnum() else said


def check_edits(base: Base, changes: Sequence[Change]) -> tuple[SentenceCheck, ...]:
    """Return the checks of all new words, those of refused changes included: a model may rule on what is unclear."""
    written = [each.edit for each in changes if each.edit.action in (EditAction.REWORD, EditAction.ADD)]
    places = {piece.id for piece in base.document.pieces} | set(base.document.sections)
    texts = [_cite_new_text(base, edit) for edit in written if edit.target in places]
    return tuple(check for text in texts for check in check_new_text(base, text).checks)


def check_new_text(base: Base, text: str) -> CheckedDraft:
    """Check new words as a writer's words are checked, sentence by sentence against the quotes that they cite."""
    found = base.report.findings
    known = (found.title, base.report.question, *(part.text for part in found.sub_questions))
    return check_draft(Draft("", text), base.facts, [each for each in known if each], rulings=base.rulings)


def _explain_problem(checked: CheckedDraft, old: SentenceCheck | None, *, adds: bool) -> str:
    """Say why new words may not be taken; "" if they may."""
    withheld = [each.withheld for each in checked.checks if each.withheld]
    if withheld:
        return f"it would be withheld: {'; '.join(withheld)}"
    if checked.removed_markers or checked.removed_urls:
        return "it cites what is not in the evidence of the report, or holds a web address"
    if not checked.checks:
        return "nothing is left of it after the check"
    worst = min(checked.checks, key=lambda each: _RANK[each.support])
    least = _RANK[old.support] if old is not None else _RANK[Support.UNCITED if adds else Support.UNCLEAR]
    if _RANK[worst.support] < least:
        than = "its facts do not carry it" if adds else "it is worse than the old sentence"
        return f"{than}: {'; '.join(worst.reasons) or worst.support.value}"
    if adds and all(each.support is Support.UNCITED for each in checked.checks):
        return "it cites no fact"
    return ""


def _describe(base: Base, change: Change) -> Change:
    """Add to a change the lines that differ and what is lost by it."""
    after = apply_parts(base, change.parts)
    old, new = (each.body.split("\n") for each in (base.document, after))
    taken: list[str] = []
    put: list[str] = []
    for kind, low, high, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            taken += [line for line in old[low:high] if line.strip()]
            put += [line for line in new[start:end] if line.strip()]
    if change.edit.action is EditAction.MOVE and not taken:
        put = []
    return replace(
        change,
        before=tuple(taken),
        after=tuple(put),
        losses=(*list_losses(base.document, after, base.report.citations), *_list_breaks(base, change.parts)),
    )


def _list_breaks(base: Base, parts: Sequence[Edit]) -> Iterator[Loss]:
    """List with what the sentences of the sources go on where added ones, copied from them, break off."""
    quotes: dict[str, list[str]] = {}
    for fact in base.facts:
        quotes.setdefault(fact.marker, []).append(fact.quote)
    for part in (each for each in parts if each.action is EditAction.ADD):
        for said, cited in iter_cited_sentences(part.text):
            yield from list_breaks(said, [quote for marker in cited for quote in quotes.get(marker, ())])


def apply_parts(base: Base, parts: Sequence[Edit], numbers: dict[str, int] | None = None) -> EditableReport:
    """Apply plain edits in the order in which no place vanishes before it is used; their markers become numbers.

    A marker that the report does not cite yet stays a marker, unless `numbers` are given, to which it is added.
    """
    known = base.numbers if numbers is None else numbers
    given = {fact.marker for fact in base.facts}

    def show_marker(found: re.Match[str]) -> str:
        marker = found.group()
        if numbers is not None and marker in given:
            known.setdefault(marker, max(known.values(), default=0) + 1)
        return f"[{known[marker]}]" if marker in known else marker

    document = base.document
    cited = [replace(each, text=escape_markdown(sanitize_text(MARKER.sub(show_marker, each.text)))) for each in parts]
    for edit in order_edits(cited):
        document = apply_edit(document, edit)
    return document


def build_version(
    base: Base, accepted: Sequence[Change], *, note: str, sources: Mapping[str, CitedSource], previous: str
) -> Report:
    """Return the report with the accepted changes.

    What no change names stays byte for byte; numbers stay, new ones follow. The status, the account, the note on this
    version and the list of sources are written by code.

    Raises:
        ValueError: something would be lost or changed that no accepted change names: a bug of ours.
    """
    report, parts = base.report, [part for change in accepted for part in change.parts]
    numbers = base.numbers
    document = apply_parts(base, parts, numbers)
    refuse_silent_loss(base, document, accepted)
    used = list_cited(document)
    cited = {each.number: each for each in report.citations}
    new = {marker: number for marker, number in numbers.items() if number not in cited and number in used}
    citations = (
        *(each for each in report.citations if each.number in used or each.number not in list_cited(base.document)),
        *build_citations(new, base.facts, sources),
    )
    facts = {fact.id: fact for fact in base.facts}
    done = replace(report.methodology, sources_cited=len({each.source for each in citations}))
    done = replace(done, notes=(*done.notes, note), facts=len(facts))
    closed = {text for change in accepted for text in change.closes}
    gaps = tuple(gap for gap in report.findings.gaps if gap.text not in closed)
    edited = replace(
        report,
        citations=citations,
        checks=_update_checks(base, parts, document),
        methodology=done,
        findings=replace(report.findings, facts=tuple(facts.values()), gaps=gaps),
        verdict=None,  # a judge has not seen this version
        seal="",
        previous=previous,
    )
    return replace(edited, markdown=lay_out_version(edited, document, fewer_gaps=bool(closed)))


def refuse_silent_loss(base: Base, after: EditableReport, accepted: Sequence[Change]) -> None:
    """Compare a new version with the report: what no change names must stand there, and what is lost must be listed.

    Raises:
        ValueError: something is changed or lost that no change tells: a bug of ours.
    """
    named = {part.target for change in accepted for part in change.parts if part.action is not EditAction.ADD}
    left = {piece.id: piece.text for piece in after.pieces if piece.id}
    for piece in base.document.pieces:
        inside = piece.id in named or piece.id.partition(".")[0] in named
        if piece.id and not inside and left.get(piece.id) != piece.text:
            message = f"the edit would change {piece.id}, which no change names"
            raise ValueError(message)
    listed = {loss.text for change in accepted for loss in change.losses}
    gone = list_cited(base.document) - list_cited(after)
    titles = {f"[{each.number}] {each.title}" for each in base.report.citations if each.number in gone}
    if len(accepted) == 1 and titles - listed:
        message = f"the edit would lose {min(titles - listed)}, which is not listed"
        raise ValueError(message)


def list_joint_losses(base: Base, accepted: Sequence[Change]) -> tuple[Loss, ...]:
    """List what is lost by some changes together and by none of them alone: the last two mentions of a reference."""
    parts = [part for change in accepted for part in change.parts]
    listed = {loss for change in accepted for loss in change.losses}
    lost = list_losses(base.document, apply_parts(base, parts), base.report.citations)
    return tuple(loss for loss in lost if loss not in listed)


def _update_checks(base: Base, parts: Sequence[Edit], after: EditableReport) -> tuple[SentenceCheck, ...]:
    """Return the checks of the version: without those of what is gone, with those of new words in their place."""
    printed, before = (
        {_fold(words) for words in (*(piece.words for piece in each.pieces), *each.code)}
        for each in (after, base.document)
    )
    checks = list(base.report.checks)
    for part in parts:
        fresh = check_new_text(base, part.text).checks if part.text else ()
        at = len(checks)
        if part.action in (EditAction.DROP, EditAction.REWORD):
            for piece in base.document.pieces:
                if piece.id and part.target in (piece.id, piece.id.partition(".")[0]):
                    at = _remove_checks(checks, piece, at)
        checks[at:at] = fresh if part.action in (EditAction.ADD, EditAction.REWORD) else ()
    return tuple(each for each in checks if _fold(each.sentence) in printed or _fold(each.sentence) not in before)


def _remove_checks(checks: list[SentenceCheck], piece: Piece, at: int) -> int:
    """Remove the check of a sentence, or those of the cells of a row; return where the last one stood, else `at`."""
    words = _fold(piece.words)
    own = [each for each in checks if _fold(each.sentence) == words or _is_cell(each, piece)]
    for check in own[: _MOST_CELLS if piece.row else 1]:
        at = checks.index(check)
        checks.remove(check)
    return at


def _is_cell(check: SentenceCheck, piece: Piece) -> bool:
    return piece.row and bool(check.sentence) and _fold(check.sentence) in _fold(piece.words)


def _fold(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()
