"""The type of paths on the command line."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from corrobora.faces.cli import FILE_PATH


def test_an_empty_path_is_not_the_current_folder() -> None:
    with pytest.raises(click.BadParameter, match="empty"):
        FILE_PATH.convert("", None, None)
    assert FILE_PATH.convert("report.md", None, None) == Path("report.md")
