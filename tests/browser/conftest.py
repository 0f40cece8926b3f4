"""Real Chromium for tests: one browser and one server for all, and pages that note what a page must never do."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeVar

import pytest
from axe_playwright_python.sync_playwright import Axe
from bench.model_server.server import ModelServer
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from tests.plugins.reading import ingest_here
from tests.plugins.serving import Site

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.runs import submit_run
from corrobora.domain.run import Request

T = TypeVar("T")
# Tables of which a part is out of sight.
SIDEWAYS = """[...document.querySelectorAll(".scroll:has(table)")]
    .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.getAttribute("aria-label"))"""
# The shell is Chromium without a window to draw and without its own pages: a third of the CPU of these tests less.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
# Pages of Chromium's own address field, which every window opened and which took half of its CPU; the switch replaces
# Playwright's, so what that one names follows.
NEEDLESS = (
    "WebUIOmniboxPopup WebUIOmniboxAimPopup WebUIOmniboxFullPopup PreloadTopChromeWebUI "
    "AvoidUnnecessaryBeforeUnloadCheckSync DestroyProfileOnBrowserClose HttpsUpgrades HttpsFirstBalancedModeAutoEnable "
    "LensOverlay MediaRouter PaintHolding ThirdPartyStoragePartitioning OptimizationHints NetworkTimeServiceQuerying "
    "AimEnabled PreconnectToSearch"
)
MOST_TABS = 120
QUESTION = "When was the bridge at Arnholm opened?"
HOSTILE = (
    "<script>window.owned=1</script><img src=http://evil.example/x.png onerror=window.owned=2> ](javascript:owned)"
)
MINUTE = 60_000  # milliseconds that a slow machine may need


@pytest.fixture(scope="session")
def chromium() -> str:
    """Where Chromium is; without one the tests are skipped before anything is stored for them."""
    return CHROMIUM or pytest.skip("no Chromium is installed")


@pytest.fixture(scope="package")
def browser(site: Site, chromium: str) -> Iterator[Browser]:
    """Chromium. Of a package, not of the session: while it runs, no other test of this process may run a loop."""
    expect.set_options(timeout=MINUTE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", f"--disable-features={','.join(NEEDLESS.split())}"]
        )
        yield started
        started.close()


OpenPage = Callable[..., Page]
ALL_RULES = {"resultTypes": ["violations"]}
RULES_OF_COLOUR = ALL_RULES | {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def find_violations(page: Page) -> list[str]:
    """Return what keeps people from reading a page: by all rules in the light, by those of colour in the dark too."""
    found = list[str]()
    for dark, options in ((False, ALL_RULES), (True, RULES_OF_COLOUR)):
        page.emulate_media(color_scheme="dark" if dark else "light")
        violations = Axe().run(page, options=options).response["violations"]
        serious = [each for each in violations if each["impact"] in ("serious", "critical")]
        found += [f"{each['id']}{' in the dark' if dark else ''}: {each['nodes'][0]['html']}" for each in serious]
    return found


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[OpenPage]:
    """Open pages of the server; at the end none may have complained, failed or asked another host for anything."""
    contexts, faults = [], list[str]()

    def open_one(path: str, *, expected: str = "", at: str = site.url, **options: Any) -> Page:
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        context.set_default_timeout(MINUTE / 2)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("console", lambda message: _note_message(message.type, message.text, expected, faults))
        page.on("request", lambda request: _note_request(request.url, at, faults))
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(at + path)
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


def press(target: Locator, hand: str = "keyboard") -> None:
    """Use a button, link or box with the mouse, or reach it by the Tab key and press a key."""
    if hand == "mouse":
        target.click()
        return
    focus_by_tab(target)
    kind = target.evaluate("each => each.type || each.tagName")
    target.page.keyboard.press("Space" if kind in ("checkbox", "radio") else "Enter")


def check(box: Locator, hand: str = "keyboard") -> None:
    """Check a box that may be checked already."""
    if not box.is_checked():
        press(box, hand)


def focus_by_tab(target: Locator) -> None:
    """Move the focus with the Tab key until it is at the target."""
    aim = target.element_handle()
    for _ in range(MOST_TABS):
        if aim.evaluate("each => each === document.activeElement"):
            return
        target.page.keyboard.press("Tab")
    pytest.fail("the Tab key does not reach it")


def write(target: Locator, text: str, hand: str = "keyboard") -> None:
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


@pytest.fixture(scope="session")
def reading(site: Site, chromium: str) -> Mapping[str, str]:
    """
    The ids of runs: the demo, two of a scripted model with a judge, one of a hostile document.

    Of the session, as the server is: a process that leaves this package and comes back starts a browser again, and
    finds the runs there.
    """
    return {"demo": site.run, **run_aside(_store_runs(site))}


async def _store_runs(site: Site) -> dict[str, str]:
    folder = site.settings.home / "hostile-reading"
    folder.mkdir()
    (folder / "evil.md").write_text(
        f"# Ferry {HOSTILE}\n\nThe ferry at Lund was built in 1902 {HOSTILE} by Varde.\n\n"
        "The ferry at Lund is 41 metres long.\n"
    )
    async with Workspace.open(site.settings) as workspace, ModelServer() as server:
        await ingest_here(workspace.database, "hostile-reading", folder)
        model = (("worker", f"openai-compatible:m@{server.url}/v1"),)
        made: dict[str, str] = {}
        for name in ("first", "second"):
            asked = Request(QUESTION, "angles", libraries=("docs",), models=model, authorized="policy")
            made[name] = await submit_run(workspace, asked, deferred=False)
            await run_here(workspace, made[name])
        asked = Request("When was the ferry at Lund built?", "timed", libraries=("hostile-reading",))
        made["hostile"] = await submit_run(workspace, asked, deferred=False)
        await run_here(workspace, made["hostile"])
        return made
