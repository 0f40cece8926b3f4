"""What stands where in real Chromium: text from right to left, contents, long texts, what the end of a run brings."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import OpenPage

# Where the first and the last letter of a text are, from the left.
ENDS = """(place) => {
  const at = (from) => {
    const range = new Range();
    range.setStart(place.firstChild, from);
    range.setEnd(place.firstChild, from + 1);
    return range.getBoundingClientRect().left;
  };
  place.textContent = "\u0643\u064a\u0641 RAID";
  return [at(0), at(place.textContent.length - 1)];
}"""


@pytest.mark.parametrize("place", [".passage .text", ".sources .muted"])
def test_arabic_text_of_a_source_begins_at_the_right(
    open_page: OpenPage, reading: Mapping[str, str], place: str
) -> None:
    page = open_page(f"/runs/{reading['demo']}/report")
    if place == ".passage .text":
        page.locator(".sources a").first.click()
        page.wait_for_url("**/sources/*")
    first, last = page.locator(place).first.evaluate(ENDS)
    assert first > last


def test_the_contents_stand_before_the_report_where_nothing_stands_beside_it(
    open_page: OpenPage, reading: Mapping[str, str]
) -> None:
    for width in (320, 1600):
        page = open_page(f"/runs/{reading['demo']}/report", viewport={"width": width, "height": 800})
        contents = page.locator("summary", has_text="Contents").filter(visible=True)
        expect(contents).to_have_count(1)
        above = contents.bounding_box() or {}
        report = page.get_by_role("article", name="Report").bounding_box() or {}
        assert (above["y"] + above["height"] <= report["y"]) == (width == 320)
        contents.click()
        page.locator("details[open] a", has_text="Methodology").filter(visible=True).click()
        expect(page.get_by_role("heading", name="Methodology")).to_be_in_viewport()
        page.close()


def test_what_is_typed_is_seen_whole(open_page: OpenPage) -> None:
    page = open_page("/")
    page.locator("#question").fill("Which grid batteries kept their capacity?\n" * 12)
    assert page.locator("#question").evaluate("(each) => each.scrollHeight <= each.clientHeight")


def test_a_run_that_ends_while_it_is_watched_can_be_removed_there(open_page: OpenPage) -> None:
    """What a run can be asked for only after its end was there only after a reload."""
    page = open_page("/")
    page.locator("#question").fill("How many lanes does the bridge at Arnholm carry?")
    page.locator("input[value=docs]").check()
    page.get_by_role("button", name="Research").click()
    expect(page.get_by_role("link", name="Read the report")).to_be_visible()
    page.get_by_text("Remove this run").click()
    page.get_by_role("button", name="Remove for good").click()
    page.wait_for_url("**/runs")
