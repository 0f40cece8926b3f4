"""Failures: one line, and a file for a bug."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any


def test_a_bug_leaves_one_line_and_a_file(shell: Any) -> None:
    code = "import sys\nfrom corrobora.faces.cli import main\nmain.cli = None\nsys.exit(main.run(['runs']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    (saved,) = (shell.home / "bugs").iterdir()
    assert str(saved) in done.stderr
    assert "AttributeError" in saved.read_text()
    assert Path(saved).stat().st_mode & 0o077 == 0
