"""A model provider on loopback: speaks two protocols, answers from a script, and fails on demand.

Knows latency, faults and who asked what. Does not know what is asked: `answer_prompt` or your own function answers.
`python -m bench.model_server.server --port 8099 --fault 429:p=0.2` serves until it is stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Self, cast

from bench.model_server.faults import FAULT_KINDS, Fault, FaultInjector
from bench.model_server.protocols import (
    PROTOCOL_PATHS,
    WireReply,
    WireRequest,
    read_request,
    write_answer,
    write_events,
    write_failure,
)
from bench.model_server.scripted_model import answer_prompt
from corrobora.testing.http_server import HttpServer, Request, Response

Answers = Callable[[WireRequest], str | WireReply]
MODELS = ("scripted-large", "scripted-small")
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Latency:
    """How long an answer takes: a fixed time and a time for each token of it."""

    seconds: float = 0.0
    per_token_seconds: float = 0.0

    def of(self, tokens: int) -> float:
        """Seconds for an answer of so many tokens."""
        return self.seconds + self.per_token_seconds * tokens


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One request as the server saw it; `at` counts seconds from the first one."""

    at: float
    role: str
    status: int
    in_flight: int
    fault: str = ""


def answer_from_prompt(asked: WireRequest) -> str:
    """Answer with words of the prompt itself."""
    return answer_prompt(asked.system, asked.user)


@dataclass(slots=True)
class ModelServer:
    """Serves on 127.0.0.1 while its context is open; base URLs are `url` (Anthropic) and `url + "/v1"` (OpenAI).

    `answers` is given each request and returns the text of the answer (JSON where JSON is asked for) or a `WireReply`.

    Example:
        async with ModelServer(faults=[Fault("429", p=0.2)]) as server:
            target = parse_target(f"openai-compatible:scripted@{server.url}/v1", {})
    """

    answers: Answers = answer_from_prompt
    faults: Sequence[Fault] = ()
    latency: Latency = Latency()
    seed: int = 0
    port: int = 0
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    asked: list[WireRequest] = field(default_factory=list[WireRequest])
    keep: bool = True  # remember `calls` and `asked`; False for long measurements
    in_flight: int = 0
    received: int = 0  # requests for an answer, whatever became of them
    received_tokens: int = 0  # of the prompts that were not refused
    _struck: FaultInjector = field(default_factory=FaultInjector)
    _http: HttpServer | None = None
    _first: float | None = None
    _number: int = 0

    async def __aenter__(self) -> Self:
        self._struck = FaultInjector(self.faults, self.seed)
        self._http = await HttpServer(self._respond, port=self.port).__aenter__()
        self.port = self._http.port
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._http is not None
        await self._http.__aexit__()

    @property
    def url(self) -> str:
        """Address of the server, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def forged(self) -> list[str]:
        """Wrong markers, numbers and addresses that the fault `wrong-citations` put into answers."""
        return self._struck.forged

    @property
    def most_at_once(self) -> int:
        """The most calls that were in flight at once."""
        return max((call.in_flight for call in self.calls), default=0)

    async def _respond(self, request: Request) -> Response:
        path = request.path.partition("?")[0]
        if request.method == "GET" and path.endswith("/models"):
            rows = [
                {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "corrobora"} for name in MODELS
            ]
            return Response(body=json.dumps({"object": "list", "data": rows}).encode())
        protocol = PROTOCOL_PATHS.get(path)
        if request.method != "POST" or protocol is None:
            return Response(404, write_failure("chat", 404, f"no such path: {path[:100]}"))
        try:
            asked = read_request(protocol, json.loads(request.body))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return Response(400, write_failure(protocol, 400, f"not a request of this protocol: {error!r}"))
        self.in_flight += 1
        self.received += 1
        try:
            return await self._answer(asked, request.body)
        finally:
            self.in_flight -= 1

    async def _answer(self, asked: WireRequest, body: bytes) -> Response:
        now = asyncio.get_running_loop().time()
        self._first = now if self._first is None else self._first
        call = self._struck.identify_call(body)
        refused = self._refusal(asked, call, now - self._first)
        if refused is not None:
            return refused
        said = self._build_reply(asked, call)
        self.received_tokens += (len(asked.system) + len(asked.user)) // _BYTES_PER_TOKEN
        slow = self._struck.find_fault("slow", call)
        await asyncio.sleep(self.latency.of(said.output_tokens or 0) + (slow.seconds if slow else 0.0))
        cut = self._struck.find_fault("cut-connection", call)
        self._note(asked, now - self._first, 200, "cut-connection" if cut else "slow" if slow else "")
        self._number += 1
        if asked.stream:
            events = list(write_events(asked, said, self._number))
            half = sum(map(len, events)) // 2 if cut else None
            return Response(parts=_each(events), content_type="text/event-stream; charset=utf-8", cut_after=half)
        whole = write_answer(asked, said, self._number)
        return Response(body=whole, cut_after=len(whole) // 2 if cut else None)

    def _refusal(self, asked: WireRequest, call: str, at: float) -> Response | None:
        """Return an error if a fault asks for one."""
        limit = next((fault for fault in self.faults if fault.kind == "limit"), None)
        outage = next((fault for fault in self.faults if fault.kind == "outage"), None)
        if outage is not None and outage.start <= at < outage.start + outage.seconds:
            return self._error(asked, at, 503, "outage", {})
        if limit is not None and self.in_flight > limit.k:
            return self._error(asked, at, 429, "limit", {"retry-after": f"{limit.retry_after:g}"})
        busy = self._struck.find_fault("429", call)
        if busy is not None:
            return self._error(asked, at, 429, "429", {"retry-after": f"{busy.retry_after:g}"})
        if self._struck.find_fault("500", call) is not None:
            return self._error(asked, at, 500, "500", {})
        return None

    def _error(self, asked: WireRequest, at: float, status: int, fault: str, headers: dict[str, str]) -> Response:
        self._note(asked, at, status, fault)
        return Response(status, write_failure(asked.protocol, status, f"scripted fault: {fault}"), headers=headers)

    def _build_reply(self, asked: WireRequest, call: str) -> WireReply:
        given = self.answers(asked)
        said = given if isinstance(given, WireReply) else WireReply(given)
        sent = (len(asked.system) + len(asked.user)) // _BYTES_PER_TOKEN
        text, ended = said.text, said.ended
        if self._struck.find_fault("wrong-citations", call):
            text = self._struck.forge_answer(text, call)
        if self._struck.find_fault("bad-json", call):
            text = text[: len(text) // 2].rstrip() + '", "unfinished": [[ "'
        elif self._struck.find_fault("cut-answer", call):
            text, ended = text[: len(text) // 2], "length"
        elif self._struck.find_fault("empty", call):
            text = ""
        elif self._struck.find_fault("refusal", call):
            text, ended = "I cannot help with that.", "refusal"
        tokens: tuple[int | None, int | None] = (sent, max(1, len(text) // _BYTES_PER_TOKEN))
        if self._struck.find_fault("usage", call):
            tokens = (0, 0)
        if said.input_tokens != 0:
            tokens = (said.input_tokens, said.output_tokens)
        return WireReply(text, ended, *tokens, said.model)

    def _note(self, asked: WireRequest, at: float, status: int, fault: str) -> None:
        if self.keep:
            role = asked.system.partition("# Role: ")[2].partition("\n")[0]
            self.calls.append(CallRecord(at, role, status, self.in_flight, fault))
            self.asked.append(asked)


async def _each(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def _parser() -> argparse.ArgumentParser:
    kinds = "\n".join(f"  {kind}: {what}" for kind, what in FAULT_KINDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench.model_server.server",
        description="A scripted model provider on 127.0.0.1: OpenAI chat completions and Anthropic messages.",
        epilog=f"Faults, as KIND:name=number,...\n{kinds}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one (default)")
    parser.add_argument("--fault", action="append", default=[], help="a fault; may be repeated")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds for every answer")
    parser.add_argument("--per-token", type=float, default=0.0, help="further seconds for each token of an answer")
    parser.add_argument("--seed", type=int, default=0, help="seed of the faults")
    return parser


async def _serve(options: argparse.Namespace, faults: Sequence[Fault]) -> None:
    latency = Latency(cast("float", options.latency), cast("float", options.per_token))
    async with ModelServer(
        faults=faults, latency=latency, seed=cast("int", options.seed), port=cast("int", options.port), keep=False
    ) as server:
        print(f"serving on {server.url} (OpenAI: {server.url}/v1)", flush=True)
        await asyncio.Event().wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted. Returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        faults = [Fault.parse(text) for text in cast("list[str]", options.fault)]
    except ValueError as error:
        parser.error(str(error))
    try:
        asyncio.run(_serve(options, faults))
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
