"""Every row of docs/bad-input.md names a test that exists, and no row of its groups is left out."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "bad-input.md"
ROW = re.compile(r"^\| ([QPMCKR]\d\d) \| ([^|]+) \| ([^|]*) \|", re.MULTILINE)
GROUPS = {"Q": 22, "P": 20, "M": 36, "C": 21, "K": 14, "R": 19}


def problems(text: str) -> list[str]:
    """Return what is wrong with the rows of a page."""
    found: list[str] = []
    for row, _, tests in ROW.findall(text):
        named = re.findall(r"`([^`]+\.py)::(\w+)`", tests)
        found += [f"{row}: names no test"] * (not named)
        for file, name in named:
            path = ROOT / "tests" / file
            if not path.exists() or not re.search(rf"\n(?:async )?def {name}\(", path.read_text("utf-8")):
                found.append(f"{row}: no test {file}::{name}")
    return found


def test_every_row_is_there_once_with_a_test_that_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    wanted = [f"{group}{number:02d}" for group, most in GROUPS.items() for number in range(1, most + 1)]
    assert [row for row, _, _ in ROW.findall(text)] == wanted
    assert problems(text) == []


def test_a_bad_row_is_noticed() -> None:
    good = "| Q01 | empty | `docs/test_bad_input.py::test_a_bad_row_is_noticed` | |"
    assert problems(good) == []
    assert problems(good.replace("noticed", "forgotten")) != []
    assert problems("| Q01 | empty | - | |") == ["Q01: names no test"]
