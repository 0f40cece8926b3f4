"""The help of every command: what it takes is shown by an example that the command itself reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import click
import pytest

from corrobora.faces.cli import cli


def list_commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from list_commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(list_commands(cli))
TAKE_ARGUMENTS = [
    path for path, each in COMMANDS.items() if any(isinstance(part, click.Argument) for part in each.params)
]


@pytest.mark.parametrize("path", [each for each in TAKE_ARGUMENTS if each != ("completion",)])  # it shows three lines
def test_a_command_that_takes_something_shows_an_example_that_it_reads(path: tuple[str, ...]) -> None:
    text = COMMANDS[path].get_help(click.Context(COMMANDS[path], info_name="x", terminal_width=400))
    found = re.search(r"Example: corrobora (.*)", text)
    assert found is not None, path
    words = shlex.split(found.group(1).partition(" >")[0])
    assert tuple(words[: len(path)]) == path
    context = click.Context(cli)
    COMMANDS[path].make_context("x", words[len(path) :], parent=context)


def test_the_help_of_a_list_has_no_part_about_reports() -> None:
    text = COMMANDS["runs", "show"].get_help(click.Context(COMMANDS["runs", "show"], info_name="x"))
    assert "Report:" not in text
    assert "--json" in text


def test_a_word_that_no_command_of_a_group_has_is_told_what_there_is(shell: Any) -> None:
    refused = shell("library", "renew", "papers")
    assert refused.code == 2
    known = "add, list, refresh, rename, rm, search, show"
    assert f"There is no command 'renew' of corrobora library. It has: {known}." in refused.complaint
