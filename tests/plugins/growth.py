"""How the CPU time of some work grows with its input: what a test of linear time checks, on a machine of any speed."""

from __future__ import annotations

import time
from collections.abc import Callable

LINEAR = 40.0  # above what noise makes of 10, below what it leaves of 100
_LEAST_SECONDS = 0.01  # less cannot be told from noise
_TRIES = 4


def measure_growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times longer ten times the size takes: about 10 where it is linear, 100 where it is quadratic.

    A busy machine bills one measurement several times what the work needs (a neighbour on the same core, a collection
    of another test's garbage). What looks worse than linear is therefore measured again, and the least growth counts:
    noise only ever adds to the larger time once, while work that is not linear is slow in every try.
    """

    def measure_seconds(of: int) -> float:
        began = time.process_time()
        work(of)
        return time.process_time() - began

    growth = float("inf")
    for _ in range(_TRIES):
        small = measure_seconds(size)
        growth = min(growth, measure_seconds(10 * size) / max(small, _LEAST_SECONDS))
        if growth < LINEAR:
            break
    return growth
