"""Secrets, and the small files that people write: opened without waiting, of a limited size, decoded as UTF-8.

Knows references to environment variables and files, and what is wrong with one; a value is never shown. Does not know
which keys exist or who uses them.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from corrobora.domain.errors import UserError

_MAX_SECRET_BYTES = 64_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist: a part of its path is not a folder",
    errno.EACCES: "may not be read by this user",
    errno.EPERM: "may not be read by this user",
    errno.ELOOP: "is a loop of symbolic links",
    errno.ENAMETOOLONG: "has too long a name",
    errno.ENXIO: "is a device or socket, not a regular file",
}


@dataclass(frozen=True, slots=True)
class Secret:
    """One secret. `repr` and `str` never show the value; `reveal` is the only way to it."""

    reference: str  # "env:NAME" or "file:PATH", or "literal"
    problem: str = ""  # why there is no usable value; "" if there is one
    notes: tuple[str, ...] = ()  # what was repaired or should be changed, for people
    _value: str = field(default="", repr=False)

    @property
    def set(self) -> bool:
        """True if the reference leads to a usable value."""
        return not self.problem

    def reveal(self) -> str:
        """Return the value. Raises `UserError` `secret_missing` that names the reference, never the value."""
        if self.problem:
            raise UserError("secret_missing", f"{self.problem}.", next_step="Set it, or remove the reference to it.")
        return self._value

    def __str__(self) -> str:
        return f"{self.reference} ({'set' if self.set else 'not set'})"


def parse_reference(value: object) -> tuple[str, str] | None:
    """Read `env:NAME`, `file:PATH`, `{env = NAME}` or `{file = PATH}`; None for anything else."""
    if isinstance(value, dict):
        items = list(cast("dict[str, object]", value).items())
        if len(items) == 1 and items[0][0] in ("env", "file") and isinstance(items[0][1], str):
            return items[0][0], items[0][1]
        return None
    kind, _, target = value.partition(":") if isinstance(value, str) else ("", "", "")
    return (kind, target) if kind in ("env", "file") and target else None


def read_environment(name: str, env: Mapping[str, str]) -> Secret:
    """Return the secret in the environment variable `name`; a trailing line end is dropped and noted."""
    reference = f"env:{name}"
    if not _NAME.match(name):
        return Secret("env:?", problem="The reference to an environment variable holds no valid name")
    if name not in env:
        return Secret(reference, problem=f"The environment variable {name} is not set")
    return _check_secret(reference, env[name], f"The environment variable {name}")


def read_secret_file(path: Path) -> Secret:
    """Return the secret in a small file; one that other users may read is noted."""
    reference = f"file:{path}"
    try:
        text = read_small_file(path, limit=_MAX_SECRET_BYTES)
    except UserError as error:
        return Secret(reference, problem=error.message.rstrip("."))
    secret = _check_secret(reference, text, f"The file {path}")
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        note = f"{path} holds a secret and can be read by other users; run: chmod 600 {path}"
        return replace(secret, notes=(*secret.notes, note))
    return secret


def read_literal(value: str) -> Secret:
    """Return a secret that stands as text in a setting."""
    return _check_secret("literal", value, "The value")


def _check_secret(reference: str, raw: str, what: str) -> Secret:
    value = raw.rstrip("\r\n")
    notes = (f"{what} ends with a line end, which was dropped",) if value != raw else ()
    if not value.strip():
        return Secret(reference, problem=f"{what} is empty")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return Secret(reference, problem=f"{what} has quotation marks around its value")
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in value):  # noqa: PLR2004 - ASCII control characters
        return Secret(reference, problem=f"{what} holds control characters")
    return Secret(reference, notes=notes, _value=value)


def read_small_file(path: Path, *, limit: int, what: str = "The file") -> str:
    """Return the text of a regular file of at most `limit` bytes.

    Never blocks: a FIFO, socket or device is refused, not waited for.
    Raises `UserError` `file_unreadable`, `file_not_regular`, `file_too_large` or `file_not_utf8`.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:  # ValueError: a NUL inside the path
        why = _REASONS.get(getattr(error, "errno", 0) or 0, "cannot be opened")
        raise UserError("file_unreadable", f"{what} {str(path)!r} {why}.", next_step="Check the path.") from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file (pipe, socket or device)"
            raise UserError("file_not_regular", f"{what} {str(path)!r} is {kind}.", next_step="Name a text file.")
        data = b"" if status.st_size > limit else _read_bytes(handle, limit + 1, path, what)
    finally:
        os.close(handle)
    size = max(status.st_size, len(data))
    if size > limit:
        raise UserError("file_too_large", f"{what} {str(path)!r} has {size:,} bytes; the limit is {limit:,}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"{what} {str(path)!r} is not UTF-8 at line {line}, column {column} (byte {error.start})."
        raise UserError("file_not_utf8", message, next_step="Save it as UTF-8.") from None


def _read_bytes(handle: int, limit: int, path: Path, what: str) -> bytes:
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
