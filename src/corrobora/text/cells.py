"""Cells: the labelled values of a table row or a list ("AAL2: Recommended; AAL3: Required"), one of which is meant.

Knows which cells are alternatives: their values say the same kind of thing. Does not compare values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from corrobora.text.clauses import parse_clause
from corrobora.text.measures import find_measures
from corrobora.text.tokens import split_words, stem_text

_PART = re.compile(r"\s*[;|]\s+|\s+[-•*]\s+")  # of a row, and of a list on one line
_CELL = re.compile(r"(?:(?P<about>.+): )?(?P<label>[^:]{1,60}): (?P<value>[^:]{1,80})")
_PIECE = re.compile(r",? (?:and|but|while|whereas)\b|[,;]\s")
_VALUE_WORDS = 6  # a longer value is a sentence


class _Cell(NamedTuple):
    unit: int
    text: str
    label: frozenset[str]
    shape: str  # of the label: "aal#"
    kind: str  # of what its value says


def split_by_cells(clause: str, units: Sequence[str]) -> list[str]:
    """Split a clause that names several alternative cells into pieces with one each, where it parts them."""
    cells = [cell for at, unit in enumerate(units) for cell in _read_cells(at, unit)]
    labels = {cell.label for cell in cells if cell.label and "#" in cell.shape}
    pieces = [piece for piece in _PIECE.split(clause) if piece.strip()]
    named = [sum(label <= frozenset(stem_text(piece)) for label in labels) for piece in pieces]
    return pieces if len(pieces) > 1 and all(count == 1 for count in named) else [clause]


def select_cells(units: Sequence[str], said: frozenset[str]) -> tuple[tuple[str, ...], bool] | None:
    """Return sentences of the evidence without the cells that are alternatives of those a clause names.

    Also returns whether their labels differ in a number only, so that nothing but the named cells can be meant. None
    if the clause, of which `said` are the stems, names no cell, or all.
    """
    cells = [cell for at, unit in enumerate(units) for cell in _read_cells(at, unit)]
    named = [cell for cell in cells if cell.label and cell.label <= said]
    kinds, shapes = {cell.kind for cell in named}, {cell.shape for cell in named}
    rivals = [cell for cell in cells if cell not in named and cell.kind in kinds and not cell.label <= said]
    if not rivals:
        return None
    kept: list[str] = []
    for at, unit in enumerate(units):
        text = unit
        for cell in rivals:
            text = text.replace(cell.text, "") if cell.unit == at else text
        if text == unit or re.search(r"\w", text):
            kept.append(text if text == unit else " ".join(text.strip(" ;|").split()))
    return tuple(kept), all("#" in cell.shape and cell.shape in shapes for cell in rivals)


def _read_cells(at: int, unit: str) -> list[_Cell]:
    found: list[_Cell] = []
    for part in _PART.split(unit.strip("|. ")):
        match = _CELL.fullmatch(part)
        if match is None or len(split_words(match["value"])) > _VALUE_WORDS:
            continue
        label, value = match["label"], match["value"]
        duty = "duty" if parse_clause(value).duties else ""
        measured = ",".join(sorted(each.dimension or "number" for each in find_measures(value)))
        found.append(
            _Cell(
                at,
                f"{label}: {value}",
                frozenset(stem_text(label)),
                re.sub(r"\d+", "#", label.lower()),
                duty or measured or "words",
            )
        )
    return found
