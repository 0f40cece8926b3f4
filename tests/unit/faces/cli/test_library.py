"""`corrobora library`: documents in, listed, searched, removed; group K as far as the command line goes."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from corrobora.app import Workspace
from corrobora.config import load_settings


def test_add_list_show_search_and_rm(folder: Any) -> None:
    added = folder("library", "add", "lakes", "papers")
    assert added.code == 0
    assert "1 read, 0 unchanged" in added.err
    assert "skipped  broken.pdf: " in added.err
    assert "1 unchanged" in folder("library", "add", "lakes", "papers").err
    assert [row["name"] for row in json.loads(folder("library", "list", "--json").out)] == ["lakes"]
    assert folder("library", "list").out.startswith("lakes 1 document 1 passage 93 characters")
    assert "lakes.md" in folder("library", "show", "lakes").out
    assert "perch and pike" in folder("library", "search", "lakes", "which fish: perch?").out
    assert folder("library", "ls").out == folder("library", "list").out
    assert folder("library", "remove", "lakes").out == "removed lakes\n", "another usual word for rm"
    assert folder("library", "list").out == ""
    assert (folder.folder / "papers" / "lakes.md").exists()


def test_a_library_that_an_earlier_version_read_is_told_of_and_refreshed(folder: Any) -> None:
    folder("library", "add", "lakes", "papers")
    asyncio.run(_forget_readers(folder))
    told = "1 read by an earlier version; this version may read more of them: corrobora library refresh lakes"
    assert told in folder("library", "add", "lakes").err
    assert told in folder("When do the lakes freeze?", "-l", "lakes").err
    assert "library lakes: 1 read by an earlier version, corrobora library refresh lakes" in folder("doctor").out
    assert "lakes: 1 read, 0 unchanged" in folder("library", "refresh", "lakes").err
    assert "earlier version" not in folder("library", "add", "lakes").err


async def _forget_readers(folder: Any) -> None:
    async with Workspace.open(load_settings(folder=folder.folder)) as workspace:
        await workspace.database.execute("update source set digest = split_part(digest, '+', 1)")


def test_files_that_are_skipped_for_one_reason_are_told_once(folder: Any) -> None:
    for number in range(12):
        (folder.folder / "papers" / f"icon{number}.png").write_bytes(b"\x89PNG\r\n" + bytes(100))
    added = folder("library", "add", "lakes", "papers")
    (line,) = [line for line in added.err.splitlines() if "PNG image" in line]
    assert "icon0.png and 11 more: " in line
    assert "OCR" not in line


def test_adding_what_a_path_made_a_library_of_gives_that_library_its_name(folder: Any) -> None:
    run = json.loads(folder("When do the lakes freeze?", "-l", "papers", "--json", "-q").out)["run_id"]
    (made,) = json.loads(folder("library", "list", "--json").out)
    added = folder("library", "add", "lakes", "papers")
    assert (added.code, f"{made['name']} is now called lakes" in added.err) == (0, True), added
    assert [each["name"] for each in json.loads(folder("library", "list", "--json").out)] == ["lakes"]
    assert json.loads(folder("runs", "show", run, "--json").out)["request"]["libraries"] == ["lakes"]
    assert folder("library", "add", "ponds", "papers").code == 2, "a name that a person chose stays"


def test_a_library_that_a_path_made_is_renamed_and_repetitions_and_schedules_find_it(folder: Any) -> None:
    first = folder("Which fish live in the lake?", "--library", "./papers", "--json", "-q")
    asked = json.loads(first.out)["run_id"]
    (made,) = (row["name"] for row in json.loads(folder("library", "list", "--json").out))
    folder("schedule", "add", "fish", "Which fish live in the lake?", "--cron", "daily", "-l", made)
    assert folder("library", "rename", made, "lakes").out == f"renamed {made} to lakes\n"
    assert folder("library", "list").out.startswith("lakes ")
    assert json.loads(folder("runs", "show", asked, "--json").out)["request"]["libraries"] == ["lakes"]
    assert "lakes" in folder("schedule", "list", "--json").out
    assert made not in folder("schedule", "list", "--json").out
    assert folder("update", asked, "-q").code == first.code  # it searches the library under its new name
    waiting = json.loads(folder("Which fish?", "-l", "lakes", "-p", "tree", "--no-input", "--json", "-q").out)["run_id"]
    refused = folder("library", "rename", "lakes", "other")
    assert (refused.code, f"Run {waiting} searches lakes and has not ended" in refused.complaint) == (2, True)
    folder("cancel", waiting)
    folder("library", "add", "ponds", "papers/lakes.md", "-q")
    assert "a library ponds already" in folder("library", "rename", "lakes", "ponds").complaint
    assert "not a valid library name" in folder("library", "rename", "lakes", "../x").complaint
    assert "no library" in folder("library", "rename", "lake", "y").complaint
    assert (
        "cannot be renamed, nor can demo" in folder("library", "rename", "lakes", "demo").complaint
    )  # words of `demo` may go out


def test_bad_input(folder: Any) -> None:
    (folder.folder / "empty").mkdir()
    os.mkfifo(folder.folder / "pipe")
    for args, part in (
        (("library", "add", "../x", "papers"), "not a valid library name"),
        (("library", "add", "x", "nowhere"), "does not exist"),
        (("library", "add", "x", "empty"), "eadable"),
        (("library", "add", "x", "pipe"), "pipe"),
        (("library", "add", "y"), "PATH"),
        (("library", "add", "demo", "papers"), "only the documents that ship with the package"),  # it is public
        (("library", "show", "lake"), "no library 'lake'. Libraries: demo."),
        (("library", "search", "lake", "a text"), "no library"),
        (("library", "search", "lake", ""), "empty"),
        (("library", "rm", "lake"), "no library lake"),
    ):
        result = folder(*args)
        assert (args, result.code) == (args, 2)
        assert part in result.complaint


def test_k13_a_query_with_operators_is_text(folder: Any) -> None:
    folder("library", "add", "lakes", "papers", "-q")
    for text in ("perch & pike | !x", "'; drop table runs; --", 'ab:* <-> "cd"', "%perch%"):
        assert folder("library", "search", "lakes", text).code == 0


def test_no_module_is_taken_from_the_folder_in_which_a_command_runs(folder: Any) -> None:
    """What a stranger put into a cloned folder is data: the parser's process imports nothing from there."""
    for name in ("corrobora", "json", "struct", "selectolax", "pypdfium2"):
        (folder.folder / f"{name}.py").write_text("open('imported', 'w').close()\nraise SystemExit(7)\n")
    assert "1 read, 0 unchanged" in folder("library", "add", "lakes", "papers").err
    assert not (folder.folder / "imported").exists()


def test_one_letter_can_be_searched_for(folder: Any) -> None:
    """The least length of a question guards a run; a word of Chinese or Japanese may be one letter."""
    (folder.folder / "papers" / "lakes.md").write_text("# 湖\n\nこの 湖 は冬に凍る。\n")
    folder("library", "add", "lakes", "papers")
    assert "凍る" in folder("library", "search", "lakes", "湖").out
    refused = folder("library", "search", "lakes", " ")
    assert (refused.code, "empty" in refused.complaint) == (2, True), refused
