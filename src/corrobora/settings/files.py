"""Small text files that people write: opened without waiting, of a limited size, decoded as UTF-8.

Knows what may go wrong with a file and says it in one line. Does not know what stands in it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from corrobora.domain.errors import UserError

_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist: a part of its path is not a folder",
    errno.EACCES: "may not be read by this user",
    errno.EPERM: "may not be read by this user",
    errno.ELOOP: "is a loop of symbolic links",
    errno.ENAMETOOLONG: "has too long a name",
    errno.ENXIO: "is a device or socket, not a regular file",
}


def read_small_file(path: Path, *, limit: int, what: str = "The file") -> str:
    """Return the text of a regular file of at most `limit` bytes.

    Never blocks: a FIFO, socket or device is refused, not waited for (bad-input C01).
    Raises `UserError` `file_unreadable`, `file_not_regular`, `file_too_large` or `file_not_utf8`.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:  # ValueError: a NUL inside the path
        why = _REASONS.get(getattr(error, "errno", 0) or 0, "cannot be opened")
        raise UserError("file_unreadable", f"{what} {str(path)!r} {why}.", next_step="Check the path.") from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file (pipe, socket or device)"
            raise UserError("file_not_regular", f"{what} {str(path)!r} is {kind}.", next_step="Name a text file.")
        data = b"" if found.st_size > limit else _read(handle, limit + 1, path, what)
    finally:
        os.close(handle)
    size = max(found.st_size, len(data))
    if size > limit:
        raise UserError("file_too_large", f"{what} {str(path)!r} has {size:,} bytes; the limit is {limit:,}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"{what} {str(path)!r} is not UTF-8 at line {line}, column {column} (byte {error.start})."
        raise UserError("file_not_utf8", message, next_step="Save it as UTF-8.") from None


def _read(handle: int, limit: int, path: Path, what: str) -> bytes:
    parts: list[bytes] = []
    left = limit
    try:
        while left > 0 and (part := os.read(handle, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise UserError("file_unreadable", f"{what} {str(path)!r} cannot be read: {why}.") from None
    return b"".join(parts)
