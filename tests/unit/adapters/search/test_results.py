"""Results: whatever a provider writes into a row, a hit can be stored, sorted and shown."""

from __future__ import annotations

import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.http import parse_published
from corrobora.adapters.search import (
    ResultRow,
    build_hits,
    clean_line,
    clean_text,
    parse_score,
)
from corrobora.adapters.web import normalize_url
from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Query

NOW = "2026-01-01T00:00:00Z"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
KEYS = ("url", "title", "text", "score", "date")


def _read(row) -> ResultRow:
    return ResultRow(*(row.get(key) for key in KEYS))


def _hits(rows: object, limit: int = 5):
    return build_hits(rows, _read, provider="p", query=Query("q"), limit=limit, now=NOW)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(KEYS), JSON)
        | st.fixed_dictionaries({"url": st.just("https://a.example/x")})
        | JSON,
        max_size=8,
    )
    | JSON
)
def test_any_json_gives_usable_hits_or_a_provider_error(rows: object):
    try:
        found = _hits(rows)
    except ProviderError:
        return
    assert len(found) <= 5
    assert len({hit.url for hit in found}) == len(found)
    for hit in found:
        assert normalize_url(hit.url) == hit.url
        assert math.isfinite(hit.score)
        assert hit.title
        f"{hit.title}{hit.snippet}{hit.published}".encode()
        assert "\x00" not in hit.title + hit.snippet
        assert not hit.published or parse_published(hit.published, NOW) == hit.published


@pytest.mark.parametrize(
    ("value", "expected"),
    {
        "2024-02-29": "2024-02-29",
        "2024-02-29T23:10:00.000Z": "2024-02-29",
        "2024-02-29 10:00:00": "2024-02-29",
        "Tue, 05 Nov 2024 10:00:00 GMT": "2024-11-05",
        "Mon, 01 Jan 0001 00:00:00 GMT": "",
        "Tue, 05 Nov 2024 10:00:00 +0100": "2024-11-05",
        "1998": "1998",
        "2024-02": "2024",
        "2024-13": "",
        "2026-01-02": "2026-01-02",
        "2026-01-03": "",
        "2027": "",
        "0001-01-01": "",
        "1970-01-01T00:00:00Z": "",
        "0999": "",
        "2023-02-31": "",
        "yesterday": "",
        "": "",
        "9" * 5_000: "",
    }.items(),
)
def test_s11_h28_dates(value: str, expected: str):
    assert parse_published(value, NOW) == expected


@given(st.text(max_size=80) | JSON)
def test_s11_any_value_is_a_date_that_sorts_or_nothing(value: object):
    found = parse_published(value, NOW)
    assert found == "" or len(found) == 4 or date.fromisoformat(found)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), "high", "0.9", True, None, [], 10**400])
def test_s12_what_is_no_score_is_zero(value: object):
    assert parse_score(value) == 0.0


def test_s08_texts_lose_control_characters_and_nothing_else():
    assert clean_text("a\x00b\tc\nd\x7f\x1b[31m é 中 \ud800") == "a b\tc\nd  [31m é 中 ?"
    assert clean_line(" a\n\n b\u202e\x9b \u2028c") == "a b c"
    assert clean_text(None) == clean_text(5) == ""


@pytest.mark.parametrize("url", [None, "", "/docs/a", "data:text/html,<p>x", "magnet:?xt=1", "https://"])
def test_s05_results_without_one_address_are_no_empty_result(url: object):
    with pytest.raises(ProviderError, match="none of its results has an address of the web"):
        _hits([{"url": url, "title": "A"}] * 3)
    assert not _hits([])


def test_s05_rows_that_are_dropped_do_not_use_up_the_limit():
    rows = [{"url": "x"}, *[{"url": f"https://a.example/{n}"} for n in range(9)]]
    assert [hit.url[-1] for hit in _hits(rows, limit=3)] == ["0", "1", "2"]
