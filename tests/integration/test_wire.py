"""Every profile through the workspace over both protocols: cited reports that hold, no call and no page paid twice.

Knows the server's log. Faults have a file of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from bench.model_server.server import ModelServer
from tests.integration.harness import bodies, good, open_harness, passages_sent

PROFILES = ("timed", "rounds", "angles", "tree", "triplet", "full")


@pytest.mark.parametrize(
    ("profile", "protocol"),
    [(profile, "openai") for profile in PROFILES]
    + [pytest.param(p, "anthropic", marks=() if p in ("timed", "full") else pytest.mark.slow) for p in PROFILES],
)
async def test_a_profile_over_the_wire_ends_in_a_report_whose_citations_hold(
    database_url: str, profile: str, protocol: str
):
    async with ModelServer() as server, open_harness(database_url) as harness:
        found = await harness.run(server, profile, protocol=protocol)
        await good(found, harness)
    assert found.report is not None
    assert "scripted-large" in found.report.methodology.analyst
    assert "Written by: " in found.markdown
    assert "scripted-large" in found.markdown.partition("Written by: ")[2].split("\n")[0]
    assert "extractive" not in found.report.methodology.analyst
    assert {call.status for call in server.calls} == {200}
    repeated = [body for body, times in Counter(bodies(server)).items() if times > 1]
    assert not repeated, "no request is sent twice"
    pages = passages_sent(server)
    assert pages
    assert max(pages.values()) == 1, "no page is sent twice"


@pytest.mark.parametrize(
    "profile", [p if p in ("timed", "tree") else pytest.param(p, marks=pytest.mark.slow) for p in PROFILES]
)
async def test_prompts_are_the_same_bytes_in_every_run(fresh_url: Callable[[], str], profile: str):
    seen: list[list[str]] = []
    for _ in range(2):
        async with ModelServer() as server, open_harness(fresh_url()) as harness:
            await harness.run(server, profile)
        seen.append(bodies(server))
    assert seen[0] == seen[1]
