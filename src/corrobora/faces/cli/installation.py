"""The commands of the installation: `doctor` checks it, `init` writes a first configuration, `db` has the database.

Knows what to check (versions, disk, keys, models, database) and the server of the data folder. `init` asks only servers
of this machine and replaces no file. Repairs nothing, prints no secret, and never starts or stops a database server
that the settings name by its address.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import platform
import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora import __version__
from corrobora.config import Settings, find_user_file
from corrobora.config.layers import find_usual_data_folder
from corrobora.config.settings import TIERS
from corrobora.domain.errors import CorroboraError, UserError
from corrobora.domain.run import Request, RequestOption
from corrobora.faces.cli import CommandGroup, Exit, explain_disk
from corrobora.faces.cli.options import config_option, json_option, on_workspace, open_settings, print_json
from corrobora.faces.cli.screen import is_terminal, one_line, write_stderr
from corrobora.registry import list_parts
from corrobora.text.phrases import format_count

if TYPE_CHECKING:
    from corrobora.adapters.models import LocalServer
    from corrobora.app import Workspace


_PACKAGES = ("psycopg", "procrastinate", "numpy", "httpx2", "pydantic")
_EXTRAS = {  # the first package of each
    "dense": "onnxruntime",
    "qdrant": "qdrant-client",
    "serve": "fastapi",
    "export": "python-docx",
    "telemetry": "opentelemetry-sdk",
}
_LOW_DISK_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class InstallationCheck:
    """One line of the result: `ok` is False if somebody has to act, and None if the line only informs."""

    what: str
    state: str
    ok: bool | None = True
    next_step: str = ""


@click.command()
@json_option
@config_option
def doctor(*, as_json: bool, config_file: Path | None) -> int:
    """Check database, models, keys, disk and versions. The exit code is 1 if something has to be repaired."""
    settings = open_settings(config_file, untrusted="ignore")
    found = asyncio.run(check_installation(settings))
    if as_json:
        print_json([asdict(each) for each in found])
    else:
        for each in found:
            mark = {True: "ok", False: "!!", None: "--"}[each.ok]
            step = f"  -> {each.next_step}" if each.next_step else ""
            click.echo(f"{mark}  {each.what:<14} {one_line(each.state + step, 400)}")
    return Exit.BUG if any(each.ok is False for each in found) else Exit.DONE


async def check_installation(settings: Settings, workspace: Workspace | None = None) -> list[InstallationCheck]:
    """Return what a check finds, without any secret; an opened workspace is asked in place of a new one."""
    found = [
        *_check_versions(),
        *_check_folders(settings),
        *_check_keys(settings),
        *_check_models(settings),
        *_check_egress(settings),
        *await _check_servers(),
    ]
    if workspace is None:
        return [*found, await _check_database(settings)]
    place = describe_place(settings)
    return [*found, await _try_check("database", place, lambda: _query_database(workspace))]


def describe_place(settings: Settings) -> str:
    """Return where the database is, in words."""
    return "embedded, in " + str(settings.home / "database") if settings.database_url is None else "a server"


def _check_versions() -> list[InstallationCheck]:
    versions = [f"{name} {found}" for name in _PACKAGES if (found := _package_version(name))]
    extras = [name for name, package in _EXTRAS.items() if _package_version(package)]
    return [
        InstallationCheck("corrobora", __version__),
        InstallationCheck("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        InstallationCheck("packages", ", ".join(versions)),
        InstallationCheck("extras", ", ".join(extras) or "none installed", None),
    ]


def _package_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _check_folders(settings: Settings) -> list[InstallationCheck]:
    home = settings.home
    there = next(place for place in (home, *home.absolute().parents) if place.exists())
    free = shutil.disk_usage(there).free
    writable = os.access(there, os.W_OK)
    state = f"{home} ({settings.origins['home']})"
    step = "Set CORROBORA_HOME to a folder of your own."
    if not writable:
        folder = InstallationCheck("data folder", f"{state} is not writable", ok=False, next_step=step)
    elif str(settings.origins["home"]) == "default" and home != (usual := find_usual_data_folder()):
        state = f"{state}: temporary, because {usual} cannot be written to; it may be emptied at any time"
        folder = InstallationCheck("data folder", state, ok=None, next_step=step)
    else:
        folder = InstallationCheck("data folder", state)
    enough = free >= _LOW_DISK_BYTES
    disk = InstallationCheck(
        "disk", f"{free / 1e9:.1f} GB free", enough, "" if enough else "Free some space: 1 GB is recommended."
    )
    return [folder, disk]


def _check_keys(settings: Settings) -> list[InstallationCheck]:
    """Return for each vendor whether a key is set and by what, without the key, and which searches can be asked."""
    from corrobora.app.wiring import list_usable_searches  # noqa: PLC0415 - the engine, only here

    found = [
        InstallationCheck(f"key {name}", f"set ({settings.origins[f'keys.{name}']})", ok=True)
        for name, key in settings.keys.items()
        if key.set
    ]
    searches, ready = list_parts("search"), list_usable_searches(settings)
    lacking = ", ".join(name for name in searches if name not in ready and not settings.offline)
    state = f"ready: {', '.join(ready) or 'none'}" + (f"; these lack a key or an address: {lacking}" if lacking else "")
    found.append(InstallationCheck("web searches", state, None))
    if absent := [name for name, key in settings.keys.items() if not key.set and name not in searches]:
        found.append(InstallationCheck("keys", f"not set: {', '.join(absent)}; set those that you use", None))
    return [*found, *(InstallationCheck("settings", note, None) for note in settings.notes)]


def _check_models(settings: Settings) -> list[InstallationCheck]:
    if not settings.models:
        return [
            InstallationCheck("models", "none configured: the extractive analyst works without a language model", None)
        ]
    return [
        InstallationCheck(f"model {tier}", f"{model} ({settings.origins[f'models.{tier}']})")
        for tier, model in settings.models.items()
    ]


def _check_egress(settings: Settings) -> list[InstallationCheck]:
    """Say who outside this machine is sent what by a run with these settings."""
    from corrobora.app.models import ModelPool, list_recipients  # noqa: PLC0415 - the HTTP stack, only here

    opted = ((RequestOption.ALLOW_EGRESS.value, "yes"),) if settings.allow_egress else ()
    request = Request("", libraries=settings.libraries, metadata=opted)
    try:
        targets = ModelPool(settings).choose_targets(settings.models)
        shared = list_recipients(settings, request, targets, () if settings.offline else settings.providers)
    except UserError as error:
        return [InstallationCheck("shared", error.message, ok=False, next_step=error.next_step)]
    return [
        InstallationCheck("shared", each, None) for each in shared or ("nothing: no web, no outside model or embedder",)
    ]


async def _check_servers() -> list[InstallationCheck]:
    """Look for model servers on their usual ports of this machine."""
    from corrobora.adapters.models import find_local_servers  # noqa: PLC0415 - the HTTP stack, only here

    found = await find_local_servers(os.environ)
    if not found:
        return [InstallationCheck("local models", "no server found (Ollama, LM Studio, vLLM, llama.cpp)", None)]
    return [
        InstallationCheck(
            "local models",
            f"{each.provider} at {each.base_url}: {', '.join(each.models[:5]) or 'no model loaded'}",
            next_step=f"Use it: --model {each.provider}:{each.models[0]}" if each.models else "",
        )
        for each in found
    ]


async def _check_database(settings: Settings) -> InstallationCheck:
    return await _try_check("database", describe_place(settings), lambda: on_workspace(settings, _query_database))


async def _query_database(workspace: Workspace) -> str:
    row = await workspace.database.fetch_one("SELECT version(), (SELECT count(*) FROM runs)")
    from corrobora.app.library_changes import count_older  # noqa: PLC0415 - the readers, only where they are needed

    older = await count_older(workspace.database)
    told = (f"; library {each}: {changes}, corrobora library refresh {each}" for each, changes in older.items())
    return f"{str(row[0]).split(' on ')[0]}, {format_count(row[1], 'run')}{''.join(told)}" if row else "answers"


async def _try_check(what: str, where: str, ask: Callable[[], Awaitable[str]]) -> InstallationCheck:
    try:
        return InstallationCheck(what, f"{where}: {await ask()}")
    except CorroboraError as error:
        return InstallationCheck(what, f"{where}: {error.message}", ok=False, next_step=error.next_step)
    except OSError as error:  # a full or read-only disk: the other lines are still useful
        problem = explain_disk(error)
        if not problem:
            raise
        return InstallationCheck(what, f"{where}: {problem}", ok=False)


@click.group(cls=CommandGroup)
def db() -> None:
    """Start, stop or show the embedded database."""


@db.command(name="start")
@config_option
def start_database(config_file: Path | None) -> None:
    """Start the embedded database and leave it running until `db stop`."""
    folder = _embedded_folder(open_settings(config_file))
    from corrobora.storage.postgres.embedded import EmbeddedServer  # noqa: PLC0415 - loaded only if it is needed

    server = EmbeddedServer.start(folder, keep=True)
    click.echo(f"running: {server.url}")


@db.command(name="stop")
@config_option
def stop_database(config_file: Path | None) -> None:
    """Stop the embedded database even if other processes use it. Interrupted runs can be resumed."""
    folder = _embedded_folder(open_settings(config_file))
    from corrobora.storage.postgres import embedded  # noqa: PLC0415 - loaded only if it is needed

    click.echo("stopped" if embedded.stop_server(folder) else "was not running")


@db.command(name="status")
@json_option
@config_option
def show_database_status(*, as_json: bool, config_file: Path | None) -> None:
    """Show whether the embedded database runs and which processes use it, or what answers at the configured address."""
    settings = open_settings(config_file)
    if settings.database_url is not None:
        found = asyncio.run(_describe_server(settings))
    else:
        from corrobora.storage.postgres import embedded  # noqa: PLC0415 - loaded only if it is needed

        found = dataclasses.asdict(embedded.server_status(settings.home / "database"))
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        if value not in (None, "", ()) and (name != "kept" or found["running"]):
            click.echo(f"{_SHOWN.get(name, name):<9} {_format_value(value)}")


async def _describe_server(settings: Settings) -> dict[str, object]:
    """Return what is known of a server of the user's own, without its password. Raises `JournalError` if it is down."""
    from corrobora.app import Workspace  # noqa: PLC0415 - the database is loaded only if it is needed

    async with Workspace.open(settings) as workspace:
        server = await _query_database(workspace)
        return {"running": True, "place": workspace.place, "setting": _database_setting(settings), "server": server}


def _database_setting(settings: Settings) -> str:
    return str(settings.origins["storage.database_url"])


_SHOWN = {"data_dir": "folder", "pid": "process", "url": "address", "users": "used by", "kept": "stays on"}


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return str(value)


def _embedded_folder(settings: Settings) -> Path:
    """Return the folder of the embedded database. Raises `UserError` if the settings name a server."""
    if settings.database_url is not None:
        raise UserError(
            "database_not_embedded",
            f"The settings name a database server ({_database_setting(settings)}); "
            "this command is for the embedded one.",
            next_step="Use that server's own tools.",
        )
    return settings.home / "database"


_HOSTED = ("anthropic", "openai")  # vendors whose key says nothing about which model is wanted


@click.command()
@click.option("--write", is_flag=True, help="Write the file without asking.")
@config_option
def init(*, write: bool, config_file: Path | None) -> None:
    """Look for models, keys and search providers, and write a first configuration file.

    The proposed file is printed to stdout. On a terminal you are asked whether to write it; elsewhere --write does.
    """
    from corrobora.adapters.models import find_local_servers  # noqa: PLC0415 - the HTTP stack, only here

    target = config_file or find_user_file()
    settings = open_settings(config_file if target.exists() else None, untrusted="ignore")
    text = compose_file(settings, asyncio.run(find_local_servers(os.environ)))
    click.echo(text, nl=False)
    if target.exists():
        raise UserError(
            "config_exists",
            f"The file {target} exists and is not replaced.",
            next_step="Copy what you want from the lines above into it.",
        )
    if not write and is_terminal(sys.stdin) and is_terminal(sys.stderr):
        write = click.confirm(f"Write this to {target}?", default=True, err=True)
    if not write:
        write_stderr(f"Nothing was written. Write it to {target}: corrobora init --write")
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(
            "config_unwritable",
            f"The file {target} cannot be written: {error.strerror}.",
            next_step="Use --config FILE.",
        ) from None
    write_stderr(f"written  {target}")
    write_stderr("check    corrobora doctor")


def compose_file(settings: Settings, servers: Sequence[LocalServer]) -> str:
    """Return the text of a configuration file for what was found; the same things give the same bytes."""
    lines = [
        "# Settings of Corrobora. All of them: corrobora config show --origin",
        "",
        *_model_lines(settings, servers),
    ]
    web = [name for name in sorted(list_parts("search")) if _has_key(settings, name)]
    lines += ["", "[sources]"]
    if web:
        lines += ["# Search providers with a key in the environment.", f"providers = {json.dumps(web)}"]
    else:
        lines += [
            "# No search provider has a key. Without one: wikipedia, crossref, arxiv and pubmed, or a SearXNG server."
        ]
        lines += ['# providers = ["wikipedia"]']
    lines += ['# libraries = ["papers"]    # made by: corrobora library add papers FOLDER', ""]
    return "\n".join([*lines, "[limits]", "usd = 1.0    # most that a run may spend on models", ""])


def _has_key(settings: Settings, name: str) -> bool:
    return name in settings.keys and settings.keys[name].set


def _model_lines(settings: Settings, servers: Sequence[LocalServer]) -> list[str]:
    usable = [
        (each.provider, each.base_url, model)
        for each in servers
        for model in each.models
        if "embed" not in model.lower()
    ]
    if usable:
        provider, address, model = usable[0]
        others = [f"#   {kind}:{name}" for kind, _, name in usable[1:]]
        head = [f"# Found at {address}." + (" Other models on this machine:" if others else ""), *others]
        return [*head, "[models]", *(f"{tier} = {json.dumps(f'{provider}:{model}')}" for tier in TIERS)]
    hosted = [name for name in _HOSTED if _has_key(settings, name)]
    if hosted:
        named = " and ".join(hosted)
        head = [
            f"# There is a key for {named}. Write the model that you want for MODEL, and remove the # of these lines."
        ]
        return [*head, "# [models]", *(f'# {tier} = "{hosted[0]}:MODEL"' for tier in TIERS)]
    return [
        "# No model server runs on this machine and no key is set: answers are composed of quotes, without a model.",
        "# [models]",
        '# lead = "ollama:MODEL"',
    ]
