"""The entry point of `corrobora` and `python -m corrobora`. Knows the command line only. Does nothing itself."""

from __future__ import annotations

import sys

from corrobora.faces.cli.main import run


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run())


if __name__ == "__main__":
    main()
