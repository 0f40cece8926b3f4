"""What a person does after reading: save, compare, rate and ask on, in real Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import HOSTILE, MINUTE, QUESTION, OpenPage, focus_by_tab, press, run_aside, write
from tests.browser.test_reading import mean_score, read_report
from tests.plugins.serving import Site

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.followups import submit_edit
from corrobora.domain.run import Request, RequestOption
from corrobora.faces.cli.exports import EXPORT_FILES
from corrobora.roles.edit import Edit, EditAction, EditRequest


def test_a_report_is_saved_in_every_format_of_the_menu(open_page: OpenPage, reading: Mapping[str, str]) -> None:
    page = open_page(f"/runs/{reading['hostile']}/report")
    page.get_by_text("Export", exact=True).click()
    links = page.locator(".menu a")
    expect(links.first).to_be_visible()
    paths = [each.get_attribute("href") or "" for each in links.all()]
    assert {each.rpartition(".")[2] for each in paths} == set(EXPORT_FILES)
    for path in paths:
        answer = page.request.get(page.url.partition("/runs/")[0] + path)
        assert (answer.status, "attachment" in answer.headers["content-disposition"]) == (200, True), path


@pytest.mark.parametrize("hand", ["mouse", "keyboard"])
def test_two_runs_are_compared(open_page: OpenPage, reading: Mapping[str, str], hand: str) -> None:
    page = open_page("/compare" if hand == "keyboard" else f"/runs?search={QUESTION}")
    for label, name in (("Earlier run", "first"), ("Later run", "second")):
        if hand == "keyboard":
            field = page.get_by_label(label)
            focus_by_tab(field)
            field.select_option(reading[name])
        else:
            page.locator(f"input[value={reading[name]}]").check()
    press(page.get_by_role("button", name="Compare"), hand)
    page.wait_for_url(f"**/compare/{reading['first']}/{reading['second']}")
    expect(page.get_by_text("No source says something else than before.")).to_be_visible()
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Runs")).to_have_attribute(
        "aria-current", "page"
    )
    expect(page.get_by_role("row", name=re.compile("facts"))).to_be_visible()
    trend = page.get_by_role("list", name=re.compile("Scores of the runs"))
    assert trend.get_by_role("listitem").count() == 2
    page.goto(page.url.replace(reading["first"], reading["demo"]))
    expect(page.get_by_text("The questions differ, so this compares what two reports quote")).to_be_visible()
    expect(page.get_by_text("Sources say something else")).to_have_count(0)
    expect(page.get_by_text("gone").first).to_be_visible()


@pytest.mark.parametrize("hand", ["mouse", "keyboard"])
def test_a_person_rates_a_report_beside_the_judge(
    open_page: OpenPage, site: Site, reading: Mapping[str, str], hand: str
) -> None:
    before, _ = run_aside(read_report(site, reading["second"]))
    page = open_page(f"/runs/{reading['second']}/rating")
    for place, group in enumerate(page.locator("fieldset.rate").all()):
        box = group.get_by_role("radio").first
        if hand == "mouse":
            group.get_by_text(str(place + 1), exact=True).click()
        else:
            focus_by_tab(box)
            page.keyboard.press("Space")
            for _ in range(place):
                page.keyboard.press("ArrowRight")
    write(page.get_by_label("Your name"), f"Ada {hand}", hand)
    write(page.get_by_label("Comment"), HOSTILE, hand)
    press(page.get_by_role("button", name="Store the rating"), hand)
    page.wait_for_url("**/rating#given")
    expect(page.get_by_role("heading", name=f"Ada {hand}")).to_be_visible(timeout=MINUTE)
    expect(page.locator("#given")).to_contain_text("<script>window.owned=1</script>")
    assert page.evaluate("window.owned") is None
    found = page.request.get(f"{site.url}/api/v1/runs/{reading['second']}/ratings").json()
    mine = next(each for each in found["people"] if each["rater"] == f"Ada {hand}")
    assert list(mine["scores"].values()) == [0, 0.25, 0.5, 0.75, 1]
    assert found["judge"]["overall"] == round(mean_score(before), 3)
    after, _ = run_aside(read_report(site, reading["second"]))
    assert json.dumps(after) == json.dumps(before)


def test_a_follow_up_question_becomes_a_run(open_page: OpenPage, site: Site, reading: Mapping[str, str]) -> None:
    page = open_page(f"/runs/{reading['second']}/report", expected="422")  # for the question of nothing but spaces
    write(page.get_by_label("Ask a follow-up question"), "   ")
    press(page.get_by_role("button", name="Ask", exact=True))
    expect(page.get_by_role("alert")).to_be_visible()
    write(page.get_by_label("Ask a follow-up question"), "How long is the bridge at Arnholm?")
    with page.expect_navigation(url=re.compile("/runs/r_")):
        press(page.get_by_role("button", name="Ask", exact=True))
    request = run_aside(_read_request(site, page.url.rpartition("/")[2]))
    assert (request.question, request.previous) == ("How long is the bridge at Arnholm?", reading["second"])
    assert request.libraries == ("docs",)
    assert request.get_option(RequestOption.FOLLOW_UP) == "ask"


async def _read_request(site: Site, run: str) -> Request:
    async with Workspace.open(site.settings) as workspace:
        return (await workspace.runs.get(run)).request


def test_the_changes_of_an_edit_are_shown_and_accepted_on_the_page(
    open_page: OpenPage, site: Site, reading: Mapping[str, str]
) -> None:
    run = run_aside(_propose_edit(site, reading["hostile"]))
    page = open_page(f"/runs/{run}")
    assert "corrobora edit" not in page.inner_text("main"), "nobody types a command here"
    expect(page.get_by_role("button", name="Resume")).to_have_count(0)
    dropped = page.locator("del").inner_text()
    assert ("window.owned" in dropped, page.evaluate("window.owned")) == (True, None)
    change = page.get_by_role("checkbox", name="drop 0.1")
    expect(change).to_be_checked()  # the reader named the sentence to be dropped
    expect(page.get_by_text("Loses statement: ")).to_be_visible()
    press(change)
    expect(change).not_to_be_checked()
    press(change)
    with page.expect_navigation():
        press(page.get_by_role("button", name="Make the version with the marked changes"))
    expect(page.get_by_role("link", name="Read the report")).to_be_visible()
    page.goto(page.url.partition("#")[0] + "/report")
    assert "built in 1902" not in page.locator("article").inner_text().split("Sources")[0]


def test_an_edit_is_asked_for_on_the_page_and_waits_for_its_reader(
    open_page: OpenPage, site: Site, reading: Mapping[str, str]
) -> None:
    page = open_page(f"/runs/{reading['hostile']}/report", expected="422")  # for the form without a mark
    summary = page.locator("summary").filter(has_text="Edit this report")
    press(summary)
    expect(page.get_by_label("What should change")).to_have_count(0)  # no model reads it here
    press(page.get_by_role("button", name="Show the changes"))
    expect(page.get_by_role("alert")).to_contain_text("mark sections and sentences")
    press(summary)
    press(page.get_by_role("checkbox", name=re.compile("Drop: .*built in 1902")))
    assert page.evaluate("window.owned") is None
    with page.expect_navigation(url=re.compile("/runs/r_")):
        press(page.get_by_role("button", name="Show the changes"))
    made = page.url.rpartition("/")[2]
    request = run_aside(_read_request(site, made))
    assert (request.previous, json.loads(request.edits)["edits"][0]["action"]) == (reading["hostile"], "drop")
    expect(page.get_by_role("button", name="Make the version with the marked changes")).to_be_visible(timeout=MINUTE)


async def _propose_edit(site: Site, run: str) -> str:
    async with Workspace.open(site.settings) as workspace:
        made = await submit_edit(workspace, run, EditRequest((Edit(EditAction.DROP, "0.1"),)))
        await run_here(workspace, made)
        return made
