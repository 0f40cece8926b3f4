"""The report as an MCP Apps client shows it: in a frame without rights, given by messages, and harmless if hostile."""

from __future__ import annotations

from importlib import resources
from typing import Any

import httpx2
from playwright.sync_api import Browser, Request, expect
from tests.browser.conftest import MINUTE
from tests.plugins.serving import Site

from corrobora.faces.mcp.resources import PAGE_KEY

VIEW = resources.files("corrobora.faces.mcp").joinpath("report_view.html").read_text(encoding="utf-8")
HOST = """(view) => {
  window.said = [];
  window.addEventListener("message", (event) => window.said.push(event.data));
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  frame.style = "width: 100%; height: 90vh";
  frame.srcdoc = view;
  document.body.append(frame);
}"""
SEND = """(message) => document.querySelector("iframe").contentWindow.postMessage(message, "*")"""
CHANGED = {"jsonrpc": "2.0", "method": "ui/notifications/host-context-changed"}
HOSTILE = (
    "<title>x</title><body><h1>Planted</h1><script>parent.postMessage('ran', '*')</script>"
    "<img src='https://evil.test/x' onerror=\"parent.postMessage('ran', '*')\">"
    "<style>body { background: url(https://evil.test/css) }</style><p style='background: url(https://evil.test/style)'>x</p>"
    "<svg><image href='https://evil.test/svg' width=9 height=9 /></svg><video poster='https://evil.test/v'></video>"
    "<a href=\"javascript:parent.postMessage('ran', '*')\">press</a></body>"
)


def result(page: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "ui/notifications/tool-result", "params": {"_meta": {PAGE_KEY: page}}}


def test_the_view_shows_what_its_host_passes_on_and_runs_nothing_of_it(browser: Browser, site: Site) -> None:
    context = browser.new_context()
    context.set_default_timeout(MINUTE)
    asked: list[Request] = []
    page = context.new_page()
    page.on("request", lambda request: asked.extend([request]))
    page.evaluate(HOST, VIEW)
    expect(page.frame_locator("iframe").locator("#report")).to_have_text("Waiting for a report.")
    page.wait_for_function("() => window.said.some((each) => each.method === 'ui/initialize')")
    page.evaluate(SEND, {"jsonrpc": "2.0", "id": 1, "result": {"hostContext": {"theme": "dark"}}})
    page.wait_for_function("() => window.said.some((each) => each.method === 'ui/notifications/initialized')")
    inside = page.frame_locator("iframe")
    report = httpx2.get(f"{site.url}/api/v1/runs/{site.run}/report.html", timeout=60).text
    page.evaluate(SEND, result(report))
    expect(inside.locator("h1").first).to_be_visible(timeout=MINUTE)
    expect(inside.locator("#report")).to_contain_text("Verifiers", timeout=MINUTE)
    assert inside.locator("html").evaluate("each => getComputedStyle(each).colorScheme") == "dark"
    page.wait_for_function(
        "() => window.said.some((each) => each.method?.endsWith('size-changed') && each.params.height > 900)"
    )
    page.evaluate(SEND, {**CHANGED, "params": {"theme": "light"}})
    expect(inside.locator("html")).to_have_css("color-scheme", "light")
    inside.locator("a[href^='#']").first.dispatch_event("click")  # within the report: no address for the host
    link = inside.locator("a[href^=http]").first
    link.click()  # the host opens it: the frame may open no window, and stays where it is
    page.wait_for_function("() => window.said.some((each) => each.method === 'ui/open-link')")
    opened = page.evaluate("() => window.said.find((each) => each.method === 'ui/open-link')")
    assert page.evaluate("() => window.said.filter((each) => each.method === 'ui/open-link').length") == 1
    assert opened["params"] == {"url": link.get_attribute("href")}
    for number, (method, answer) in enumerate(
        {"ping": "result", "ui/resource-teardown": "result", "x": "error"}.items(), 50
    ):
        page.evaluate(SEND, {"jsonrpc": "2.0", "id": number, "method": method, "params": {}})
        page.wait_for_function(
            "([id, kind]) => window.said.some((each) => each.id === id && kind in each)", arg=[number, answer]
        )
    page.evaluate(SEND, result(HOSTILE))
    expect(inside.locator("h1")).to_have_text("Planted", timeout=MINUTE)
    inside.get_by_text("press").click()
    assert page.evaluate("() => window.said.filter((each) => each === 'ran')") == []
    assert [each.url for each in asked if each.url.startswith("http") and each.failure != "csp"] == []
    forged = {**result(""), "params": {"structuredContent": {"text": "forged"}}}
    inside.locator("html").evaluate("(_, message) => window.postMessage(message, '*')", forged)  # not from the host
    page.evaluate(SEND, {"jsonrpc": "2.0", "id": 77, "method": "ping", "params": {}})
    page.wait_for_function("() => window.said.some((each) => each.id === 77)")
    expect(inside.locator("h1")).to_have_text("Planted")
    page.evaluate(SEND, {**result(""), "params": {"structuredContent": {"text": "# Plain <b>text</b>"}}})
    expect(inside.locator("pre")).to_have_text("# Plain <b>text</b>", timeout=MINUTE)
    failed = {"isError": True, "content": [{"type": "text", "text": "report_missing: There is no report."}]}
    page.evaluate(SEND, {**result(""), "params": failed})
    expect(inside.locator("pre")).to_have_text("report_missing: There is no report.", timeout=MINUTE)
    page.evaluate(SEND, {"jsonrpc": "2.0", "method": "ui/notifications/tool-cancelled", "params": {}})
    expect(inside.locator("pre")).to_have_text("The report was not read: the call was cancelled.", timeout=MINUTE)
    context.close()
