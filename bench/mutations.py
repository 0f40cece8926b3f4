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
    """Say whether one of the tests fails; one that cannot run, or hangs for `seconds`, raises `RuntimeError`."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *options, *tests]
    try:
        ended = subprocess.run(
            command, cwd=folder, env=os.environ | dict(env or {}), capture_output=True, text=True, check=False,
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{' '.join(tests)}: no end after {seconds:.0f} s") from None
    if ended.returncode not in (0, 1) or _NO_FIXTURE in ended.stdout:
        raise RuntimeError(f"{' '.join(tests)}: {ended.stdout[-2_000:]}{ended.stderr[-2_000:]}")
    return ended.returncode == 1


def find_failing(tests: Sequence[str], *, folder: Path, env: Mapping[str, str], workers: int) -> list[str]:
    """Return which of the tests fail while nothing is broken: what they say of a fault means nothing."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "-p", "no:cacheprovider", "-rfE", *tests]
    ended = subprocess.run(
        command, cwd=folder, env=os.environ | dict(env), capture_output=True, text=True, check=False
    )  # fmt: skip
    failing = [line.split()[1] for line in ended.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if ended.returncode not in (0, 1) or (ended.returncode and not failing):
        raise RuntimeError(f"{ended.stdout[-2_000:]}{ended.stderr[-2_000:]}")
    return failing
