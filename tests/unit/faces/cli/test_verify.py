"""`corrobora verify`: a report checked again, ours and foreign ones."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.mark.covers("verify --min-score", "verify --strict", "verify --json")
def test_verify_of_a_run_of_its_file_and_of_a_changed_file(finished: tuple[Any, str]) -> None:
    shell, run = finished
    assert shell("verify", run).code == 0
    shell("export", run, "-f", "md", "-o", "report.md")
    result = shell("verify", "report.md", "--strict", "--json")
    counts = json.loads(result.out)
    assert (result.code, counts["carried"], counts["checkable"] > 0) == (0, counts["checkable"], True)
    text = (shell.folder / "report.md").read_text()
    # bad-input R07: also the quote is edited by hand
    (shell.folder / "report.md").write_text(text.replace("1931", "1951"))
    changed = shell("verify", "report.md", "--strict")
    assert changed.code == 5
    assert "! [" in changed.out
    assert shell("verify", "report.md", "--min-score", "1").code == 4


def test_verify_of_what_cannot_be_checked_is_exit_6(filled: Any) -> None:
    (filled.folder / "foreign.md").write_text("Water boils at 100 degrees [1].\n\n[1]: https://nowhere.example/x\n")
    assert filled("verify", "foreign.md").code == 6
    assert "does not exist" in filled("verify", "missing.md").complaint
    assert filled("verify", "r_nowhere").code == 2
