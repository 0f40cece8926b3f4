"""Inert: Markdown in which nothing that came from a source or a model is HTML, an image or a link.

Knows the openings that a Markdown viewer acts on, and how to read past what makes them harmless. Does not know reports.

Rows: what the row of a Markdown table states, cell by cell, each with the citations that carry it.

Knows cells, labels in front of what they label, and quotes that were cut to fit. Does not know what a citation means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from corrobora.text.comparison import find_numbers
from corrobora.text.tokens import stem_text

# `<` before a name, `/`, `!` or `?` opens HTML or an address; `![` an image; `](` a link, `]:` the target of one.
_ACTIVE = re.compile(r"(?<!\\)((?:\\\\)*)(<(?=[A-Za-z/!?])|!(?=\[)|(?<=\])[(:])")
_ESCAPED = re.compile(r"\\(<(?=[A-Za-z/!?])|!(?=\[)|(?<=\]\\)[(:])")


def escape_markdown(markdown: str) -> str:
    r"""Escape what would be HTML, an image or a link; a viewer shows the same characters and acts on none of them.

    Example:
        >>> inert("![x](https://a.example) <b>")
        '\\![x]\\(https://a.example) \\<b>'
    """
    return _ACTIVE.sub(r"\1\\\2", markdown)


def unescape_markdown(markdown: str) -> str:
    """Return the characters that a viewer would show for what `inert` escaped."""
    return _ESCAPED.sub(r"\1", markdown)


_BAR = re.compile(r"(?<!\\)\|")
_QUOTED = re.compile(r"^(.{0,300}?)“(.{1,4000})”$", re.DOTALL)
_LABEL_CHARS = 160
SHORT_CELL = 3  # content words; a cell of fewer says nothing without the others of its row


def is_row(line: str) -> bool:
    """True for a row of a table, also the one of dashes below its head."""
    return line.strip().startswith("|")


def is_rule(line: str) -> bool:
    """True for the row of dashes below the head of a table."""
    return is_row(line) and "-" in line and set(line.strip()) <= set("|-: ")


def iter_row_statements(line: str, mark: re.Pattern[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what a row states, with the marks that carry it.

    A cell with marks stands for itself. A cell of marks alone carries the cells that have none. Cells without a mark in
    a row without such a cell are labels: they state nothing that was cited.
    """
    cells = [cell.replace("\\|", "|").strip() for cell in _BAR.split(line.strip().strip("|"))]
    found = [(_tidy_spaces(mark.sub(" ", cell)), tuple(m.group() for m in mark.finditer(cell))) for cell in cells]
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

    What looks like a label and holds a number that the cited sources do not have in title or version is no label.
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
    """Drop the word that was cut where a long quote was shortened."""
    text = text.strip()
    return text[:-1].rpartition(" ")[0] or text if text.endswith("…") else text


def _tidy_spaces(text: str) -> str:
    return re.sub(r"\s+([.,;:!?])", r"\1", " ".join(text.split()))


def _has_words(text: str) -> bool:
    return any(char.isalnum() for char in text)


def format_cell(text: str, limit: int = 300) -> str:
    """Text for a cell of a Markdown table."""
    flat = " ".join(text.split()).replace("|", "\\|")
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, limit: int = 300) -> str:
    """A Markdown table; a dash where there are no rows."""
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join('---' for _ in header)}|"]
    lines += [f"| {' | '.join(format_cell(str(value), limit) for value in row)} |" for row in rows]
    if not rows:
        lines.append(f"| {' | '.join('-' for _ in header)} |")
    return "\n".join(lines)
