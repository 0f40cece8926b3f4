"""How `corrobora runs show` tells what became of a webhook; tests/web/test_webhooks.py sends."""

from __future__ import annotations

import pytest

from corrobora.faces.cli.runs import describe_delivery


@pytest.mark.parametrize(
    ("results", "told"),
    [((), "waiting (0 attempts, next 2026-01-02 03:04:05 UTC), id d"), (("",), "1 attempt, last without a result")],
)
def test_a_delivery_is_told_in_one_line_with_its_id(results: tuple[str, ...], told: str) -> None:
    tries = [{"at": "2026-01-02T03:04:00.000+00:00", "result": each} for each in results]
    row = {"id": "d", "state": "waiting", "next_at": "2026-01-02T03:04:05.000+00:00", "attempts": tries}
    assert told in describe_delivery(row)
