"""Commands for the configuration: `config`, `profiles`, `completion`, and `trust`, which accepts the file of a folder.

Knows how settings, research methods and the contents of such a file are shown; secrets never are. Does not resolve or
store anything itself: `corrobora.config` does.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click
from click.shell_completion import get_completion_class

from corrobora.config import Settings, find_user_file
from corrobora.config.layers import PROJECT_FILE, Layer, read_layer, read_project_layer
from corrobora.config.loading import find_trust_store, refuse_literals
from corrobora.config.profiles import list_presets, load_profile, resolve_profile
from corrobora.config.settings import DATABASE_URL, list_settings
from corrobora.config.trust import TrustStore, split_harmless
from corrobora.domain.errors import NeedsHuman, UserError
from corrobora.faces.cli import FILE_PATH, CommandGroup
from corrobora.faces.cli.options import GroupedCommand, config_option, json_option, open_settings, print_json
from corrobora.faces.cli.screen import is_terminal, one_line
from corrobora.policies import dump_profile
from corrobora.text.phrases import format_count


@click.group(cls=CommandGroup)
def config() -> None:
    """Show the settings and where they come from."""


@config.command(name="show")
@click.option("--origin", is_flag=True, help="Show where each value was written.")
@json_option
@config_option
def show_settings(*, origin: bool, as_json: bool, config_file: Path | None) -> None:
    """Print every setting. Secrets are shown as references, never as values."""
    settings = open_settings(config_file, untrusted="ignore")
    rows = describe_settings(settings)
    if as_json:
        print_json([{"name": name, "value": value, "origin": where} for name, value, where in rows])
        return
    for name, value, where in rows:
        click.echo(f"{name} = {value}" + (f"    # {where}" if origin else ""))


@config.command(name="path")
def show_config_path() -> None:
    """Print where the user's configuration file is looked for."""
    click.echo(str(find_user_file()))


def describe_settings(settings: Settings) -> list[tuple[str, str, str]]:
    """Return (key, value as shown, origin) of every setting and of what the user added to the free tables.

    Secrets are references, never values.
    """
    return list(_setting_rows(settings))


def _setting_rows(settings: Settings) -> Iterator[tuple[str, str, str]]:
    declared = list_settings()
    for key, origin in settings.origins.items():
        value = declared[key].read(settings) if key in declared else _find_value(settings, key)
        yield key, one_line(_show_value(value)), one_line(str(origin), 300)


_SECRET_PART = re.compile(
    r"(://)[^/\s@]+(?=@)|([?&][^=&\s]{0,40}(?:key|token|secret|sig|password)=)[^&\s#]+", re.IGNORECASE
)


def _show_value(value: object) -> str:
    """Return a value for people; of an address without the user name, password or key that it holds."""
    if isinstance(value, tuple):
        return ", ".join(cast("tuple[str, ...]", value)) or "-"
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value is None else _SECRET_PART.sub(r"\1\2***", str(value))


def _find_value(settings: Settings, key: str) -> Any:
    """Return the value of a secret, of an own profile, or of a part of an endpoint or of a price."""
    head, _, rest = key.partition(".")
    own, _, part = rest.partition(".")[2].rpartition(".")
    if key == DATABASE_URL:
        return settings.database_url
    match head, rest.partition(".")[0]:
        case "keys", _:
            return settings.key(rest)
        case "profiles", _:
            return f"a profile of your own ({format_count(len(settings.profiles[rest]), 'field')})"
        case _, "endpoints":
            return getattr(settings.endpoints[own], part)
        case _, "options":
            return getattr(settings.options[own], part)
        case _:
            return getattr(settings.prices[own], part)


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def profiles(context: click.Context) -> None:
    """List the profiles: how a question is researched."""
    if context.invoked_subcommand is None:
        context.invoke(list_profiles)


@profiles.command(name="list")
@json_option
@config_option
def list_profiles(*, as_json: bool = False, config_file: Path | None = None) -> None:
    """List the profiles with what each is for."""
    settings = open_settings(config_file, untrusted="ignore")
    found = {name: load_profile(name).summary for name in list_presets()}
    found |= dict.fromkeys(settings.profiles, "your own")
    if as_json:
        print_json(found)
        return
    for name, summary in found.items():
        mark = "*" if name == settings.profile else " "
        click.echo(f"{mark} {name:<10} {one_line(summary, 160)}")


@profiles.command(cls=GroupedCommand, name="show", example="corrobora profiles show timed")
@click.argument("name")
@json_option
@config_option
def show_profile(*, name: str, as_json: bool, config_file: Path | None) -> None:
    """Show every field of a profile; each can be set with -s FIELD=VALUE."""
    settings = open_settings(config_file, untrusted="ignore")
    fields = dump_profile(load_profile(*resolve_profile(settings, name)))
    if as_json:
        print_json(fields)
        return
    for field, value in fields.items():
        click.echo(f"{field} = {one_line(json.dumps(value, ensure_ascii=False), 1_000)}")


_LONGEST = 100_000  # characters of a value that are shown: nothing may be trusted unseen


@click.command(cls=GroupedCommand, example="corrobora trust ./project")
@click.argument("folder", required=False, type=FILE_PATH)
@click.option("--list", "listed", is_flag=True, help="List the trusted files and exit.")
@click.option("--revoke", is_flag=True, help="Stop trusting the folder.")
@click.option("-y", "--yes", is_flag=True, help="Agree without being asked.")
def trust(*, folder: Path | None, listed: bool, revoke: bool, yes: bool) -> None:
    """Let the configuration file of FOLDER set servers, keys, prices and paths outside it.

    Everything that the file sets is shown first. Trust holds for exactly this content: a changed file must be trusted
    again. Folders above and below are not trusted with it.
    """
    store = find_trust_store()
    if listed:
        for name, digest in store.load().items():
            click.echo(f"{one_line(name, 400)}  {_show_state(Path(name), digest)}")
        return
    if folder is None:
        raise UserError("trust_folder", "No folder was named.", next_step="Such as: corrobora trust .")
    if revoke:
        _revoke_trust(store, folder)
        return
    layer = _read_file(folder)
    _print_values(layer)
    if not yes and not (is_terminal(sys.stdin) and click.confirm("Trust this file as it is now?", err=True)):
        raise NeedsHuman(
            "trust_not_confirmed", "The folder was not trusted.", next_step="To agree without being asked: --yes"
        )
    store.add(layer.path or Path(), layer.digest)
    click.echo(f"trusted {one_line(str(layer.path), 400)}")


def _revoke_trust(store: TrustStore, folder: Path) -> None:
    if not store.revoke((folder, folder / PROJECT_FILE, folder / "pyproject.toml")):
        message = f"The folder {str(folder)[:200]!r} is not trusted."
        raise UserError("trust_unknown", message, next_step="See: corrobora trust --list")
    click.echo(f"revoked {one_line(str(folder), 400)}")


def _read_file(folder: Path) -> Layer:
    """Return what the configuration file of exactly this folder sets; a file may be named itself."""
    is_folder = os.path.isdir(folder)  # noqa: PTH112 - no error for a name that is too long
    layer = read_project_layer(folder) if is_folder else read_layer(folder, "project file")
    if layer is None:
        raise UserError(
            "trust_nothing",
            f"The folder {str(folder)[:200]!r} has no configuration file.",
            next_step=f"Name a folder with a {PROJECT_FILE} or a [tool.corrobora] table in its pyproject.toml.",
        )
    refuse_literals(layer)
    return layer


def _print_values(layer: Layer) -> None:
    """Print every key and value; those that need trust are marked."""
    click.echo(one_line(f"{layer.path} sets:", 400))
    _, refused = split_harmless(layer.values, layer.folder)
    for key, value in layer.values.items():
        shown = one_line(json.dumps(value, ensure_ascii=False, default=str), _LONGEST)
        click.echo(f"{'!' if key in refused else ' '} {one_line(key)} = {shown}")
    if refused:
        click.echo("! needs your trust: it names a server, a key, a price, a model or a path outside the folder")


def _show_state(file: Path, digest: str) -> str:
    try:
        layer = read_layer(file, "project file")
    except UserError:
        return "gone or unreadable"
    return "trusted" if layer.digest == digest else "changed since it was trusted"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash  corrobora completion bash > ~/.local/share/bash-completion/completions/corrobora
    zsh   corrobora completion zsh > DIR/_corrobora, where DIR is one of $fpath
    fish  corrobora completion fish > ~/.config/fish/completions/corrobora.fish
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with a backspace
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"No completion is known for {shell}.", context)
    script = found(context.find_root().command, {}, "corrobora", "_CORROBORA_COMPLETE").source()
    click.echo(script.replace('string split ","', 'string split --max 1 ","'))  # fish: a help text may have commas
