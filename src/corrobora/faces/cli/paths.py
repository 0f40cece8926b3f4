"""The type of all paths on the command line. Knows what is no path; does not look at the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class _FilePath(click.Path):
    """A path; "" is refused, which would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("a path cannot be empty.", param, ctx)
        return super().convert(value, param, ctx)


FILE_PATH = _FilePath(path_type=Path)
