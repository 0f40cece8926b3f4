"""The pages say what is so: links lead somewhere, commands and flags exist, blocks that can be run are run.

A block marked `console` is run line by line in a folder of its own: `$ ` starts a command, what follows must stand in
its output, `...` matches anything. A block marked `python` is run as a program. The guide to the start is followed by a
person who has never run the program, the others by one who has followed it. Commands that other blocks name must parse.
Nothing here reaches the network or the data of the person who runs it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from tests.conftest import fresh_database
from tests.plugins.nursery import run_python, start_python

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "reference/commands" not in path.as_posix()),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?corrobora .*$", re.MULTILINE)
INLINE = re.compile(r"`((?:\.venv/bin/)?corrobora [^`]+|make [^`]+)`")


def blocks(kind: str) -> list[tuple[str, str]]:
    """Return every block of a kind with the place where it stands."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            if block.group(1) == kind:
                line = text.count("\n", 0, block.start()) + 1
                found.append((f"{page.relative_to(ROOT)}:{line}", block.group(2)))
    return found


def commands() -> list[tuple[str, str]]:
    """Return every command line that a page names, with its page."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fenced = "\n".join(block.group(2) for block in BLOCK.finditer(text))
        prose = BLOCK.sub("", text)
        named = [*COMMAND.findall(fenced), *(one for one in INLINE.findall(prose) if "corrobora " in one)]
        found += [(str(page.relative_to(ROOT)), " ".join(one.split())) for one in named]
    return sorted(set(found))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, re.MULTILINE)
    assert set(named) <= targets


def inner_command(group: click.Group, name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert found is not None, name
    return found


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_and_their_flags_exist(page: str, line: str) -> None:
    from corrobora.faces.cli import cli

    words = shlex.split(line.removeprefix("$ ").split(" > ")[0], comments=True)[1:]
    command: click.Command = cli
    context = click.Context(cli, info_name="corrobora")
    while isinstance(command, click.Group) and words and words[0] in command.list_commands(context):
        command = inner_command(command, words.pop(0))
        context = click.Context(command, info_name=command.name, parent=context)
    if isinstance(command, click.Group) and words and not words[0].startswith("-"):
        command = inner_command(cli, "research")  # a question alone
        assert any(letter in words[0] for letter in " ?.") or words[0].isupper(), f"no command {words[0]!r}"
    context.resilient_parsing = True  # files that a page names need not exist here
    parser = command.make_parser(context)
    parser.parse_args(list(words))  # raises for a flag that does not exist


def test_flags_in_prose_exist() -> None:
    from corrobora.faces.cli import cli

    def flags(command: click.Command) -> set[str]:
        own = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
        group = command if isinstance(command, click.Group) else click.Group()
        inner = [inner_command(group, name) for name in group.list_commands(click.Context(group))]
        return own.union(*(flags(one) for one in inner), {"--help"})

    pages = [page for page in PAGES if page.parent.name in {"guides", "reference"} or page.name == "README.md"]
    named = {
        (page.name, flag)
        for page in pages
        for code in re.findall(r"`([^`]+)`", BLOCK.sub("", page.read_text(encoding="utf-8")))
        for flag in re.findall(r"(?<!\S)--[a-z-]+", code)
    }
    assert len(named) > 10
    assert sorted(one for one in named if one[1] not in flags(cli)) == []


def test_the_exit_codes_of_the_pages_are_those_of_the_program() -> None:
    from corrobora.faces.cli import Exit

    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    table = page.split("## Exit codes", 1)[1].split("##", 1)[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == {int(code) for code in Exit}


def test_the_excerpt_of_the_readme_stands_in_the_shipped_report() -> None:
    excerpt = re.findall(
        r"(?m)^> (.+)$", (ROOT / "README.md").read_text(encoding="utf-8").split("From the report", 1)[1]
    )
    report = (ROOT / "docs" / "examples" / "timed" / "report.md").read_text(encoding="utf-8").splitlines()
    assert len(excerpt) > 3
    assert [line for line in excerpt if line not in report] == []


def test_the_readme_names_every_seed_profile_and_the_default() -> None:
    from corrobora.config.profiles import load_profile

    named = re.findall(r"^\| `(\w+)`", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [load_profile(name).name for name in named] == named
    assert set(named) == {"timed", "tree", "angles", "rounds", "triplet"}


def environment(home: Path, database: str) -> dict[str, str]:
    """Return the environment of a person who has the program on the path, and a database if one is given."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CORROBORA_")}
    inherited = {name: value for name, value in inherited.items() if not name.endswith("_API_KEY")}
    return {
        **inherited,
        "HOME": str(home),
        "CORROBORA_HOME": str(home / "data"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        **({"CORROBORA_DATABASE_URL": database} if database else {}),
    }


def agrees(expected: list[str], output: str) -> bool:
    """Tell whether lines stand in an output, in order; a line of three dots stands for anything."""
    pattern = r"[^\n]*\n(?:.*\n)*?".join(
        r"[ \t]*" + re.escape(line.strip()).replace(r"\.\.\.", ".*") for line in expected if line.strip() != "..."
    )
    return re.search(pattern, output) is not None


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory, database_server: str) -> Iterator[Path]:
    """The data of a person who has followed the guide to the start: the demo was read, one run is stored."""
    home = tmp_path_factory.mktemp("started")
    with fresh_database(database_server, f"guide_started_{os.getpid()}") as url:
        words = ["-m", "corrobora", "When must a memorized secret be changed?", "--library", "demo"]
        done = run_python([*words, "--display", "none"], cwd=home, env=environment(home, url))
        assert done.returncode == 0, done.stderr
        yield home / "data"


@pytest.fixture
def person(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The environment of a person: a new one, or one who goes on from a copy of what the guide to the start leaves.

    The new one has a database server as the program brings it; the others have a database each on that of the tests.
    """
    if "start.md" in place:
        yield environment(tmp_path, "")
        return
    shutil.copytree(request.getfixturevalue("started"), tmp_path / "data")
    server = request.getfixturevalue("database_server")
    with fresh_database(server, f"guide_{os.getpid()}", f"guide_started_{os.getpid()}") as url:
        yield environment(tmp_path, url)


def run_line(line: str, person: dict[str, str], *, as_written: bool) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell; the program alone, with nothing that only a shell understands, also without one."""
    words, bare = shlex.split(line), re.sub(r'"[^"$`\\]*"', "", line)
    if not as_written and words[0] == "corrobora" and not set("<>|&;$*?~`'\\") & set(bare):
        return run_python(["-m", *words], cwd=person["HOME"], env=person)
    command = ["bash", "-c", line]
    return subprocess.run(command, cwd=person["HOME"], env=person, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("place", "block"), blocks("console"), ids=lambda told: told.partition("\n")[0])
def test_console_blocks_run(place: str, block: str, person: dict[str, str]) -> None:
    for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, said = step.partition("\n")
        done = run_line(command, person, as_written="start.md" in place)
        assert done.returncode == 0, f"{place}: {command}\n{done.stderr}"
        assert agrees(said.splitlines(), done.stdout + done.stderr), f"{place}: {command}\n{done.stdout}{done.stderr}"


def run_block(
    start: Callable[..., subprocess.Popen[str]], words: list[str], person: dict[str, str]
) -> tuple[int, str, str]:
    """Run a block; a program that it leaves running after a failure is ended, else its pipe would never close."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = start(words, cwd=person["HOME"], env=person, stdout=out, stderr=err, start_new_session=True)
        try:
            code = child.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
        for each in (out, err):
            each.seek(0)
        return code, out.read(), err.read()


CELL = """import ast, asyncio, inspect, sys

async def run_cell():
    found = eval(compile(sys.argv[1], "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {})
    if inspect.iscoroutine(found):
        await found

asyncio.run(run_cell())
"""  # a cell of a notebook: an event loop runs already, and code may await


@pytest.mark.parametrize(("place", "block"), blocks("python"), ids=lambda told: told.partition("\n")[0])
def test_python_blocks_run(place: str, block: str, person: dict[str, str]) -> None:
    cell = (CELL, block) if "notebook.md" in place else (block,)
    words = ["-W", "error", "-c", *cell]
    if place.startswith("README.md"):  # also what is imported warns of nothing
        code, _, told = run_block(subprocess.Popen, [sys.executable, *words], person)
    else:
        code, _, told = run_block(start_python, words, person)
    assert code == 0, f"{place}\n{told}"
