"""The analyst over the wire: every role, every protocol, everything a model may answer, every way a provider may fail.

Knows the scripted provider. A test counts calls, because a repair that repairs twice is a bug nobody sees.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from bench.model_server.faults import Fault
from bench.model_server.protocols import WireReply, WireRequest
from bench.model_server.scripted_model import answer_prompt
from bench.model_server.server import ModelServer
from tests.unit.adapters.models.conftest import TARGETS, asking, sample

from corrobora.adapters.models import parse_target
from corrobora.adapters.models.connection import ModelConnection
from corrobora.adapters.pacing import CallGate
from corrobora.analysts.language_model.analyst import LanguageModelAnalyst
from corrobora.domain.errors import ProviderError, RoleError
from corrobora.domain.limits import CallOptions
from corrobora.domain.report import Critique, Draft
from corrobora.testing.conformance import SAMPLES, check_analyst

CRITIQUE = '{"problems": ["a"], "summary": "b"}'


def script(*texts: str | WireReply):
    """Answer with these texts, one after the other; the last repeats."""
    left = list(texts)
    return lambda _asked: left.pop(0) if len(left) > 1 else left[0]


def connection_of(analyst: LanguageModelAnalyst) -> ModelConnection:
    found = analyst._models["worker"]
    assert isinstance(found, ModelConnection)
    return found


async def played(server: ModelServer, role: str = "critique", **more):
    async with server, asking(server, **more) as analyst:
        return await analyst.play(*sample(role))


@pytest.mark.parametrize("kind", TARGETS)
async def test_every_role_is_played_over_every_protocol(kind: str):
    async with ModelServer() as server, asking(server, kind) as analyst:
        for role, given in SAMPLES:
            answer = await analyst.play(role, given)
            assert isinstance(answer.value, role.gives)
            assert answer.usage.calls == 1
            assert answer.usage.input_tokens > 0
            assert answer.model == TARGETS[kind].partition("@")[0]
        await check_analyst(analyst)


async def test_a_field_left_null_counts_as_left_out_and_a_needed_one_as_missing():
    said = {"quotes": [], "summary": None, "terms": None, "linked": None}
    server = ModelServer(script(json.dumps(said)))
    answer = await played(server, "extract")
    assert answer.value.quotes == ()
    assert answer.usage.calls == 1
    server = ModelServer(script(json.dumps({**said, "quotes": None})))
    with pytest.raises(RoleError, match="quotes"):
        await played(server, "extract")


@pytest.mark.parametrize("kind", ["chat", "openai", "anthropic-native"])
@pytest.mark.parametrize("mode", ["native", "tool", "prompted"])
async def test_every_way_of_structured_output_works(kind: str, mode):
    async with ModelServer() as server, asking(server, kind, output_mode=mode) as analyst:
        answer = await analyst.play(*sample("extract"))
        assert answer.value.quotes
        asked = server.asked[0]
        assert bool(asked.tool) == (mode == "tool")
        assert bool(asked.schema) == (mode == "native")
        assert ('"properties"' in asked.system) == (mode == "prompted")


async def test_the_schema_comes_from_the_output_type():
    async with ModelServer() as server, asking(server) as analyst:
        await analyst.play(*sample("judge"))
        schema = server.asked[0].body["response_format"]["json_schema"]["schema"]
        assert "citation_accuracy" in schema["properties"]
        assert set(schema["required"]) == set(schema["properties"])


async def test_a_part_of_a_schema_that_is_used_once_stands_in_the_place_of_its_name():
    async with ModelServer() as server, asking(server) as analyst:
        for role in ("extract", "plan"):
            await analyst.play(*sample(role))
        once, several = (each.body["response_format"]["json_schema"]["schema"] for each in server.asked[:2])
        assert "$ref" not in json.dumps(once)
        assert set(once["properties"]["quotes"]["items"]["properties"]) >= {"passage", "quote", "answers"}
        assert set(several["$defs"]) == {
            found.rpartition("/")[2] for found in re.findall(r'"(#/\$defs/\w+)"', json.dumps(several))
        }
        assert several["$defs"]


async def test_instructions_are_marked_for_the_cache_of_anthropic():
    async with ModelServer() as server, asking(server, "anthropic-tool") as analyst:
        await analyst.play(*sample("extract"))
        body = server.asked[0].body
        assert body["system"][-1]["cache_control"]["type"] == "ephemeral"
        assert body["tools"][-1]["cache_control"]["type"] == "ephemeral"
        *brief, task = body["messages"][0]["content"]
        assert brief[-1]["cache_control"]["type"] == "ephemeral"
        assert not any("Passage C7" in part["text"] for part in brief)
        assert "Passage C7" in task["text"]


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{CRITIQUE}\n```",
        f"Here you are:\n{CRITIQUE}\nBye",
        f"<think>hm {{</think>{CRITIQUE}",
        '{"problems": ["a",], /* x */ "summary": "b",} // done',
    ],
)
async def test_json_in_fences_or_with_small_faults_needs_no_repair(text: str):
    server = ModelServer(script(text))
    answer = await played(server)
    assert answer.value == Critique(("a",), "b")
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Sure! I would rather talk.",
        "",
        " \n ",
        "<think>only thoughts</think>",
        '{"problems": ["a"], "problems": [], "summary": "b"}',
        '{"problems": 3, "summary": "b"}',
        '{"summary": "b"}',
        '{"problems": [], "summary": NaN}',
        "[1, 2]",
    ],
)
async def test_unusable_output_gets_exactly_one_repair_which_is_told_what_is_wrong(text: str):
    server = ModelServer(script(text, CRITIQUE))
    answer = await played(server)
    assert answer.value == Critique(("a",), "b")
    assert answer.usage.calls == len(server.calls) == 2
    assert "cannot be used" in server.asked[1].user
    assert server.asked[1].turns == (bool(text.strip()) and "<think>" not in text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no json", "json_invalid"),
        ("", "empty_output"),
        ("[" * 100_000, "json_invalid"),
        ('{"a":' * 5_000, "json_too_deep"),
        ('{"problems": [], "summary": ' + "[" * 100 + "]" * 100 + "}", "json_too_deep"),
        ('{"problems": [1], "summary": "b"}', "output_invalid"),
        ('{"problems": [], "summary": "' + "x" * 300_000 + '"}', "output_too_large"),
    ],
)
async def test_output_that_stays_unusable_is_a_typed_failure_that_says_what_was_paid(text: str, code: str):
    server = ModelServer(script(text))
    with pytest.raises(RoleError) as raised:
        await played(server)
    assert raised.value.code == code
    assert raised.value.usage.calls == len(server.calls) == 2
    assert raised.value.usage.input_tokens > 0


async def test_a_refusal_is_recorded_as_one_and_not_repaired():
    for kind in ("chat", "openai", "anthropic-native"):
        server = ModelServer(faults=[Fault("refusal")])
        with pytest.raises(RoleError) as raised:
            await played(server, kind=kind)
        assert (raised.value.code, len(server.calls)) == ("refusal", 1)


async def test_a_cut_answer_gets_one_more_try_with_more_room():
    limits: list[int | None] = []

    def answer(asked: WireRequest) -> WireReply:
        limits.append(asked.max_tokens)
        return WireReply(CRITIQUE if len(limits) > 1 else CRITIQUE[:9], "stop" if len(limits) > 1 else "length")

    assert (await played(ModelServer(answer))).value == Critique(("a",), "b")
    assert limits[0] is not None
    assert limits == [limits[0], limits[0] * 2]


@pytest.mark.parametrize("kind", ["chat", "openai", "anthropic-tool", "anthropic-native"])
async def test_an_answer_that_is_cut_twice_is_truncated(kind: str):
    server = ModelServer(faults=[Fault("cut-answer")])
    with pytest.raises(RoleError) as raised:
        await played(server, "synthesize", kind=kind)
    assert (raised.value.code, len(server.calls)) == ("output_truncated", 2)


@pytest.mark.parametrize(
    ("text", "ok"),
    [
        ("1.0", True),
        ("1.7", False),
        ("-0.1", False),
        ('"1.0"', True),
        ('"1.7"', False),
        ('"high"', False),
        ("null", False),
    ],
)
async def test_scores_of_a_judge_must_be_numbers_between_0_and_1(text: str, ok: bool):
    names = ("factual_accuracy", "citation_accuracy", "completeness", "source_quality")
    scores = ", ".join(f'"{name}": 0.5' for name in names)
    server = ModelServer(script(f'{{{scores}, "source_diversity": {text}, "rationale": "r"}}'))
    if ok:
        assert (await played(server, "judge")).value.overall == pytest.approx(0.6)
    else:
        with pytest.raises(RoleError, match="source_diversity"):
            await played(server, "judge")


async def test_usage_that_cannot_be_true_is_replaced_by_an_estimate_from_above():
    honest = await played(ModelServer())
    lying = await played(ModelServer(faults=[Fault("usage")]))
    missing = await played(
        ModelServer(lambda asked: WireReply(answer_prompt(asked.system, asked.user), input_tokens=None))
    )
    for usage in (lying.usage, missing.usage):
        assert usage.input_tokens > honest.usage.input_tokens
        assert usage.output_tokens >= honest.usage.output_tokens


async def test_a_model_that_claims_another_name_is_reported_under_its_own():
    answer = await played(ModelServer(lambda _: WireReply(CRITIQUE, model="gpt-99")))
    assert answer.model == "openai-compatible:scripted"


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "provider_rejected", False),
        (401, "provider_refused", False),
        (402, "provider_quota", False),
        (403, "provider_refused", False),
        (404, "model_not_found", False),
        (429, "provider_busy", True),
        (500, "provider_failed", True),
        (503, "provider_failed", True),
    ],
)
@pytest.mark.parametrize("kind", ["chat", "openai", "anthropic-native"])
async def test_every_http_error_is_a_typed_provider_error(status: int, code: str, retryable: bool, kind: str):
    from corrobora.testing.http_server import HttpServer, Request, Response

    async def respond(_request: Request) -> Response:
        body = {"error": {"message": "no: sk-abcdefghijkl", "type": "x", "code": None}}
        return Response(status, json.dumps(body).encode(), headers={"retry-after": "7"})

    server = HttpServer(respond)
    async with server, asking(server, kind) as analyst:  # type: ignore[arg-type] - it has a url as well
        with pytest.raises(ProviderError) as raised:
            await analyst.play(*sample("critique"))
    error = raised.value
    assert (error.code, error.status, error.retryable) == (code, status, retryable)
    assert error.retry_after_seconds == (7.0 if status not in (401, 403) else None)
    assert "abcdefghijkl" not in str(error)


async def test_cut_connections_and_silence_are_retryable():
    for fault in ("cut-connection",):
        with pytest.raises(ProviderError) as raised:
            await played(ModelServer(faults=[Fault(fault)]))
        assert raised.value.retryable
    async with ModelServer() as server:
        pass
    async with asking(server) as analyst:
        with pytest.raises(ProviderError) as raised:
            await analyst.play(*sample("critique"))
    assert (raised.value.code, raised.value.retryable) == ("provider_unreachable", True)


async def test_a_call_that_never_ends_is_ended():
    server = ModelServer(faults=[Fault("slow", seconds=60)])
    async with server, asking(server, total_seconds=0.2) as analyst:
        with pytest.raises(ProviderError) as raised:
            await analyst.play(*sample("critique"))
    assert (raised.value.code, raised.value.retryable) == ("provider_timeout", True)


async def test_a_cancelled_call_leaves_the_gate_free():
    async with ModelServer(faults=[Fault("slow", seconds=60)]) as server, asking(server) as analyst:
        task = asyncio.create_task(analyst.play(*sample("critique")))
        while not server.in_flight:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert connection_of(analyst).gate.in_flight == 0


async def test_an_answer_of_forty_megabytes_is_not_read_to_its_end():
    with pytest.raises(RoleError) as raised:
        await played(ModelServer(script("x" * 40_000_000)))
    assert raised.value.code == "output_too_large"


async def test_a_server_without_native_output_is_asked_for_a_tool_and_then_in_words():
    from bench.model_server.protocols import read_request, write_answer

    from corrobora.testing.http_server import HttpServer, Request, Response

    modes: list[str] = []

    async def respond(request: Request) -> Response:
        body = json.loads(request.body)
        asked = read_request("chat", body)
        modes.append("native" if asked.schema else "tool" if asked.tool else "prompted")
        if modes[-1] != "prompted":
            error = {"message": f"{'response_format' if asked.schema else 'tools'} is not supported", "type": "invalid"}
            return Response(400, json.dumps({"error": error}).encode())
        return Response(body=write_answer(asked, WireReply(CRITIQUE, input_tokens=1, output_tokens=1), 1))

    server = HttpServer(respond)
    async with server, asking(server) as analyst:  # type: ignore[arg-type] - it has a url as well
        assert (await analyst.play(*sample("critique"))).value == Critique(("a",), "b")
        await analyst.play(*sample("critique"))
    assert modes == ["native", "tool", "prompted", "prompted"]


async def test_a_title_repeated_in_the_body_stands_once():
    draft = json.dumps({"title": "# The pump", "body": "# The pump\n\nIt moves [S3:C7]."})
    assert (await played(ModelServer(script(draft)), "summarize")).value == Draft("The pump", "It moves [S3:C7].")


async def test_tiers_choose_the_model_and_the_identity_names_it():
    async with ModelServer() as server, asking(server) as one, asking(server, "ollama") as two:
        analyst = LanguageModelAnalyst({"worker": connection_of(one), "lead": connection_of(two)})
        judge, critique, plan = sample("judge"), sample("critique"), sample("plan")
        assert (await analyst.play(*plan)).model == "ollama:qwen3"
        assert (await analyst.play(*judge)).model == "openai-compatible:scripted"
        assert analyst.identity(plan[0]).startswith("ollama:qwen3|plan@")
        assert analyst.identity(critique[0]) != one.identity(judge[0])
    with pytest.raises(ValueError, match="at least one model"):
        LanguageModelAnalyst({})


@pytest.mark.parametrize("mode", ["native", "tool"])
async def test_a_lead_that_thinks_has_room_for_thoughts_and_answer(mode):
    async with ModelServer() as server:
        target = parse_target(f"anthropic:claude-haiku-4-5@{server.url}", {})
        connection = ModelConnection(
            replace(target, thinking=True, options=CallOptions(output_mode=mode)), CallGate("lead")
        )
        answer = await LanguageModelAnalyst({"lead": connection}).play(*sample("plan"))
        await connection.aclose()
        body = server.asked[0].body
    assert answer.value.root
    assert 0 < body["thinking"]["budget_tokens"] < body["max_tokens"]


def test_importing_the_clients_costs_no_http_library():
    code = (
        "import sys, corrobora.analysts.language_model.analyst, corrobora.adapters.models.connection\n"
        "import corrobora.adapters.models.anthropic_messages, corrobora.adapters.models.chat_completions\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'httpx2', 'genai_prices', 'openai'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("kind", ["chat", "openai", "anthropic-native"])
@pytest.mark.parametrize(
    "body", [b"<html>proxy login</html>", b"", b"{}", b"[]", b'{"choices": [', b'{"choices": []}', b"null", b"\xff\xfe"]
)
async def test_an_envelope_that_is_none_is_an_error_of_the_provider(body: bytes, kind: str):
    from corrobora.testing.http_server import HttpServer, Request, Response

    async def respond(_request: Request) -> Response:
        return Response(200, body, "text/html" if body.startswith(b"<") else "application/json")

    server = HttpServer(respond)
    async with server, asking(server, kind) as analyst:  # type: ignore[arg-type] - it has a url as well
        with pytest.raises((ProviderError, RoleError)) as raised:
            await analyst.play(*sample("critique"))
    empty = body == b'{"choices": []}' and kind != "anthropic-native"
    assert raised.value.code == ("empty_output" if empty else "provider_foreign")
