"""Computing: whether a number comes out of others.

Knows measures. Does not know sentences or sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from corrobora.text.measures import Measure

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
