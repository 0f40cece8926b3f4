"""`corrobora db`: the embedded server of the data folder, and no other."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.mark.covers("db status --json")
def test_db_start_status_stop(shell: Any) -> None:
    assert "running   no" in shell("db", "status").out
    try:
        assert shell("db", "start").out.startswith("running: ")
        assert json.loads(shell("db", "status", "--json").out)["kept"] is True
    finally:
        assert shell("db", "stop").out == "stopped\n"
    assert shell("db", "stop").out == "was not running\n"


def test_db_is_not_for_a_server_that_was_named(shell: Any) -> None:
    shell.setenv(CORROBORA_DATABASE_URL="postgresql://127.0.0.1:9/nobody")
    assert "not ours to run" in shell("db", "stop").complaint
