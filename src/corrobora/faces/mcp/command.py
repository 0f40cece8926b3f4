"""`corrobora mcp`: the MCP server over stdin and stdout, or over HTTP on this machine.

Knows the flags, and that a server for other machines needs a token. Does not know the protocol.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from corrobora.domain.errors import UserError
from corrobora.faces.cli.options import config_option, open_settings
from corrobora.faces.cli.screen import write_stderr
from corrobora.faces.serve import TOKEN_VARIABLE, bind_socket, read_tokens

if TYPE_CHECKING:
    from corrobora.config import Settings

DEFAULT_PORT = 8766


class McpFlags(TypedDict):
    """The flags of `mcp`."""

    http: bool
    host: str
    port: int
    token_file: Path | None
    allow_host: tuple[str, ...]
    config_file: Path | None


@click.command()
@click.option("--http", is_flag=True, help="Serve HTTP at /mcp instead of stdin and stdout.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="With --http: address to listen at; any other needs a token."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=DEFAULT_PORT,
    show_default=True,
    help="With --http: port; 0 takes a free one.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"With --http: token; or the variable {TOKEN_VARIABLE}.",
)
@click.option(
    "--allow-host", multiple=True, metavar="NAME[:PORT]", help="With --http: answer under this name too. Repeatable."
)
@config_option
def mcp(**flags: Unpack[McpFlags]) -> None:
    """Offer research, sources and libraries to an assistant by the Model Context Protocol.

    The assistant starts this command itself and speaks over stdin and stdout; see docs/guides/mcp.md.
    """
    settings = open_settings(flags["config_file"])
    try:
        from corrobora.faces.mcp.server import serve_pipes  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError.missing_extra("serve_extra", error, "serve") from None
    if flags["http"]:
        _serve_http(settings, flags)
    else:
        asyncio.run(serve_pipes(settings))


def _serve_http(settings: Settings, flags: McpFlags) -> None:
    import uvicorn  # noqa: PLC0415 - an extra

    from corrobora.faces.mcp.server import make_http_app  # noqa: PLC0415 - as above
    from corrobora.faces.web.security import (  # noqa: PLC0415 - as above
        Access,
        check_bind,
        default_hosts,
        read_server_secret,
    )

    tokens = read_tokens(flags["token_file"])
    check_bind(flags["host"], tokens)
    listening = bind_socket(flags["host"], flags["port"])
    hosts = default_hosts(flags["host"], int(listening.getsockname()[1]))
    names = (*hosts, *(name.lower() for name in flags["allow_host"]))
    access = Access(tokens, names, read_server_secret(settings.home))
    app = make_http_app(settings, flags["host"], access)
    write_stderr(f"corrobora: http://{hosts[0]}/mcp")
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    with suppress(KeyboardInterrupt):  # Ctrl-C is how a server ends
        asyncio.run(uvicorn.Server(config).serve([listening]))
