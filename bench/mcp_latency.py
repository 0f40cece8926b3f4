"""How long the MCP server takes to connect, to return the id of a run, and to say where a run stands.

Prints the slowest of ten runs over the demo documents, driven by the official client over stdin and stdout.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

QUESTION = "When must a memorized secret be changed?"
RUNS = 10


async def call(client: Client, tool: str, **arguments: Any) -> tuple[float, dict[str, Any]]:
    """Call a tool; return the seconds that it took and its answer."""
    before = time.monotonic()
    result = await client.call_tool(tool, arguments)
    return time.monotonic() - before, result.structured_content or {}


def open_folder(home: str) -> str:
    """Let the account of the embedded server pass through a folder of root; return its name."""
    Path(home).chmod(0o711)
    return home


async def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as made:
        home = open_folder(made)
        env = {"PATH": os.environ["PATH"], "CORROBORA_HOME": home}
        server = StdioServerParameters(command=sys.executable, args=["-m", "corrobora", "mcp"], env=env)
        before = time.monotonic()
        async with Client(server) as client:
            print(f"connect to a new data folder: {time.monotonic() - before:.1f} s")
            first, begun = await call(client, "research", question=QUESTION, libraries=["demo"], profile="tree")
            print(f"id of the first run, which reads the demo documents: {first:.1f} s")
            ids, looks = list[float](), list[float]()
            for _ in range(RUNS):
                seconds, begun = await call(client, "research", question=QUESTION, libraries=["demo"], profile="tree")
                ids.append(seconds)
                cursor, status = 0, "queued"
                while status in ("queued", "running"):
                    seconds, state = await call(
                        client, "status", run_id=begun["run_id"], cursor=cursor, wait_seconds=25
                    )
                    looks.append(seconds)
                    cursor, status = state["cursor"], state["status"]
            print(f"id of a run, slowest of {RUNS}: {max(ids):.2f} s")
            print(f"call of status that waits for up to 25 s, slowest of {len(looks)}: {max(looks):.1f} s")


if __name__ == "__main__":
    asyncio.run(main())
