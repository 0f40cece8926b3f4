"""Print what starting costs: CPU seconds and modules that a command needs before it does its work.

Each line is a new interpreter with bytecode that is already compiled; the figure is the least of some tries, because
whatever else a machine does can only add to it. Goals: `--version` 0.17, a command with the database 0.35 CPU seconds.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_COUNT = "import sys; print(len(sys.modules))"
_OPEN = """
import asyncio, pathlib, sys
from corrobora.storage.postgres import Database
async def open_and_close():
    async with await Database.connect(pathlib.Path(sys.argv[1])):
        pass
asyncio.run(open_and_close())
"""
_HOLD = """
import pathlib, sys
from corrobora.storage.postgres.embedded import EmbeddedServer
server = EmbeddedServer.start(pathlib.Path(sys.argv[1]))
print(flush=True)
sys.stdin.read()
"""
_STEPS = {
    "an empty interpreter": "",
    "corrobora --version": "import sys; sys.argv = ['corrobora', '--version']\nfrom corrobora.__main__ import main\n"
    "try: main()\nexcept SystemExit: pass",
    "import of the database": "import corrobora.storage.postgres, corrobora.storage.postgres.embedded",
    "database, runs and queue": "import corrobora.storage.postgres, corrobora.storage.postgres.embedded\n"
    "import corrobora.storage.journal, corrobora.storage.queue, corrobora.storage.queue.statements",
    "embedded database open": _OPEN,
    "import of `corrobora runs list`": "import corrobora.faces.cli.runs, corrobora.storage.journal.runs",
    "import of the library": "import corrobora.storage.index",
    "import of what a run needs": "import corrobora.app, corrobora.app.attempts, corrobora.app.wiring",
}


def measure(code: str, home: Path) -> tuple[float, int]:
    """Return the CPU seconds of a new interpreter that runs `code`, and how many modules it has loaded."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{_COUNT}", str(home)],
        check=True,
        capture_output=True,
        text=True,
        env={**_ENVIRONMENT, "CORROBORA_HOME": str(home)},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, int(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description="What starting costs.")
    parser.add_argument("--tries", type=int, default=5)
    tries = parser.parse_args().tries
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "database"
        command = [sys.executable, "-c", _HOLD, str(home)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            if other.stdout is not None:
                other.stdout.readline()  # the server runs, so that no step counts its start
            print(f"{'step':28} {'CPU s':>6} {'modules':>8}")
            for name, code in _STEPS.items():
                measure(code, home)  # compiles, and migrates the database
                figures = [measure(code, home) for _ in range(tries)]
                print(f"{name:28} {min(each[0] for each in figures):6.2f} {figures[0][1]:8}")


if __name__ == "__main__":
    main()
