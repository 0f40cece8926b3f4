"""Models from settings and wishes: clear refusals before anything is paid, prices, and one gate for each key."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from bench.model_server.server import Latency, ModelServer

from corrobora.adapters.models import Tokens, meter_reply
from corrobora.app.models import ModelPool, check_prices, list_recipients, serve_in_turn
from corrobora.config import load_settings
from corrobora.domain.errors import ProviderError, UserError
from corrobora.domain.run import Request
from corrobora.testing.conformance import find_sample

OWN = """
[models.endpoints.lan]
base_url = "http://models.example:8000/v1/"
[models.endpoints.lan2]
base_url = "http://models.example:8000/v1"
api_key = { env = "OTHER_KEY" }
"""
PRICE = '[models.prices."lan:big"]\ninput = 1.0\noutput = 2.0\n'


def test_without_a_name_there_is_no_model(settings_of: Any) -> None:
    assert ModelPool(settings_of()).get_analyst({}) is None


@pytest.mark.parametrize(
    ("wish", "code", "named"),
    [
        ("claude", "model_unknown_provider", "PROVIDER:MODEL"),
        ("gooogle:gem", "model_unknown_provider", "anthropic, .*openai"),
        ("openai:", "model_no_name", "PROVIDER:MODEL"),
        ("openai:gpt-4.1", "model_no_key", "OPENAI_API_KEY"),
        ("anthropic:claude-opus-4-5", "model_no_key", "ANTHROPIC_API_KEY"),
        ("openai-compatible:m", "model_no_address", "CORROBORA_MODEL_BASE_URL"),
        ("lan:", "model_no_name", "PROVIDER:MODEL"),
    ],
)
def test_c15_a_model_that_cannot_be_used_is_refused_with_the_next_step(
    settings_of: Any, wish: str, code: str, named: str
) -> None:
    with pytest.raises(UserError, match=named) as caught:
        ModelPool(settings_of(OWN)).get_analyst({"worker": wish})
    assert caught.value.code == code


def test_one_named_tier_plays_all(settings_of: Any) -> None:
    chosen = ModelPool(settings_of()).choose_targets({"fast": "ollama:small"}, thinking=False)
    assert {target.id for target in chosen.values()} == {"ollama:small"}
    assert set(chosen) == {"lead", "worker", "fast", "judge"}


def test_an_endpoint_of_ones_own_stands_beside_others(settings_of: Any) -> None:
    chosen = ModelPool(settings_of(OWN)).choose_targets({"worker": "lan:big", "judge": "ollama:small"}, thinking=True)
    assert {tier: target.model for tier, target in chosen.items()} == {
        "lead": "small",
        "worker": "big",
        "fast": "small",
        "judge": "small",
    }
    assert chosen["worker"].base_url == "http://models.example:8000/v1"
    assert chosen["lead"].thinking
    assert not chosen["worker"].thinking


def test_the_key_of_the_settings_is_used(settings_of: Any) -> None:
    chosen = ModelPool(settings_of(OPENAI_API_KEY="canary-1")).choose_targets(
        {"worker": "openai:gpt-4.1"}, thinking=False
    )
    assert chosen["worker"].key == "canary-1"


def test_connections_are_made_once(settings_of: Any) -> None:
    models = ModelPool(settings_of())
    wishes = {"worker": "ollama:small"}
    assert models.get_analyst(wishes) is models.get_analyst(dict(wishes))
    assert models.get_analyst(wishes) is not models.get_analyst({"worker": "ollama:large"})


def test_two_keys_at_one_address_have_limits_of_their_own(settings_of: Any) -> None:
    models = ModelPool(settings_of(OWN, OTHER_KEY="canary-2"))
    chosen = [models.choose_targets({"worker": f"{name}:big"}, thinking=False)["worker"] for name in ("lan", "lan2")]
    assert chosen[0].base_url == chosen[1].base_url
    gates = [models._open_connection(target).gate for target in chosen]
    assert gates[0] is not gates[1]
    assert "canary-2" not in repr(models._gates)


def test_models_with_one_key_at_one_address_share_its_limit(settings_of: Any) -> None:
    models = ModelPool(settings_of(OWN))
    gates = [
        models._open_connection(models.choose_targets({"worker": name}, thinking=False)["worker"]).gate
        for name in ("lan:big", "lan:small")
    ]
    assert gates[0] is gates[1]


def test_c16_a_model_without_a_price_is_refused_and_the_setting_is_named(settings_of: Any) -> None:
    with pytest.raises(UserError, match=r'\[models\.prices\."lan:big"\]') as caught:
        check_prices(ModelPool(settings_of(OWN)).choose_targets({"worker": "lan:big"}))
    assert caught.value.code == "price_unknown"
    assert "--accept-unknown-price" in caught.value.next_step


def test_c16_every_model_without_a_price_is_named_once(settings_of: Any) -> None:
    wishes = {"worker": "lan:big", "lead": "lan:big", "judge": "lan2:small"}
    targets = ModelPool(settings_of(OWN, OTHER_KEY="canary-2")).choose_targets(wishes)
    with pytest.raises(UserError) as caught:
        check_prices(targets)
    assert "lan2:small, lan:big:" in caught.value.message


@pytest.mark.parametrize(
    "wish",
    [
        "lan:big",
        "ollama:any",
        "openai-compatible:m@http://127.0.0.1:9/v1",
        "openai:gpt-4.1",
        "anthropic:claude-3-5-haiku-latest",
    ],
)
def test_c16_stated_prices_free_servers_and_the_public_list_are_known(settings_of: Any, wish: str) -> None:
    settings = settings_of(OWN + PRICE, OPENAI_API_KEY="canary", ANTHROPIC_API_KEY="canary")
    check_prices(ModelPool(settings).choose_targets({"worker": wish}))


def test_a_price_is_stated_by_the_name_of_the_endpoint_or_of_the_provider(settings_of: Any) -> None:
    text = OWN + PRICE + '[models.prices."openai-compatible:small"]\ninput = 3\noutput = 4\n'
    models = ModelPool(settings_of(text, OTHER_KEY="canary-2"))
    for wish, price in (("lan:big", 1.0), ("lan2:small", 3.0), ("openai-compatible:small@http://a.example/v1", 3.0)):
        target = models.choose_targets({"worker": wish}, thinking=False)["worker"]
        assert target.price is not None
        assert target.price.input == price
    other = models.choose_targets({"worker": "lan2:big"}, thinking=False)["worker"]
    assert other.price is None, "a price belongs to one endpoint"


def test_a_price_may_be_lower_for_what_the_provider_had_read_before(settings_of: Any) -> None:
    for stated, dollars in (("", 2.0), ("cached = 0.5", 0.875), ("cached = 0", 0.5)):
        pool = ModelPool(settings_of(OWN + f'[models.prices."lan:big"]\ninput = 2\noutput = 4\n{stated}\n'))
        target = pool.choose_targets({"worker": "lan:big"}, thinking=False)["worker"]
        found = meter_reply(target, Tokens(1_000_000, 0, 750_000), sent=10, received=0)
        assert (found.dollars, found.cached_tokens) == (dollars, 750_000)


async def test_closing_closes_what_was_opened(settings_of: Any) -> None:
    models = ModelPool(settings_of())
    models.get_analyst({"worker": "ollama:small"})
    await models.close()


OPTIONS = """
[models.endpoints.lan]
base_url = "{url}"
[models.options.lan]
output_tokens = 700
calls_at_once = 2
extra_body = '{{"seed": 7}}'
[models.options."lan:big"]
output_mode = "tool"
[models.options.judge]
output_tokens = 300
stream = false
total_seconds = 0.2
"""


async def test_options_of_endpoint_model_and_tier_change_the_calls(settings_of: Any) -> None:
    async with ModelServer(latency=Latency(0.02)) as server:
        models = ModelPool(settings_of(OPTIONS.format(url=f"{server.url}/v1")))
        analyst = models.get_analyst({"worker": "lan:big", "judge": "lan:small"})
        assert analyst is not None
        await asyncio.gather(*(analyst.play(*find_sample("extract")) for _ in range(9)))
        await analyst.play(*find_sample("judge"))
        worker, judge = server.asked[0], server.asked[-1]
        assert (worker.body["seed"], worker.max_tokens, worker.stream, worker.tool) == (7, 700, True, "extract")
        assert (judge.body["seed"], judge.max_tokens, judge.stream, judge.tool) == (7, 300, False, "")
        assert server.most_at_once == 2
        server.latency = Latency(30.0)
        with pytest.raises(ProviderError, match=r"did not finish within 0\.2 s"):
            await analyst.play(*find_sample("judge"))
        await models.close()


@pytest.mark.parametrize(
    ("line", "why"),
    [("idle_seconds = 0", "above 0"), ("extra_body = '[1]'", "a text"), ("output_mode = 'yaml'", "native"),
     ("speed = 3", "Unknown setting"), ("calls_at_once = 0", "from 1")],
)  # fmt: skip
def test_options_that_nobody_could_mean_are_refused(settings_of: Any, line: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        settings_of(f"[models.options.worker]\n{line}\n")


def test_the_rate_of_a_search_provider_is_a_setting(settings_of: Any) -> None:
    assert settings_of("[sources]\ntavily_rate = 12.5\n").provider_rates == {"tavily": 12.5}


def tell(folder: Path, request: Request, models: dict[str, str] | None = None, **env: str) -> str:
    settings = load_settings({}, env=env, folder=folder, user_file=folder / "none.toml")
    targets = ModelPool(settings).choose_targets(models or {})
    return "\n".join(list_recipients(settings, request, targets, request.providers))


def test_a_run_over_a_library_without_a_model_shares_nothing(tmp_path: Path) -> None:
    assert tell(tmp_path, Request("q", libraries=("papers",)), {"worker": "ollama:llama"}) == ""


@pytest.mark.parametrize(
    ("libraries", "options", "told"),
    [
        (("papers",), (), "queries in words of the question, the plan, the web and the common language"),
        (("papers",), (("allow_egress", "yes"),), "queries, with words of private documents too (--allow-egress)"),
        (("demo",), (), "search provider exa (api.exa.ai) gets queries\n"),
    ],
)
def test_a_provider_gets_queries(tmp_path: Path, libraries: tuple[str, ...], options: object, told: str) -> None:
    request = Request("q", libraries=libraries, providers=("exa",), metadata=options)  # pyright: ignore[reportArgumentType]
    assert told in tell(tmp_path, request)


def test_stores_and_deliveries_elsewhere_are_named(tmp_path: Path) -> None:
    request = Request("q", libraries=("papers",), output=(("folder", "out"), ("email", "a@b.example")))
    told = tell(
        tmp_path, request, CORROBORA_FACTS_QDRANT_URL="https://facts.example", CORROBORA_SOURCES_READER="direct"
    )
    assert told.splitlines() == [
        "the store of facts at facts.example gets the facts of every run with their quotes",
        "the email delivery (a@b.example) gets the finished report with its quotes",
    ]


SLOW_ONE = '[models.options."lan"]\ncalls_at_once = 1\n'


@pytest.mark.parametrize(
    ("toml", "wishes", "expected"),
    [
        ("", {}, False),
        ("", {"worker": "ollama:small"}, True),
        (OWN, {"worker": "lan:big"}, False),
        (OWN + SLOW_ONE, {"worker": "lan:big"}, True),
        (OWN, {"worker": "lan:big", "judge": "ollama:small"}, False),
    ],
)
def test_local_models_and_those_that_take_one_call_are_taken_to_serve_in_turn(
    settings_of: Any, toml: str, wishes: dict[str, str], expected: bool
) -> None:
    assert serve_in_turn(ModelPool(settings_of(toml)).choose_targets(wishes)) == expected
