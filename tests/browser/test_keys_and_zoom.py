"""The keyboard alone on every screen at 400 % zoom: each stop is seen whole, nothing covers it, and the way ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import MINUTE, OpenPage, focus_by_tab, press, run_aside
from tests.browser.test_every_screen import MORE, SCREENS, _store, stored  # noqa: F401 - a fixture
from tests.paths.starts import CLEAR
from tests.plugins.serving import Site

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.runs import FINISH_TOPIC, ask_attempt, submit_run
from corrobora.domain.run import Request

ZOOMED = {"viewport": {"width": 320, "height": 256}, "device_scale_factor": 4}  # 1280 x 1024 at 400 %
READING = tuple(f"/runs/{{demo}}/{name}" for name in ("report", "audit", "rating"))
MOST_STOPS = 200
# What is wrong with the element that has the focus, "" if nothing is, null if none has it.
LOOK = """() => {
  const each = document.activeElement, shown = each.closest('label:has(input)') ?? each;
  if (!each || each === document.body) return null;
  const style = [each, shown].map(one => getComputedStyle(one)).find(one => one.outlineStyle !== 'none');
  if (!style || parseFloat(style.outlineWidth) < 1) return 'no ring';
  const box = shown.getBoundingClientRect(), faults = [];
  if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth)
    faults.push('out of sight');
  const x = Math.min(Math.max(box.left + box.width / 2, 1), innerWidth - 2);
  const y = Math.min(Math.max(box.top + Math.min(box.height / 2, 12), 1), innerHeight - 2);
  const top = document.elementFromPoint(x, y);
  if (top && !shown.contains(top) && !top.contains(shown)) faults.push(`covered by ${top.tagName}.${top.className}`);
  const ring = Math.max(0, parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset));
  for (let one = shown.parentElement; one && one !== document.body; one = one.parentElement) {
    const clip = one.getBoundingClientRect(), visible = getComputedStyle(one).overflowX === 'visible';
    if (!visible && (box.left - ring < clip.left - 0.5 || box.right + ring > clip.right + 0.5))
      faults.push('its ring is cut off by ' + one.tagName + '.' + one.className);
  }
  return faults.join(', ');
}"""
FROM_THE_TOP = """() => {  // whatever field has the focus at first
  const first = document.createElement('a'); first.tabIndex = -1;
  document.body.prepend(first); first.focus(); first.remove(); }"""
NAME = """() => (document.activeElement.getAttribute('aria-label') || document.activeElement.textContent)
    .trim().slice(0, 60)"""


def look(page: Page) -> str | None:
    """Return what is wrong with the element that has the focus once the page has come to rest, see `LOOK`."""
    fault: str | None = page.evaluate(LOOK)
    for _ in range(40):
        if not fault:
            break
        page.wait_for_timeout(25)  # what opens on focus is placed, and what was open before is closed
        fault = page.evaluate(LOOK)
    return fault


def walk(page: Page) -> tuple[int, list[str]]:
    """Press the Tab key until the focus leaves the page; return the number of stops, and what is wrong with some."""
    faults = list[str]()
    for stop in range(MOST_STOPS):
        page.keyboard.press("Tab")
        fault = look(page)
        if fault is None:
            return stop, faults
        if fault:
            faults.append(f"{fault}: {page.evaluate(NAME)}")
    pytest.fail("the Tab key never leaves the page")


@pytest.mark.parametrize("screen", [*SCREENS, *MORE, *READING])
def test_each_stop_of_the_keyboard_is_seen_whole_at_400_percent(
    open_page: OpenPage,
    stored: dict[str, str],  # noqa: F811 - the fixture
    reading: Mapping[str, str],
    screen: str,
) -> None:
    page = open_page(
        screen.format(**{**reading, **stored}), expected="404" if screen.endswith("none") else "", **ZOOMED
    )
    page.evaluate(FROM_THE_TOP)
    stops, faults = walk(page)
    assert (faults, stops > 8) == ([], True)


@pytest.mark.parametrize("width", [400, 1280])
def test_text_of_twice_the_size_with_wide_spacing_is_not_wider_than_its_window(
    open_page: OpenPage, site: Site, width: int
) -> None:
    run_aside(_finish_too_early(site))  # its state has the longest name, and stands beside the form of the start page
    spaced = """() => { document.documentElement.style.fontSize = '200%';
        for (const each of document.querySelectorAll('body *'))
            Object.assign(each.style, { letterSpacing: '.12em', wordSpacing: '.16em', lineHeight: 1.5 }); }"""
    for screen in ("/", "/chat", "/runs", f"/runs/{site.run}", f"/runs/{site.run}/report", "/libraries"):
        page = open_page(screen, viewport={"width": width, "height": 800})
        page.evaluate(spaced)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, screen
        hidden = page.locator(".skip").evaluate("each => { each.blur(); return each.getBoundingClientRect().bottom; }")
        assert hidden <= 0, "the skip link shows without the focus"


async def _finish_too_early(site: Site) -> None:
    async with Workspace.open(site.settings) as workspace:
        run = await submit_run(workspace, Request(CLEAR, "timed", libraries=("docs",)), deferred=False)
        await ask_attempt(workspace, run, FINISH_TOPIC)
        await run_here(workspace, run)


def test_numbers_of_sources_and_marks_of_lists_are_seen(open_page: OpenPage, reading: Mapping[str, str]) -> None:
    """Where a list item scrolls by itself, its number stands outside of what is seen of it."""
    page = open_page(f"/runs/{reading['demo']}/report")
    marked = """all => all.filter(each => getComputedStyle(each).listStyleType !== 'none')
        .map(each => getComputedStyle(each).overflowY)"""
    found: list[str] = page.locator(".report li").evaluate_all(marked)
    assert set(found) == {"visible"}
    assert page.locator(".sources li").count() > 5


def test_a_part_of_a_plan_is_edited_without_scrolling_inside_it(
    open_page: OpenPage,
    stored: dict[str, str],  # noqa: F811 - the fixture
) -> None:
    page = open_page(f"/runs/{stored['wait']}/plan", **ZOOMED)
    page.locator(".part").evaluate_all("all => all.forEach(each => (each.open = true))")
    inside = "all => all.filter(each => each.scrollHeight > each.clientHeight + 1).length"
    assert page.locator(".tree li").evaluate_all(inside) == 0
    expect(page.get_by_role("button", name="Add a part below").last).to_be_visible()


def test_the_list_of_quotes_leaves_room_for_the_text_at_400_percent(
    open_page: OpenPage, reading: Mapping[str, str]
) -> None:
    page = open_page(f"/runs/{reading['demo']}/report")
    link = page.locator(".ev-links a").first.get_attribute("href") or ""
    page = open_page(link, **ZOOMED)
    mark = page.locator("mark:target")
    expect(mark).to_be_in_viewport()
    middle = """each => { const box = each.getClientRects()[0];
        return each.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)); }"""
    assert mark.evaluate(middle), "something covers the quote"


def test_whoever_presses_a_button_of_a_run_goes_on_from_there(open_page: OpenPage, site: Site) -> None:
    page = open_page(f"/runs/{run_aside(_store(site))}")
    with page.expect_navigation():
        press(page.get_by_role("button", name="Pause"))
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Finish now")).to_be_focused()
    page.keyboard.press("Tab")
    with page.expect_navigation():  # the question whether to stop is answered by the test's window
        page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("The run was stopped.", timeout=MINUTE)


def test_the_menu_of_exports_closes_by_escape_and_when_the_focus_leaves(
    open_page: OpenPage, reading: Mapping[str, str]
) -> None:
    page: Any = open_page(f"/runs/{reading['demo']}/report", **ZOOMED)
    summary, first = page.locator(".menu summary"), page.locator(".menu a").first
    press(summary)
    focus_by_tab(first)
    expect(first).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(first).to_be_hidden()
    expect(summary).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(page.locator(".menu a").count() + 1):
        expect(first).to_be_visible()
        page.keyboard.press("Tab")
    expect(first).to_be_hidden()
