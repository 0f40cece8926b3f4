"""What a user can set, and which test sees its effect: the click tree, the settings, and the marks `covers`.

Knows how a mark is written: `@pytest.mark.covers("research --source", "setting sources.reader")`. Does not run tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import click

from corrobora.config.settings import list_secrets, list_settings
from corrobora.faces.cli import cli

TESTS = Path(__file__).resolve().parents[1]


def walk_commands(command: click.Command = cli, *path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command with the words that call it; the words of the root are ""."""
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk_commands(found, *path, name)


def _main_spelling(option: click.Option) -> str:
    return next((each for each in option.opts if each.startswith("--")), option.opts[0])


@cache
def list_options() -> Mapping[str, tuple[str, ...]]:
    """Return every option as "COMMAND --option" with all its spellings."""
    return {
        f"{words} {_main_spelling(each)}".strip(): tuple(each.opts)
        for words, command in walk_commands()
        for each in command.params
        if isinstance(each, click.Option)
    }


def commands_with(option: str) -> list[str]:
    """Return the commands that have an option."""
    return [name.removesuffix(f" {option}") for name in list_options() if name.endswith(f" {option}")]


def setting_names() -> list[str]:
    """Return every documented setting as "setting KEY"."""
    return [f"setting {key}" for key in (*list_settings(), *list_secrets())]


@cache
def read_marks() -> Mapping[str, tuple[str, ...]]:
    """Return the claims of all marks: what is covered, and the texts of the files whose tests claim it."""
    found: dict[str, list[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if "mark.covers(" not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for claim in _claims(node):
                    found.setdefault(claim, []).append(text)
    return {claim: tuple(texts) for claim, texts in found.items()}


def _claims(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for each in function.decorator_list:
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "pytest.mark.covers":
            yield from (ast.literal_eval(argument) for argument in each.args)
