"""`-o`: checked before anything is paid, written whole or not at all (bad-input C12, C13)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from corrobora.domain.errors import UserError
from corrobora.faces.cli.report import check_target

TEXTS = {"md": "# text", "html": "<p>", "json": "{}"}


def refused(path: Path) -> UserError:
    with pytest.raises(UserError) as caught:
        check_target(path)
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


def test_a_file_has_the_format_of_its_ending(tmp_path: Path) -> None:
    target = check_target(tmp_path / "new" / "naïve name 🙂.md")
    assert target.write(TEXTS) == (tmp_path / "new" / "naïve name 🙂.md",)
    assert (tmp_path / "new" / "naïve name 🙂.md").read_text() == "# text"


def test_a_folder_gets_all_formats_and_nothing_else(tmp_path: Path) -> None:
    check_target(tmp_path / "folder").write(TEXTS)
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["report.html", "report.json", "report.md"]


def test_only_formats_that_exist_are_written(tmp_path: Path) -> None:
    assert check_target(tmp_path / "folder").write({"md": "x"}) == (tmp_path / "folder" / "report.md",)


def test_c12_an_existing_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("mine")
    assert "--force" in str(refused(path))
    assert "--force" in str(refused(tmp_path))
    check_target(path, force=True).write(TEXTS)
    assert path.read_text() == "# text"


def test_a_file_that_another_program_wrote_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    first, second = (check_target(tmp_path / "report.md") for _ in range(2))
    first.write({"md": "first"}, "r_1")
    with pytest.raises(UserError, match=r"meanwhile.*corrobora export r_2 -o FILE"):
        second.write({"md": "second"}, "r_2")
    assert (tmp_path / "report.md").read_text() == "first"


def test_a_device_or_a_pipe_is_named_as_one_also_behind_a_link(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for place in (tmp_path / "pipe", tmp_path / "link", Path("/dev/null")):
        said = str(refused(place))
        assert f"{str(place)!r} is a device or a pipe, not a regular file. Leave -o out" in said


def test_c12_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, why in (
        (Path("/proc/x/report.md"), "/proc/x/report.md"),
        (Path("/dev/null/report.md"), "not a folder"),
        (tmp_path / ("n" * 300 + ".md"), "-"),
        (tmp_path / "file" / "report.md", "not a folder"),
        (tmp_path / "report.docx", ".md, .html, .json"),
        (tmp_path / "nul\0.md", "NUL"),
    ):
        error = refused(path) if len(path.name) < 300 else None
        assert error is None or (error.code.startswith("output_") and why in str(error))
    assert "\n" not in str(refused(Path("/proc/line\nbreak/x.md")))


def test_c12_a_folder_in_place_of_a_file_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "out" / "report.md").mkdir(parents=True)
    with pytest.raises(UserError, match="exists already"):
        check_target(tmp_path / "out", force=True)


def test_c13_a_symbolic_link_is_followed_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert "--follow-symlinks" in str(refused(tmp_path / "link"))
    assert "--follow-symlinks" in str(refused(tmp_path / "link" / "report.md"))
    written = check_target(tmp_path / "link" / "report.md", follow=True).write(TEXTS)
    assert (tmp_path / "real" / "report.md").exists()
    assert written


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    target = check_target(tmp_path / "out" / "report.md")
    (tmp_path / "out").rmdir()
    (tmp_path / "out").write_text("a file in its place", encoding="utf-8")
    with pytest.raises(UserError, match="not a folder"):
        target.write(TEXTS)
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
