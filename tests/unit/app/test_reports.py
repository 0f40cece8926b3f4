"""The folder of a given thread: its reports as they come, and never rounds of two runs."""

from __future__ import annotations

from pathlib import Path

from corrobora.app.delivery import ThreadReports


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def reported(folder: Path, rounds: int, thread: str = "mills") -> None:
    reports = ThreadReports(folder)
    for number in range(1, rounds + 1):
        reports.write(f"micro-report-{thread}-round-{number}.md", f"{rounds}".encode())
    reports.write("report.md", b"no report of a thread")
    reports.write(f"thread-completion-{thread}.md", b"done")


def test_triplet_the_reports_of_a_thread_go_to_its_folder_and_no_other_file(tmp_path: Path) -> None:
    reported(tmp_path, 2)
    assert names(tmp_path) == [
        "micro-report-mills-round-1.md",
        "micro-report-mills-round-2.md",
        "thread-completion-mills.md",
    ]


def test_triplet_r09_rounds_of_an_earlier_run_of_the_thread_do_not_stay(tmp_path: Path) -> None:
    reported(tmp_path, 3)
    reported(tmp_path, 3, "mills-of-the-north")
    (tmp_path / "micro-report-mills-round-notes.md").write_text("a person's own")
    reported(tmp_path, 1)
    assert names(tmp_path) == [
        "micro-report-mills-of-the-north-round-1.md",
        "micro-report-mills-of-the-north-round-2.md",
        "micro-report-mills-of-the-north-round-3.md",
        "micro-report-mills-round-1.md",
        "micro-report-mills-round-notes.md",
        "thread-completion-mills-of-the-north.md",
        "thread-completion-mills.md",
    ]
    assert (tmp_path / "micro-report-mills-round-1.md").read_text() == "1"


def test_triplet_until_a_run_is_complete_nothing_goes(tmp_path: Path) -> None:
    reported(tmp_path, 3)
    ThreadReports(tmp_path).write("micro-report-mills-round-1.md", b"again")
    assert "micro-report-mills-round-3.md" in names(tmp_path)
