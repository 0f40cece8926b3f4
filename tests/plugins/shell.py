"""A shell for tests: the command line run in this process, or as a process of its own, in a folder of its own."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tests.plugins.nursery import run_python, start_python

DOCUMENTS = {
    "bridge.md": (
        "# The bridge at Arnholm\n\nThe bridge at Arnholm was opened in 1931 and carries two lanes of traffic. "
        "The bridge at Arnholm is 412 metres long and was built of riveted steel by the Varde company.\n"
    ),
    "ferry.md": (
        "# The ferry of Arnholm\n\nBefore the bridge was opened, a ferry carried carts across the Arnholm strait. "
        "The ferry of Arnholm made its last crossing in 1931, after ninety years of service.\n"
    ),
}


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The last line on stderr, which must be one line of ours."""
        lines = self.err.strip().splitlines()
        assert lines, "nothing was said"
        assert lines[-1].startswith("corrobora: ")
        assert "Traceback" not in self.err
        return lines[-1]


class _Terminal(io.StringIO):
    """A stream that is a terminal, as far as a program asks."""

    def isatty(self) -> bool:
        return True


class Shell:
    """Runs command lines. `env` is all of the environment that they see beside what a process needs."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.home = folder / "home"
        self._capture = capture
        self._patch = patch
        for name in list(os.environ):
            if name.startswith("CORROBORA_") or name.endswith(("_API_KEY", "_MODEL_ID")):
                patch.delenv(name)
        patch.setenv("CORROBORA_HOME", str(self.home))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "user"))
        patch.setenv("HOME", str(folder))
        patch.chdir(folder)

    def setenv(self, **values: str) -> None:
        for name, value in values.items():
            self._patch.setenv(name, value)

    def delenv(self, name: str) -> None:
        self._patch.delenv(name)

    def __call__(self, *args: str) -> Result:
        """Run in this process; a bug raises."""
        from corrobora.faces.cli import run_command_line

        self._capture.readouterr()
        code = run_command_line(args)
        captured = self._capture.readouterr()
        return Result(int(code), captured.out, captured.err)

    def at_terminal(self, *args: str, typed: str = "", columns: int = 0) -> Result:
        """Run in this process with a terminal as stdin and stderr; `typed` waits in its keyboard buffer.

        With `columns` stdout is a terminal as well, both of that width.
        """
        screen, printed = _Terminal(), _Terminal()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", _Terminal(typed))
            patch.setattr(sys, "stderr", screen)
            if columns:
                patch.setattr(sys, "stdout", printed)
                patch.setenv("COLUMNS", str(columns))
            result = self(*args)
        return Result(result.code, printed.getvalue() or result.out, screen.getvalue())

    def piped(self, *args: str, stdin: bytes) -> Result:
        """Run in this process with a pipe as stdin that holds these bytes and then ends."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            return self(*args)

    def start(self, *args: str | bytes, **more: object) -> subprocess.Popen[bytes]:
        command: Sequence[str | bytes] = ("-m", "corrobora", *args)
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return start_python(command, **(pipes | more))

    def process(self, *args: str | bytes, stdin: bytes = b"", **more: object) -> Result:
        """Run as a process of its own."""
        with self.start(*args, stdin=subprocess.PIPE, **more) as process:
            out, err = process.communicate(stdin, timeout=600)
        return Result(process.returncode, out.decode(), err.decode())


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """A shell in an empty folder, without a database."""
    hook = sys.excepthook
    yield Shell(tmp_path, capsys, monkeypatch)
    sys.excepthook = hook


@pytest.fixture
def served(shell: Shell, database_url: str) -> Shell:
    """A shell with a fresh database."""
    shell.setenv(CORROBORA_DATABASE_URL=database_url)
    return shell


async def _fill(name: str, documents: dict[str, str], url: str) -> None:
    from corrobora.app import Workspace
    from corrobora.app.libraries import open_library
    from corrobora.config import load_settings
    from corrobora.domain.evidence import Source, SourceId

    settings = load_settings(env={"CORROBORA_DATABASE_URL": url}, user_file=Path("/nonexistent"))
    async with Workspace.open(settings) as workspace:
        library = open_library(workspace, [name])
        for address, text in documents.items():
            sha = hashlib.sha256(text.encode()).hexdigest()
            title = text.splitlines()[0].strip("# ")
            await library.store(Source(SourceId(""), title, address, sha, origin=sha), text, space=name)


@pytest.fixture(scope="session")
def filled_url(database_server: str) -> Iterator[str]:
    """The URL of one database for the whole session, with a library `docs`: runs in it do not see each other."""
    from tests.conftest import fresh_database

    with fresh_database(database_server, f"cli_filled_{os.getpid()}") as url:
        asyncio.run(_fill("docs", DOCUMENTS, url))
        yield url


@pytest.fixture
def filled(shell: Shell, filled_url: str) -> Shell:
    """A shell with a database and a library `docs` of two documents."""
    shell.setenv(CORROBORA_DATABASE_URL=filled_url)
    return shell


QUESTION = "When was the bridge at Arnholm opened?"


@pytest.fixture
def finished(shell: Shell, database_server: str, shared: Path) -> Iterator[tuple[Shell, str]]:
    """A shell and the id of a run that has ended: copies of a database and a home in which a run was made once."""
    from tests.conftest import fresh_database, make_template

    folder = shared / "finished"
    make_template(shared, database_server, "finished_template", partial(_finish_run, folder), "corrobora_template")
    shutil.copytree(folder / "home", shell.home)
    with fresh_database(database_server, f"finished_{os.getpid()}", "finished_template") as url:
        shell.setenv(CORROBORA_DATABASE_URL=url)
        yield shell, (folder / "run").read_text()


def _finish_run(folder: Path, url: str) -> None:
    """Research a question in a database, with a home in the folder."""
    folder.mkdir(exist_ok=True)
    asyncio.run(_fill("docs", DOCUMENTS, url))
    env = {name: value for name, value in os.environ.items() if not name.startswith("CORROBORA_")}
    env |= {"HOME": str(folder), "CORROBORA_HOME": str(folder / "home"), "CORROBORA_DATABASE_URL": url}
    done = run_python(["-m", "corrobora", QUESTION, "-l", "docs", "--json", "-q"], cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    (folder / "run").write_text(json.loads(done.stdout)["run_id"])


@pytest.fixture(scope="session")
def runs_to_read(filled_url: str) -> dict[str, str]:
    """The ids of finished runs in the database of the session that tests only read, by what they are about."""
    return {}


@pytest.fixture
def readable(filled: Shell, runs_to_read: dict[str, str]) -> tuple[Shell, str]:
    """A shell and the id of a run that has ended, the same for all tests: they read it and change nothing of it."""
    if "bridge" not in runs_to_read:
        runs_to_read["bridge"] = json.loads(filled(QUESTION, "-l", "docs", "--json", "-q").out)["run_id"]
    return filled, runs_to_read["bridge"]


@pytest.fixture
def waiting(filled: Shell) -> tuple[Shell, str]:
    """A shell and the id of a run whose plan waits."""
    result = filled(QUESTION, "-l", "docs", "-p", "tree", "--no-input", "--display", "jsonl")
    return filled, json.loads(result.out.splitlines()[0])["run_id"]


LAKES = "# Lakes of the north\n\nThe lakes of the north hold perch and pike, and freeze over every winter.\n"


@pytest.fixture
def folder(served: Shell) -> Shell:
    """A folder with one good document and two that cannot be read."""
    docs = served.folder / "papers"
    docs.mkdir()
    (docs / "lakes.md").write_text(LAKES)
    (docs / "broken.pdf").write_bytes(b"\x00\x01\x02" * 500)
    (docs / ".env").write_text("SECRET=planted")
    return served
