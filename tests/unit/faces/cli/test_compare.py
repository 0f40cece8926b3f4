"""`corrobora runs compare`: two stored runs side by side."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.mark.covers("runs compare --json")
def test_two_runs_are_compared_by_what_they_say(finished: tuple[Any, str]) -> None:
    shell, first = finished
    again = json.loads(shell("When was the bridge at Arnholm opened?", "-l", "docs", "--json", "-q").out)["run_id"]
    other = json.loads(shell("How long is the bridge at Arnholm?", "-l", "docs", "--json", "-q").out)["run_id"]
    same = json.loads(shell("runs", "compare", first, again, "--json").out)
    assert (same["before"], same["after"], same["has_news"]) == (first, again, False)
    assert {each["kind"] for each in same["statements"]} == {"same"}
    told = shell("runs", "compare", first, other[:12])
    assert told.code == 0
    assert f"from run `{first}` to run `{other}`" in told.out
    assert "new: " in told.out
    assert "The questions differ, so this compares what two reports quote: " in told.out
    assert "Sources say something else" not in told.out
    assert same["summary"].startswith("No source says something else than before.")


def test_a_run_without_a_report_and_an_unknown_one_are_refused(waiting: tuple[Any, str]) -> None:
    shell, run = waiting
    assert "has no report yet" in shell("runs", "compare", run, run).complaint
    assert "no run r_nobody" in shell("runs", "compare", run, "r_nobody").complaint


def test_what_documents_say_that_did_not_change_is_no_news(folder: Any) -> None:
    """Chapters of one book share an address: another chapter is no changed one, and nobody read it before."""
    books = folder.folder / "books"
    books.mkdir()
    rows = (
        {"path": f"{name}.md", "url": "https://books.example/manual", "doc": "Arnholm"} for name in ("tower", "wall")
    )
    (books / "manifest.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (books / "tower.md").write_text("The tower at Arnholm is 41 metres tall and was built of granite.")
    (books / "wall.md").write_text("The wall at Arnholm is 900 metres long and was built of brick.")
    assert folder("library", "add", "books", "books").code == 0
    tall, long = (
        json.loads(folder(asked, "-l", "books", "--json", "-q", "-s", "reads_per_round=1", "--max-rounds", "1").out)
        for asked in ("How tall is the tower at Arnholm?", "How long is the wall at Arnholm?")
    )
    addresses = {each["url"] for report in (tall, long) for each in report["citations"]}
    assert addresses == {"https://books.example/manual"}
    found = json.loads(folder("runs", "compare", tall["run_id"], long["run_id"], "--json").out)
    assert {(each["kind"], each["news"]) for each in found["statements"]} == {("new", False), ("gone", False)}
    assert {each["kind"] for each in found["sources"]} == {"new", "gone"}
    (books / "tower.md").write_text("The tower at Arnholm is 45 metres tall and was built of granite.")
    again = folder("update", tall["run_id"], "-q")
    assert "Sources say something else than before: 1 changed statement" in again.out
