"""The scripted provider: protocols, streams, latency, faults that repeat, and the command."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Sequence

import httpx2
import pytest
from bench.model_server.faults import FAULT_KINDS, Fault, FaultInjector
from bench.model_server.protocols import WireReply, WireRequest
from bench.model_server.server import MODELS, Latency, ModelServer, main

from corrobora.adapters.models import Completion, ModelRequest, OutputMode, parse_target
from corrobora.adapters.models.framing import TransportError
from corrobora.analysts.language_model import OutputForm, Prompt
from corrobora.testing.http_server import HttpServer, Request, Response

PROTOCOL_PATHS = {"chat": "/v1/chat/completions", "anthropic": "/v1/messages"}
TARGETS = {"chat": "openai-chat:gpt-4.1@{url}/v1", "anthropic": "anthropic:claude-sonnet-5@{url}"}
FORM = OutputForm("answer", "An answer.", {"type": "object", "properties": {}})


async def told(server: ModelServer, kind: str, mode: OutputMode = "prompted") -> Completion:
    target = parse_target(TARGETS[kind].format(url=server.url), {})
    wire = target.provider.connect(target)
    try:
        return await wire.complete(ModelRequest(Prompt("be brief", ("hello",), ""), FORM, mode, 99))
    finally:
        await wire.aclose()


@pytest.mark.parametrize("kind", TARGETS)
async def test_text_usage_and_ending_arrive_in_every_protocol(kind: str):
    said = WireReply("A text of some words, long enough for several events.", input_tokens=12, output_tokens=7)
    async with ModelServer(lambda _: said) as server:
        answer = await told(server, kind)
        asked = server.asked[0]
        whole = await post(server, {**asked.body, "stream": False}, path=PROTOCOL_PATHS[kind])
    assert (answer.text, answer.ending) == (said.text, "stop")
    assert (answer.tokens.sent, answer.tokens.received) == (12, 7)
    assert asked.system.startswith("be brief")
    assert (asked.user, asked.max_tokens, asked.stream) == ("hello", 99, True)
    assert said.text in json.dumps(whole[0].json())


@pytest.mark.parametrize("kind", TARGETS)
async def test_tool_calls_arrive_in_every_protocol(kind: str):
    async with ModelServer(lambda _: '{"a": [1, "two"]}') as server:
        answer = await told(server, kind, "tool")
        assert server.asked[0].tool == "answer"
    assert json.loads(answer.text) == {"a": [1, "two"]}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("ended", ["length", "refusal"])
async def test_cut_answers_and_refusals_arrive_as_such(kind: str, ended):
    async with ModelServer(lambda _: WireReply("I", ended)) as server:
        assert (await told(server, kind)).ending == ended


@pytest.mark.parametrize("kind", TARGETS)
async def test_a_cut_connection_is_an_error_in_every_protocol(kind: str):
    async with ModelServer(lambda _: "word " * 100, faults=[Fault("cut-connection")]) as server:
        with pytest.raises(TransportError):
            await told(server, kind)


async def post(server: ModelServer, *bodies: dict, path: str = "/v1/chat/completions") -> list[httpx2.Response]:
    async with httpx2.AsyncClient(trust_env=False, timeout=600, verify=False) as client:
        return list(await asyncio.gather(*(client.post(server.url + path, json=body) for body in bodies)))


def asking(text: str) -> dict:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


async def statuses(faults: Sequence[Fault], seed: int, order: Sequence[int]) -> dict[int, list[int]]:
    async with ModelServer(lambda _: "x", faults=faults, seed=seed) as server:
        found: dict[int, list[int]] = {number: [] for number in order}
        for number in (*order, *order):
            found[number] += [reply.status_code for reply in await post(server, asking(str(number)))]
        return dict(sorted(found.items()))


async def test_faults_strike_the_same_calls_whatever_the_order():
    faults = [Fault("429", p=0.3), Fault("500", p=0.2)]
    once = await statuses(faults, 7, range(30))
    assert once == await statuses(faults, 7, range(29, -1, -1))
    assert once != await statuses(faults, 8, range(30))
    flat = [status for pair in once.values() for status in pair]
    assert 8 <= flat.count(429) <= 30
    assert {200, 429, 500} == set(flat)


async def test_a_limit_counts_calls_in_flight_and_says_when_to_come_back():
    slow = Latency(3_600)  # who is let in stays
    async with ModelServer(lambda _: "x", faults=[Fault("limit", k=3, retry_after=2)], latency=slow) as server:
        calls = [asyncio.create_task(post(server, asking(str(number)))) for number in range(8)]
        refused = [reply for first in itertools.islice(asyncio.as_completed(calls), 5) for reply in await first]
        assert [reply.status_code for reply in refused] == [429] * 5
        assert {reply.headers["retry-after"] for reply in refused} == {"2"}
        assert server.in_flight == 3
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    assert server.most_at_once >= 4


async def test_an_outage_begins_and_ends():
    async with ModelServer(lambda _: "x", faults=[Fault("outage", start=0.0, seconds=0.3)]) as server:
        first = await post(server, asking("a"))
        await asyncio.sleep(0.35)
        second = await post(server, asking("a"))
    assert [first[0].status_code, second[0].status_code] == [503, 200]


async def test_latency_grows_with_the_answer():
    async with ModelServer(lambda _: "x" * 400, latency=Latency(0.05, 0.001)) as server:
        began = asyncio.get_running_loop().time()
        await post(server, asking("a"))
        assert asyncio.get_running_loop().time() - began >= 0.15


async def test_models_are_listed_and_nonsense_is_refused():
    async with ModelServer() as server, httpx2.AsyncClient(trust_env=False) as client:
        listed = (await client.get(f"{server.url}/v1/models")).json()
        assert [row["id"] for row in listed["data"]] == list(MODELS)
        assert (await client.get(f"{server.url}/nosuch")).status_code == 404
        assert (await client.post(f"{server.url}/v1/messages", content=b"{")).status_code == 400
        assert (await client.post(f"{server.url}/v1/messages", json={"model": "m"})).status_code == 400


def test_every_kind_of_fault_can_be_written_and_wrong_ones_are_told():
    for kind in FAULT_KINDS:
        assert Fault.parse(f"{kind}:p=0.5,seconds=2").p == 0.5
    assert Fault.parse("limit:k=9").k == 9
    for wrong in ("nosuch", "429:q=1", "429:p=often"):
        with pytest.raises(ValueError, match=r"unknown|often"):
            Fault.parse(wrong)


def test_forging_changes_markers_numbers_quotes_and_addresses_and_lists_them():
    faults = FaultInjector(seed=1)
    body = " ".join(f"It moves {20 + n} litres [S{n}:C{n}]." for n in range(30))
    answer = json.dumps({"body": body, "quotes": [{"quote": "It moves 25 litres", "passage": "C1"}], "n": 1})
    forged = json.loads(faults.forge_answer(answer, "call"))
    assert forged["body"] != body
    assert forged["quotes"][0]["quote"] != "It moves 25 litres"
    assert forged["quotes"][0]["passage"] == "C1"
    assert all(each in forged["body"] for each in faults.forged)
    assert any(each.startswith("[S9") for each in faults.forged)
    assert faults.forge_answer("no json", "call") == "no json"
    assert FaultInjector(seed=1).forge_answer(answer, "call") == json.dumps(forged, ensure_ascii=False)


def test_the_command_serves_until_it_is_stopped():
    command = [sys.executable, "-W", "error", "-m", "bench.model_server.server", "--fault", "429:p=1", "--latency", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[2]
            reply = httpx2.post(f"{url}/v1/chat/completions", json=asking("x"), trust_env=False)
            assert reply.status_code == 429
        finally:
            process.terminate()
            process.wait()


def test_the_command_refuses_an_unknown_fault(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as raised:
        main(["--fault", "nosuch"])
    assert raised.value.code == 2
    assert "unknown fault 'nosuch'" in capsys.readouterr().err


async def test_a_closed_server_leaves_no_talk_behind():
    started, ended = asyncio.Event(), asyncio.Event()

    async def respond(_request: Request) -> Response:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Response()

    async with HttpServer(respond) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await started.wait()
    assert await reader.read() == b""
    writer.close()
    assert ended.is_set()


async def test_the_script_sees_what_was_asked():
    seen: list[WireRequest] = []

    def answers(asked: WireRequest) -> str:
        seen.append(asked)
        return "ok"

    async with ModelServer(answers) as server:
        body = {
            "model": "m",
            "max_tokens": 5,
            "system": [{"type": "text", "text": "S"}],
            "messages": [{"role": "user", "content": "U"}],
        }
        await post(server, body, path="/v1/messages?beta=true")
    assert [(a.protocol, a.model, a.system, a.user, a.turns) for a in seen] == [("anthropic", "m", "S", "U", 0)]
