"""Reading documents, shown: counts, and every unread file with its reason."""

from __future__ import annotations

import json
import re
from typing import Any


def test_k14_secret_files_are_skipped_and_listed(folder: Any) -> None:
    result = json.loads(folder("library", "add", "lakes", "papers", "--json", "-q").out)
    assert {row["path"] for row in result["skipped"]} == {".env", "broken.pdf"}
    assert all(row["reason"] for row in result["skipped"])


def test_what_code_writes_around_a_report_says_each_thing_once(folder: Any) -> None:
    asked = "How often must a kiln be swept?"
    (folder.folder / "faq.md").write_text(f"# Kiln FAQ\n\n## {asked}\n\nA kiln must be swept every 14 days.\n")
    text = folder(asked, "-l", "./faq.md", "-q", "-o", "report.md") and (folder.folder / "report.md").read_text()
    assert text.startswith(f"# {asked}\n")
    assert f"\n[1] **Kiln FAQ**, {asked} faq.md `S" in text, (
        "the title is no heading of itself, and a question is asked"
    )
    assert "\n- Stopped because: no gaps were left.\n" in text, "there is one thread, which the title names"
    assert re.search(r"\n- Spent: \d+ s of 5 minutes; no model was called\.\n", text)
    assert folder("verify", "report.md", "--strict").code == 0
    folder("export", "last", "-f", "html,bundle")
    assert [folder("verify", name).code for name in ("report.html", "bundle.zip")] == [0, 0]


def test_a_name_that_ends_with_a_colon_gets_no_second_one(folder: Any) -> None:
    texts = {
        "a.md": "# Log:\n\n| Kiln: | Fault: |\n|---|---|\n| K7 | The hinge of kiln K7 is broken. |\n",
        "b.csv": "Kiln:,Fault:\nK9,The roof of kiln K9 leaks.\n",
        "c.html": "<html><body><h1>Log:</h1><p>This page lists the faults of all kilns in the workshop.</p><table>"
        "<tr><th>Kiln:</th><th>Fault:</th></tr><tr><td>K1</td><td>The lid of kiln K1 leaks.</td></tr></table>",
    }
    (folder.folder / "kilns").mkdir()
    for name, text in texts.items():
        (folder.folder / "kilns" / name).write_text(text)
    assert folder("library", "add", "kilns", "kilns", "-q").code == 0
    found = folder("library", "search", "kilns", "fault of a kiln").out
    assert (found.count("Fault: The "), "::" in found) == (3, False), found


def test_a_record_that_is_asked_for_by_its_number_is_read_before_its_like(served: Any) -> None:
    (served.folder / "lamps").mkdir()
    for number in range(24):
        text = f"# Lamp {number}\n\nThe lamp number {number} of Orrin burns {number + 10} hours a night.\n"
        (served.folder / "lamps" / f"{number}.md").write_text(text)
    report = served("How long does lamp number 7 of Orrin burn?", "-l", "./lamps", "-q").out
    assert report.split("\n\n")[2] == "The lamp number 7 of Orrin burns 17 hours a night. [1]"
