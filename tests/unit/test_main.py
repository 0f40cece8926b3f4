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
