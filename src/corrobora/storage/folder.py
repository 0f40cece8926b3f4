"""The folder of a run: its files, written whole or not at all, and never outside of it.

Knows names, temporary files and renames. Does not know what the files mean.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from corrobora.domain.errors import JournalError, UserError

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,120}")


class RunFolder:
    """Files of one run below `base`; names are relative paths of plain parts (safety G12)."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def file_path(self, name: str) -> Path:
        """Return where a file of this name lies. Raises `UserError` for a name that could lead elsewhere."""
        parts = name.split("/")
        if not all(_PART.fullmatch(part) and ".." not in part for part in parts):
            raise UserError("file_name", f"{name!r} is not a name for a file of a run.")
        return self.base.joinpath(*parts)

    def write_file(self, name: str, content: bytes) -> Path:
        """Write a file atomically: temporary file, fsync, rename.

        Raises:
            JournalError: `disk`, if the disk is full or refuses; what was written before stays whole.
        """
        path = self.file_path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                Path(temporary).replace(path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise JournalError(
                "disk",
                f"{path} cannot be written: {error.strerror}.",
                next_step="Free space or rights, then: corrobora resume RUN. Nothing gathered is lost.",
            ) from error
        return path
