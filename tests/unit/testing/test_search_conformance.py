"""The suite for search providers finds what it is there to find: careless adapters fail it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence

import pytest

from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Hit, Query
from corrobora.testing.search_conformance import SEARCH_CHECKS, SearchCase, SearchCheck


class Careless:
    """Takes every failure for "nothing found", and every row as it is."""

    name = "careless"

    def __init__(self, url: str) -> None:
        self._url = url

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        del query, limit
        return []


class Blunt:
    """Refuses whatever it is asked."""

    name = "blunt"

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        raise ProviderError("provider_failed", f"no {limit} {query} {json} {urllib.request}", provider=self.name)


@pytest.mark.parametrize("check", SEARCH_CHECKS, ids=lambda check: check.__name__)
async def test_no_check_lets_both_pass(check: SearchCheck):
    """An adapter that never fails and one that always does: each check catches at least one of them."""
    caught = 0
    for make in (lambda url, _: Careless(url), lambda _, __: Blunt()):
        try:
            await check(SearchCase(make, answer=lambda rows: {"results": rows}, key="canary-key"))
        except (AssertionError, ProviderError, ValueError):
            caught += 1
    assert caught >= 1
