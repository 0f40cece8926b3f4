"""`corrobora trust`: what the configuration file of a folder would set, shown and then trusted, or trusted no more.

Knows how such a file is shown and agreed to. What is harmless and how trust is stored is `corrobora.config`'s.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from corrobora.config.layers import PROJECT_FILE, Layer, read_layer, read_project_layer
from corrobora.config.loading import find_trust_store, refuse_literals
from corrobora.config.trust import TrustStore, split_harmless
from corrobora.domain.errors import NeedsHuman, UserError
from corrobora.faces.cli.terminal import is_terminal, one_line

_LONGEST = 100_000  # characters of a value: nothing that is trusted may be hidden


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--list", "listed", is_flag=True, help="List the trusted files and leave.")
@click.option("--revoke", is_flag=True, help="Trust the folder no more.")
@click.option("-y", "--yes", is_flag=True, help="Agree without being asked.")
def trust(*, folder: Path | None, listed: bool, revoke: bool, yes: bool) -> None:
    """Let the configuration file of FOLDER set servers, keys, prices and paths outside of it.

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
    store.add(_find_path(layer), layer.digest)
    click.echo(f"trusted {one_line(str(layer.path), 400)}")


def _revoke_trust(store: TrustStore, folder: Path) -> None:
    if not store.revoke((folder, folder / PROJECT_FILE, folder / "pyproject.toml")):
        message = f"The folder {str(folder)[:200]!r} is not trusted."
        raise UserError("trust_unknown", message, next_step="See: corrobora trust --list")
    click.echo(f"revoked {one_line(str(folder), 400)}")


def _read_file(folder: Path) -> Layer:
    """Return what the configuration file of exactly this folder sets; a file may be named itself."""
    layer = read_project_layer(folder) if folder.is_dir() else read_layer(folder, "project file")
    if layer is None:
        raise UserError(
            "trust_nothing",
            f"The folder {str(folder)[:200]!r} has no configuration file.",
            next_step=f"Trust is about a {PROJECT_FILE} or a [tool.corrobora] in pyproject.toml.",
        )
    refuse_literals(layer)
    return layer


def _find_path(layer: Layer) -> Path:
    return layer.path or Path()


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
