"""`corrobora serve` and `corrobora mcp`: the servers of this machine, which need a token to serve others.

Knows flags, the token's place, and what is said when the extra is missing. Does not know routes or protocols.
"""

from __future__ import annotations

import asyncio
import os
import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from corrobora.config import Settings, read_small_file
from corrobora.domain.errors import UserError
from corrobora.domain.run import DEMO, RunId, RunStatus
from corrobora.faces.cli.new_run import DEMO_QUESTION
from corrobora.faces.cli.options import Flags, GroupedCommand, add_options, config_option, open_settings, with_workspace
from corrobora.faces.cli.screen import write_stderr

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from corrobora.app import Workspace
    from corrobora.faces.web.security import Token

F = TypeVar("F", bound=Callable[..., Any])
TOKEN_VARIABLE = "CORROBORA_SERVER_TOKEN"  # noqa: S105 - the name of a variable
SERVE_PORT = 8765
MCP_PORT = 8766
GRACE_SECONDS = 3  # for answers that are being sent; listeners come back to their cursor
_MAX_TOKEN_BYTES = 100_000


def server_options(port: int, condition: str = "") -> Callable[[F], F]:
    """Return a decorator that adds the address and callers of a server; a `condition` begins the help of each."""

    def explain(text: str) -> str:
        return f"{condition}: {text[0].lower()}{text[1:]}" if condition else text

    return add_options(
        click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            help=explain("Address to listen on; any other one needs a token."),
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65_535),
            default=port,
            show_default=True,
            help=explain("Port; 0 picks a free one."),
        ),
        click.option(
            "--token-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help=explain(f"File with the token; else the variable {TOKEN_VARIABLE}."),
        ),
        click.option(
            "--allow-host",
            multiple=True,
            metavar="NAME[:PORT]",
            help=explain("Answer under this name too. Repeatable."),
        ),
    )


@click.command(cls=GroupedCommand, example="corrobora serve --demo --open")
@server_options(SERVE_PORT)
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
@click.option("--demo", is_flag=True, help="Show the report of the shipped question; research it first if need be.")
@config_option
def serve(**flags: Any) -> None:
    """Serve the page and the HTTP API until Ctrl-C; runs started there are executed by this process."""
    settings = open_settings(flags["config_file"])
    try:
        from corrobora.faces.web import create_app  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError.missing_extra("serve_extra", error, "serve") from None
    listener = open_listener(flags)
    address = f"http://{listener.hosts[0]}"
    page = f"{address}/runs/{_find_demo(settings)}/report" if flags["demo"] else f"{address}/"
    write_stderr(f"corrobora: {page}")
    if flags["open_page"]:
        webbrowser.open(page)
    run_server(create_app(settings, tokens=listener.tokens, allowed_hosts=listener.hosts), listener)


@click.command(cls=GroupedCommand, example="corrobora mcp --http --port 8766")
@click.option("--http", is_flag=True, help="Serve HTTP at /mcp instead of stdin and stdout.")
@server_options(MCP_PORT, "With --http")
@config_option
def mcp(**flags: Any) -> None:
    """Offer research, sources and libraries to an assistant over the Model Context Protocol.

    The assistant starts this command itself and speaks over stdin and stdout; see docs/guides/mcp.md.
    """
    settings = open_settings(flags["config_file"])
    try:
        from corrobora.faces.mcp.server import make_http_app, serve_pipes  # noqa: PLC0415 - an extra
        from corrobora.faces.web.security import Access, read_server_secret  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise UserError.missing_extra("serve_extra", error, "serve") from None
    if not flags["http"]:
        asyncio.run(serve_pipes(settings))
        return
    listener = open_listener(flags)
    secret, ended = read_server_secret(settings.home), settings.home / "ended-logins"
    access = Access(listener.tokens, listener.hosts, secret, ended)
    write_stderr(f"corrobora: http://{listener.hosts[0]}/mcp")
    run_server(make_http_app(settings, access), listener)


@dataclass(frozen=True, slots=True)
class Listener:
    """A bound socket, the tokens that its callers need, and the values of the header Host that are answered."""

    socket: socket.socket
    tokens: tuple[Token, ...]
    hosts: tuple[str, ...]


def open_listener(flags: Flags) -> Listener:
    """Bind the address of the flags. Raises `UserError` if it cannot be used, or serves others without a token."""
    from corrobora.faces.web.security import check_bind, default_hosts  # noqa: PLC0415 - an extra

    tokens = read_tokens(flags["token_file"])
    check_bind(flags["host"], tokens)
    bound = bind_socket(flags["host"], flags["port"])
    hosts = default_hosts(flags["host"], int(bound.getsockname()[1]))
    return Listener(bound, tokens, (*hosts, *(name.lower() for name in flags["allow_host"])))


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
    # Named, the protocol makes asyncio turn off Nagle's algorithm, which delays answers on a kept connection by 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
        listening.listen()  # before the address is printed: clients that connect early wait instead of being refused
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        raise UserError(
            "serve_address", f"{host}:{port} cannot be used: {why}.", next_step="Choose another --port."
        ) from None
    return listening


def run_server(app: ASGIApp, listener: Listener) -> None:
    """Serve an application at a bound socket until SIGINT or SIGTERM."""
    import uvicorn  # noqa: PLC0415 - an extra

    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    with suppress(KeyboardInterrupt):  # Ctrl-C is how a server ends
        asyncio.run(uvicorn.Server(config).serve([listener.socket]))


def _find_demo(settings: Settings) -> RunId:
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
