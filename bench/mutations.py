"""Running the tests that must notice a deliberate fault.

Knows pytest and its exit codes. Does not know which fault was made.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_NO_FIXTURE = "available fixtures:"  # pytest says it where a test cannot be set up at all


def fault_is_noticed(
    tests: Sequence[str],
    *,
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    seconds: float | None = None,
) -> bool:
    """Say whether one of the tests fails; a test that cannot run at all raises `RuntimeError`.

    A test that hangs until `seconds` are over has noticed the fault as well.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *options, *tests]
    try:
        ended = subprocess.run(
            command, cwd=folder, env=os.environ | dict(env or {}), capture_output=True, text=True, check=False,
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    if ended.returncode not in (0, 1) or _NO_FIXTURE in ended.stdout:
        raise RuntimeError(f"{' '.join(tests)}: {ended.stdout[-2_000:]}{ended.stderr[-2_000:]}")
    return ended.returncode == 1
