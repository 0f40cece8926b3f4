"""`corrobora db`: the embedded database, started, stopped and shown.

Knows the embedded server of the data folder. Does not touch a database server that was given by address.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from corrobora.config import Settings
from corrobora.domain.errors import UserError
from corrobora.faces.cli.options import config_option, json_option, open_settings, print_json


@click.group()
def db() -> None:
    """Start, stop or show the embedded database."""


@db.command()
@config_option
def start(config_file: Path | None) -> None:
    """Start the embedded database and leave it running until `db stop`."""
    folder = _embedded(open_settings(config_file))
    from corrobora.storage.embedded import EmbeddedServer  # noqa: PLC0415 - loaded only where it is needed

    server = EmbeddedServer.start(folder, keep=True)
    click.echo(f"running: {server.url}")


@db.command()
@config_option
def stop(config_file: Path | None) -> None:
    """Stop the embedded database, whoever uses it; runs that it held can be resumed."""
    folder = _embedded(open_settings(config_file))
    from corrobora.storage import embedded  # noqa: PLC0415 - loaded only where it is needed

    click.echo("stopped" if embedded.stop(folder) else "was not running")


@db.command()
@json_option
@config_option
def status(*, as_json: bool, config_file: Path | None) -> None:
    """Show whether the embedded database runs, and for whom."""
    folder = _embedded(open_settings(config_file))
    from corrobora.storage import embedded  # noqa: PLC0415 - loaded only where it is needed

    found = dataclasses.asdict(embedded.status(folder))
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        click.echo(f"{name:<9} {_shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "-"  # pyright: ignore[reportUnknownArgumentType]
    return "-" if value in (None, "") else str(value)


def _embedded(settings: Settings) -> Path:
    """Return the folder of the embedded database. Raises `UserError` if the settings name a server."""
    if settings.database_url is not None:
        raise UserError(
            "database_not_embedded",
            f"The settings name a database server ({settings.origins['storage.database_url']}); it is not ours to run.",
            next_step="Use that server's own tools.",
        )
    return settings.home / "database"
