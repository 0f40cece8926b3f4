"""The least that research on the web costs: a bare loop over one HTTP client, without journal, limits or checks.

Plans three sub-questions, searches each twice, reads the pages it finds, asks a model for facts in each page, lets it
reflect, and has it write. A yardstick for `bench.peers`: no product, and nothing of the product is imported.
Run: python -m bench.floor MODEL_URL SEARCH_URL QUESTION
"""

from __future__ import annotations

import asyncio
import html
import re
import sys
from collections.abc import Sequence
from typing import Any

import httpx2

AGENTS, ROUNDS, HITS, READS = 3, 2, 5, 3
CHARACTERS = 12_000  # of a page in a prompt
_HIDDEN = re.compile(r"<(script|style|nav|header|footer|aside)\b.*?</\1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_ADDRESS = re.compile(r"https?://[^\s)\]>\"']+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Floor:
    """One question from its plan to its report."""

    def __init__(self, client: httpx2.AsyncClient, model: str, search: str, question: str) -> None:
        self.client, self.model, self.search_url, self.question = client, model, search, question
        self.pages: dict[str, asyncio.Task[str]] = {}

    async def ask(self, role: str, text: str) -> str:
        """Ask the model once, and once more after a failure."""
        body = {
            "model": "scripted-large",
            "messages": [{"role": "system", "content": f"# Bare role: {role}\n"}, {"role": "user", "content": text}],
        }
        for last in (False, True):
            answer = await self.client.post(f"{self.model}/chat/completions", json=body)
            if answer.status_code == httpx2.codes.OK:
                break
            if last:
                answer.raise_for_status()
        return str(answer.json()["choices"][0]["message"]["content"])

    async def search(self, query: str) -> list[dict[str, Any]]:
        """Return what the search engine finds."""
        answer = await self.client.post(f"{self.search_url}/search", json={"query": query, "max_results": HITS})
        answer.raise_for_status()
        return list(answer.json()["results"])

    async def read(self, url: str) -> str:
        """Return the text of a page, fetched once however many ask for it."""
        if url not in self.pages:
            self.pages[url] = asyncio.create_task(self._fetch(url))
        return await self.pages[url]

    async def _fetch(self, url: str) -> str:
        answer = await self.client.get(url)
        if answer.status_code != httpx2.codes.OK:
            return ""
        text = html.unescape(_TAG.sub(" ", _HIDDEN.sub(" ", answer.text)))
        return " ".join(text.split())[:CHARACTERS]

    async def investigate(self, about: str) -> list[tuple[str, str]]:
        """Work on one sub-question; return addresses with what the model took from them."""
        found: list[tuple[str, str]] = []
        query = about
        for _ in range(ROUNDS):
            hits = await self.search(query)
            fresh = [hit["url"] for hit in hits if hit["url"] not in self.pages][:READS]
            texts = await asyncio.gather(*(self.read(url) for url in fresh))
            asked = (self.ask("extract", f"Question: {about}\n\nPage:\n{text}") for text in texts)
            found += zip(fresh, await asyncio.gather(*asked), strict=True)
            query = await self.ask("reflect", f"Question: {about}\n\nKnown:\n" + "\n".join(said for _, said in found))
        return found

    async def research(self) -> str:
        """Return the report: what the model wrote, without lines whose addresses or numbers were not read."""
        plan = await self.ask("plan", f"Question: {self.question}")
        parts = [line for line in plan.splitlines() if line.strip()][:AGENTS]
        found = [each for part in await asyncio.gather(*map(self.investigate, parts)) for each in part]
        notes = "\n".join(f"{said} ({url})" for url, said in found)
        report = await self.ask("write", f"Question: {self.question}\n\nNotes:\n{notes}")
        return "\n".join(line for line in report.splitlines() if self._was_read(line, [url for url, _ in found]))

    def _was_read(self, line: str, urls: Sequence[str]) -> bool:
        cited = _ADDRESS.findall(line)
        texts = [self.pages[url].result() for url in cited if url in self.pages]
        numbers = _NUMBER.findall(_ADDRESS.sub("", line))
        return set(cited) <= set(urls) and all(any(each in text for text in texts) for each in numbers if texts)


async def main(model: str, search: str, question: str) -> None:
    """Print the report on a question."""
    async with httpx2.AsyncClient(timeout=120, limits=httpx2.Limits(max_connections=100)) as client:
        sys.stdout.write(await Floor(client, model, search, question).research() + "\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
