"""`corrobora demo`: the main job on the shipped documents."""

from __future__ import annotations

from typing import Any


def test_the_demo_prints_a_cited_report_without_key_or_network(served: Any) -> None:
    result = served("demo")
    assert result.code == 0
    assert result.out.startswith("# ")
    assert "sha256:" in result.out
    assert "extractive" in result.out
    assert "report   " in result.err
    assert not (served.home.stat().st_mode | (served.home / "runs").stat().st_mode) & 0o066, "others may list it"


def test_the_demo_is_quiet_if_it_is_asked_to(served: Any) -> None:
    result = served("demo", "-q", "-o", "report.md")
    assert (result.code, result.out, result.err) == (0, "", "written  report.md\n")
