"""What a report no longer says after an edit, and what an added sentence leaves out of its source.

Knows the sentences of two versions by their ids, and quotes. Does not know checks, models or who accepts a loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corrobora.domain.edits import Loss
from corrobora.domain.report import Citation
from corrobora.reporting.edits import CITATION, Document, Piece
from corrobora.text.alignment import find_break
from corrobora.text.clauses import parse_clause
from corrobora.text.mentions import find_claim_words
from corrobora.text.segmentation import split_sentences
from corrobora.text.tokens import fold_text, stem_text

_MOST_CHARS = 300  # of words that a sentence of a source goes on with


def list_losses(before: Document, after: Document, citations: Sequence[Citation]) -> Iterator[Loss]:
    """List statements that are gone, details that new words left out, and references that nothing cites any more."""
    left = {piece.id: piece for piece in after.pieces if piece.id}
    for piece in (each for each in before.pieces if each.id):
        yield from _list_lost_words(piece, left.get(piece.id))
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
    ends = [find_break(said, text[span.start : span.end]) for text in texts for span in split_sentences(text)]
    found = [end for end in ends if end is not None]
    if found and all(found):
        yield Loss("words", f"{found[0][:_MOST_CHARS]} (of the sentence of its source)")


def list_cited(document: Document) -> set[int]:
    """Return the numbers that the body and the table of contradictions cite."""
    rows = [line for line in document.tail.split("\n## ")[1:2] if "\n|" in line]  # code begins with contradictions
    told = {int(number) for line in rows for number in CITATION.findall(line)}
    return {number for piece in document.pieces for number in piece.cited} | told
