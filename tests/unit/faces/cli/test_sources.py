"""Sources as options name them: libraries, paths that are read on the fly, the demo, `verify --sources`."""

from __future__ import annotations

import json
from typing import Any

import pytest


def test_a_path_on_the_command_line_of_research_is_read_on_the_fly(folder: Any) -> None:
    result = folder("Which fish do the lakes of the north hold?", "--library", "papers")
    assert result.code == 0
    assert "perch and pike" in result.out
    assert "skipped  broken.pdf: " in result.err


def test_demo_reads_the_shipped_documents(served: Any) -> None:
    assert served("What is a memorized secret?", "--library", "demo", "-t", "1", "-q").code == 0
    assert "demo 118 documents" in served("library", "list").out


@pytest.mark.covers("verify --sources")
def test_the_reports_of_other_tools_are_checked_against_a_folder(filled: Any) -> None:
    sources = filled.folder / "theirs"
    sources.mkdir()
    (sources / "boiling.txt").write_text("On the coast of Ardal water boils at 100 degrees. It freezes at 0 degrees.\n")
    (sources / "gone.md").write_text("# RETRACTED: Salt\n\nSalt melts at 801 degrees in every oven of the town.\n")
    (filled.folder / "foreign.md").write_text(
        "On the coast of Ardal water boils at 100 degrees [1]. Salt melts at 801 degrees in every oven of the town [2]."
        " Nobody knows tin [3].\n\n"
        "[1] Boiling https://nowhere.example/boiling.txt\n[2] RETRACTED: Salt https://nowhere.example/x\n"
        "[3] Tin https://nowhere.example/tin\n"
    )
    result = filled("verify", "foreign.md", "--sources", "theirs", "--json")
    counts = json.loads(result.out)
    assert (result.code, counts["carried"], counts["checkable"], counts["not_checkable"]) == (0, 2, 2, 1)
    assert counts["notices"] == {"2": "RETRACTED: Salt"}
    assert counts["statements_checked"][2]["support"] == "not_checkable"
    (sources / "boiling.txt").write_text("On the coast of Ardal water boils at 90 degrees. It freezes at 0 degrees.\n")
    assert filled("verify", "foreign.md", "--sources", "theirs").code == 5


@pytest.mark.parametrize(
    "said",
    [
        "In 2023, Eastby had 1302 mm of rain.",
        "The long pier has been repainted by the council.",
        "Prices came down mainly in the timber trade, while long strikes in Chile hurt the copper trade.",
        "The old lamp can be sold to the museum.",
    ],
)
def test_what_a_folder_says_of_another_row_of_another_thing_or_as_planned_is_not_carried(
    filled: Any, said: str
) -> None:
    sources = filled.folder / "theirs"
    sources.mkdir()
    rows = [f"{name}by,Region {at},{at}12,{1022 + at},{1302 - at},{90 + at}" for at, name in enumerate(_TOWNS)]
    head = "Place,Region,Elevation m,Rain 2022 mm,Rain 2023 mm,Days of frost 2023"
    (sources / "rain.csv").write_text("\n".join((head, *rows)))
    (sources / "piers.md").write_text(
        "# Piers\n\nThe council will repaint the long pier. Prices came down mainly in the copper trade; the timber "
        "trade was hurt by long strikes in Chile. A permit is needed before the old lamp can be sold to the museum.\n"
    )
    (filled.folder / "foreign.md").write_text(
        f"{said} [1][2]\n\n## Sources\n\n1. [rain](rain.csv)\n2. [Piers](piers.md)\n"
    )
    result = filled("verify", "foreign.md", "--sources", "theirs", "--json")
    [checked] = json.loads(result.out)["statements_checked"]
    assert (result.code, checked["support"]) == (5, "unclear"), checked


_TOWNS = ("Arn", "Vest", "East", "Nor", "Sund", "Lang", "Gran", "Holm")
