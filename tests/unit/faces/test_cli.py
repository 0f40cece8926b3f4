"""The command as a process: what it imports, signals, closed pipes, the file of a bug."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import click
import pytest

from corrobora import __version__
from corrobora.faces.cli import _COMMANDS, cli

QUESTION = "When was the bridge at Arnholm opened and how long is it?"
HEAVY = {
    "openai",
    "anthropic",
    "pydantic_ai",
    "pydantic",
    "psycopg",
    "numpy",
    "trafilatura",
    "httpx2",
    "procrastinate",
    "rich.console",
}


@pytest.mark.parametrize("flags", [["--version"], ["--help"], ["research", "--help"]])
def test_help_and_version_import_nothing_heavy(shell: Any, flags: list[str]) -> None:
    code = (
        "import sys\nfrom corrobora.faces.cli import run_command_line\n"
        f"code = run_command_line({flags!r})\nprint(code, sorted(set(sys.modules) & {HEAVY!r}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=shell.folder)
    assert done.stderr.strip() == "0 []"


@pytest.mark.covers("--version")
def test_version_is_the_package_s(shell: Any) -> None:
    assert shell("--version").out == f"corrobora {__version__}\n"


def test_the_help_shows_a_first_command_on_a_line_of_its_own(shell: Any) -> None:
    lines = [line.strip() for line in shell("--help").out.splitlines()]
    assert any(line.startswith("corrobora demo  ") and line.endswith("a network") for line in lines)
    assert "\\b" not in shell("--help").out


def test_every_command_has_help_with_a_first_sentence(shell: Any) -> None:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        assert (command.help or "").startswith(_COMMANDS[name][1].rstrip(".")), (
            "the list of commands says something else"
        )
        result = shell(name, "--help")
        assert result.code == 0
        assert result.out.startswith(f"Usage: corrobora {name}")


def test_c18_a_reader_that_has_gone_is_no_error(filled: Any) -> None:
    with filled.start(QUESTION, "-l", "docs", "-q") as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_c18_a_closed_stderr_and_a_dumb_narrow_terminal_are_no_error(filled: Any) -> None:
    env = os.environ | {"TERM": "dumb", "COLUMNS": "40", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    with filled.start(QUESTION, "-l", "docs", env=env) as process:
        process.stderr.close()
        assert b"412 metres" in process.stdout.read()
    assert process.returncode == 0


def test_q08_bytes_that_are_no_utf8_on_the_command_line(shell: Any) -> None:
    result = shell.process(b"caf\xe9 and more")
    assert (result.code, "byte 3" in result.complaint) == (2, True)


def test_the_question_may_come_from_stdin(filled: Any) -> None:
    assert "412 metres" in filled.process("-", "-l", "docs", "-q", stdin=QUESTION.encode()).out


def test_q06_five_megabytes_on_stdin_are_refused(shell: Any) -> None:
    result = shell.process("-", "-l", "docs", stdin=b"x" * 5_000_000)
    assert (result.code, "20,000" in result.complaint) == (2, True)


@pytest.mark.parametrize("words", [[], ["runs"], ["library"]])
def test_a_group_alone_prints_its_whole_help(shell: Any, words: list[str]) -> None:
    result = shell(*words)
    assert (result.code, result.err) == (0, "")
    assert result.out == shell(*words, "--help").out
    assert len(result.out.splitlines()) > 5


def test_an_unknown_option_of_a_command_points_to_its_help(shell: Any) -> None:
    assert "See: corrobora source --help" in shell("source", "S1", "--run", "last").complaint
    assert "corrobora -- QUESTION" in shell("--when was the mill built").complaint
    assert "Schedule:\n  --cron" in shell("watch", "--help").out
