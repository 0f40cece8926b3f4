"""The chain: who is asked next, and what it costs."""

from __future__ import annotations

import pytest
from tests.unit.adapters.models.conftest import sample

from corrobora.adapters.models.chain import FallbackChain
from corrobora.domain.errors import ProviderError, RoleError
from corrobora.domain.limits import Usage
from corrobora.domain.report import Critique
from corrobora.testing.analyst import ScriptedAnalyst
from corrobora.testing.conformance import check_analyst

DOWN = ProviderError("provider_down", "down")
BUSY = ProviderError("provider_busy", "busy", retryable=True)
GOOD = Critique(("a",), "b")


def paid(error: RoleError, calls: int) -> RoleError:
    error.usage = Usage(calls=calls, dollars=1.0)
    return error


async def test_permanent_errors_and_unusable_output_fall_to_the_next():
    first = ScriptedAnalyst({"critique": DOWN}, "first")
    second = ScriptedAnalyst({"critique": paid(RoleError("json_invalid", "no"), 2)}, "second")
    last = ScriptedAnalyst({"critique": GOOD}, "last")
    answer = await FallbackChain([first, second, last]).play(*sample("critique"))
    assert (answer.value, answer.analyst) == (GOOD, "last")
    assert (answer.usage.calls, answer.usage.dollars) == (3, 1.0)


async def test_a_retryable_error_goes_to_the_caller_unless_the_chain_is_impatient():
    analysts = [ScriptedAnalyst({"critique": BUSY}), ScriptedAnalyst({"critique": GOOD})]
    with pytest.raises(ProviderError) as raised:
        await FallbackChain(analysts).play(*sample("critique"))
    assert raised.value is BUSY
    assert (await FallbackChain(analysts, impatient=True).play(*sample("critique"))).value == GOOD


async def test_the_last_error_counts_and_carries_what_was_paid():
    analysts = [
        ScriptedAnalyst({"critique": paid(RoleError("refusal", "no"), 1)}),
        ScriptedAnalyst({"critique": paid(RoleError("output_invalid", "no"), 2)}),
    ]
    with pytest.raises(RoleError) as raised:
        await FallbackChain(analysts).play(*sample("critique"))
    assert (raised.value.code, raised.value.usage.calls) == ("output_invalid", 3)


async def test_a_chain_is_an_analyst():
    chain = FallbackChain([ScriptedAnalyst({}, "a"), ScriptedAnalyst({}, "b")])
    assert chain.name == "a > b"
    assert chain.identity(sample("judge")[0]) == "a/judge > b/judge"
    await check_analyst(chain)
    with pytest.raises(ValueError, match="at least one"):
        FallbackChain([])
