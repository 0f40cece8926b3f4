"""Files that are written as a whole or not at all: whoever reads one never sees half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Create a folder, and what is missing above it, for its owner alone; one that is there keeps its rights.

    Root's can be passed through, not listed: its database runs as another account, from programs that may lie there.
    """
    for each in reversed((folder, *folder.parents)):
        if not each.exists():
            each.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, exist_ok=True)


def write_whole(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Write beside the target and rename. Raises `OSError`; the previous file then stays as it was.

    `mode` are the rights of the file; without it, only its owner may read it.
    """
    make_private_folder(path.parent) if mode is None else path.parent.mkdir(parents=True, exist_ok=True)
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
