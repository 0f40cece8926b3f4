"""Files: written as a whole or not at all, so that nobody sees half of one, and the tables that the package ships."""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any


@cache
def read_table(name: str) -> Any:
    """Return a table of the folder `data` of the package: words, messages or fitted weights, as TOML or JSON."""
    text = (resources.files("corrobora") / "data" / name).read_text("utf-8")
    return json.loads(text) if name.endswith(".json") else tomllib.loads(text)


def write_whole(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Write beside the target and rename. Raises `OSError`; the previous file then stays as it was.

    `mode` are the rights of the file; without it, only its owner may read it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".corrobora-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
