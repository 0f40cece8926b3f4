"""Loading: merges the layers, strongest first, into one checked `Settings`.

Knows the precedence: flag, `CORROBORA_` variable, vendor's variable, project file, user file, default. Does not know
what a setting is used for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

import platformdirs

from corrobora.domain.errors import UserError
from corrobora.settings import keys, kinds
from corrobora.settings.keys import Key
from corrobora.settings.kinds import Kind, Refused
from corrobora.settings.layers import Layer, environment_layers, file_layer, flag_layer, project_layer
from corrobora.settings.secrets import Secret, from_environment, from_file, literal
from corrobora.settings.values import Endpoint, Origin, Price, Settings

T = TypeVar("T")
_SHOWN = 60  # characters of a wrong value that a message repeats


def load_settings(
    flags: Mapping[str, tuple[object, str]] | None = None,
    *,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    config: Path | None = None,
    user_file: Path | None = None,
) -> Settings:
    """Read, merge and check all settings.

    Args:
        flags: dotted name to (value, flag as typed); the strongest layer.
        env: the environment; the process's own by default.
        folder: where the project file is looked for; the current folder by default.
        config: a file to read in place of the project file; it must exist.
        user_file: the user's `config.toml`; by default where the platform keeps it.

    Raises `UserError` with one line that names setting, value, place, accepted forms and the next step.
    """
    env = os.environ if env is None else env
    user_file = user_config_file() if user_file is None else user_file
    layers = [flag_layer(flags or {}), *environment_layers(env)]
    project = file_layer(config, "project file") if config else project_layer(folder or _here())
    layers += [project] if project else []
    layers += [file_layer(user_file, "user file")] if os.path.lexists(user_file) else []
    return _Merge(tuple(layers), env).settings()


def user_config_file() -> Path:
    """Return where this platform keeps the user's `config.toml`."""
    return platformdirs.user_config_path("corrobora", appauthor=False) / "config.toml"


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise UserError(
            "folder_missing", "The current folder does not exist any more.", next_step="Change to another folder."
        ) from None


@dataclass(frozen=True, slots=True)
class _Merge:
    """The layers, strongest first, and the questions asked of them."""

    layers: Sequence[Layer]
    env: Mapping[str, str]

    def settings(self) -> Settings:
        secrets = {name: self.secret(f"keys.{name}") or self.vendor_key(name) for name in keys.SECRETS}
        endpoints = {name: self.endpoint(name) for name in self.own_names("models.endpoints")}
        database = self.secret(keys.DATABASE_URL)
        found = [*secrets.values(), database, *(each.api_key for each in endpoints.values())]
        models = {tier: self.take(key) for tier, key in zip(keys.TIERS, keys.MODELS, strict=True)}
        urls = {"tavily": keys.TAVILY_URL, "exa": keys.EXA_URL, "firecrawl": keys.FIRECRAWL_URL}
        return Settings(
            home=self.home(),
            profile=self.take(keys.PROFILE),
            minutes=self.take(keys.TIME),
            deep=self.take(keys.DEEP),
            max_rounds=self.take(keys.MAX_ROUNDS),
            angles=self.take(keys.ANGLES),
            strict=self.take(keys.STRICT),
            offline=self.take(keys.OFFLINE),
            display=self.take(keys.DISPLAY),
            libraries=self.take(keys.LIBRARIES),
            providers=self.take(keys.PROVIDERS),
            reader=self.take(keys.READER),
            max_usd=self.take(keys.USD),
            accept_unknown_price=self.take(keys.UNKNOWN_PRICE),
            max_tokens=self.take(keys.TOKENS),
            max_searches=self.take(keys.SEARCHES),
            attempts=self.take(keys.ATTEMPTS),
            min_score=self.take(keys.MIN_SCORE),
            worker_concurrency=self.take(keys.CONCURRENCY),
            embedder_model=self.take(keys.EMBED_MODEL),
            embedder_url=self.take(keys.EMBED_URL),
            models={tier: model for tier, model in models.items() if model},
            endpoints=endpoints,
            prices={name: self.price(name) for name in self.own_names("models.prices")},
            keys=secrets,
            database_url=database,
            profiles={
                name: cast("Mapping[str, object]", self.find(f"profiles.{name}")[0])
                for name in self.own_names("profiles")
            },
            origins=self.origins(secrets),
            notes=self.notes([each for each in found if each]),
            provider_urls={name: url for name, key in urls.items() if (url := self.take(key))},
            allowed_endpoints=self.take(keys.ALLOWED),
            smtp_server=self.take(keys.SMTP_SERVER),
            smtp_user=self.take(keys.SMTP_USER),
            smtp_from=self.take(keys.SMTP_FROM),
            webhook_url=self.take(keys.WEBHOOK_URL),
            qdrant_url=self.take(keys.QDRANT_URL),
            database_wait_seconds=self.take(keys.DATABASE_WAIT),
        )

    def find(self, name: str) -> tuple[object, Layer | None]:
        """Return the strongest value of `name` with its layer; (None, None) if nobody wrote it."""
        return next(((layer.values[name], layer) for layer in self.layers if name in layer.values), (None, None))

    def take(self, key: Key[T]) -> T:
        value, layer = self.find(key.name)
        return key.default if layer is None else self.checked(key.name, key.kind, value, layer)

    def checked(self, name: str, kind: Kind[T], value: object, layer: Layer) -> T:
        try:
            return kind(value)
        except Refused as expected:
            shown = "" if keys.is_secret(name) else f" is {_shown(value)};"
            where = _where(name, layer)
            message = f"{name}{shown} it must be {expected}" if shown else f"{name} must be {expected}"
            raise UserError("config_value", f"{message} ({where}).", next_step="Correct the value.") from None

    def home(self) -> Path:
        value, layer = self.find(keys.HOME.name)
        if layer is None:
            return platformdirs.user_data_path("corrobora", appauthor=False)
        path = self.checked(keys.HOME.name, keys.HOME.kind, value, layer)
        return (layer.folder or _here()) / (path or "")

    def own_names(self, table: str) -> list[str]:
        """Return the names that users chose below a free table, sorted."""
        start = table + "."
        rest = {name.removeprefix(start) for layer in self.layers for name in layer.values if name.startswith(start)}
        return sorted(rest if table == "profiles" else {name.rsplit(".", 1)[0] for name in rest})

    def endpoint(self, name: str) -> Endpoint:
        start = f"models.endpoints.{name}."
        base, layer = self.find(start + "base_url")
        if layer is None:
            raise UserError("config_value", f"models.endpoints.{name} has no base_url.", next_step="Add one.")
        kind, kind_layer = self.find(start + "kind")
        return Endpoint(
            name=name,
            base_url=self.checked(start + "base_url", kinds.url, base, layer),
            kind=self.checked(start + "kind", kinds.choice("openai", "anthropic"), kind, kind_layer)
            if kind_layer
            else "openai",
            api_key=self.secret(start + "api_key"),
        )

    def price(self, name: str) -> Price:
        start = f"models.prices.{name}."
        kind = kinds.number(0, 100_000, zero=True)
        found = {part: self.find(start + part) for part in ("input", "output", "cached")}
        read = {part: self.checked(start + part, kind, value, layer) for part, (value, layer) in found.items() if layer}
        if not {"input", "output"} <= set(read):
            raise UserError("config_value", f"models.prices.{name} needs input and output, dollars per million tokens.")
        return Price(read["input"], read["output"], read.get("cached"))

    def vendor_key(self, name: str) -> Secret:
        return from_environment(keys.SECRETS[name], self.env)

    def secret(self, name: str) -> Secret | None:
        """Return the secret behind `name`; a literal is refused in the project file, noted in the user file.

        Requirement: bad-input C05.
        """
        value, layer = self.find(name)
        if layer is None:
            return None
        reference = _reference(value)
        if reference is None:
            return self.literal_secret(name, value, layer)
        kind, target = reference
        if kind == "env":
            self.refuse_borrowed(name, target, layer)
            return from_environment(target, self.env)
        return from_file(self.secret_file(name, target, layer))

    def literal_secret(self, name: str, value: object, layer: Layer) -> Secret:
        harmless = name == keys.DATABASE_URL and isinstance(value, str) and "@" not in value and "password" not in value
        if not isinstance(value, str):
            forms = 'a reference: { env = "NAME" } or { file = "PATH" }'
            raise UserError("config_value", f"{name} must be {forms} ({_where(name, layer)}).")
        if layer.name == "project file" and not harmless:
            raise UserError(
                "config_secret_literal",
                f"{name} holds a secret as text ({_where(name, layer)}).",
                next_step='Write { env = "NAME" } or { file = "PATH" } in place of it, and change the secret.',
            )
        found = literal(value)
        note = f"{name} stands as text in {_where(name, layer)}; a reference to a variable or file is safer"
        return found if harmless else Secret(found.reference, found.problem, (*found.notes, note), value)

    def refuse_borrowed(self, name: str, variable: str, layer: Layer) -> None:
        """A project file may not send a vendor's key to an endpoint of its own: a cloned folder could steal it."""
        if layer.name == "project file" and name.startswith("models.endpoints.") and variable in keys.SECRETS.values():
            raise UserError(
                "config_secret_borrowed",
                f"{name} would send {variable} to another server ({_where(name, layer)}).",
                next_step="Use a variable of its own, or put the endpoint into the user file.",
            )

    def secret_file(self, name: str, target: str, layer: Layer) -> Path:
        path = ((layer.folder or _here()) / Path(target).expanduser()).absolute()
        inside = layer.folder is not None and path.resolve().is_relative_to(layer.folder.resolve())
        if layer.name == "project file" and not inside and not path.is_relative_to("/run/secrets"):
            raise UserError(
                "config_secret_borrowed",
                f"{name} refers to a file outside the project ({_where(name, layer)}).",
                next_step="Keep it in the project's folder or in /run/secrets, or use the user file.",
            )
        return path

    def origins(self, secrets: Mapping[str, Secret]) -> dict[str, Origin]:
        known = [key.name for key in keys.KEYS] + list(keys.secret_names())
        own = {name for layer in self.layers for name in layer.values} - set(known)
        found: dict[str, Origin] = {}
        for name in (*known, *sorted(own)):
            _, layer = self.find(name)
            vendor = name.removeprefix("keys.")
            if layer is not None:
                found[name] = Origin(layer.name, layer.origins.get(name, ""))
            elif name.startswith("keys.") and secrets[vendor].set:
                found[name] = Origin("vendor environment", keys.SECRETS[vendor])
            else:
                found[name] = Origin("default")
        return found

    def notes(self, secrets: Sequence[Secret]) -> tuple[str, ...]:
        return tuple(note for layer in self.layers for note in layer.notes) + tuple(
            note for secret in secrets for note in secret.notes
        )


def _reference(value: object) -> tuple[str, str] | None:
    """Read `env:NAME`, `file:PATH`, `{env = NAME}` or `{file = PATH}`; None for anything else."""
    if isinstance(value, dict):
        items = list(cast("dict[str, object]", value).items())
        if len(items) == 1 and items[0][0] in ("env", "file") and isinstance(items[0][1], str):
            return items[0][0], items[0][1]
        return None
    if isinstance(value, str) and value.partition(":")[0] in ("env", "file") and value.partition(":")[2]:
        return value.partition(":")[0], value.partition(":")[2]
    return None


def _where(name: str, layer: Layer) -> str:
    place = layer.origins.get(name, "")
    return f"{layer.name}: {place}" if place else layer.name


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or very deep nesting
        return "too large to show"
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
