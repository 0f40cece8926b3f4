"""The entry point: `python -m corrobora` and the installed command are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from corrobora import __version__


def test_both_ways_to_start_it() -> None:
    installed = Path(sys.executable).with_name("corrobora")
    for command in ([sys.executable, "-m", "corrobora"], [str(installed)]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"corrobora {__version__}\n"


def test_the_program_looks_for_garbage_rarely_and_an_embedding_program_is_left_alone() -> None:
    look = "import gc, sys; before = gc.get_threshold()[0]; {}; print(before, gc.get_threshold()[0])"
    started = "sys.argv = ['corrobora', '--version']; sys.exit = print; from corrobora import __main__ as it; it.main()"
    for what, expected in (("import corrobora.app", "700 700"), (started, "700 10000")):
        done = subprocess.run([sys.executable, "-c", look.format(what)], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == expected


def test_nothing_that_the_program_writes_may_be_changed_by_everybody() -> None:
    look = "import os, sys; os.umask({}); sys.argv = ['corrobora', '--version']; sys.exit = print; "
    look += "from corrobora import __main__ as it; it.main(); print(os.umask(0))"
    for mask, expected in ((0, "2"), (0o077, "63")):
        done = subprocess.run([sys.executable, "-c", look.format(mask)], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == expected
