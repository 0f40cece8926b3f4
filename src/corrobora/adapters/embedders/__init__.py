"""Embedders: adapters that turn texts into unit vectors, and the normalizing that every embedder promises.

Know one provider each. Do not know passages or the database.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from corrobora.domain.errors import ProviderError


def normalize_vector(vector: Sequence[float], provider: str) -> tuple[float, ...]:
    """Scale a vector to length 1. Raises `ProviderError` if it is empty, all zeros or not finite."""
    length = math.sqrt(sum(x * x for x in vector))
    if not math.isfinite(length) or length == 0:
        raise ProviderError.bad_content(provider, "a vector without a direction (empty, zeros or NaN)")
    return tuple(x / length for x in vector)
