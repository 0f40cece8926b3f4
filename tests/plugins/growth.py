"""How the CPU time of some work grows with its input: what a test of linear time checks, on a machine of any speed."""

from __future__ import annotations

import time
from collections.abc import Callable

_LEAST_SECONDS = 0.01  # less cannot be told from noise


def measure_growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times longer ten times the size takes: about 10 where it is linear, 100 where it is quadratic."""

    def measure_seconds(of: int) -> float:
        began = time.process_time()
        work(of)
        return time.process_time() - began

    small = measure_seconds(size)
    return measure_seconds(10 * size) / max(small, _LEAST_SECONDS)


LINEAR = 40.0  # above what noise makes of 10, below what it leaves of 100
