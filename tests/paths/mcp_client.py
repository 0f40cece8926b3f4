"""The official client of MCP, talking to `corrobora mcp`: over pipes, over HTTP, and with the tasks extension."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, ClassVar, Literal

import httpx2
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Request, RequestParams, Result
from pydantic import ConfigDict
from tests.plugins.nursery import start_python

Fields = dict[str, Any]


def environment(url: str, home: str, **more: str) -> dict[str, str]:
    """Return what a server process sees: its database and data folder, and no key."""
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    return {**kept, "CORROBORA_DATABASE_URL": url, "CORROBORA_HOME": home, "HOME": home, **more}


def open_pipes(env: Mapping[str, str], *args: str) -> Client:
    """Return a client that starts the command itself."""
    command = ["-m", "corrobora", "mcp", *args]
    return Client(StdioServerParameters(command=sys.executable, args=command, env=dict(env)))


@contextlib.contextmanager
def http_server(env: Mapping[str, str], *args: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `corrobora mcp` with flags that let it serve HTTP; yield its address and process."""
    words = ["-m", "corrobora", "mcp", *args]
    with start_python(words, env=dict(env), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+/mcp", line)
        assert found, line + process.stderr.read()
        try:
            yield found[0], process
        finally:
            process.terminate()
            process.wait(60)


@contextlib.asynccontextmanager
async def open_http(address: str, token: str = "", **more: Any) -> AsyncIterator[Client]:
    """Return a client of a server at an address, with its token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), **more) as client,
    ):
        yield client


def read_text(result: CallToolResult) -> str:
    """Return the text of a result."""
    (block,) = result.content
    return str(getattr(block, "text", ""))


async def read_page(client: Client, uri: str, media_type: str = "") -> str:
    """Return the text of a resource, of this type if one is named."""
    (found,) = (await client.read_resource(uri)).contents
    assert not media_type or found.mime_type == media_type
    return str(getattr(found, "text", ""))


def read_fields(result: CallToolResult) -> Fields:
    """Return the JSON of a result, which is told twice."""
    assert not result.is_error, read_text(result)
    assert json.loads(read_text(result)) == result.structured_content
    assert result.structured_content is not None
    return result.structured_content


async def call(client: Client, tool: str, **arguments: Any) -> Fields:
    """Call a tool and return its JSON."""
    return read_fields(await client.call_tool(tool, arguments))


async def follow(client: Client, run: str, cursor: int = 0) -> tuple[Fields, list[str]]:
    """Poll a run until it is not worked on; return its last state and all lines."""
    lines: list[str] = []
    for _ in range(400):
        state = await call(client, "status", run_id=run, cursor=cursor)
        lines += state["events"]
        cursor = state["cursor"]
        if state["status"] not in ("queued", "running"):
            return state, lines
    raise AssertionError(state)


class TaskResult(Result):
    """What a server returns instead of the result: a task."""

    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"] = "task"


class TasksClient(ClientExtension):
    """A client that knows tasks: it keeps the task for the test to poll."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.made: list[Fields] = []

    def claims(self) -> tuple[ResultClaim[TaskResult]]:
        return (ResultClaim(result_type="task", model=TaskResult, resolve=self._keep),)

    async def _keep(self, task: TaskResult, _: ClaimContext) -> CallToolResult:
        self.made.append(dict(task.model_extra or {}))
        return CallToolResult(content=[])


class Anything(Result):
    """Any result, with all that it holds."""

    model_config = ConfigDict(extra="allow")


class TaskRequestParams(RequestParams):
    """Parameters of a method of tasks."""

    model_config = ConfigDict(extra="allow")


class TaskRequest(Request[Any, Any]):
    """A request that names its task, as its header does over HTTP."""

    name_param: ClassVar[str | None] = "taskId"


async def ask_task(client: Client, method: str, **params: Any) -> Fields:
    """Send a request of the tasks extension and return its result."""
    wire = TaskRequest(method=method, params=TaskRequestParams.model_validate(params))
    found = await client.session.send_request(wire, Anything)
    return dict(found.model_extra or {})
