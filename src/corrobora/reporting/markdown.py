"""Markdown: escaping of active content, tables, and the markers `[S3:C2]` of a draft with the sentence of each.

Knows what a Markdown viewer acts on, how cells are written, and how loosely writers spell citations. Does not know
which markers resolve or what a report consists of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from corrobora.text.segmentation import split_sentences
from corrobora.text.support import find_numbers
from corrobora.text.tokens import stem_text

MARKER = re.compile(r"\[(S\d{1,9}):(C\d{1,9})\]")  # how a draft cites: source and passage
# `<` before a name, `/`, `!` or `?` opens HTML or an address; `![` an image; `](` a link, `]:` the target of one.
_ACTIVE = re.compile(r"(?<!\\)((?:\\\\)*)(<(?=[A-Za-z/!?])|!(?=\[)|(?<=\])[(:])")
_ESCAPED = re.compile(r"\\(<(?=[A-Za-z/!?])|!(?=\[)|(?<=\]\\)[(:])")


def escape_markdown(markdown: str) -> str:
    r"""Escape what a viewer would take for HTML, an image or a link; it shows the same characters.

    Example:
        >>> escape_markdown("![x](https://a.example) <b>")
        '\\![x]\\(https://a.example) \\<b>'
    """
    return _ACTIVE.sub(r"\1\\\2", markdown)


def unescape_markdown(markdown: str) -> str:
    """Return the characters that a viewer would show for what `escape_markdown` escaped."""
    return _ESCAPED.sub(r"\1", markdown)


_BAR = re.compile(r"(?<!\\)\|")
_QUOTED = re.compile(r"^(.{0,300}?)“(.{1,4000})”$", re.DOTALL)
_LABEL_CHARS = 160
SHORT_CELL = 3  # content words; a shorter cell is read together with the others of its row


def is_row(line: str) -> bool:
    """True for a row of a table, including the one of dashes below the header."""
    return line.strip().startswith("|")


def is_rule(line: str) -> bool:
    """True for the row of dashes below the header of a table."""
    return is_row(line) and "-" in line and set(line.strip()) <= set("|-: ")


def split_cells(line: str) -> list[str]:
    """Return the cells of a row as a viewer shows them."""
    return [cell.replace("\\|", "|").strip() for cell in _BAR.split(line.strip().strip("|"))]


def iter_row_statements(line: str, mark: re.Pattern[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the statements of a row, each with the marks that support it.

    A cell with text and marks is one statement. A cell of marks alone supports the cells without marks. In a row
    without such a cell, cells without marks are labels and state nothing that was cited.
    """
    cells = split_cells(line)
    found = [
        (" ".join(drop_marks(cell, mark).split()), tuple(m.group() for m in mark.finditer(cell))) for cell in cells
    ]
    bare = " ".join(text for text, marks in found if text and not marks)
    shared = tuple(each for text, marks in found if marks and not _has_words(text) for each in marks)
    for text, marks in found:
        if marks and _has_words(text):
            short = len(set(stem_text(text))) < SHORT_CELL and not find_numbers(text)
            yield (f"{bare} {text}".strip() if short else text), marks
    if shared and bare:
        yield bare, shared


def strip_source_label(text: str, labels: Sequence[str]) -> str:
    """Return what a cell says, without the label of its source in front of it ("Revision 3 (2017): ...").

    A prefix is no label if it holds a number that neither title nor version of the cited sources has.
    """
    known = find_numbers(" ".join(labels))
    quoted = _QUOTED.match(text)
    if quoted is not None and find_numbers(quoted[1]) <= known:
        return _drop_cut_word(quoted[2])
    head, colon, rest = text.partition(": ")
    if colon and rest.strip() and len(head) <= _LABEL_CHARS and find_numbers(head) and find_numbers(head) <= known:
        return _drop_cut_word(rest)
    return _drop_cut_word(text)


def _drop_cut_word(text: str) -> str:
    """Drop the incomplete word at the end of a shortened quote."""
    text = text.strip()
    return text[:-1].rpartition(" ")[0] or text if text.endswith("…") else text


def drop_marks(text: str, mark: re.Pattern[str]) -> str:
    """Return a text without its citations and the space before each; no other character is changed."""
    return re.sub(
        rf"\s*(?:{mark.pattern})", lambda found: " " if text[found.end() : found.end() + 1].isalnum() else "", text
    )


def _has_words(text: str) -> bool:
    return any(char.isalnum() for char in text)


def format_cell(text: str, limit: int = 300) -> str:
    """Return text for a cell of a Markdown table, on one line and at most `limit` characters long."""
    flat = " ".join(text.split()).replace("|", "\\|")
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, limit: int = 300) -> str:
    """Return a Markdown table, with a row of dashes if there are no rows."""
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join('---' for _ in header)}|"]
    lines += [f"| {' | '.join(format_cell(str(value), limit) for value in row)} |" for row in rows]
    if not rows:
        lines.append(f"| {' | '.join('-' for _ in header)} |")
    return "\n".join(lines)


_ONE = r"S\d{1,9}\s{0,2}[:：,]?\s{0,2}C\d{1,9}"
_MORE = r"\s{0,2}[,;]\s{0,2}(?:S\d{1,9}\s{0,2}[:：]?\s{0,2})?C\d{1,9}"
_LOOSE = re.compile(rf"(?<!\\)[\[(［]\s*({_ONE}(?:{_MORE}){{0,30}})\s*[\])］]?", re.IGNORECASE)
_PART = re.compile(r"(?:(S\d{1,9})\s{0,2}[:：,]?\s{0,2})?(C\d{1,9})", re.IGNORECASE)


def normalize_markers(text: str) -> str:
    """Write every unambiguous marker in the one form `[S1:C2]`, several in one bracket as several (bad-input M25)."""

    def rewrite_marker(match: re.Match[str]) -> str:
        source, found = "", ""
        for part in _PART.finditer(match.group(1).upper()):
            source = part.group(1) or source  # [S1:C2, C3] means two passages of one source
            found += f"[{source}:{part.group(2)}]"
        return found

    return _LOOSE.sub(rewrite_marker, text)


def iter_cited_sentences(line: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the sentences of a line with the markers that follow or stand in each."""
    pending: tuple[str, list[str]] | None = None
    for span in split_sentences(line):
        piece = line[span.start : span.end]
        cited = [match.group() for match in MARKER.finditer(piece)]
        text = " ".join(drop_marks(piece, MARKER).split())
        leading = _find_leading_markers(piece)
        if pending is not None and leading:
            pending[1].extend(leading)
            cited = cited[len(leading) :]
        if not text.strip(" .,;:-*"):
            if pending is not None:
                pending[1].extend(cited)
            continue
        if pending is not None:
            yield pending
        pending = (text, cited)
    if pending is not None:
        yield pending


def _find_leading_markers(piece: str) -> list[str]:
    """Markers at the start of a piece belong to the sentence before it: "It grew. [S1:C2] Then it fell."."""
    found: list[str] = []
    rest = piece.lstrip()
    while match := MARKER.match(rest):
        found.append(match.group())
        rest = rest[match.end() :].lstrip()
    return found
