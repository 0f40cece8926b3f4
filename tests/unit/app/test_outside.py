"""What a run may touch, and how much: from settings and request, before anything is paid."""

from __future__ import annotations

from typing import Any

import pytest

from corrobora.adapters.pacing import SystemClock
from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.app.libraries import open_embedder
from corrobora.app.models import ModelPool
from corrobora.app.wiring import open_analysts, open_searches, run_allowance
from corrobora.config.profiles import load_profile
from corrobora.domain.errors import UserError
from corrobora.domain.run import Request, RequestOption
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.postgres import Database

TIMED = load_profile("timed")
LAN = '[models.endpoints.lan]\nbase_url = "http://models.example:8000/v1"\n'
WISH = (("worker", "lan:big"),)


def chain(settings: Any, request: Request) -> tuple[Any, ...]:
    return open_analysts(settings, request, TIMED, ModelPool(settings))


def test_without_a_model_the_extractive_analyst_plays_alone(settings_of: Any) -> None:
    (only,) = chain(settings_of(), Request("q"))
    assert isinstance(only, ExtractiveAnalyst)


def test_the_extractive_analyst_is_always_the_last(settings_of: Any) -> None:
    first, last = chain(settings_of(LAN), Request("q", models=WISH))
    assert not isinstance(first, ExtractiveAnalyst)
    assert isinstance(last, ExtractiveAnalyst)


def test_the_request_goes_before_the_settings(settings_of: Any) -> None:
    settings = settings_of(CORROBORA_MODELS_WORKER="nobody:model")
    with pytest.raises(UserError, match="nobody"):
        chain(settings, Request("q"))
    assert len(chain(settings, Request("q", models=(("worker", "ollama:m"),)))) == 2


def test_c16_a_limit_of_dollars_needs_a_price(settings_of: Any) -> None:
    limited = Request("q", models=WISH, metadata=(("max_usd", "1.5"),))
    with pytest.raises(UserError) as caught:
        chain(settings_of(LAN), limited)
    assert caught.value.code == "price_unknown"
    chain(settings_of(LAN), Request("q", models=WISH))
    chain(settings_of(LAN + '[models.prices."lan:big"]\ninput = 1\noutput = 2\n'), limited)


def test_c16_a_model_of_the_settings_needs_a_price_too(settings_of: Any) -> None:
    with pytest.raises(UserError, match=r"lan:big"):
        chain(settings_of(LAN, CORROBORA_MODELS_WORKER="lan:big"), Request("q", metadata=(("max_usd", "1"),)))


def test_c16_the_user_or_the_settings_may_accept_it(settings_of: Any) -> None:
    limit = ("max_usd", "1.5")
    assert (
        len(
            chain(
                settings_of(LAN),
                Request("q", models=WISH, metadata=(limit, (RequestOption.ACCEPT_UNKNOWN_PRICE, "yes"))),
            )
        )
        == 2
    )
    consent = settings_of(LAN, CORROBORA_LIMITS_ACCEPT_UNKNOWN_PRICE="true")
    assert len(chain(consent, Request("q", models=WISH, metadata=(limit,)))) == 2


def test_a_run_may_use_what_profile_and_request_allow() -> None:
    found = run_allowance(
        Request("q", metadata=(("max_usd", "0.5"), ("max_tokens", "9"), ("max_searches", "7"))), TIMED
    )
    assert (found.dollars, found.tokens, found.searches) == (0.5, 9, 7)
    assert (found.seconds, found.reserve_seconds) == (300.0, 90.0)
    free = run_allowance(Request("q"), load_profile("tree"))
    assert (free.dollars, free.tokens, free.searches, free.seconds) == (None, None, None, None)


def test_a_dry_run_keeps_its_zero() -> None:
    assert run_allowance(Request("q", metadata=(("max_usd", "0.0"),)), TIMED).dollars == 0.0


async def test_libraries_are_searched_where_they_are_named_or_nothing_else_is(
    settings_of: Any, database: Database
) -> None:
    library = PostgresLibrary(database, ["mill"])
    settings = settings_of(EXA_API_KEY="canary")

    def names(**request: Any) -> list[str]:
        return list(open_searches(settings, Request("q", **request), library, lambda _: Free(), SystemClock()))

    assert names() == ["library"]
    assert names(libraries=("mill",)) == ["library"]
    assert names(providers=("exa",)) == ["exa"]
    assert names(libraries=("mill",), providers=("exa",)) == ["library", "exa"]


class Free:
    async def acquire(self) -> None:
        """Wait for nothing."""


def test_vectors_are_an_option(settings_of: Any) -> None:
    assert open_embedder(settings_of()) is None
