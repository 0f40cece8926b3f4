"""The entry point of `corrobora` and `python -m corrobora`. Knows the command line only. Does nothing itself."""

from __future__ import annotations

import sys

from corrobora.faces.cli import run_command_line


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run_command_line())


if __name__ == "__main__":
    main()
