"""Readings: the evidence of a sentence, parsed once, and the problems that a comparison with it finds.

Knows sentences, numbers, dates and years of the evidence, and which sentence comes nearest to a clause. Does not
compare what they claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from corrobora.text.clauses import Clause, parse_clause
from corrobora.text.measures import Measure, find_measures
from corrobora.text.quantities import Date, find_dates
from corrobora.text.tokens import stem_text
from corrobora.text.vocabulary import compare_stems, weigh_stems

YEAR = re.compile(r"(?<![\w.,$€£])(1[0-9]\d\d|20\d\d)(?![\w%]|[.,]\d)")
_MOST_OPERANDS = 16
_CLOSE = 0.9  # share of the best sentence's overlap from which another one may be meant as well


class Problem(NamedTuple):
    """One difference: what it is in plain English, the words that fail, and whether code knows the sentence false."""

    reason: str
    words: str
    false: bool = False
    contradicts: bool = False
    scored: bool = False  # a paraphrase may differ so: a feature of the score, not a reason of its own


@dataclass(frozen=True, slots=True)
class Reading:
    """The evidence of a sentence, parsed: its sentences, and the text of everything that may carry a fact."""

    units: tuple[Clause, ...]  # the sentences of the quotes and their neighbours
    everything: str  # with titles, versions, dates and headings
    stems: frozenset[str]
    measures: tuple[Measure, ...]
    dates: tuple[Date, ...]
    years: frozenset[int]
    operands: tuple[Measure, ...]  # of the sentences: what a number may be computed from


@lru_cache(maxsize=512)
def read_evidence(units: tuple[str, ...], context: str) -> Reading:
    """Parse the sentences of the evidence, and the context that may carry numbers, dates and names."""
    everything = "\n".join((*units, context))
    dates, rest = find_dates(everything)
    years = {date.year for date in dates} | {int(each) for each in YEAR.findall(rest)}
    stems = frozenset(stem_text(everything))
    operands = tuple(measure for unit in units for measure in find_measures(unit))[:_MOST_OPERANDS]
    clauses = tuple(map(parse_clause, units))
    return Reading(clauses, everything, stems, find_measures(rest), tuple(dates), frozenset(years), operands)


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
