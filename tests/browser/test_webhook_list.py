"""The deliveries of a run's end on its page: each attempt with its result."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import MINUTE, QUESTION, OpenPage, find_violations, run_aside
from tests.plugins.serving import Site, serve_settings
from tests.plugins.sink import Sink, open_sink

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.runs import submit_run
from corrobora.config import Settings
from corrobora.config.values import read_literal
from corrobora.domain.run import Request

KEY = read_literal("whsec_" + base64.b64encode(b"a key of thirty-two bytes, just so").decode())


@pytest.fixture
def receiver() -> Iterator[Sink]:
    """A receiver that wants no more."""
    with open_sink(410) as sink:
        yield sink


def test_a_delivery_is_listed_with_its_attempts(open_page: OpenPage, site: Site, receiver: Sink) -> None:
    settings = replace(
        site.settings,
        keys={**site.settings.keys, "webhook": KEY},
        webhook_hosts=(f"127.0.0.1:{receiver.port}",),
    )
    run = run_aside(_run_with_webhook(settings, site, receiver.url))
    quiet = open_page(f"/runs/{run}")  # of a server without the key
    panel = quiet.get_by_role("region", name="Webhook")
    expect(panel).to_contain_text("run.done to 127.0.0.1 Waiting")
    expect(panel.get_by_role("listitem")).to_have_text(["Not sent yet."])
    with serve_settings(settings) as url:
        receiver.wait_for(1)
        page = open_page(f"/runs/{run}", at=url)
        panel = page.get_by_role("region", name="Webhook")
        _reload_until(page, panel, "Given up")
        expect(panel.get_by_role("listitem")).to_have_text([re.compile(r"UTC\s*HTTP 410")])
        assert "of-the-receiver" not in page.content()
        page.set_viewport_size({"width": 320, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert not find_violations(page)
        page.context.close()


def _reload_until(page: Page, panel: Locator, state: str) -> None:
    """Load the page anew until the delivery is in a state: it is no part of what the page follows."""
    for _ in range(MINUTE // 200):
        if state in panel.inner_text():
            return
        page.wait_for_timeout(200)
        page.reload()
    pytest.fail(f"the delivery is not told as {state!r}")


async def _run_with_webhook(settings: Settings, site: Site, url: str) -> str:
    """Store a run where it may be told to `url`, and work on it in a process without the key."""
    asked = Request(QUESTION, "timed", libraries=("docs",))
    async with Workspace.open(settings) as workspace:
        run = await submit_run(workspace, asked, deferred=False, webhook=url)
    async with Workspace.open(site.settings) as workspace:
        await run_here(workspace, run)
    return run
