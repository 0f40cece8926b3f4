"""Metering: reported usage where it can be true, else an estimate from above; money where a price is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.models import Tokens, bound_cost, meter_reply, parse_target
from corrobora.domain.limits import Price

LOCAL = parse_target("ollama:m", {})
HOSTED = parse_target("openai:gpt-4.1", {"OPENAI_API_KEY": "k"})
UNKNOWN = replace(HOSTED, model="no-such-model")


def test_reported_tokens_are_priced_by_the_list():
    usage = meter_reply(HOSTED, Tokens(1_000_000, 1_000), sent=10, received=10)
    assert (usage.input_tokens, usage.output_tokens, usage.calls, usage.priced) == (1_000_000, 1_000, 1, True)
    assert usage.dollars > 0.5
    cached = meter_reply(HOSTED, Tokens(1_000_000, 1_000, cache_read=900_000), sent=10, received=10)
    assert cached.dollars < usage.dollars
    assert cached.cached_tokens == 900_000


def test_a_stated_price_goes_before_the_list_and_a_local_server_is_free():
    stated = replace(UNKNOWN, price=Price(2.0, 10.0))
    assert meter_reply(stated, Tokens(500_000, 100_000), sent=1, received=1).dollars == pytest.approx(2.0)
    free = meter_reply(LOCAL, Tokens(10, 10), sent=1, received=1)
    assert (free.dollars, free.priced) == (0.0, True)


def test_without_a_price_the_usage_says_so():
    assert not meter_reply(UNKNOWN, Tokens(10, 10), sent=1, received=1).priced
    own = parse_target("openai-compatible:gpt-4.1@http://models.example/v1", {})
    assert not meter_reply(own, Tokens(10, 10), sent=1, received=1).priced


@given(st.integers(-5, 0), st.integers(-5, 5), st.integers(1, 10_000), st.integers(1, 10_000))
def test_counts_that_cannot_be_true_are_estimated_from_above(told_sent: int, told_got: int, sent: int, got: int):
    usage = meter_reply(HOSTED, Tokens(told_sent, told_got), sent=sent, received=got)
    assert usage.input_tokens >= sent / 2
    assert usage.output_tokens >= got / 2
    assert usage.dollars > 0
    assert not usage.priced


def test_counts_that_no_call_has_are_estimated_and_use_up_no_limit():
    usage = meter_reply(HOSTED, Tokens(10**14, 10**14), sent=1_000, received=200)
    assert (usage.input_tokens, usage.output_tokens, usage.priced) == (501, 101, False)


@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-4-5", "anthropic:claude-haiku-4-5", "openai:gpt-4o"])
@pytest.mark.parametrize("tokens", [8_000, 250_000])
def test_no_call_costs_more_than_was_reserved_for_it(model: str, tokens: int) -> None:
    target = parse_target(model, {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"})
    most = bound_cost(target, sent=2 * tokens, room=4_000)
    for used in (Tokens(tokens, 4_000), Tokens(tokens, 4_000, tokens, 0), Tokens(tokens, 4_000, 0, tokens)):
        assert 0 < meter_reply(target, used, sent=2 * tokens, received=1).dollars <= most.dollars
