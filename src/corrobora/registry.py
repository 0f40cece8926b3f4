"""The registry: finds providers, readers, channels and other parts that packages install, by entry point.

Knows the groups, which package a part comes from, and that the built-in parts come the same way. Imports a part only
when it is asked for by name, and does not know what a part does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from typing import Any, Literal, TypeVar

from corrobora.domain.errors import UserError
from corrobora.ports import Clock

Group = Literal["analysts", "delivery", "embedders", "models", "profiles", "readers", "rules", "search"]
_KINDS: Mapping[Group, str] = {
    "analysts": "analyst",
    "delivery": "delivery",
    "embedders": "embedder",
    "models": "model provider",
    "profiles": "profile",
    "readers": "reader",
    "rules": "stop rule",
    "search": "search provider",
}
_CODES: Mapping[Group, str] = {"delivery": "delivery_kind", "profiles": "unknown_profile", "search": "provider_unknown"}
_OWN = "corrobora"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the operator configured for a part.

    Attributes:
        setting: returns the value of a setting by its key, "" if it is not set.
        secret: returns the value of a key, such as `smtp` for `keys.smtp`; raises `UserError` if it is not set.
        clock: for times.
    """

    setting: Callable[[str], str]
    secret: Callable[[str], str]
    clock: Clock

    def require(self, key: str) -> str:
        """Return the value of a setting. Raises `UserError` if it is not set."""
        found = self.setting(key)
        if not found:
            step = f"Set it, for example as CORROBORA_{key.replace('.', '_').upper()}."
            raise UserError("delivery_unset", f"Delivery needs the setting {key}.", next_step=step)
        return found


@cache
def _read_entries() -> tuple[metadata.EntryPoint, ...]:
    """Read the entry points of all packages, once: it takes about 13 ms for a hundred packages."""
    prefix = f"{_OWN}."
    packages = (each for each in metadata.distributions() if prefix in (each.read_text("entry_points.txt") or ""))
    return tuple(entry for package in packages for entry in package.entry_points if entry.group.startswith(prefix))


@cache
def find_entries(group: Group) -> Mapping[str, metadata.EntryPoint]:
    """Return the parts of a group by name, the built-in ones first: no other package can replace one of them."""
    entries = [entry for entry in _read_entries() if entry.group == f"{_OWN}.{group}"]
    found: dict[str, metadata.EntryPoint] = {}
    for entry in sorted(entries, key=lambda entry: (_package_of(entry) != _OWN, _package_of(entry), entry.name)):
        found.setdefault(entry.name, entry)
    return found


def list_parts(group: Group) -> tuple[str, ...]:
    """Return the names of the installed parts of a group."""
    return tuple(find_entries(group))


def list_added(group: Group) -> tuple[str, ...]:
    """Return the names of the parts that come from other packages than this one."""
    return tuple(name for name, entry in find_entries(group).items() if _package_of(entry) != _OWN)


@cache
def load_part(group: Group, name: str) -> Any:
    """Import a part and return it.

    Raises:
        UserError: an unknown name, with those that are installed; or `part_broken` with the package to repair.
    """
    return _use_entry(group, name, lambda entry: entry.load())


def read_part(group: Group, name: str, suffix: str) -> str:
    """Return the text of the file `name` + `suffix` in the package that an entry point names.

    Raises:
        UserError: as `load_part`.
    """
    return _use_entry(
        group, name, lambda entry: (resources.files(entry.module) / f"{name}{suffix}").read_text(encoding="utf-8")
    )


def _use_entry(group: Group, name: str, use: Callable[[metadata.EntryPoint], T]) -> T:
    entry = find_entries(group).get(name)
    if entry is None:
        raise refuse_name(group, name)
    try:
        return use(entry)
    except Exception as error:  # a package from outside may raise anything while it is imported
        raise UserError(
            "part_broken",
            f"The {_KINDS[group]} {name} of the package {_describe_package(entry)} cannot be loaded: "
            f"{type(error).__name__}: {str(error)[:200]}.",
            next_step=f"Update the package or remove it: pip uninstall {_package_of(entry)}",
        ) from error


def key_variable(name: str) -> str:
    """Return the environment variable that holds the key of a part, where it needs one: `BRAVE_API_KEY` for `brave`."""
    return f"{name.upper().replace('-', '_')}_API_KEY"


def refuse_name(group: Group, name: str) -> UserError:
    """Return the error for a name that no installed package has."""
    known = ", ".join(list_parts(group))
    return UserError(
        _CODES.get(group, "part_unknown"),
        f"There is no {_KINDS[group]} {name[:40]!r}.",
        next_step=f"Name one of: {known}; or install the package that adds it."
        if known
        else f"Install {_OWN} again: the list of its own parts is missing.",
    )


def _package_of(entry: metadata.EntryPoint) -> str:
    return _read_name(entry.dist) if entry.dist is not None else ""


@cache
def _read_name(package: metadata.Distribution) -> str:
    return package.name  # all metadata of the package are parsed for it


def _describe_package(entry: metadata.EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "of an unknown name"
