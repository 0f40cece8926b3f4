"""`corrobora doctor`: what is there, what is missing, no secret."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.covers("doctor --json")
def test_doctor_says_what_is_there_and_what_is_missing(served: Any) -> None:
    served.setenv(TAVILY_API_KEY="planted-secret")
    result = served("doctor")
    wrong = [line for line in result.out.splitlines() if line.startswith("!!")]
    assert [line for line in wrong if not line.startswith("!!  disk")] == []  # the disk is the machine's own
    assert result.code == bool(wrong)
    assert "ok  database" in result.out
    assert "key tavily     set (vendor environment (TAVILY_API_KEY))" in result.out
    (absent,) = [line for line in result.out.splitlines() if "anthropic" in line]
    assert absent.startswith("--  keys")
    assert "tavily" not in absent
    assert "planted-secret" not in result.out
    assert {row["what"] for row in json.loads(served("doctor", "--json").out)} >= {"python", "disk", "local models"}


def test_doctor_names_the_extras_that_are_installed(served: Any) -> None:
    lines = dict(re.findall(r"(?m)^\S\S {2}(\S+) +(.*)$", served("doctor").out))
    wanted = {"serve": "fastapi", "export": "docx", "telemetry": "opentelemetry"}
    assert {name for name in wanted if name in lines["extras"].split(", ")} == {
        name for name, module in wanted.items() if find_spec(module)
    }


def test_doctor_tells_that_the_data_folder_is_temporary(shell: Any, tmp_path: Path) -> None:
    shell.setenv(CORROBORA_DATABASE_URL="postgresql://127.0.0.1:9/nobody", TMPDIR=str(tmp_path))
    assert "temporary" not in shell("doctor").out
    shell.setenv(CORROBORA_HOME="", XDG_DATA_HOME="/dev/null/none")
    with shell.start("doctor") as process:  # whose folder for temporary files is found anew
        out = process.stdout.read().decode()
    (line,) = [line for line in out.splitlines() if line.startswith("--  data folder")]
    assert f"{tmp_path}/corrobora-" in line
    assert "temporary, because /dev/null/none/corrobora cannot be written to" in line
    assert "CORROBORA_HOME" in line


def test_doctor_of_a_database_that_is_down_is_exit_1_with_the_next_step(shell: Any) -> None:
    shell.setenv(CORROBORA_DATABASE_URL="postgresql://127.0.0.1:9/nobody")
    result = shell("doctor")
    assert (result.code, "!!  database" in result.out, "CORROBORA_DATABASE_URL" in result.out) == (1, True, True)


def test_doctor_misses_no_key_that_nobody_needs(served: Any) -> None:
    said = {each["what"]: each["state"] for each in json.loads(served("doctor", "--json").out)}
    ready, _, lacking = said["web searches"].partition(";")
    free, closed = {"wikipedia", "arxiv", "crossref", "pubmed"}, {"searxng", "mcp", "tavily"}
    assert (free <= set(re.findall(r"\w+", ready)), closed <= set(re.findall(r"\w+", lacking))) == (True, True), said
    assert not (free | closed) & set(re.findall(r"\w+", said["keys"]))
