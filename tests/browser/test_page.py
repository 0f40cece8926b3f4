"""The working screens in Chromium: each one's main task with the keyboard alone, and with the mouse where it does more.

That no control is covered, which the mouse would miss, `test_keys_and_zoom` looks at for every screen.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import MINUTE, OpenPage, check, focus_by_tab, press, run_aside, write
from tests.paths.starts import CLEAR, PHRASE
from tests.plugins.serving import Site

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.runs import PAUSE_TOPIC, ask_attempt, authorize_run, submit_run
from corrobora.domain.run import Request

HANDS = pytest.mark.parametrize("hand", ["mouse", "keyboard"])


def see(page: Page, text: str) -> None:
    """Wait until a text can be seen."""
    expect(page.get_by_text(text, exact=False).first).to_be_visible(timeout=MINUTE)


def ask(page: Page, question: str, hand: str = "keyboard", *, review: bool = False) -> None:
    """Fill in the start page and send it."""
    write(page.get_by_label("Question"), question, hand)
    check(page.get_by_role("checkbox", name=re.compile("^docs")), hand)
    if review:
        press(page.get_by_label("Show me the plan first"), hand)
    press(page.get_by_role("button", name="Research"), hand)
    page.wait_for_url("**/runs/r_*")


@HANDS
def test_start_a_question_and_watch_it_to_its_report(open_page: OpenPage, hand: str) -> None:
    page = open_page("/")
    expect(page.get_by_role("checkbox", name="wikipedia")).to_be_visible()
    expect(page.get_by_role("checkbox", name=re.compile("searxng|mcp"))).to_have_count(0)  # their address is not set
    expect(page.get_by_text("under a time budget")).to_be_visible()  # what the chosen profile does
    ask(page, CLEAR, hand)
    see(page, "Read the report")
    expect(page.locator("#status .tag")).to_contain_text(re.compile("Complete|Partial|Passages"))
    tabs = page.get_by_role("navigation", name="This run").get_by_role("link")
    for screen in ("Run", "Plan", "Report", "Audit", "Rating"):  # the tabs came with the report, and stay
        expect(tabs).to_have_text(["Run", "Plan", "Report", "Audit", "Rating", "Compare"])
        press(tabs.get_by_text(screen, exact=True), hand)
    press(tabs.get_by_text("Run", exact=True), hand)
    expect(page.locator("#activity")).to_contain_text("1931")
    if hand == "mouse":
        page.get_by_text("Searches", exact=True).click()
    else:
        focus_by_tab(page.get_by_role("radio", name="All"))
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
    expect(page.locator("#activity .fact").first).to_be_hidden()
    expect(page.locator("#activity .search").first).to_be_visible()


@HANDS
def test_talk_with_the_manager_and_authorize(open_page: OpenPage, hand: str) -> None:
    page = open_page("/chat")
    write(
        page.get_by_label("What is it about?"),
        CLEAR if hand == "keyboard" else "Tell me everything about Arnholm",
        hand,
    )
    check(page.get_by_role("checkbox", name=re.compile("^docs")), hand)
    press(page.get_by_role("button", name="Begin"), hand)
    if hand == "mouse":
        offered = page.locator(".offers button").first
        question = offered.inner_text().partition(" ")[2]
        offered.click()
        expect(page.locator(".turns .you").last).to_contain_text(question)
    see(page, "This can be researched")
    write(page.get_by_label("Your answer"), PHRASE, hand) if hand == "keyboard" else None
    name = "Send" if hand == "keyboard" else "Authorize to execute"
    press(page.get_by_role("button", name=name), hand)
    page.wait_for_url("**/runs/r_*")
    see(page, "Read the report")
    page.goto(page.url.split("/runs/")[0] + "/chat")
    see(page, "its run")


def test_change_the_plan_and_authorize_it(open_page: OpenPage) -> None:
    page = open_page("/", expected="422")  # for the words that are not the phrase
    ask(page, CLEAR, review=True)
    press(page.get_by_role("link", name="Read and authorize the plan"))
    write(page.get_by_label("Sub-questions, one a line"), "When was the bridge at Arnholm opened?")
    press(page.get_by_role("button", name="Save the changes"))
    expect(page.get_by_label("Sub-questions, one a line")).to_have_value("When was the bridge at Arnholm opened?")
    write(page.get_by_label("Type"), "please")
    press(page.get_by_role("button", name="Authorize to execute"))
    see(page, "does not authorize the plan")
    expect(page.get_by_role("alert")).to_be_focused()  # whoever sees nothing hears it, and goes on from there
    expect(page).to_have_title(re.compile("^Error: "))
    write(page.get_by_label("Type"), PHRASE)
    press(page.get_by_role("button", name="Authorize to execute"))
    page.wait_for_url(re.compile(r"/runs/r_\w+$"))
    see(page, "Read the report")
    expect(page.locator("#coverage tbody tr")).to_have_count(1)


def test_whoever_adds_a_part_goes_on_at_its_title(open_page: OpenPage) -> None:
    page = open_page("/")
    ask(page, CLEAR, review=True)
    press(page.get_by_role("link", name="Read and authorize the plan"))
    with page.expect_navigation():
        press(page.get_by_role("button", name="Add a part below").first)
    title = page.get_by_label("Title").and_(page.locator(":focus"))
    expect(title).to_have_value("New part")
    expect(title).to_be_in_viewport()


@HANDS
def test_a_plan_that_was_changed_and_is_authorized_unsaved_is_shown_first(open_page: OpenPage, hand: str) -> None:
    page = open_page("/", expected="422")
    ask(page, CLEAR, hand, review=True)
    press(page.get_by_role("link", name="Read and authorize the plan"), hand)
    write(page.get_by_label("Sub-questions, one a line"), "When was the bridge at Arnholm opened?", hand)
    write(page.get_by_label("Type"), PHRASE, hand)
    if hand == "mouse":
        page.get_by_role("button", name="Authorize to execute").click()
    else:
        page.keyboard.press("Enter")  # in the field of the words
    see(page, "nothing was started")
    expect(page.get_by_label("Sub-questions, one a line")).to_have_value("When was the bridge at Arnholm opened?")
    write(page.get_by_label("Type"), PHRASE, hand)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/runs/r_\w+$"))
    see(page, "Read the report")
    expect(page.locator("#coverage tbody tr")).to_have_count(1)


def test_pause_steer_and_finish_a_run_of_another_process(open_page: OpenPage, site: Site) -> None:
    """The run is worked on by a workspace of the test, not by the server; the page follows it by its events alone."""
    run = run_aside(_store_run(site))
    page = open_page(f"/runs/{run}")
    with page.expect_navigation():
        press(page.get_by_role("button", name="Pause"))
    see(page, "The run pauses after the round that it works on.")
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    expect(page.locator("#budget")).not_to_contain_text("no language model was asked")  # one may still be asked
    page.evaluate("window.stays = true")
    run_aside(_work(site, run))
    expect(page.get_by_label("Hint for the next round")).to_be_visible(timeout=MINUTE)
    expect(page.get_by_role("status").filter(has_text="Paused")).to_have_count(
        1, timeout=5_000
    )  # screen readers hear it
    assert page.evaluate("window.stays") is True, "the page was loaded anew"
    write(page.get_by_label("Hint for the next round"), "the ferry of Arnholm")
    press(page.get_by_role("button", name="Go on with the hint"))
    see(page, "Read the report")
    expect(page.get_by_role("status").filter(has_text=re.compile("Complete|Partial"))).to_have_count(1, timeout=5_000)


def test_an_update_moves_nobody_from_where_they_are(open_page: OpenPage, site: Site) -> None:
    """The focus stays on its button while others come and go, and in its panel when the button itself is gone."""
    run = run_aside(_store_run(site))
    page = open_page(f"/runs/{run}")
    stop = page.get_by_role("button", name="Stop")
    focus_by_tab(page.get_by_role("button", name="Finish now"))
    page.evaluate("window.held = document.activeElement")
    run_aside(_pause(site, run))
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    assert page.evaluate("held === document.activeElement && held.value") == "finish", "another button took its place"
    run_aside(_work(site, run))
    hint = page.get_by_label("Hint for the next round")
    expect(hint).to_be_visible(timeout=MINUTE)
    assert page.evaluate("[held.value, document.activeElement.id]") == ["finish", "status"]
    page.keyboard.press("Tab")
    expect(stop).to_be_focused()
    sent = list[str]()
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    hint.fill("the ferry of Arnholm")
    twice = "each => { each.form.requestSubmit(each); each.form.requestSubmit(each); }"
    page.get_by_role("button", name="Go on with the hint").evaluate(twice)  # the form came with an update
    see(page, "Read the report")
    assert len(sent) == 1, "a form was sent twice"


async def _pause(site: Site, run: str) -> None:
    async with Workspace.open(site.settings) as workspace:
        await ask_attempt(workspace, run, PAUSE_TOPIC)


def test_an_update_leaves_closed_what_was_closed(open_page: OpenPage, site: Site) -> None:
    async def store() -> str:
        async with Workspace.open(site.settings) as workspace:
            question = "When was the bridge at Arnholm opened? Who built the ferry at Lund?"
            asked = Request(question, "tree", libraries=("docs",), overrides=(("authorize", '"human"'),))
            run = await submit_run(workspace, asked, deferred=False)
            await run_here(workspace, run)
            return run

    async def go_on(run: str) -> None:
        async with Workspace.open(site.settings) as workspace:
            await authorize_run(workspace, run, PHRASE)
            await run_here(workspace, run)

    run = run_aside(store())
    page = open_page(f"/runs/{run}")
    page.locator("#tree summary").first.click()
    run_aside(go_on(run))
    see(page, "Read the report")
    expect(page.locator("#tree")).to_contain_text("searches")
    expect(page.locator("#tree li li").first).to_be_hidden()


def test_stop_a_run(open_page: OpenPage, site: Site) -> None:
    run = run_aside(_store_run(site))
    page = open_page(f"/runs/{run}")
    press(page.get_by_role("button", name="Stop"))
    expect(page.locator("#status .tag")).to_contain_text("ancelled", timeout=MINUTE)


async def _store_run(site: Site) -> str:
    """Store a run that no worker takes. Its question has a part that no document answers, so it has several rounds."""
    question = "When was the bridge at Arnholm opened, and who paints the Velmora lighthouse today?"
    async with Workspace.open(site.settings) as workspace:
        return await submit_run(workspace, Request(question, "rounds", libraries=("docs",)), deferred=False)


async def _work(site: Site, run: str) -> None:
    async with Workspace.open(site.settings) as workspace:
        await run_here(workspace, run)


def test_a_run_without_a_report_says_why_and_is_asked_again_or_removed(open_page: OpenPage, site: Site) -> None:
    question = "Which whales sing in the Gulf of Quell?"
    run = run_aside(_run_question(site, question))
    page = open_page(f"/runs/{run}")
    expect(page.locator("#status .notice")).to_contain_text("Nothing answers the question.")
    press(page.get_by_role("link", name="Read the report"))
    expect(page.locator("article")).to_contain_text("No sufficient evidence was found to answer the question.")
    expect(page.locator(".badges")).not_to_contain_text("0 of 0")
    page.go_back()
    press(page.get_by_role("link", name="Ask again"))
    expect(page.get_by_label("Question")).to_have_value(question)
    expect(page.get_by_role("checkbox", name=re.compile("^docs"))).to_be_checked()
    page.goto(f"{site.url}/runs/{run}")
    press(page.get_by_text("Remove this run"))
    press(page.get_by_role("button", name="Remove for good"))
    page.wait_for_url("**/runs")
    assert page.request.get(f"{site.url}/runs/{run}").status == 404


async def _run_question(site: Site, question: str) -> str:
    return await _run(site, Request(question, "timed", libraries=("docs",)))


async def _run(site: Site, asked: Request) -> str:
    async with Workspace.open(site.settings) as workspace:
        run = await submit_run(workspace, asked, deferred=False)
        await run_here(workspace, run)
        return run


def test_a_report_that_was_not_delivered_is_read(open_page: OpenPage, site: Site) -> None:
    nowhere = (("folder", "/proc/corrobora"),)
    asked = Request("When was the bridge at Arnholm opened?", "timed", libraries=("docs",), output=nowhere)
    page = open_page(f"/runs/{run_aside(_run(site, asked))}")
    expect(page.locator("#status")).to_contain_text("The report cannot be written")
    expect(page.locator("#status")).not_to_contain_text("There is no report")
    page.get_by_role("link", name="Read the report").click()
    expect(page.locator("article")).to_contain_text("1931")


def test_a_refused_question_is_no_failure(open_page: OpenPage, site: Site) -> None:
    asked = Request("Tell me everything about the bridge at Arnholm", "tree", libraries=("docs",), authorized="policy")
    page = open_page(f"/runs/{run_aside(_run(site, asked))}")
    status = page.locator("#status")
    expect(status).to_contain_text("The question was refused")
    narrower = status.get_by_role("link", name=re.compile(r"\?$"))
    question = narrower.first.inner_text()
    expect(status).not_to_contain_text(re.compile("Failed|doctor"))
    expect(page.get_by_role("button", name="Resume")).to_have_count(0)
    expect(page.get_by_role("link", name="Ask again")).to_be_visible()
    page.goto(f"{site.url}/runs")
    expect(page.locator("caption")).to_have_text(re.compile(r"^(\d+ runs|Runs 1 to 40), newest first$"))
    expect(page.get_by_role("row", name="Tell me everything").first).to_contain_text("The question was refused")
    page.go_back()
    narrower.first.click()
    expect(page.get_by_label("Question")).to_have_value(question)
    expect(page.get_by_label("docs", exact=False).first).to_be_checked()


def test_find_a_run(open_page: OpenPage, site: Site) -> None:
    other = run_aside(_store_run(site))
    page = open_page("/runs")
    expect(page.locator(f"tbody a[href='/runs/{other}']")).to_be_visible()
    lines = page.locator("tbody time").evaluate_all("all => all.map(each => each.getClientRects().length)")
    assert set(lines) == {1}, "a date stands on one line"
    write(page.get_by_label("Words of the question"), "NIST guidance on password rotation")
    press(page.get_by_role("button", name="Search"))
    page.wait_for_url("**/runs?search=*")
    expect(page.locator("tbody tr")).to_have_count(1)
    press(page.get_by_role("link", name=re.compile("How did NIST")))
    page.wait_for_url(f"**/runs/{site.run}")
    expect(page.get_by_role("link", name="Read the report")).to_be_visible()


@HANDS
def test_fill_search_and_remove_a_library(open_page: OpenPage, tmp_path: Path, hand: str) -> None:
    file = tmp_path / "tower.md"
    file.write_text("# The tower of Quell\n\nThe tower of Quell is 88 metres high and was built in 1704.\n")
    page = open_page("/libraries")
    name = f"towers-{hand}"
    write(page.get_by_label("Library", exact=True), name, hand)
    if hand == "mouse":
        _drop_file(page, file)
    else:
        page.get_by_label("Files").set_input_files(file)
    press(page.get_by_role("button", name="Add"), hand)
    page.wait_for_url(f"**/libraries/{name}")
    expect(page.get_by_text("tower.md", exact=True)).to_be_visible()  # of an upload its name, not a path of the server
    expect(page.get_by_role("button", name="Rename")).to_have_count(0)
    write(page.get_by_label("Search the passages"), "height of the tower", hand)
    press(page.get_by_role("button", name="Search"), hand)
    see(page, "is 88 metres high")
    press(page.get_by_role("button", name="Remove tower.md"), hand)
    expect(page.get_by_text("tower.md", exact=True)).to_have_count(0)
    press(page.get_by_role("button", name="Remove the library"), hand)
    page.wait_for_url("**/libraries")
    expect(page.get_by_role("link", name=name)).to_have_count(0)


def test_files_that_cannot_be_read_do_not_keep_the_others_out(open_page: OpenPage, tmp_path: Path) -> None:
    good = {"name": "a.md", "mimeType": "", "buffer": b"# Quay\n\nThe quay of Quell is 12 metres wide.\n"}
    bad = {"name": "<b>.pdf", "mimeType": "", "buffer": b"%PDF-1.7 broken"}
    page = open_page("/libraries", expected="422")
    for files, told in (([bad], "1 file could not be read"), ([bad, good], "1 document")):
        page.get_by_label("Library", exact=True).fill("quays")
        page.get_by_label("Files").set_input_files(files)  # pyright: ignore[reportArgumentType] - bytes of a file
        page.get_by_role("button", name="Add").click()
        see(page, told)
        expect(page.get_by_role("alert")).to_contain_text("<b>.pdf: The PDF is damaged.")
        assert "/uploads/" not in page.locator("main").inner_text()
    see(page, "a.md")


def _drop_file(page: Page, file: Path) -> None:
    """Drop a file on the form, as a file manager does."""
    data = page.evaluate_handle(
        "([name, text]) => { const all = new DataTransfer(); all.items.add(new File([text], name)); return all; }",
        [file.name, file.read_text()],
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": data})


def test_settings_and_doctor(open_page: OpenPage) -> None:
    page = open_page("/")
    press(page.get_by_role("link", name="Settings"))
    expect(page.get_by_role("row", name=re.compile("^profile timed"))).to_be_visible()
    press(page.get_by_role("link", name="Doctor"))
    expect(page.get_by_role("row", name=re.compile("^database"))).to_contain_text("ok")


def test_choose_the_appearance(open_page: OpenPage) -> None:
    page = open_page("/runs")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color")
    press(page.get_by_role("button", name="Dark"))
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color")
    assert dark != light
    assert page.url.endswith("/runs")
