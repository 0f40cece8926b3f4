"""Secrets: where a key comes from, and its value, which is never shown.

Knows references to environment variables and files, and what is wrong with one. Does not know which keys exist or who
uses them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from corrobora.domain.errors import UserError
from corrobora.settings.files import read_small_file

_MAX_SECRET_BYTES = 64_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")


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


def from_environment(name: str, env: Mapping[str, str]) -> Secret:
    """Return the secret in the environment variable `name`; a trailing line end is dropped and noted.

    Requirement: bad-input C06.
    """
    reference = f"env:{name}"
    if not _NAME.match(name):
        return Secret("env:?", problem="The reference to an environment variable holds no valid name")
    if name not in env:
        return Secret(reference, problem=f"The environment variable {name} is not set")
    return _checked(reference, env[name], f"The environment variable {name}")


def from_file(path: Path) -> Secret:
    """Return the secret in a small file; one that other users may read is noted (bad-input C07)."""
    reference = f"file:{path}"
    try:
        text = read_small_file(path, limit=_MAX_SECRET_BYTES)
    except UserError as error:
        return Secret(reference, problem=error.message.rstrip("."))
    secret = _checked(reference, text, f"The file {path}")
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        note = f"{path} holds a secret and can be read by other users; run: chmod 600 {path}"
        return replace(secret, notes=(*secret.notes, note))
    return secret


def literal(value: str) -> Secret:
    """Return a secret that stands as text in a setting."""
    return _checked("literal", value, "The value")


def _checked(reference: str, raw: str, what: str) -> Secret:
    value = raw.rstrip("\r\n")
    notes = (f"{what} ends with a line end, which was dropped",) if value != raw else ()
    if not value.strip():
        return Secret(reference, problem=f"{what} is empty")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return Secret(reference, problem=f"{what} has quotation marks around its value")
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in value):  # noqa: PLR2004 - ASCII control characters
        return Secret(reference, problem=f"{what} holds control characters")
    return Secret(reference, notes=notes, _value=value)
