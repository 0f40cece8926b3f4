"""The entry point of `corrobora` and `python -m corrobora`. Knows the command line and when garbage is collected."""

from __future__ import annotations

import gc
import os
import stat
import sys

_INTERRUPTED = 130
_ALLOCATIONS = 10_000  # of objects, above those freed again, before the youngest are looked through


def main() -> None:
    """Run the command line and leave with its exit code."""
    collect_rarely()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts threads that nothing here uses
    os.umask(os.umask(stat.S_IWOTH) | stat.S_IWOTH)  # nothing that we write may be changed by everybody
    try:
        from corrobora.faces.cli import run_command_line  # noqa: PLC0415 - Ctrl-C may come while it is loaded
        from corrobora.faces.cli.screen import silence_full_streams  # noqa: PLC0415 - as above

        code = run_command_line()
        silence_full_streams()
    except KeyboardInterrupt:
        sys.stderr.write("corrobora: Interrupted before anything was started.\n")
        code = _INTERRUPTED
    sys.exit(code)


def collect_rarely() -> None:
    """Look for garbage in cycles a fourteenth as often as Python does by default.

    Nearly all objects of a run are values without cycles, of which many live until its end. A program that embeds
    Corrobora decides for itself.
    """
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])


if __name__ == "__main__":
    main()
