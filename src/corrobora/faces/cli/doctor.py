"""`corrobora doctor`: what this installation has, and what is missing, line by line.

Knows what to look at: database, versions, models, keys, disk. Repairs nothing and shows no secret.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import click

from corrobora import __version__
from corrobora.config import Settings
from corrobora.domain.errors import CorroboraError
from corrobora.faces.cli.failure import Exit, explain_disk
from corrobora.faces.cli.options import config_option, json_option, open_settings, print_json
from corrobora.faces.cli.terminal import one_line

_PACKAGES = ("psycopg", "procrastinate", "numpy", "httpx2", "pydantic", "pydantic-ai-slim", "openai", "anthropic")
_EXTRAS = ("onnxruntime", "tokenizers", "qdrant-client")
_LOW_DISK_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: `ok` is False where something needs a person, None where it is only said."""

    what: str
    state: str
    ok: bool | None = True
    next_step: str = ""


@click.command()
@json_option
@config_option
def doctor(*, as_json: bool, config_file: Path | None) -> int:
    """Check database, models, keys, disk and versions. Exit 1 if something needs repair."""
    settings = open_settings(config_file, untrusted="ignore")
    found = [
        *_versions(),
        *_folders(settings),
        *_keys(settings),
        *_models(settings),
        *asyncio.run(_servers()),
        asyncio.run(_database(settings)),
    ]
    if as_json:
        print_json([asdict(each) for each in found])
    else:
        for each in found:
            mark = {True: "ok", False: "!!", None: "--"}[each.ok]
            step = f"  -> {each.next_step}" if each.next_step else ""
            click.echo(f"{mark}  {each.what:<14} {one_line(each.state + step, 400)}")
    return Exit.BUG if any(each.ok is False for each in found) else Exit.DONE


def _versions() -> list[Finding]:
    versions = [f"{name} {found}" for name in _PACKAGES if (found := _version(name))]
    extras = [f"{name} {found}" for name in _EXTRAS if (found := _version(name))]
    return [
        Finding("corrobora", __version__),
        Finding("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        Finding("packages", ", ".join(versions)),
        Finding("extras", ", ".join(extras) or "none installed", None),
    ]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _folders(settings: Settings) -> list[Finding]:
    home = settings.home
    there = next(place for place in (home, *home.absolute().parents) if place.exists())
    free = shutil.disk_usage(there).free
    writable = os.access(there, os.W_OK)
    state = f"{home} ({settings.origins['home']})"
    folder = (
        Finding("data folder", state)
        if writable
        else Finding(
            "data folder",
            f"{state} may not be written",
            ok=False,
            next_step="Set CORROBORA_HOME to a folder of your own.",
        )
    )
    enough = free >= _LOW_DISK_BYTES
    disk = Finding("disk", f"{free / 1e9:.1f} GB free", enough, "" if enough else "Make room: 1 GB is sensible.")
    return [folder, disk]


def _keys(settings: Settings) -> list[Finding]:
    """Say for each vendor whether a key is set, and where from; never the key."""
    found = [
        Finding(f"key {name}", f"set ({settings.origins[f'keys.{name}']})" if key.set else "not set", key.set or None)
        for name, key in settings.keys.items()
    ]
    return [*found, *(Finding("settings", note, None) for note in settings.notes)]


def _models(settings: Settings) -> list[Finding]:
    if not settings.models:
        return [Finding("models", "none named: the extractive analyst answers, without any language model", None)]
    return [
        Finding(f"model {tier}", f"{model} ({settings.origins[f'models.{tier}']})")
        for tier, model in settings.models.items()
    ]


async def _servers() -> list[Finding]:
    """Ask the ports of this machine where model servers usually listen."""
    from corrobora.adapters.models.connect import find_local_servers  # noqa: PLC0415 - the HTTP stack, only here

    found = await find_local_servers(os.environ)
    if not found:
        return [Finding("local models", "no server answers (Ollama, LM Studio, vLLM, llama.cpp)", None)]
    return [
        Finding(
            "local models",
            f"{each.provider} at {each.base_url}: {', '.join(each.models[:5]) or 'no model loaded'}",
            next_step=f"Use it: --model {each.provider}:{each.models[0]}" if each.models else "",
        )
        for each in found
    ]


async def _database(settings: Settings) -> Finding:
    where = "embedded, in " + str(settings.home / "database") if settings.database_url is None else "a server"
    return await _tried("database", where, lambda: _asked(settings))


async def _asked(settings: Settings) -> str:
    from corrobora.assembly import Workspace  # noqa: PLC0415 - the database is loaded only where it is needed

    async with Workspace.open(settings) as workspace:
        row = await workspace.database.row("SELECT version(), (SELECT count(*) FROM runs)")
        return f"{str(row[0]).split(' on ')[0]}, {row[1]} runs" if row else "answers"


async def _tried(what: str, where: str, ask: Callable[[], Awaitable[str]]) -> Finding:
    try:
        return Finding(what, f"{where}: {await ask()}")
    except CorroboraError as error:
        return Finding(what, f"{where}: {error.message}", ok=False, next_step=error.next_step)
    except OSError as error:  # a disk that refuses: the other lines are wanted all the more
        told = explain_disk(error)
        if not told:
            raise
        return Finding(what, f"{where}: {told}", ok=False)
