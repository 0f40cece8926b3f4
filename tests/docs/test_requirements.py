"""Every row of the requirements page names code that exists and a test that exists; none is half done."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench import sabotage

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "methods" / "requirements.md"
ROW = re.compile(r"^\| \[([A-Z]+-\d+)\]\([\w.#-]+\) \| ([^|]+) \| ([^|]+) \| ([^|]*) \|$", re.MULTILINE)


def problems(text: str) -> list[str]:
    """Return what is wrong with the rows of a page."""
    found = []
    for requirement, _, code, test in ROW.findall(text):
        paths = re.findall(r"`([^`]+)`", code)
        found += [f"{requirement}: no {path}" for path in paths if not (ROOT / "src" / "corrobora" / path).exists()]
        tests = re.findall(r"`([^`]+\.py)::(\w+)`", test)
        found += [f"{requirement}: names no code"] * (not paths) + [f"{requirement}: names no test"] * (not tests)
        for file, name in tests:
            path = ROOT / "tests" / file
            if not path.exists() or not re.search(
                rf"^\s*(?:async )?def {name}\(", path.read_text("utf-8"), re.MULTILINE
            ):
                found.append(f"{requirement}: no test {file}::{name}")
        if re.search(r"\b(?:partly|partial|planned|later)\b", f"{code} {test}"):
            found.append(f"{requirement}: half done")
    return found


def test_every_requirement_has_its_code_and_its_test() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = [line for line in text.splitlines() if line.startswith("| [") and "::" in line]
    assert len(ROW.findall(text)) == len(listed)
    assert problems(text) == []


@pytest.mark.parametrize("table", [sabotage.TABLE, sabotage.SCREENS], ids=lambda path: path.stem)
def test_every_fault_of_the_sabotage_can_be_made(table: Path) -> None:
    """A fault that the source has outgrown proves nothing any more."""
    faults = sabotage.read_faults(table)
    assert {each.id: why for each in faults.values() if (why := sabotage.explain_unusable(each))} == {}
    if table == sabotage.TABLE:
        assert set(sabotage.read_requirements()) <= set(faults)


def test_a_bad_row_is_noticed() -> None:
    good = (
        "| [TIMED-1](timed.md#timed-1) | time | `domain/limits.py` | "
        "`docs/test_requirements.py::test_a_bad_row_is_noticed` |"
    )
    assert problems(good) == []
    assert problems(good.replace("limits.py", "nowhere.py")) == ["TIMED-1: no domain/nowhere.py"]
    assert problems(good.replace("noticed`", "forgotten`")) == [
        "TIMED-1: no test docs/test_requirements.py::test_a_bad_row_is_forgotten"
    ]
    assert problems("| [TIMED-1](timed.md#timed-1) | time | `domain/limits.py` | - |") == ["TIMED-1: names no test"]
