"""Artifacts: the files of a run, as the database stores them and as they stand in a folder.

Knows media types, the largest size, the columns of a statement that stores several, and how a file is written into the
folder of a run atomically and never outside of it. Does not know which files belong to a report.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Self

from corrobora.domain.errors import JournalError, UserError
from corrobora.files import write_whole

_MAX_BYTES = 64_000_000
OF_A_REPORT = "^(report[.]|thread-completion-)"  # names of what only a report brings: the next one replaces all of it


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a run, stored in the database so that every machine can read it."""

    name: str
    media_type: str
    content: bytes

    @classmethod
    def from_text(cls, name: str, text: str) -> Self:
        """Return the file of a text; the suffix of its name gives the media type."""
        return cls(name, _MEDIA.get(name.rsplit(".", 1)[-1], "text/plain"), text.encode("utf-8", "replace"))


_MEDIA = {"json": "application/json", "md": "text/markdown", "html": "text/html"}


def list_columns(files: Sequence[Artifact]) -> dict[str, object]:
    """Return the columns of files for a statement. Raises `UserError` if one is larger than 64 MB."""
    for file in files:
        if len(file.content) > _MAX_BYTES:
            raise UserError(
                "artifact_too_large",
                f"{file.name} has {len(file.content)} bytes; at most {_MAX_BYTES} are stored.",
            )
    return {
        "names": [file.name for file in files],
        "kinds": [file.media_type for file in files],
        "digests": [compute_checksum(file.content) for file in files],
        "contents": [file.content for file in files],
    }


def compute_checksum(content: bytes) -> bytes:
    """Return 16 bytes that change with any bit of a file."""
    return blake2b(content, digest_size=16).digest()


_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,120}")


class RunFolder:
    """Files of one run below `base`; names are relative paths of plain parts (SAFE-6)."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def file_path(self, name: str) -> Path:
        """Return the path of a file. Raises `UserError` for a name that could lead outside of the folder."""
        parts = name.split("/")
        if not all(_PART.fullmatch(part) and ".." not in part for part in parts):
            raise UserError("file_name", f"{name!r} is not a valid name for a file of a run.")
        return self.base.joinpath(*parts)

    def write_file(self, name: str, content: bytes) -> Path:
        """Write a file as a whole.

        Raises:
            JournalError: `disk`, if the disk is full or not writable; the previous file stays as it was.
        """
        path = self.file_path(name)
        try:
            write_whole(path, content)
        except OSError as error:
            raise JournalError(
                "disk",
                f"{path} cannot be written: {error.strerror}.",
                next_step="Free space or correct the permissions, then: corrobora resume RUN. No findings are lost.",
            ) from error
        return path
