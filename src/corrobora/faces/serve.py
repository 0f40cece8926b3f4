"""`corrobora serve`: the page and the HTTP API on this machine, or with a token for others.

Knows flags, the token's place, and what is said when the extra is missing. Does not know routes.
"""

from __future__ import annotations

import asyncio
import os
import socket
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from corrobora.config import Settings, read_small_file
from corrobora.domain.errors import UserError
from corrobora.domain.run import RunId, RunStatus
from corrobora.faces.cli.library import DEMO
from corrobora.faces.cli.new_run import DEMO_QUESTION
from corrobora.faces.cli.options import config_option, open_settings, with_workspace
from corrobora.faces.cli.screen import write_stderr

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.faces.web.security import Token

TOKEN_VARIABLE = "CORROBORA_SERVER_TOKEN"  # noqa: S105 - the name of a variable
DEFAULT_PORT = 8765
GRACE_SECONDS = 3  # for answers that are being sent; listeners come back to their cursor
_MAX_TOKEN_BYTES = 100_000


class ServeFlags(TypedDict):
    """The flags of `serve`."""

    host: str
    port: int
    token_file: Path | None
    allow_host: tuple[str, ...]
    open_page: bool
    demo: bool
    config_file: Path | None


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; any other needs a token.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=DEFAULT_PORT, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--token-file", type=click.Path(path_type=Path), metavar="FILE", help=f"Token; or the variable {TOKEN_VARIABLE}."
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME[:PORT]",
    help="Answer under this name too. Repeatable.",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
@click.option("--demo", is_flag=True, help="Show a report: research the shipped question first, unless that was done.")
@config_option
def serve(**flags: Unpack[ServeFlags]) -> None:
    """Serve the page and the HTTP API until Ctrl-C; runs that are started there are worked on here."""
    settings = open_settings(flags["config_file"])
    try:
        from corrobora.faces.web.security import check_bind, default_hosts  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError.missing_extra("serve_extra", error, "serve") from None
    tokens = read_tokens(flags["token_file"])
    check_bind(flags["host"], tokens)
    listening = bind_socket(flags["host"], flags["port"])
    port = int(listening.getsockname()[1])
    hosts = (*default_hosts(flags["host"], port), *(name.lower() for name in flags["allow_host"]))
    address = f"http://{hosts[0]}"
    page = f"{address}/runs/{_find_demo(settings)}/report" if flags["demo"] else f"{address}/"
    write_stderr(f"corrobora: {page}")
    if flags["open_page"]:
        webbrowser.open(page)
    run_server(settings, listening, tokens=tokens, hosts=hosts)


def read_tokens(file: Path | None) -> tuple[Token, ...]:
    """Return the tokens of the server: those of the file, else the one of the environment. Raises `UserError`."""
    from corrobora.faces.web.security import parse_tokens  # noqa: PLC0415 - an extra

    if file is None:
        return parse_tokens(os.environ.get(TOKEN_VARIABLE, ""))
    tokens = parse_tokens(read_small_file(file, limit=_MAX_TOKEN_BYTES, what="The token file"))
    if not tokens:
        raise UserError("serve_token", f"The token file {str(file)!r} is empty.", next_step="Write a token into it.")
    return tokens


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address. Raises `UserError` `serve_address`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
        listening.listen()  # before the address is told: who connects early waits instead of being refused
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        raise UserError(
            "serve_address", f"{host}:{port} cannot be used: {why}.", next_step="Choose another --port."
        ) from None
    return listening


def run_server(settings: Settings, listening: socket.socket, *, tokens: Sequence[Token], hosts: Sequence[str]) -> None:
    """Serve at a bound socket until SIGINT or SIGTERM."""
    import uvicorn  # noqa: PLC0415 - an extra

    from corrobora.faces.web import create_app  # noqa: PLC0415 - as above

    app = create_app(settings, tokens=tokens, allowed_hosts=hosts)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=GRACE_SECONDS
    )
    with suppress(KeyboardInterrupt):  # Ctrl-C is how a server ends
        asyncio.run(uvicorn.Server(config).serve([listening]))


def _find_demo(settings: Settings) -> RunId:
    """Return the run of the shipped question, after making it if there is none."""

    async def find_or_make(workspace: Workspace) -> RunId:
        from corrobora.app.attempts import run_here  # noqa: PLC0415 - the engine, only where it is needed
        from corrobora.app.runs import submit_run  # noqa: PLC0415 - as above
        from corrobora.faces.cli.library import resolve_libraries  # noqa: PLC0415 - as above
        from corrobora.faces.request import build_request, parse_question  # noqa: PLC0415 - as above

        for row in await workspace.runs.list(limit=500):
            if row.request.question == DEMO_QUESTION and row.status is RunStatus.DONE:
                return row.id
        write_stderr(f"corrobora: researching the shipped documents: {DEMO_QUESTION}")
        request = build_request(replace(settings, libraries=(DEMO,), providers=()), parse_question(DEMO_QUESTION))
        request = replace(request, libraries=await resolve_libraries(workspace, (DEMO,), show=True))
        made = await submit_run(workspace, request, deferred=False)
        await run_here(workspace, made)
        return made

    return with_workspace(settings, find_or_make)
