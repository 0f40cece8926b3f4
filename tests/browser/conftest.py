"""Real Chromium for tests: one browser and one server for all, and pages that note what a page must never do."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from tests.plugins.serving import Site

T = TypeVar("T")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MOST_TABS = 120
MINUTE = 60_000  # milliseconds that a slow machine may need


@pytest.fixture(scope="package")
def browser(site: Site) -> Iterator[Browser]:
    """Chromium. Of a package, not of the session: while it runs, no other test of this process may run a loop."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    expect.set_options(timeout=MINUTE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[OpenPage]:
    """Open pages of the server; at the end none may have complained, failed or asked another host for anything."""
    contexts, faults = [], list[str]()

    def open_one(path: str, *, expected: str = "", **options: Any) -> Page:
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        context.set_default_timeout(MINUTE / 2)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("console", lambda message: _note_message(message.type, message.text, expected, faults))
        page.on("request", lambda request: _note_request(request.url, site.url, faults))
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(site.url + path)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not faults


def _note_message(kind: str, text: str, expected: str, faults: list[str]) -> None:
    if kind in ("error", "warning") and not (expected and expected in text):
        faults.append(f"console: {text}")


def _note_request(url: str, own: str, faults: list[str]) -> None:
    if not url.startswith((f"{own}/", "data:")):
        faults.append(f"request: {url}")


def press(target: Locator, hand: str) -> None:
    """Use a button, link or box with the mouse, or reach it by the Tab key and press a key."""
    if hand == "mouse":
        target.click()
        return
    focus_by_tab(target)
    kind = target.evaluate("each => each.type || each.tagName")
    target.page.keyboard.press("Space" if kind in ("checkbox", "radio") else "Enter")


def focus_by_tab(target: Locator) -> None:
    """Move the focus with the Tab key until it is at the target."""
    target.wait_for()
    for _ in range(MOST_TABS):
        if target.evaluate("each => each === document.activeElement"):
            return
        target.page.keyboard.press("Tab")
    pytest.fail("the Tab key does not reach it")


def write(target: Locator, text: str, hand: str) -> None:
    """Fill a field: with the mouse and the keyboard, or with the keyboard alone."""
    if hand == "mouse":
        target.click()
    else:
        focus_by_tab(target)
    target.page.keyboard.press("Control+A")
    target.page.keyboard.insert_text(text)


def run_aside(work: Coroutine[Any, Any, T]) -> T:
    """Run asynchronous work in a thread: in this one the browser has its loop."""
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it belongs
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]
