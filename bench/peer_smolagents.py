"""smolagents on one question, in the manner of its documentation: one agent with a search tool and a page reader.

Runs in an environment of its own that `bench.peers` makes; the two tools are ours, the agent is the package's.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import requests
from smolagents import OpenAIModel, ToolCallingAgent, tool  # pyright: ignore[reportMissingImports]

MODEL, SEARCH, QUESTION = sys.argv[1:]
_HIDDEN = re.compile(r"<(script|style|nav|header|footer|aside)\b.*?</\1>", re.IGNORECASE | re.DOTALL)


@tool
def web_search(query: str) -> str:
    """Search the web.

    Args:
        query: what to look for.
    """
    found: list[dict[str, Any]] = requests.post(
        f"{SEARCH}/search", json={"query": query, "max_results": 5}, timeout=60
    ).json()["results"]
    return "\n\n".join(f"[{each['title']}]({each['url']})\n{each['content']}" for each in found)


@tool
def visit_webpage(url: str) -> str:
    """Read a page.

    Args:
        url: its address.
    """
    text = re.sub(r"<[^<>]*>", " ", _HIDDEN.sub(" ", requests.get(url, timeout=60).text))
    return " ".join(text.split())[:12_000]


agent = ToolCallingAgent(
    tools=[web_search, visit_webpage],
    model=OpenAIModel(model_id="scripted-large", api_base=MODEL, api_key="sk-test"),
    max_steps=20,
    verbosity_level=0,
)
sys.stdout.write(f"{agent.run(QUESTION)}\n")
