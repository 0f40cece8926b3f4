"""Normalizing: unit length or an error, never a guess."""

from __future__ import annotations

import math

import pytest

from corrobora.adapters.embedders import normalize_vector
from corrobora.domain.errors import ProviderError


def test_a_vector_gets_length_one():
    assert normalize_vector([3.0, 4.0], "x") == pytest.approx((0.6, 0.8))


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [math.nan, 1.0], [math.inf]])
def test_k11_a_vector_without_direction_is_refused(vector):
    with pytest.raises(ProviderError):
        normalize_vector(vector, "x")
