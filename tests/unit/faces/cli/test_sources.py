"""Libraries as `--library` names them: stored names, paths read on the fly, the demo."""

from __future__ import annotations

from typing import Any


def test_a_path_on_the_command_line_of_research_is_read_on_the_fly(folder: Any) -> None:
    result = folder("Which fish do the lakes of the north hold?", "--library", "papers")
    assert result.code == 0
    assert "perch and pike" in result.out
    assert "skipped  broken.pdf: " in result.err


def test_demo_reads_the_shipped_documents(served: Any) -> None:
    assert served("What is a memorized secret?", "--library", "demo", "-t", "1", "-q").code == 0
    assert "demo 118 documents" in served("library", "list").out
