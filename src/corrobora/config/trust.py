"""Trust: what the configuration file of a folder may set by itself, and which such files the user trusts.

Knows the harmless settings, the hosts of vendors and the list of trusted files. Does not ask anybody: `corrobora trust`
does. A folder that was cloned or unpacked is a stranger's: its file must not send keys or documents anywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from corrobora.config.settings import list_keys, list_settings
from corrobora.config.values import parse_reference, read_small_file
from corrobora.domain.errors import UserError
from corrobora.domain.run import DEMO
from corrobora.files import write_whole
from corrobora.registry import list_added, list_parts, load_part

_MAX_STORE_BYTES = 10_000_000
# A vendor's key travels to this host; that of a search provider to its `base_url`.
VENDOR_HOSTS: Mapping[str, str] = {"anthropic": "api.anthropic.com", "openai": "api.openai.com"}
_MODEL_VENDORS = {"anthropic": "anthropic", "openai": "openai", "openai-chat": "openai", "openai-compatible": "openai"}


def is_vendor_host(vendor: str, url: str) -> bool:
    """True if a URL points to the vendor's own host over TLS, so that the vendor's key may be sent there."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and parts.hostname == _vendor_host(vendor) and parts.port in (None, 443)
    except ValueError:
        return False


def _vendor_host(vendor: str) -> str | None:
    if vendor in list_parts("search"):
        address: str = load_part("search", vendor).base_url
        return urlsplit(address).hostname
    return VENDOR_HOSTS.get(vendor)


def split_harmless(values: Mapping[str, object], folder: Path) -> tuple[dict[str, object], dict[str, str]]:
    """Split what the file of a folder sets into harmless values and the reasons why the others need trust, by key.

    Paths among the harmless values are absolute and lie below the folder, symbolic links resolved.
    """
    harmless: dict[str, object] = {}
    refused: dict[str, str] = {}
    for key, value in values.items():
        try:
            harmless[key] = _confine_value(key, value, folder)
        except ValueError as reason:
            refused[key] = str(reason)
    return harmless, refused


def _confine_value(key: str, value: object, folder: Path) -> object:
    """Return a harmless value. Raises `ValueError` with the reason if it is none."""
    if key.startswith("profiles."):
        if key.removeprefix("profiles.") in list_parts("profiles"):
            raise ValueError("it changes an installed profile, and who authorizes its plans")
        table = dict(cast("Mapping[str, object]", value))
        return table | ({"base": _confine_profile(table["base"], folder)} if "base" in table else {})
    declared = list_settings().get(key)
    if declared is None or not declared.mark.folder:
        raise ValueError("it names a server, a key, a price, a model or a path")
    if key == "profile":
        return _confine_profile(value, folder)
    if key == "sources.libraries" and isinstance(value, list):
        return [_confine_library(item, folder) for item in cast("list[object]", value)]
    if key == "sources.libraries" and isinstance(value, str):
        return [_confine_library(item.strip(), folder) for item in value.split(",") if item.strip()]
    if key == "offline" and value is not True:
        raise ValueError("it opens the network")
    return value


def _confine_profile(value: object, folder: Path) -> object:
    """Let the name of a profile pass; a file must lie below the folder."""
    if isinstance(value, str) and (value.endswith(".toml") or "/" in value or "\\" in value):
        return _confine_path(value, folder)
    return value


def _confine_library(value: object, folder: Path) -> object:
    """Return the path of a library below the folder; a name would mean one of the user's own libraries."""
    return value if value == DEMO or not isinstance(value, str) else _confine_path(value, folder)


def _confine_path(value: str, folder: Path) -> str:
    try:
        path = (folder / value).resolve(strict=True)
        inside = path.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        raise ValueError("it names no file or folder below its own folder") from None
    if not inside:
        raise ValueError("it names a path outside its own folder")
    return str(path)


def find_borrowed(values: Mapping[str, object]) -> dict[str, str]:
    """Return the settings that would send a vendor's key to another host, each with the key's variable.

    Only the user may pair them: with a flag, a variable or the user's own file.
    """
    found = {key: _find_lent_variable(key, value) for key, value in values.items()}
    return {key: variable for key, variable in found.items() if variable}


def _find_lent_variable(key: str, value: object) -> str:
    kind, name = parse_reference(value) or ("", "")
    if kind == "env" and name in list_keys().values():
        return "" if list_keys().get(key.removeprefix("keys.")) == name else name
    if not isinstance(value, str):
        return ""
    if key.startswith("models.") and "@http" in value:
        vendor = _MODEL_VENDORS.get(value.partition(":")[0].strip().lower(), "")
        address = "http" + value.partition("@http")[2]
    elif key.startswith("sources.") and key.endswith("_url"):
        vendor, address = key.removeprefix("sources.").removesuffix("_url"), value
    elif key.removeprefix("delivery.").removesuffix("_url") in list_added("delivery"):
        vendor, address = key.removeprefix("delivery.").removesuffix("_url"), value
    else:
        return ""
    return list_keys()[vendor] if vendor and not is_vendor_host(vendor, address) else ""


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The files that the user trusts, each by its path and the digest of its content; kept in the data folder.

    A file that changes is not trusted any more. Trust is not inherited by the folders above or below.
    """

    home: Path

    @property
    def path(self) -> Path:
        """The file that holds the list."""
        return self.home / "trust.json"

    def load(self) -> dict[str, str]:
        """Return path -> digest. A list that cannot be read trusts nothing."""
        if not self.path.exists():
            return {}
        try:
            found: object = json.loads(read_small_file(self.path, limit=_MAX_STORE_BYTES))
        except (UserError, ValueError, RecursionError):
            return {}
        return cast("dict[str, str]", found) if isinstance(found, dict) else {}

    def is_trusted(self, file: Path, digest: str) -> bool:
        """True if the user trusts this file with exactly this content."""
        return self.load().get(_name_file(file)) == digest

    def add(self, file: Path, digest: str) -> None:
        self._write(self.load() | {_name_file(file): digest})

    def revoke(self, files: Sequence[Path]) -> bool:
        """Trust these files no more. Returns whether one of them was trusted."""
        before = self.load()
        names = {_name_file(file) for file in files}
        self._write({name: digest for name, digest in before.items() if name not in names})
        return bool(names & set(before))

    def _write(self, trusted: Mapping[str, str]) -> None:
        try:
            write_whole(self.path, json.dumps(dict(sorted(trusted.items())), indent=2).encode())
        except OSError as error:
            raise UserError(
                "trust_unwritable",
                f"The list of trusted folders {str(self.path)!r} cannot be written: {error.strerror}.",
                next_step="Check the data folder.",
            ) from None


def digest_text(text: str) -> str:
    """Return the digest by which the content of a file is trusted."""
    return hashlib.sha256(text.encode()).hexdigest()


def _name_file(file: Path) -> str:
    """Name a file by its real folder: a link to a trusted file is a file of its own."""
    return str(file.parent.resolve() / file.name)
