"""Readings: the evidence of a sentence, parsed once, and the problems that a comparison with it finds.

Knows sentences, numbers, dates and years of the evidence, which sentence comes nearest to a clause, and the labelled
cells of a table row or list. Does not know what the words mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from corrobora.text.clauses import Clause, parse_clause
from corrobora.text.measures import Measure, find_measures, find_unit
from corrobora.text.quantities import Date, find_dates
from corrobora.text.tokens import is_table_row, split_words, stem_text
from corrobora.text.vocabulary import compare_stems, weigh_stems

YEAR = re.compile(r"(?<![\w.,$€£])(1[0-9]\d\d|20\d\d)(?![\w%]|[.,]\d)")
_MOST_OPERANDS = 32
_SCALES = ("thousand", "million", "billion", "trillion")  # alone, the unit of a table
_CLOSE = 0.9  # share of the best sentence's overlap from which another one may be meant as well


class Discrepancy(NamedTuple):
    """One difference: what it is in plain English, the words that fail, and whether code knows the sentence false."""

    reason: str
    words: str
    false: bool = False
    contradicts: bool = False
    scored: bool = False  # a paraphrase may differ so: a feature of the score, not a reason of its own
    computed: bool = False  # what it says may follow from what its sources say, in none of their words


@dataclass(frozen=True, slots=True)
class ParsedEvidence:
    """The evidence of a sentence, parsed: its sentences, and the text of everything that may carry a fact."""

    units: tuple[Clause, ...]  # the sentences of the quotes and their neighbours
    everything: str  # with titles, versions, dates and headings
    stems: frozenset[str]
    measures: tuple[Measure, ...]
    dates: tuple[Date, ...]
    years: frozenset[int]
    operands: tuple[Measure, ...]  # of the sentences: what a number may be computed from


@lru_cache(maxsize=512)
def read_evidence(units: tuple[str, ...], context: str) -> ParsedEvidence:
    """Parse the sentences of the evidence, and the context that may carry numbers, dates and names."""
    everything = "\n".join((*units, context))
    dates, rest = find_dates(everything)
    years = {date.year for date in dates} | {int(each) for each in YEAR.findall(rest)}
    stems = frozenset(stem_text(everything))
    stated = (each for unit in units for each in find_measures(unit) if not YEAR.fullmatch(each.text))
    operands = tuple(each for each in stated if each.text not in _SCALES)[:_MOST_OPERANDS]
    clauses = tuple(map(parse_clause, units))
    return ParsedEvidence(clauses, everything, stems, find_measures(rest), dates, frozenset(years), operands)


def find_nearest(clause: Clause, units: Sequence[Clause]) -> list[Clause]:
    """Return the sentences of the evidence that come nearest to a clause in words and meaning, the best first."""
    wanted, held = sorted(clause.stems), sorted(frozenset[str]().union(*(unit.stems for unit in units)))
    if not wanted or not held:
        return []
    near, rows = compare_stems(wanted, held), {stem: row for row, stem in enumerate(held)}
    weights = weigh_stems(wanted)
    scored: list[tuple[float, int, int]] = []
    for at, unit in enumerate(units):
        inside = [rows[stem] for stem in unit.stems]
        scored.append((float(weights @ near[:, inside].max(axis=1)) if inside else 0.0, -len(unit.stems), at))
    scored.sort(reverse=True)
    best = scored[0][0]
    return [units[at] for shared, _, at in scored[:4] if shared >= max(_CLOSE * best, 1e-9)]


_PART = re.compile(r"\s*[;|]\s+|\s+[-•*]\s+")  # of a row, and of a list on one line
_CELL = re.compile(r"(?:(?P<about>.+): )?(?P<label>[^:]{1,60}): (?P<value>[^:]{1,80})")
_FIRST = re.compile(r"[^;:]{1,120}: ([^;]{1,80})(?:;|$)")
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
    rows = _list_other_rows(units, said)
    cells = [cell for at, unit in enumerate(units) if at not in rows for cell in _read_cells(at, unit)]
    named = [cell for cell in cells if cell.label and cell.label <= said]
    kinds, shapes = {cell.kind for cell in named}, {cell.shape for cell in named}
    heads = {at for at, unit in enumerate(units) if is_table_row(unit)}  # whose first cell says what its row is of
    rest = [cell for cell in cells if cell.unit not in heads or not units[cell.unit].startswith(cell.text)]
    rivals = [cell for cell in rest if cell not in named and cell.kind in kinds and not cell.label <= said]
    if not rivals and not rows:
        return None
    kept: list[str] = []
    for at, unit in enumerate(units):
        if at in rows:
            continue
        text = unit
        for cell in rivals:
            text = text.replace(cell.text, "") if cell.unit == at else text
        if text == unit or re.search(r"\w", text):
            kept.append(text if text == unit else " ".join(text.strip(" ;|").split()))
    return tuple(kept), not rows and all("#" in cell.shape and cell.shape in shapes for cell in rivals)


def _list_other_rows(units: Sequence[str], said: frozenset[str]) -> set[int]:
    """Return the rows of a table beside those whose first cell a clause names; none if it names no row."""
    first = {at: match for at, unit in enumerate(units) if is_table_row(unit) and (match := _FIRST.match(unit))}
    keys = {at: frozenset(stem_text(match[1])) for at, match in first.items()}
    named = {at for at, key in keys.items() if key and key <= said}
    return set(keys) - named if named else set()


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


_PERIODS = (60.0, 3600.0, 86400.0)  # "every 15 minutes" is four times an hour


def is_computable(measure: Measure, others: Sequence[Measure], years: Iterable[int]) -> bool:
    """True if a number is the sum, difference, product, share or change of two others, to its last digit."""
    digits = re.search(r"\.(\d+)", measure.text)
    scale = measure.value / measure.number if measure.number else 1.0
    room = max(0.5 * 10.0 ** -len(digits.group(1)) * abs(scale) if digits else 0.0, 1e-6 * abs(measure.value))
    room = max(room, 0.05 * abs(measure.value) if measure.approximate else 0.005 * abs(scale) if scale < 1 else 0.0)
    spans = {abs(a - b) for a in years for b in years} - {0}
    found = [float(span) * (12 if measure.dimension == "month" else 1) for span in spans]
    for one in others:
        found += [1 - one.value] if one.dimension == "ratio" else []
        found += [period / one.value for period in _PERIODS if one.dimension == "time" and one.value]
        for other in others:
            if one is not other:
                found += _combine(one, other, measure.dimension)
    return any(abs(value - measure.value) <= room for value in found)


def is_stated_result(measure: Measure, stated: Sequence[Measure], known: Sequence[Measure]) -> bool:
    """True if a number follows from two that its sentence states and its sources have, whatever their units.

    "30 - 5 = 25 seconds" of a manual that gives "Default value: 30": whether the unit is theirs is for a reader to say.
    """
    numbers = {other.number for other in known}
    held = list({each.number for each in stated if each.number in numbers} - {measure.number})
    pairs = [(a, b) for a in held for b in held if a != b]
    found = [value for a, b in pairs for value in (a + b, a - b, a * b, *([a / b] if b else []))]
    return any(abs(value - measure.number) <= 1e-6 * abs(measure.number) for value in found)


def is_scaled_apart(measure: Measure, reading: ParsedEvidence) -> bool:
    """True for "£88.5 million" if the evidence gives 88.5 in a table of "£ million"."""
    scaled = re.fullmatch(r"([$€£]|[A-Z]{3})?\s?(\d[\d,.]*) (thousand|million|billion)( \w+)?", measure.text)
    if scaled is None or re.search(rf"(?i)(?<![\d.] ){scaled[3]}\b", reading.everything) is None:
        return False
    number = float(scaled[2].replace(",", ""))
    named = scaled[1] is None or re.search(rf"{re.escape(scaled[1])}\s?{scaled[3]}", reading.everything)
    return bool(named) and any(each.number == number and not each.dimension for each in reading.measures)


def is_unit_named(measure: Measure, reading: ParsedEvidence) -> bool:
    """True if the evidence names the unit of a number apart from it, as above a table: "in euros", "Duration (min)"."""
    own = find_unit(measure.text.split()[-1]) if " " in measure.text else None
    return own is not None and any(find_unit(word) == own for word in re.findall(r"[^\W\d_]+", reading.everything))


def _combine(one: Measure, other: Measure, dimension: str) -> list[float]:
    """Return what two amounts give that a result of a dimension may state."""
    a, b = one.value, other.value
    quotient = [a / b] if b else []
    alike = one.dimension == other.dimension
    if dimension == "points":
        return [100 * abs(a - b)] if alike and one.dimension == "ratio" else []
    if dimension in ("", "ratio") and alike:
        found = [*quotient, *([abs(a - b) / b] if b else [])]
        return found if dimension or one.dimension else [*found, a + b, abs(a - b), a * b]
    if dimension == "time" and one.dimension == other.dimension == "clock":
        return [abs(a - b)]
    if one.dimension == dimension:
        return [a + b, abs(a - b)] if alike else [a * b, *quotient] if other.dimension in ("", "ratio") else []
    return []
