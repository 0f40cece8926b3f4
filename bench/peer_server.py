"""One scripted model, one search engine and one web for our program and for those of others.

Knows OpenAI's chat completions, streamed or not, and its embeddings; what a role of ours asks for is answered from the
prompt, and others by a fixed script: search, open three pages, search again, open three more, and answer. Each line of
stdin is answered by what was asked for since the last one. Run: python -m bench.peer_server SECONDS SECONDS_A_TOKEN
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from bench.model_server.protocols import WireReply, WireRequest, read_request, write_answer, write_events
from bench.model_server.server import Latency, answer_from_prompt
from bench.web_run import HOSTS, question, subject, write_pages
from corrobora.testing.http_server import HttpServer, Request, Response
from corrobora.testing.web import LoopbackWeb

ROUNDS, READS = 2, 3
_ADDRESS = re.compile(r"http://127\.[\d.]+:\d+/page/\d+")
_SENTENCE = re.compile(r"[^.!?\n]*\b\d[^.!?\n]*\.")
_QUERIES = re.compile(r"Write (\d+) (?:google )?search queries", re.IGNORECASE)
_DIMENSIONS = 64


@dataclass
class PeerServer:
    """Answers the model's requests and counts them; `web` is where searches go."""

    web: LoopbackWeb
    latency: Latency
    prompts: Counter[str] = field(default_factory=Counter[str])
    searches: Counter[str] = field(default_factory=Counter[str])
    embeddings: int = 0
    tokens: int = 0

    async def respond(self, request: Request) -> Response:
        """Answer one request."""
        place = urlsplit(request.path)
        if place.path.endswith("/custom-search"):
            return await self._search(parse_qs(place.query).get("query", [""])[0])
        if place.path.endswith("/embeddings"):
            return self._embed(json.loads(request.body))
        if not place.path.endswith("/chat/completions"):
            return Response(404, b"{}")
        body = json.loads(request.body)
        asked = read_request("chat", body)
        said = answer_call(asked, body)
        self.prompts[json.dumps(body["messages"], sort_keys=True)] += 1
        sent = len(json.dumps(body["messages"])) // 4
        self.tokens += sent
        reply = WireReply(said.text, input_tokens=sent, output_tokens=max(1, len(said.text) // 4))
        await asyncio.sleep(self.latency.of(reply.output_tokens or 0))
        asked = replace(asked, tool=said.tool)
        number = self.prompts.total()
        if asked.stream:
            return Response(parts=_each(write_events(asked, reply, number)), content_type="text/event-stream")
        return Response(body=write_answer(asked, reply, number))

    async def _search(self, query: str) -> Response:
        """Answer as the custom retriever of gpt-researcher expects; a short text, so that it opens the pages itself."""
        async with httpx2.AsyncClient() as client:
            found = await client.post(f"{self.web.url}/search", json={"query": query, "max_results": 5})
        rows = [{"url": each["url"], "raw_content": each["content"][:80]} for each in found.json()["results"]]
        return Response(body=json.dumps(rows).encode())

    def _embed(self, body: Any) -> Response:
        """Vectors of hashed words."""
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        self.embeddings += 1
        data = [{"object": "embedding", "index": at, "embedding": _hash(str(text))} for at, text in enumerate(texts)]
        used = {"prompt_tokens": 1, "total_tokens": 1}
        return Response(
            body=json.dumps({"object": "list", "data": data, "model": body["model"], "usage": used}).encode()
        )

    def take_counts(self) -> dict[str, int]:
        """Return what was asked for since the last time, and forget it."""
        pages = Counter(
            f"{each.headers.get('host')}{each.path}" for each in self.web.requests if each.path.startswith("/page/")
        )
        searches = Counter(self.web.searches)
        found = {
            "calls": self.prompts.total(),
            "repeats": self.prompts.total() - len(self.prompts),
            "tokens": self.tokens,
            "embeddings": self.embeddings,
            "searches": searches.total(),
            "search_repeats": searches.total() - len(searches),
            "pages": pages.total(),
            "page_repeats": pages.total() - len(pages),
        }
        self.prompts.clear()
        self.web.searches.clear()
        self.web.requests.clear()
        self.tokens = self.embeddings = 0
        return found


@dataclass(frozen=True, slots=True)
class Said:
    """What the script answers: a text, or the arguments of a tool."""

    text: str
    tool: str = ""


def answer_call(asked: WireRequest, body: Any) -> Said:
    """Answer a role of ours from its prompt, and anybody else by the script."""
    if "# Role: " in asked.system:
        return Said(answer_from_prompt(asked), asked.tool)
    tools = [each["function"]["name"] for each in body.get("tools", [])]
    if tools:
        return _use_tools(tools, body["messages"])
    everything = f"{asked.system}\n{asked.user}"
    if wanted := _QUERIES.search(everything):
        return Said(json.dumps(_neighbours(everything, int(wanted[1]))))
    if "agent_role_prompt" in everything:
        return Said(json.dumps({"server": "Research agent", "agent_role_prompt": "You research and write reports."}))
    if "# Bare role: plan" in asked.system:
        about = asked.user.removeprefix("Question: ")
        return Said("\n".join([about, *(f"What load may a {each} carry?" for each in _neighbours(about, 2))]))
    if "# Bare role: reflect" in asked.system:
        return Said(f"How often must a {_neighbours(asked.user, 1)[0]} be inspected?")
    return Said(_write(everything, 5 if "# Bare role: extract" in asked.system else 20))


def _use_tools(tools: list[str], messages: list[Any]) -> Said:
    """Take the next step of the script: as many searches and pages as were not made yet, then the answer."""
    search = next((name for name in tools if "search" in name), "")
    visit = next((name for name in tools if "visit" in name or "page" in name), "")
    called = [call["function"]["name"] for each in messages for call in each.get("tool_calls") or ()]
    said = json.dumps(messages)
    called += re.findall(rf"'name': '({search}|{visit})'", said) if not called else []
    searched, visited = called.count(search), called.count(visit)
    if searched < ROUNDS and visited == searched * READS:
        return Said(json.dumps({"query": [question(1), *_neighbours(said, ROUNDS)][searched]}), search)
    urls = list(dict.fromkeys(_ADDRESS.findall(said)))
    if visited < searched * READS and visited < len(urls):
        return Said(json.dumps({"url": urls[visited]}), visit)
    text = _write(said, 20)
    final = next((name for name in tools if "final" in name), "")
    return Said(json.dumps({"answer": text}), final) if final else Said(text)


def _neighbours(text: str, count: int) -> list[str]:
    """Other things of this web, always the same ones for a text."""
    first = zlib.crc32(text.encode())
    return [subject(first + at) for at in range(count)]


def _write(text: str, sentences: int) -> str:
    """Sentences with numbers of the text, each with an address of it."""
    urls = list(dict.fromkeys(_ADDRESS.findall(text))) or [""]
    found = list(
        dict.fromkeys(each.strip() for each in _SENTENCE.findall(text) if "tonnes" in each or "months" in each)
    )
    written = "\n".join(f"{each} ({urls[at % len(urls)]})" for at, each in enumerate(found[:sentences]))
    return written or "Nothing was found."


def _hash(text: str) -> list[float]:
    vector = [0.01] * _DIMENSIONS
    for word in text.lower().split():
        vector[int.from_bytes(hashlib.blake2b(word.encode(), digest_size=2).digest()) % _DIMENSIONS] += 1.0
    size = sum(each * each for each in vector) ** 0.5
    return [each / size for each in vector]


async def _each(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def serve(latency: Latency) -> None:
    """Serve until stdin ends."""
    async with LoopbackWeb(write_pages(), hosts=HOSTS) as web:
        served = PeerServer(web, latency)
        async with HttpServer(served.respond) as http:
            print(json.dumps({"model": http.port, "web": web.port}), flush=True)
            while await asyncio.to_thread(sys.stdin.readline):
                print(json.dumps(served.take_counts()), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Latency(float(sys.argv[1]), float(sys.argv[2]))))
