"""Workbooks, presentations and books of a folder answer a question through the command, with their sheet or slide."""

from __future__ import annotations

from tests.plugins.shell import Shell
from tests.unit.adapters.readers.test_packages import book, presentation, workbook


def test_a_folder_of_office_files_answers_and_its_report_verifies(shell: Shell) -> None:
    folder = shell.folder / "files"
    folder.mkdir()
    for name, data in (("budget.xlsx", workbook()), ("cranes.pptx", presentation()), ("kiln.epub", book())):
        (folder / name).write_bytes(data)
    asked = shell("research", "At which wind do the cranes stop?", "-l", str(folder), "-q", "-o", "wind.md")
    report = (shell.folder / "wind.md").read_text()
    assert (asked.code, "Stop at 20 m/s" in report, "Wind limits" in report) == (0, True, True)
    assert shell("verify", "wind.md").code == 0
    found = shell("library", "add", "files", str(folder)).err
    assert "3 " in found
    assert "120000.5" in shell("library", "search", "files", "cost of dredging").out
    assert "two days" in shell("library", "search", "files", "how long firing takes").out
