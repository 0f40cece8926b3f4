"""The plugin for coding assistants: its files have the expected shape, and its commands are commands of the program."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from tests.plugins.shell import Shell

from corrobora import __version__
from corrobora.faces.cli import cli

PLUGIN = Path(__file__).resolve().parents[2] / "plugin"
PAGES = sorted(PLUGIN.rglob("*.md"))
SOURCE = PLUGIN.parent / "src" / "corrobora"
BLOCK = re.compile(r"^ *```bash\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def list_lines() -> list[tuple[str, str]]:
    """Return every command line of the plugin with its file."""
    lines = [(page.name, line.strip()) for page in PAGES for block in BLOCK.findall(page.read_text()) for line in
             block.splitlines() if line.strip()]  # fmt: skip
    server = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]["corrobora"]
    return [*lines, (".mcp.json", shlex.join([server["command"], *server["args"]]))]


@pytest.mark.parametrize(("page", "line"), list_lines())
def test_each_line_parses_with_the_real_command(page: str, line: str) -> None:
    program, name, *words = shlex.split(line)
    assert program == "corrobora"
    context = click.Context(cli, info_name="corrobora")
    command = cli.get_command(context, name)
    assert command is not None, name
    while isinstance(command, click.Group):
        inner = command.get_command(context, words.pop(0))
        assert inner is not None
        command = inner
    inside = click.Context(command, info_name=name, parent=context, resilient_parsing=True)
    _, rest, _ = command.make_parser(inside).parse_args(list(words))
    assert len(rest) <= sum(1 for each in command.params if isinstance(each, click.Argument)) or name == "library"


def test_the_lines_of_the_research_command_run(filled: Shell) -> None:
    question = "When was the bridge at Arnholm opened?"
    (line,) = (line for page, line in list_lines() if page == "research.md" and "--deep" in line)
    words = [question if word == "QUESTION" else word for word in shlex.split(line)[1:]]
    assert "1931" in filled(*words, "-l", "docs").out
    for time in ("unlimited", "2"):
        words[words.index("--time") + 1] = time
        assert "1931" in filled(*words, "-l", "docs").out
    check = next(line for page, line in list_lines() if page == "SKILL.md" and "verify" in line)
    assert filled(*shlex.split(check)[1:]).code == 0


def test_its_files_say_what_they_are() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("corrobora", __version__)
    for page in (each for each in PAGES if each.name != "README.md"):
        head = page.read_text().split("---\n")[1]
        assert "description: " in head
        assert page.stem != "research" or 'argument-hint: "[--time N|unlimited] [--deep] QUESTION"' in head
    shop = json.loads((PLUGIN / ".claude-plugin" / "marketplace.json").read_text())
    (offered,) = shop["plugins"]
    assert (shop["name"], bool(shop["owner"]["name"])) == ("corrobora", True)
    assert (offered["name"], offered["source"]) == (manifest["name"], "./")
    assert "only" in (PLUGIN / "commands" / "research.md").read_text()


def test_the_tools_that_a_command_may_use_are_those_of_the_server() -> None:
    """An assistant puts the name of the plugin before that of a server which came with it."""
    tools = (SOURCE / "faces" / "mcp" / "tools.py").read_text()
    (line,) = re.findall(r"^allowed-tools: (.*)$", (PLUGIN / "commands" / "research.md").read_text(), re.MULTILINE)
    allowed = {each.rpartition("__")[::2] for each in line.split(", ") if each.startswith("mcp__")}
    assert {server for server, _ in allowed} == {"mcp__plugin_corrobora_corrobora", "mcp__corrobora"}
    for _, name in allowed:
        assert f"async def {name}(" in tools, name
