"""Versions of an edited report: what a shorter one leaves out, what a new one no longer says, and how it is laid out.

Knows the sentences of two versions by their ids, quotes, and which sections code writes anew. Does not know checks,
models or who accepts a loss.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence

from corrobora.domain.report import Citation, Report
from corrobora.reporting.edits import CITATION, EditableReport, Piece
from corrobora.reporting.render import render_account, render_gaps, render_methodology, render_sources, render_status
from corrobora.roles.edit import Edit, EditAction, Loss
from corrobora.text import phrases
from corrobora.text.alignment import find_break
from corrobora.text.clauses import parse_clause
from corrobora.text.markdown import escape_markdown, is_heading
from corrobora.text.mentions import find_claim_words
from corrobora.text.phrases import find_frame
from corrobora.text.segmentation import list_sentences
from corrobora.text.tokens import fold_text, sanitize_text, stem_text

_MOST_CHARS = 300  # of words that a sentence of a source goes on with


def list_losses(before: EditableReport, after: EditableReport, citations: Sequence[Citation]) -> Iterator[Loss]:
    """List statements that are gone, details that new words left out, and references that nothing cites any more."""
    left = {piece.id: piece for piece in after.pieces if piece.id}
    for piece in (each for each in before.pieces if each.id):
        yield from _list_lost_words(piece, left.get(piece.id))
    yield from (Loss("statement", code) for code in (Counter(before.code) - Counter(after.code)).elements())
    for section in (each for each in before.sections if each not in after.sections):
        if title := before.read_title(section):
            yield Loss("statement", f"the section {title!r}")
    gone = list_cited(before) - list_cited(after)
    for cited in (each for each in citations if each.number in gone):
        yield Loss("citation", f"[{cited.number}] {cited.title}")


def _list_lost_words(piece: Piece, now: Piece | None) -> Iterator[Loss]:
    if now is None:
        if piece.cited or find_claim_words(piece.words):
            yield Loss("statement", piece.words)
    elif now.text != piece.text:
        said = fold_text(now.words)
        for word in find_claim_words(piece.words):
            if fold_text(word) not in said:
                yield Loss("detail", f"{word} (of {piece.id})")
        if (parse_clause(piece.words).negations - parse_clause(now.words).negations) % 2:
            yield Loss("detail", f"what it affirms or denies: a negation was put in or left out (of {piece.id})")
        yield from _list_cut_words(piece, now)


def _list_cut_words(piece: Piece, now: Piece) -> Iterator[Loss]:
    """List what a sentence said that its new words, being fewer or broken off, do not say."""
    old, new = set(stem_text(piece.words)), set(stem_text(now.words))
    if len(old - new) > len(new - old):  # it is cut, not said with other words
        gone = [word for word in piece.words.split() if set(stem_text(word)) - new]
        yield Loss("words", f"{' '.join(gone)} (of {piece.id})")
    elif rest := find_break(now.words, piece.words):
        yield Loss("words", f"{rest} (of {piece.id})")


def list_breaks(said: str, quotes: Sequence[str]) -> Iterator[Loss]:
    """List the words with which a sentence of a source goes on where a copy of it breaks off."""
    texts = (" ".join(quote.split()) for quote in quotes)
    ends = [find_break(said, each) for text in texts for each in list_sentences(text)]
    found = [end for end in ends if end is not None]
    if found and all(found):
        yield Loss("words", f"{found[0][:_MOST_CHARS]} (of the sentence of its source)")


def list_cited(document: EditableReport) -> set[int]:
    """Return the numbers that the body and the table of contradictions cite."""
    rows = [line for line in document.tail.split("\n## ")[1:2] if "\n|" in line]  # code begins with contradictions
    cited = {int(number) for line in rows for number in CITATION.findall(line)}
    return {number for piece in document.pieces for number in piece.cited} | cited


def lay_out_version(report: Report, document: EditableReport, *, fewer_gaps: bool = False) -> str:
    """Return the Markdown of a version: the sections of code anew, that on gaps if some are closed, all else as is."""
    frame = find_frame(report.language, report.translation)
    status = re.compile(r"(?m)^\*(?!\*).*\*$")  # the first line in italics
    head = status.sub(lambda _: f"*{_escape_text(render_status(report, frame))}*", document.head, count=1)
    methodology, account, sources = (
        f"## {frame.translate(title)}" for title in ("Methodology", phrases.ACCOUNT, "Sources")
    )
    anew = {
        methodology: _add_note(_find_section(document.tail, methodology), render_methodology(report, frame)),
        account: render_account(report, frame),
        sources: render_sources(report.citations, frame),
    }
    if fewer_gaps:
        failed = report.methodology.uncovered
        anew[f"## {frame.translate('Gaps')}"] = render_gaps(report.findings, failed, report.question, frame)
    blocks = [document.tail.partition("\n## ")[0]]
    for section in _split_sections(document.tail):
        title = section.partition("\n")[0]
        text = _escape_text(anew[title]) if title in anew else section.rstrip("\n")
        blocks += [f"\n{text}\n"] if text else []
    return f"{head}{document.body}{''.join(blocks)}".rstrip("\n") + "\n"


def _split_sections(tail: str) -> list[str]:
    lines = tail.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("## ") and is_heading(line)]
    return ["\n".join(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def _find_section(tail: str, title: str) -> str:
    return next((each for each in _split_sections(tail) if each.partition("\n")[0] == title), "")


def _add_note(old: str, new: str) -> str:
    """Return the methodology as it stands, with the last line of the new one: the note on this version."""
    return f"{old.rstrip()}\n{new.rstrip().rpartition(chr(10))[2]}" if old else ""


def _escape_text(text: str) -> str:
    return escape_markdown(sanitize_text(text))


SHORTER = 0.5  # of its words that a shortened section may keep at most


def list_shortening(given: EditableReport, section: str, kept: Container[str] = ()) -> tuple[Edit, ...]:
    """Return the drops that leave at most half of the words of a section, its first sentence always included.

    What goes first is what is also cited elsewhere, then what cites nothing, then what comes last. Sentences that are
    `kept`, because other edits concern them, stay.
    """
    pieces = given.list_pieces(section)
    own = {each.id for each in pieces}
    elsewhere = {number for each in given.pieces if each.id not in own for number in each.cited}
    size = {each.id: len(each.words.split()) for each in pieces}
    left, most = sum(size.values()), SHORTER * sum(size.values())
    order = sorted(enumerate(pieces), key=lambda at: (bool(set(at[1].cited) - elsewhere), bool(at[1].cited), -at[0]))
    gone: set[str] = set()
    for at, piece in order:
        if left <= most:
            break
        if at and piece.id not in kept:
            gone.add(piece.id)
            left -= size[piece.id]
    return tuple(Edit(EditAction.DROP, each.id) for each in pieces if each.id in gone)
