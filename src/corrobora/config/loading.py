"""Loading: merges the layers, strongest first, into one checked `Settings`.

Knows the precedence (flag, `CORROBORA_` variable, vendor's variable, project file, user file, default), what a project
file may not set, and how a language is named. Does not know what a setting is used for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from corrobora.config.layers import (
    PROJECT_FILE,
    Layer,
    check_key,
    find_current_folder,
    find_data_folder,
    find_project_layer,
    find_user_file,
    mask_controls,
    read_environment_layers,
    read_layer,
)
from corrobora.config.settings import (
    DATABASE_URL,
    Endpoint,
    Origin,
    Settings,
    is_secret,
    list_keys,
    list_secrets,
    list_settings,
)
from corrobora.config.trust import TrustStore, find_borrowed, split_harmless
from corrobora.config.values import (
    Secret,
    describe_forms,
    find_fields,
    parse_reference,
    parse_value,
    read_environment,
    read_literal,
    read_secret_file,
    read_small_file,
)
from corrobora.domain.errors import UserError
from corrobora.domain.limits import CallOptions, Price
from corrobora.text.phrases import Frame, find_frame, is_language_tag, parse_frame

_SHOWN = 60  # characters of a wrong value that a message repeats


def load_settings(  # noqa: PLR0913 - one keyword for each place that settings come from
    flags: Mapping[str, tuple[object, str]] | None = None,
    *,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    config: Path | None = None,
    user_file: Path | None = None,
    untrusted: Literal["refuse", "ignore"] = "refuse",
) -> Settings:
    """Read, merge and check all settings.

    Args:
        flags: key to (value, flag as typed); the strongest layer. A key that is none of a setting is refused.
        env: the environment; the process's own by default.
        folder: where the project file is looked for; the current folder by default.
        config: a file to read in place of the project file; it must exist.
        user_file: the user's `config.toml`; by default where the platform keeps it.
        untrusted: what happens if the project file sets what only the user may set.

    Raises `UserError` with one line that names setting, value, place, accepted forms and the next step.
    """
    env = os.environ if env is None else env
    user_file = find_user_file() if user_file is None else user_file
    own, user = _read_own_layers(flags or {}, env, user_file)
    project = read_layer(config, "project file") if config else find_project_layer(folder or find_current_folder())
    if project:
        store = TrustStore(_Merge((*own, user), env).find_home())
        own.append(_restrict_layer(project, user, store, user_file, untrusted=untrusted))
    return _Merge((*own, user), env).merge_settings()


def find_trust_store() -> TrustStore:
    """Return the list of trusted files, kept in the data folder that the user names, not a project file."""
    own, user = _read_own_layers({}, os.environ, find_user_file())
    return TrustStore(_Merge((*own, user), os.environ).find_home())


def _read_own_layers(
    flags: Mapping[str, tuple[object, str]], env: Mapping[str, str], user_file: Path
) -> tuple[list[Layer], Layer]:
    """Return the user's own layers: flags and environment, stronger than a project file, and the user file."""
    values = {key: value for key, (value, _) in flags.items()}
    for key, (_, flag) in flags.items():
        check_key(key, flag)
    given = Layer("flag", values, {key: flag for key, (_, flag) in flags.items()})
    user = read_layer(user_file, "user file") if os.path.lexists(user_file) else Layer("user file", {})
    return [given, *read_environment_layers(env)], user


def _restrict_layer(
    project: Layer, user: Layer, store: TrustStore, user_file: Path, *, untrusted: Literal["refuse", "ignore"]
) -> Layer:
    """Return what a project file may set: all that is harmless, the rest only if the user trusts the file.

    A key that the user's own file sets to the same value is the user's. A vendor's key goes to another host only if the
    user pairs them, never because a project file says so.
    """
    refuse_literals(project)
    path = project.path or find_current_folder()
    harmless, refused = split_harmless(project.values, path.parent)
    if store.is_trusted(path, project.digest):
        for key, variable in find_borrowed(project.values).items():
            raise UserError(
                "config_secret_borrowed",
                f"{mask_controls(key)} would send {variable} to another server ({project.locate(key)}).",
                next_step=f"Put it into your own file {user_file}, or use a variable of its own.",
            )
        return project
    own = {key for key in harmless if key.startswith("profiles.") and key in user.values}
    refused |= dict.fromkeys(own, "your own file has a profile of this name")
    refused = {key: why for key, why in refused.items() if user.values.get(key) != project.values[key]}
    harmless = {key: value for key, value in harmless.items() if key not in refused}
    if refused and untrusted == "refuse":
        key, why = next(iter(refused.items()))
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        raise UserError(
            "config_operator_only",
            f"{mask_controls(key)}{more} may not be set by a project file, because {why} ({project.locate(key)}).",
            next_step=f"Put it into your own file {user_file}, or, if you trust the folder, run: corrobora trust "
            f"{path.parent if path.name in (PROJECT_FILE, 'pyproject.toml') else path}",
        )
    notes = tuple(
        f"{mask_controls(key)} was ignored: a project file that is not trusted may not set it ({project.locate(key)})"
        for key in refused
    )
    return replace(project, values=harmless, notes=(*project.notes, *notes))


def refuse_literals(layer: Layer) -> None:
    """Refuse a secret that is written as text in a project file, which other people read. Raises `UserError`."""
    for key, value in layer.values.items():
        literal = isinstance(value, str) and parse_reference(value) is None and not _is_plain_address(key, value)
        if is_secret(key) and literal:
            raise UserError(
                "config_secret_literal",
                f"{mask_controls(key)} holds a secret as text ({layer.locate(key)}).",
                next_step='Write { env = "NAME" } or { file = "PATH" } in place of it, and change the secret.',
            )


def _is_plain_address(key: str, value: str) -> bool:
    return key == DATABASE_URL and "@" not in value and "password" not in value


@dataclass(frozen=True, slots=True)
class _Merge:
    """The layers, strongest first, and the questions asked of them."""

    layers: Sequence[Layer]
    env: Mapping[str, str]

    def merge_settings(self) -> Settings:
        """Return all settings, checked."""
        values: dict[str, Any] = {"home": self.find_home()}
        for key, declared in list_settings().items():
            raw, layer = self.find_value(key)
            if layer is None or key == "home":
                continue
            value = self.check_value(key, declared.annotation, raw, layer)
            if declared.name:
                values.setdefault(declared.attribute, {})[declared.name] = value
            else:
                values[declared.attribute] = value
        keys = {
            name: self.find_secret(f"keys.{name}") or read_environment(variable, self.env)
            for name, variable in list_keys().items()
        }
        tuned = self.list_names("models.options")
        endpoints = {name: self.read_endpoint(name) for name in self.list_names("models.endpoints")}
        database = self.find_secret(DATABASE_URL)
        secrets = [*keys.values(), database, *(each.api_key for each in endpoints.values())]
        notes = [note for layer in self.layers for note in layer.notes]
        profiles = {name: cast("Any", self.find_value(f"profiles.{name}")[0]) for name in self.list_names("profiles")}
        return Settings(
            **values,
            endpoints=endpoints,
            prices={name: self.read_price(name) for name in self.list_names("models.prices")},
            options={name: CallOptions(**self._read_parts("models.options", name, CallOptions)) for name in tuned},
            keys=keys,
            database_url=database,
            profiles=profiles,
            origins=self.list_origins(keys),
            notes=(*notes, *(note for secret in secrets if secret for note in secret.notes)),
        )

    def find_value(self, key: str) -> tuple[object, Layer | None]:
        """Return the strongest value of `key` with its layer; (None, None) if no layer has it."""
        return next(((layer.values[key], layer) for layer in self.layers if key in layer.values), (None, None))

    def check_value(self, key: str, annotation: Any, value: object, layer: Layer) -> Any:
        """Return the value as its type."""
        try:
            return parse_value(annotation, value, typed=layer.path is not None)
        except ValueError:
            shown = f" is {_show_value(value)}; it" if not is_secret(key) else ""
            message = f"{key}{shown} must be {describe_forms(annotation)} ({layer.locate(key)})."
            raise UserError("config_value", message, next_step="Correct the value.") from None

    def find_home(self) -> Path:
        """Return the folder of the data; a relative one starts from the file that names it."""
        value, layer = self.find_value("home")
        if layer is None:
            return find_data_folder()
        return layer.folder / self.check_value("home", list_settings()["home"].annotation, value, layer)

    def list_names(self, table: str) -> list[str]:
        """Return the names that users chose below a free table, sorted."""
        start = table + "."
        rest = {key.removeprefix(start) for layer in self.layers for key in layer.values if key.startswith(start)}
        return sorted(rest if table == "profiles" else {key.rsplit(".", 1)[0] for key in rest})

    def read_endpoint(self, name: str) -> Endpoint:
        """Return an endpoint, all of it from the file that names its address: no other file may move its key."""
        start = f"models.endpoints.{name}."
        _, layer = self.find_value(start + "base_url")
        if layer is None:
            raise UserError("config_value", f"models.endpoints.{name} has no base_url.", next_step="Add one.")
        kinds = find_fields(Endpoint)
        parts = {
            part: self.check_value(start + part, kinds[part], layer.values[start + part], layer)
            for part in ("base_url", "kind")
            if start + part in layer.values
        }
        return Endpoint(name, **parts, api_key=self.read_secret(start + "api_key", layer))

    def read_price(self, name: str) -> Price:
        """Return the price of a model."""
        parts = self._read_parts("models.prices", name, Price)
        if not {"input", "output"} <= set(parts):
            raise UserError("config_value", f"models.prices.{name} needs input and output, dollars per million tokens.")
        return Price(**parts)

    def _read_parts(self, table: str, name: str, kind: type) -> dict[str, Any]:
        """Return the fields of one entry of a free table that are set in a layer."""
        start = f"{table}.{name}."
        found = {part: (form, *self.find_value(start + part)) for part, form in find_fields(kind).items()}
        return {
            part: self.check_value(start + part, form, value, layer)
            for part, (form, value, layer) in found.items()
            if layer
        }

    def find_secret(self, key: str) -> Secret | None:
        """Return the secret of the strongest layer that has one."""
        layer = self.find_value(key)[1]
        return self.read_secret(key, layer) if layer else None

    def read_secret(self, key: str, layer: Layer) -> Secret | None:
        """Return the secret that a layer refers to; one that is written as text in the user's file is noted."""
        value = layer.values.get(key)
        if value is None:
            return None
        kind, target = parse_reference(value) or ("", "")
        if kind == "env":
            return read_environment(target, self.env)
        if kind == "file":
            return read_secret_file(_confine_secret(key, target, layer))
        if not isinstance(value, str):
            forms = 'a reference: { env = "NAME" } or { file = "PATH" }'
            raise UserError("config_value", f"{key} must be {forms} ({layer.locate(key)}).")
        found = read_literal(value)
        if _is_plain_address(key, value):
            return found
        note = f"{key} is written as text in {layer.locate(key)}; a reference to a variable or file is safer"
        return replace(found, notes=(*found.notes, note))

    def list_origins(self, keys: Mapping[str, Secret]) -> dict[str, Origin]:
        """Return where each value was written."""
        known = [*list_settings(), *list_secrets()]
        own = {key for layer in self.layers for key in layer.values} - set(known)
        found: dict[str, Origin] = {}
        for key in (*known, *sorted(own)):
            _, layer = self.find_value(key)
            vendor = key.removeprefix("keys.")
            if layer is not None:
                found[key] = Origin(layer.name, layer.origins.get(key, ""))
            elif key.startswith("keys.") and keys[vendor].set:
                found[key] = Origin("vendor environment", list_keys()[vendor])
            else:
                found[key] = Origin("default")
        return found


def _confine_secret(key: str, target: str, layer: Layer) -> Path:
    """Return the path of a file with a secret; a project file may only name one of its own folder."""
    path = (layer.folder / Path(target).expanduser()).absolute()
    inside = path.resolve().is_relative_to(layer.folder.resolve())
    if layer.name == "project file" and not inside and not path.is_relative_to("/run/secrets"):
        raise UserError(
            "config_secret_borrowed",
            f"{key} refers to a file outside the project ({layer.locate(key)}).",
            next_step="Keep it in the project's folder or in /run/secrets, or use the user file.",
        )
    return path


def _show_value(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or very deep nesting
        return "too large to show"
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


_MOST_BYTES = 1_000_000


def resolve_language(settings: Settings) -> tuple[str, Frame | None]:
    """Return the tag of the language that is set, "" for none, and the translation of the user's file, if it is one.

    Raises:
        UserError: `language_unknown` for what is neither a tag nor a file, `language_file` for a file that cannot be
            used; or as `read_small_file`.
    """
    named = settings.language or ""
    if not named or is_language_tag(named):
        return find_frame(named).tag if named else "", None
    if not (named.endswith(".toml") or "/" in named):
        raise UserError(
            "language_unknown",
            f"{named[:80]!r} is neither the tag of a language nor a file of translations.",
            next_step="Write a tag such as de, fr or pt-BR, or name a file that ends in .toml.",
        )
    path = Path(named).expanduser()
    frame = parse_frame(read_small_file(path, limit=_MOST_BYTES, what="The translation"), str(path))
    return frame.tag, frame
