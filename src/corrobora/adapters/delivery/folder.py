"""Delivery to a folder: the files of a report, each written as a whole or not at all.

Knows names and bytes. Does not know formats, and writes nothing outside its folder.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from corrobora.domain.errors import ProviderError
from corrobora.registry import Configuration


class FolderDelivery:
    """Writes files below `folder`, replacing those of the same name."""

    name = "folder"
    syntax = "folder:DIR"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def open_target(cls, where: str, given: Configuration) -> Self:
        """Return the channel to the folder `where`."""
        del given
        return cls(Path(where))

    async def send(self, title: str, files: Mapping[str, bytes], *, delivery: str) -> None:  # noqa: ARG002 - one signature
        """Write the files. Raises `ProviderError` (`delivery_folder`) if the folder cannot be written."""
        await asyncio.to_thread(self._write_files, files)

    def _write_files(self, files: Mapping[str, bytes]) -> None:
        base = self._folder.expanduser().absolute()
        try:
            for name, content in files.items():
                path = base / name
                if not path.resolve().is_relative_to(base.resolve()):
                    raise PermissionError(13, "a file of the report would lie outside")
                path.parent.mkdir(parents=True, exist_ok=True)
                _replace_file(path, content)
        except OSError as error:
            raise ProviderError(
                "delivery_folder",
                f"The report cannot be written to {str(base)!r}: {error.strerror or error}.",
                provider=self.name,
                next_step="Make room or change the folder, then: corrobora resume RUN --from-stage delivery",
            ) from error


def _replace_file(path: Path, content: bytes) -> None:
    """Write beside the target and rename, so that a reader never sees half a file."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
