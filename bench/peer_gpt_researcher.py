"""gpt-researcher on one question, as its documentation says: `conduct_research`, then `write_report`.

Runs in an environment of its own that `bench.peers` makes. Its token counter wants a table from the internet, which is
replaced by one of bytes: it only estimates costs.
"""

from __future__ import annotations

import asyncio
import os
import sys

import tiktoken.registry  # pyright: ignore[reportMissingImports]

MODEL, SEARCH, QUESTION = sys.argv[1:]
os.environ |= {
    "OPENAI_API_KEY": "sk-test",
    "OPENAI_BASE_URL": MODEL,
    "FAST_LLM": "openai:scripted-large",
    "SMART_LLM": "openai:scripted-large",
    "STRATEGIC_LLM": "openai:scripted-large",
    "EMBEDDING": "custom:scripted-large",
    "RETRIEVER": "custom",
    "RETRIEVER_ENDPOINT": f"{MODEL}/custom-search",
    "SCRAPER": "bs",
}


def count_bytes() -> dict[str, object]:
    """An encoding in which every byte is a token."""
    ranks = {bytes([each]): each for each in range(256)}
    return {"name": "bytes", "pat_str": r"(?s).", "mergeable_ranks": ranks, "special_tokens": {}}


tiktoken.registry.ENCODING_CONSTRUCTORS = {"o200k_base": count_bytes, "cl100k_base": count_bytes}


async def main() -> None:
    """Print the report."""
    from gpt_researcher import GPTResearcher  # pyright: ignore[reportMissingImports] # noqa: PLC0415 - after the settings

    researcher = GPTResearcher(query=QUESTION, report_type="research_report", verbose=False)
    await researcher.conduct_research()
    sys.stdout.write(await researcher.write_report() + "\n")


asyncio.run(main())
