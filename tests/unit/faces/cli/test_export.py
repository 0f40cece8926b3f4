"""`corrobora export`: the report of a run as files."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.covers("export --format", "export --output")
def test_export(finished: tuple[Any, str]) -> None:
    shell, run = finished
    assert shell("export", run, "-o", "out").code == 0
    assert sorted(path.name for path in (shell.folder / "out").iterdir()) == ["report.html", "report.json", "report.md"]
    assert shell("export", run, "-f", "md", "-o", "one.md").out == "one.md\n"
    assert shell("export", run, "-f", "pdf", "-o", "x").code == 2
    assert "--force" in shell("export", run, "-o", "out").complaint


def test_export_to_stdout_is_one_format_and_makes_no_file(finished: tuple[Any, str]) -> None:
    shell, run = finished
    assert shell("export", run, "-f", "md", "-o", "-").out.startswith("# ")
    assert shell("export", run, "-o", "-").code == 2
    assert shell("research", "--run-id", run, "-o", "-", "-q").out.startswith("# ")
    assert not (shell.folder / "-").exists()
