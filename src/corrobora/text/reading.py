"""Readings: the evidence of a sentence, parsed once, the problems that a comparison with it finds, and contrasts.

Knows sentences, numbers, dates and years of the evidence, which sentence comes nearest to a clause, and the labelled
cells of a table row or list. Knows of contrasts the two sides of a sentence of the evidence, what is planned there, and
who is named as saying something: each such difference leaves the sentence open. Does not know what the words mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from corrobora.text.clauses import Clause, find_word, parse_clause
from corrobora.text.measures import Measure, find_measures, find_unit
from corrobora.text.mentions import find_mentions
from corrobora.text.quantities import Date, find_dates
from corrobora.text.tokens import is_same_family, is_table_row, split_words, stem_text, stem_word
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


_SIDE = re.compile(r"[,;:(]\s(?!\d)|\s(?:and|but|while|whereas|though|although|than|against)\s")
_BREAK = re.compile(r"[,;:(]\s(?!\d)|\s(?:and|but|for|by|as|to|with|than|against|because|which|who|while|whereas)\s")
_COMPANIONS = 2  # words that stand with each of two names before they can be told apart
_KIN = 0.5  # nearness of two stems that may say the same of a side
_PLANNED = re.compile(
    r"(?i)\b(?:will(?!ing)|going to|(?:plan|intend|propose|expect|hope|schedule|aim)(?:n?ed|d|s|n?ing)? (?:to|for))"
    r"(?: (?:not|only|also|soon|then|be|have|been|now|still)\b)* (\w+)"
)
_DONE = re.compile(
    r"(?i)\b(?:has|have|had|was|were)(?: (?:not|also|already|now|since|just|been|recently|finally)\b)* (\w+)"
)
_SPEAKER = re.compile(r"(?i)\b(?:according to|in the (?:view|opinion|words) of)\s+(?:the\s+)?")


def find_contrasts(sentence: str, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Find what the evidence says crosswise, of the future, or does not say in the name that a sentence gives."""
    units = [unit.text for unit in reading.units if not is_table_row(unit.text)]
    yield from _find_crossed(sentence, units)
    yield from _find_undone(sentence, reading)
    yield from _find_speakers(sentence, reading)


def _find_crossed(sentence: str, units: Sequence[str]) -> Iterator[Discrepancy]:
    """Find two things that have changed their places: each stands with what the evidence says of the other one.

    Of two sides in the evidence, the sentence has words of both on each of its own two sides.
    """
    found: list[str] = []
    for unit in units:
        for own in combinations(_split_sides(sentence), 2):
            for theirs in combinations(_split_sides(unit), 2):
                found += [stem for stem in (_find_swapped(own, theirs),) if stem]
        names = _list_names(sentence) | _list_names(unit)
        for own in _split_in_two(sentence) if names else ():
            for theirs in _split_in_two(unit):
                found += [stem for stem in (_find_swapped(own, theirs, names),) if stem]
    for stem in found[:1]:
        word = find_word(parse_clause(sentence), stem)
        yield Discrepancy(f"its sources say this of another one than “{word}”", word)


@lru_cache(maxsize=4_000)  # every sentence is compared with the same quotes
def _split_sides(text: str) -> tuple[frozenset[str], ...]:
    return tuple(filter(None, (frozenset(stem_text(part)) for part in _SIDE.split(text))))


@lru_cache(maxsize=4_000)
def _split_in_two(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return what stands before and after each place where a text may be parted."""
    cuts = [(match.start(), match.end()) for match in _BREAK.finditer(text)]
    return tuple((frozenset(stem_text(text[:start])), frozenset(stem_text(text[end:]))) for start, end in cuts)


@lru_cache(maxsize=4_000)
def _list_names(text: str) -> frozenset[str]:
    return frozenset(stem for mention in find_mentions(text) if mention.start for stem in stem_text(mention.text))


def _find_swapped(
    own: Sequence[frozenset[str]], theirs: Sequence[frozenset[str]], names: frozenset[str] | None = None
) -> str:
    """Return a stem that stands on the other of two sides, or "", if its companions did not change sides with it.

    With `names`, only names can be swapped, and each needs several companions.
    """
    mine, others = (own[0] - own[1], own[1] - own[0]), (theirs[0] - theirs[1], theirs[1] - theirs[0])
    first, second = others[0] & mine[1], others[1] & mine[0]
    if names is not None:
        first, second = first & names, second & names
    first, second = ({stem for stem in each if find_unit(stem) is None} for each in (first, second))
    if not first or not second:
        return ""
    moved = first | second | (names or frozenset())
    stayed = [_count_kin(mine[at] - moved, others[at] - moved) for at in (0, 1)]
    least = _COMPANIONS if names is not None else 1
    return min(first) if min(stayed) >= least else ""


def _count_kin(stems: frozenset[str], others: frozenset[str]) -> int:
    """Count the stems that stand among others in the same or a similar word."""
    left = sorted(stems - others)
    near = compare_stems(left, sorted(others)).max(axis=1) if left and others else ()
    return len(stems & others) + sum(float(each) >= _KIN for each in near)


def _find_undone(sentence: str, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Find what a sentence tells as done and its evidence only as planned: "has been sold" for "will be sold"."""
    for match in _DONE.finditer(sentence):
        stem = stem_word(match.group(1).lower())
        for unit in reading.units if stem else ():
            planned = [stem_word(each.lower()) for each in _PLANNED.findall(unit.text)]
            if any(is_same_family(stem, each) for each in filter(None, planned)) and not _is_told(stem, reading):
                yield Discrepancy(f"its sources speak of “{match.group(1)}” as planned", match.group())


def _is_told(stem: str, reading: ParsedEvidence) -> bool:
    """True if the evidence has a verb outside of what it tells as planned."""
    words = (word for unit in reading.units for word in split_words(_PLANNED.sub(" ", unit.text)))
    return any(is_same_family(stem, own) for word in words if (own := stem_word(word)))


def _find_speakers(sentence: str, reading: ParsedEvidence) -> Iterator[Discrepancy]:
    """Find a name in which the evidence does not say what a sentence says: neither there nor in the sentence before."""
    for match in _SPEAKER.finditer(sentence):
        name = next((each for each in find_mentions(sentence) if each.start == match.end()), None)
        stems = frozenset(stem_text(name.text)) if name is not None else frozenset[str]()
        rest = parse_clause(sentence.replace(sentence[match.start() : name.end], "")) if name is not None else None
        if rest is None or not stems:
            continue
        about = reading.everything[len("\n".join(unit.text for unit in reading.units)) :]
        near = find_nearest(rest, reading.units)
        places = [reading.units.index(unit) for unit in near]
        said = [unit.stems for at in places for unit in reading.units[max(0, at - 1) : at + 1]]
        if name is not None and near and not any(stems & each for each in (*said, frozenset(stem_text(about)))):
            yield Discrepancy(f"its sources do not say this in the name of {name.text}", name.text)
