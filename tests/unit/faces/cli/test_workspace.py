"""Ids of runs, refused before a database is opened (bad-input C14)."""

from __future__ import annotations

import pytest

from corrobora.domain.errors import UserError
from corrobora.faces.cli.options import check_run_id


@pytest.mark.parametrize("text", ["", "../x", "R_1", "r 1", "r\n", "x" * 65, "é"])
def test_c14_what_is_no_id(text: str) -> None:
    with pytest.raises(UserError, match="not the id of a run"):
        check_run_id(text)


@pytest.mark.parametrize("text", ["r_abc", "x" * 64, "2026-11-21"])
def test_ids(text: str) -> None:
    assert check_run_id(text) == text
