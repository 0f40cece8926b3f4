"""An MCP server as a source: its tools `search` and `fetch`, over HTTP or from a command of this machine.

Knows the shapes of the two tools: `search(query)` gives results with id, title, url and text, `fetch(id)` a document.
Whatever comes back is text of others, bounded in size and time. Address and command come from the operator alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from corrobora.adapters.search import KeyedProvider, ProviderApi, ResultRow, clean_text, is_mapping
from corrobora.domain.errors import ProviderError, UserError, describe_connection
from corrobora.domain.evidence import Hit, Query
from corrobora.domain.limits import LIMITS

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

NAME = "mcp"
IDENTIFIER = "mcp:"  # before the id of a document in a hit
_VERSION = "2026-07-28"
_META = "io.modelcontextprotocol/"
_ID = 1
_IDLE_SECONDS = 60.0


class McpSearch(KeyedProvider):
    """`SearchProvider` over an MCP server: at `sources.mcp_url`, or the one that `sources.mcp_command` starts."""

    name = NAME
    needs_key = False
    calls_per_second = 2.0
    wants_command = True

    def __init__(self, key: str, *, command: str = "", **more: Any) -> None:
        if not (more.get("base_url") or command):
            raise UserError(
                "provider_address",
                "No MCP server is named.",
                next_step="Set sources.mcp_url to its address, or sources.mcp_command to what starts it.",
            )
        super().__init__(key, **more)
        self._command = McpCommand(shlex.split(command)) if command else None
        self._limiter = more.get("limiter")
        self._seconds: float = self.seconds if more.get("seconds") is None else more["seconds"]

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        text = f"{query.text} site:{query.site}" if query.site else query.text
        found = await self.call_tool("search", {"query": text})
        return self.list_hits(found.get("results"), _read_row, query, limit)

    async def fetch_document(self, identifier: str) -> tuple[str, str]:
        """Return title and text of a document. Raises `ProviderError`."""
        found = await self.call_tool("fetch", {"id": identifier})
        return clean_text(found.get("title")), clean_text(found.get("text"))

    async def call_tool(self, tool: str, arguments: Mapping[str, str]) -> Mapping[str, object]:
        """Call a tool and return its JSON. Raises `ProviderError`."""
        if self._command is not None:
            result = await self._call_command(self._command, tool, dict(arguments))
        else:
            result = _read_message(self._api, await self._post(tool, arguments))
        if not is_mapping(result):
            raise ProviderError.bad_content(self.name, "the answer has no result")
        if result.get("isError"):
            raise ProviderError.request_failed(self.name, why=f"its tool {tool} failed")
        structured = result.get("structuredContent")
        found = structured if is_mapping(structured) else _read_text(self._api, result.get("content"))
        if not is_mapping(found):
            raise ProviderError.bad_content(self.name, f"its tool {tool} does not return a JSON object")
        return found

    async def _post(self, tool: str, arguments: Mapping[str, str]) -> bytes:
        """Send one call as the protocol of 2026-07-28 wants it: without a session."""
        meta = {
            f"{_META}protocolVersion": _VERSION,
            f"{_META}clientInfo": {"name": "corrobora", "version": "0.1"},
            f"{_META}clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": _ID, "method": "tools/call", "params": params}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }
        return await self._api.post_bytes("", body, headers)

    async def _call_command(self, command: McpCommand, tool: str, arguments: dict[str, str]) -> object:
        try:
            from mcp import MCPError  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise UserError.missing_extra("mcp_extra", error, "serve") from None
        if self._limiter is not None:
            await self._limiter.acquire()
        try:
            result = await command.call_tool(tool, arguments, seconds=self._seconds)
        except TimeoutError as error:
            why = f"{self.name} did not give a complete answer within {self._seconds:g} s."
            raise ProviderError("provider_timeout", why, provider=self.name) from error
        except (MCPError, OSError, ValueError, RuntimeError, ExceptionGroup) as error:
            why = f"its command failed: {describe_connection(error)}"
            raise ProviderError.request_failed(self.name, why=why) from error
        text = result.model_dump_json(by_alias=True, exclude_none=True)
        if len(text) > LIMITS.provider_json_max_bytes:
            raise ProviderError.bad_content(self.name, "the answer is too large")
        return json.loads(text)


@dataclass(slots=True, eq=False)
class _Server:
    client: asyncio.Future[Client]
    owner: asyncio.Task[None] | None = None
    used: bool = False


class McpCommand:
    """A server that a command starts with the first call, for all calls until none has come for a minute.

    It sees a plain environment, none of our keys. It ends with the event loop, or when its stdin is closed.
    """

    def __init__(self, line: Sequence[str]) -> None:
        self._line = line
        self._server: _Server | None = None

    async def call_tool(self, tool: str, arguments: dict[str, str], *, seconds: float) -> CallToolResult:
        """Call a tool; a server that has died is started once more, and one that does not answer in time is ended."""
        from mcp import MCPError  # noqa: PLC0415 - an extra
        from mcp.types import CONNECTION_CLOSED  # noqa: PLC0415 - as above

        server = self._find_server()
        try:
            async with asyncio.timeout(seconds):
                try:
                    return await (await asyncio.shield(server.client)).call_tool(tool, arguments)
                except MCPError as error:
                    if error.error.code != CONNECTION_CLOSED:
                        raise
                    self._end(server)
                    server = self._find_server()
                    return await (await asyncio.shield(server.client)).call_tool(tool, arguments)
        except TimeoutError:
            self._end(server)
            raise

    def _find_server(self) -> _Server:
        if self._server is None:
            self._server = _Server(asyncio.get_running_loop().create_future())
            self._server.owner = asyncio.create_task(self._own_process(self._server), name="MCP server")
        self._server.used = True
        return self._server

    def _end(self, server: _Server) -> None:
        if self._server is server:
            self._server = None
        if server.owner is not None:
            server.owner.cancel()

    async def _own_process(self, server: _Server) -> None:
        """Start the process and end it, both in this task, as the library wants it."""
        from mcp import Client, MCPError  # noqa: PLC0415 - an extra
        from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - as above

        command = StdioServerParameters(command=self._line[0], args=list(self._line[1:]))
        failure: Exception = TimeoutError()  # for who still waits when it is ended
        try:
            with _open_sink() as unseen:
                async with Client(stdio_client(command, unseen)) as client:
                    server.client.set_result(client)
                    while server.used:
                        server.used = False
                        await asyncio.sleep(_IDLE_SECONDS)
                    self._server = None
        except (MCPError, OSError, ValueError, RuntimeError, ExceptionGroup) as error:
            failure = error
        finally:
            if not server.client.done():
                server.client.set_exception(failure)
                server.client.exception()  # also if nobody waits any more
            if self._server is server:
                self._server = None


def _open_sink() -> TextIO:
    """Return where the log of a command goes: nowhere, because it is not for this terminal."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _read_row(row: Mapping[str, object]) -> ResultRow:
    snippet = next((row[key] for key in ("text", "snippet", "content", "description") if row.get(key)), "")
    named = row.get("id")
    date = row.get("published") or row.get("date")
    known = f"{IDENTIFIER}{named}" if isinstance(named, str) and named else ""
    return ResultRow(row.get("url"), row.get("title"), snippet, row.get("score"), date, known)


def _read_message(api: ProviderApi, data: bytes) -> object:
    """Return the result of our call: from one JSON object, or from the stream of events that holds it."""
    if data.lstrip()[:1] in (b"{", b"[", b"<", b'"', b"n", b""):
        return _read_result(api, api.parse_json(data))
    for event in data.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:")]
        if not lines or not b"".join(lines):
            continue
        message = api.parse_json(b"\n".join(lines))
        if is_mapping(message) and message.get("id") == _ID:
            return _read_result(api, message)
    raise ProviderError.request_failed(api.name, why="the answer was cut")


def _read_result(api: ProviderApi, message: object) -> object:
    if not is_mapping(message):
        raise ProviderError.bad_content(api.name, "the answer is not an object")
    error = message.get("error")
    if is_mapping(error):
        code = error.get("code")
        raise ProviderError.bad_content(api.name, f"an error of the protocol, {code if isinstance(code, int) else '?'}")
    return message.get("result")


def _read_text(api: ProviderApi, content: object) -> object:
    """Return the JSON in the first text of a result."""
    parts = cast("list[object]", content) if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if is_mapping(part) and part.get("type") == "text"]
    text = texts[0] if texts else None
    if not isinstance(text, str):
        raise ProviderError.bad_content(api.name, "the result has no text")
    return api.parse_json(text.encode("utf-8", "replace"))
