"""The reading screens in real Chromium: evidence of every number, stored sources, audit, comparison, rating."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import SIDEWAYS, OpenPage, find_violations, focus_by_tab, press, run_aside
from tests.plugins.reading import ingest_here
from tests.plugins.serving import Site

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.exports import read_source
from corrobora.app.runs import read_report_json, submit_run
from corrobora.domain.run import Request

MARKERS = """() => [...document.querySelectorAll('button.n')].map(each => [
  Number(each.id.slice(1)),
  [...document.getElementById(each.getAttribute('popovertarget')).querySelectorAll('mark')].map(m => m.textContent)])"""
OPEN = "() => [...document.querySelectorAll(':popover-open')].map(each => each.id)"


def mean_score(report: Mapping[str, Any]) -> float:
    scores = [value for value in report["verdict"].values() if isinstance(value, float | int)]
    return sum(scores) / len(scores)


SCREENS = (
    *("/runs/{demo}/report", "/runs/{demo}/audit", "/runs/{demo}/rating", "/compare", "/compare/{first}/{demo}"),
    *("/runs/{first}/report", "/runs/{first}/audit", "/runs/{hostile}/report"),
)


async def read_report(site: Site, run: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a report as JSON, and the stored texts of its sources."""
    async with Workspace.open(site.settings) as workspace:
        report = await read_report_json(workspace, run)
        sources = {each["source"] for each in report["citations"]}
        return report, {each: (await read_source(workspace, each)).text for each in sources}


def save_export(site: Site, page: Page, run: str, folder: Path) -> Path:
    """Save the exported page of a run as a person does."""
    answer = page.request.get(f"{site.url}/runs/{run}/report.html")
    assert "attachment" in answer.headers["content-disposition"]
    file = folder / "report.html"
    file.write_bytes(answer.body())
    return file


@pytest.mark.parametrize("name", ["demo", "first"])
def test_every_number_opens_its_own_quote_in_page_export_and_json(  # noqa: PLR0917 - fixtures
    open_page: OpenPage, site: Site, browser: Browser, reading: Mapping[str, str], tmp_path: Path, name: str
) -> None:
    report, texts = run_aside(read_report(site, reading[name]))
    body = report["markdown"].rpartition("\n## Sources\n")[0]
    numbers = {each["number"] for each in report["citations"]}
    printed = [int(each) for each in re.findall(r"\[(\d+)\]", body) if int(each) in numbers]
    assert [each["number"] for each in report["evidence"]] == printed != []
    wanted = {}
    for each in report["evidence"]:
        for quote in each["quotes"]:
            assert texts[quote["source"]][quote["start"] : quote["end"]] == quote["text"]
        wanted[each["marker"]] = sorted(quote["text"] for quote in each["quotes"])
    assert all(wanted.values())
    page = open_page(f"/runs/{reading[name]}/report")
    shown = {marker: sorted(marks) for marker, marks in page.evaluate(MARKERS)}
    assert shown == wanted
    context = browser.new_context(offline=True)
    export = context.new_page()
    export.goto(save_export(site, page, reading[name], tmp_path).as_uri())
    assert {marker: sorted(marks) for marker, marks in export.evaluate(MARKERS)} == wanted
    context.close()


def test_the_authors_of_a_source_stand_in_its_list_and_at_its_text(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    run = run_aside(_research_signed(site, tmp_path))
    page = open_page(f"/runs/{run}/report")
    listed = page.locator("ol.sources li")
    expect(listed).to_contain_text("Doe, Jane; Mill Office")
    assert page.locator("button.n.bad").count() == 0  # a list that is not known as one has numbers without evidence
    listed.get_by_role("link").click()
    expect(page.locator("dl.facts")).to_contain_text("Doe, Jane; Mill Office")


async def _research_signed(site: Site, folder: Path) -> str:
    """Research a document whose front matter names its authors."""
    text = "The mill of Signe was built in 1874 by the millers of Orrin.\n"
    (folder / "mill.md").write_text(f'---\nauthor: ["Doe, Jane", "Mill Office"]\n---\n\n# Mill\n\n{text}')
    async with Workspace.open(site.settings) as workspace:
        await ingest_here(workspace.database, "signed", folder)
        run = await submit_run(
            workspace, Request("When was the mill of Signe built?", "timed", libraries=("signed",)), deferred=False
        )
        await run_here(workspace, run)
        return run


def test_a_line_between_sections_is_drawn_once(
    open_page: OpenPage, site: Site, browser: Browser, reading: Mapping[str, str], tmp_path: Path
) -> None:
    """Headings have a line of their own; some profiles write one before them."""
    page = open_page(f"/runs/{reading['first']}/report")
    context = browser.new_context(offline=True)
    export = context.new_page()
    export.goto(save_export(site, page, reading["first"], tmp_path).as_uri())
    for shown in (page, export):
        lines = shown.locator("main hr")
        assert lines.count() > 0
        assert lines.evaluate_all("all => all.filter(each => getComputedStyle(each).display !== 'none').length") == 0
    context.close()


def test_plots_of_an_export_open_on_a_press_and_are_printed_open(
    open_page: OpenPage, site: Site, browser: Browser, reading: Mapping[str, str], tmp_path: Path
) -> None:
    file = save_export(site, open_page("/"), reading["demo"], tmp_path).as_uri()
    inks = set[str]()
    for dark, width in ((False, 1000), (True, 360)):
        scheme = "dark" if dark else "light"
        context = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": width, "height": 800})
        page = context.new_page()
        page.goto(file)
        plots = page.locator("#plots svg")
        assert plots.count() >= 4
        expect(plots.first).to_be_hidden()
        page.locator("#plots summary").press("Enter")
        expect(plots.first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        inks.add(plots.first.evaluate("each => getComputedStyle(each).color"))
        page.locator("#plots summary").press("Enter")
        expect(plots.first).to_be_hidden()
        page.emulate_media(media="print")
        expect(plots.first).to_be_visible()
        context.close()
    assert len(inks) == 2


# the words of headings, and of the first and last cells of rows, that stand on two lines
BROKEN_WORDS = """
() => [...document.querySelectorAll('th, td:first-child, td:last-child')].flatMap(cell => {
  const found = [], texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/[A-Za-z]+/g)) {
    const range = document.createRange(), node = texts.currentNode
    range.setStart(node, word.index), range.setEnd(node, word.index + word[0].length)
    if (new Set([...range.getClientRects()].map(each => each.top)).size > 1) found.push(word[0])
  }
  return found
})
"""


def test_words_in_the_narrow_columns_of_a_table_stay_whole(
    open_page: OpenPage, site: Site, reading: Mapping[str, str], tmp_path: Path
) -> None:
    page = open_page(f"/runs/{reading['demo']}/report", viewport={"width": 1100, "height": 800})
    export = page.context.new_page()
    export.goto(save_export(site, page, reading["demo"], tmp_path).as_uri())
    for shown in (page, export):
        assert shown.locator("th", has_text="What differs").count() == 1
        assert shown.evaluate(BROKEN_WORDS) == []


def check_opening(page: Page) -> None:
    """Open the card of the second number by hover, by focus and by click; Escape closes it."""
    marker, card = page.locator("button.n").nth(1), page.locator(".ev").nth(1)
    expect(card).to_be_hidden()
    marker.hover()
    expect(card).to_be_visible()
    page.mouse.move(2, 2)
    expect(card).to_be_hidden()
    focus_by_tab(marker)
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    marker.click()
    page.mouse.move(2, 2)
    expect(card).to_be_visible()
    assert page.evaluate(OPEN) == [card.get_attribute("id")]
    expect(card.locator("mark").first).to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(card.get_by_role("button", name="Close the evidence")).to_be_focused()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(marker).to_be_focused()


def test_evidence_opens_by_hover_focus_and_click_and_closes_by_escape(
    open_page: OpenPage, site: Site, reading: Mapping[str, str], tmp_path: Path
) -> None:
    page = open_page(f"/runs/{reading['demo']}/report")
    check_opening(page)
    file = save_export(site, page, reading["demo"], tmp_path)
    export = page.context.browser.new_context(java_script_enabled=False, offline=True)  # type: ignore[union-attr]
    local = export.new_page()
    asked: list[str] = []
    local.on("request", lambda request: asked.append(request.url))
    local.goto(file.as_uri())
    check_opening(local)
    assert asked == [file.as_uri()]
    export.close()


def test_evidence_opens_in_a_browser_without_interest_invokers(open_page: OpenPage, reading: Mapping[str, str]) -> None:
    page = open_page("/reader.css")
    page.add_init_script("delete HTMLButtonElement.prototype.interestForElement")

    def strip(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=re.sub(r' interestfor="e\d+"', "", answer.text()))

    page.route("**/report", strip)
    page.goto(page.url.replace("/reader.css", f"/runs/{reading['demo']}/report"))
    assert page.locator("[interestfor]").count() == 0
    check_opening(page)


def test_evidence_opens_by_a_tap_on_a_phone(open_page: OpenPage, reading: Mapping[str, str]) -> None:
    phone = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
    page = open_page(f"/runs/{reading['demo']}/report", **phone)
    page.locator("button.n").nth(2).tap()
    card = page.locator(".ev").nth(2)
    expect(card).to_be_visible()
    expect(card.locator("mark").first).to_be_in_viewport()
    assert (card.bounding_box() or {})["width"] == 320
    card.get_by_role("button", name="Close the evidence").tap()
    expect(card).to_be_hidden()


def test_a_statement_of_the_list_opens_its_evidence(open_page: OpenPage, reading: Mapping[str, str]) -> None:
    page = open_page(f"/runs/{reading['demo']}/report")
    link = page.locator("a[data-marker]").nth(3)
    name = link.get_attribute("data-marker")
    link.click()
    assert name is not None
    expect(page.locator(f"#e{name[1:]}")).to_be_visible()


@pytest.mark.parametrize("hand", ["mouse", "keyboard"])
def test_a_card_leads_to_the_mark_in_the_stored_source(
    open_page: OpenPage, reading: Mapping[str, str], hand: str
) -> None:
    page = open_page(f"/runs/{reading['demo']}/report")
    page.locator("button.n").nth(4).click()
    card = page.locator(".ev").nth(4)
    quote = card.locator("mark").first.inner_text()
    press(card.get_by_role("link", name="Stored source"), hand)
    page.wait_for_url(re.compile("/sources/S"))
    mark = page.locator("mark:target")
    expect(mark).to_be_in_viewport()
    assert " ".join(mark.inner_text().split()) == " ".join(quote.split())
    expect(page.get_by_text(re.compile("sha256:[0-9a-f]{64}"))).to_be_visible()
    places = page.get_by_role("navigation", name="Quotes of this report").get_by_role("link")
    press(places.last, hand)
    expect(page.locator("mark:target")).to_be_in_viewport()
    press(page.locator("a.back").first, hand)
    page.wait_for_url(re.compile(r"/report#m\d+"))


def test_a_source_that_the_report_does_not_cite_is_not_shown(open_page: OpenPage, reading: Mapping[str, str]) -> None:
    page = open_page(f"/runs/{reading['hostile']}/report")
    answer = page.request.get(page.url.replace("/report", "/sources/S1"))
    assert (answer.status, "does not cite" in answer.text()) == (404, True)


def test_the_audit_shows_what_stands_on_what(open_page: OpenPage, site: Site, reading: Mapping[str, str]) -> None:
    report, _ = run_aside(read_report(site, reading["first"]))
    page = open_page(f"/runs/{reading['first']}/audit")
    table = page.get_by_role("group", name="Table of statements by sources")
    claims = [each for each in report["checks"] if each["support"] != "uncited"]
    assert table.get_by_role("row").count() == len({each["sentence"] for each in claims}) + 1
    cited = len({each["source"] for each in report["citations"]})
    expect(table.locator("caption")).to_contain_text(f", {cited} source{'s' * (cited > 1)}")
    repeated = Counter(each["sentence"] for each in claims).most_common(1)[0]
    expect(table.get_by_role("row", name=repeated[0]).first).to_contain_text(f"({repeated[1]} times)")
    plots = page.get_by_role("group", name=re.compile("^Plot: "))
    expect(plots).not_to_have_count(0)
    page.set_viewport_size({"width": 1280, "height": 900})
    assert plots.evaluate_all("all => all.filter(each => each.scrollWidth > each.clientWidth).length") == 0, "cut off"
    decisions = page.locator("section", has=page.get_by_role("heading", name=re.compile("^Decisions")))
    expect(decisions).to_contain_text(re.compile("; (stops|goes on)"))
    expect(decisions).not_to_contain_text(re.compile(r"[a-z][A-Z]|\["))  # no names of fields, no lists of a program
    sources = list(dict.fromkeys(each["source"] for each in report["citations"]))
    assert table.get_by_role("columnheader").count() == len(sources) + 4
    expect(page.get_by_role("row", name=re.compile("overall"))).to_contain_text(f"{mean_score(report):.2f}")
    table.get_by_role("link", name=re.compile("quote in S")).first.click()
    expect(page.locator("mark:target")).to_be_in_viewport()


def test_reading_screens_are_accessible_and_no_wider_than_the_window(
    open_page: OpenPage, site: Site, reading: Mapping[str, str], tmp_path: Path
) -> None:
    found: dict[str, list[str]] = {}
    wide: dict[tuple[str, int], int] = {}
    for screen in (*SCREENS, _first_source(open_page, reading)):
        page = open_page(screen.format(**reading))
        if "/report" in screen:
            page.locator("button.n").first.click()
        found[screen] = find_violations(page)
        _note_widths(page, screen, wide)
        page.close()
    page = open_page("/compare")
    for name in ("demo", "hostile"):
        export = page.context.new_page()
        export.goto(save_export(site, page, reading[name], tmp_path).as_uri(), wait_until="load")
        _note_widths(export, f"export {name}", wide)
    assert not any(found.values()), found
    assert {place: needed for place, needed in wide.items() if needed > place[1]} == {}


def _first_source(open_page: OpenPage, reading: Mapping[str, str]) -> str:
    page = open_page(f"/runs/{reading['demo']}/report")
    return page.locator(".ev-links a").first.get_attribute("href") or ""


def _note_widths(page: Page, screen: str, wide: dict[tuple[str, int], int]) -> None:
    for width in (320, 768, 1600):
        page.set_viewport_size({"width": width, "height": 800})
        wide[screen, width] = page.evaluate("document.documentElement.scrollWidth")
        assert page.evaluate(SIDEWAYS) == [], f"a column of {screen} is out of sight at {width}"


def test_hostile_texts_run_nothing_and_load_nothing(
    open_page: OpenPage, site: Site, browser: Browser, reading: Mapping[str, str], tmp_path: Path
) -> None:
    page = open_page(f"/runs/{reading['hostile']}/report")
    source = page.locator(".ev-links a").first.get_attribute("href") or ""
    for path in (*(f"/runs/{reading['hostile']}/{screen}" for screen in ("report", "audit", "rating")), source):
        page.goto(site.url + path)
        check_inert(page)
        assert "default-src 'none'" in page.request.get(page.url).headers["content-security-policy"]
    context = browser.new_context()
    export, asked = context.new_page(), list[str]()
    export.on("request", lambda request: asked.append(request.url))
    file = save_export(site, page, reading["hostile"], tmp_path)
    export.goto(file.as_uri())
    check_inert(export)
    assert asked == [file.as_uri()]
    policy = export.locator("meta[http-equiv]").get_attribute("content") or ""
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    export.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'window.owned = 5';"
        " document.body.append(one); }"
    )
    assert export.evaluate("window.owned") is None
    context.close()


def check_inert(page: Page) -> None:
    assert "window.owned" in page.inner_text("main") or page.url.endswith("/rating"), page.url
    assert page.evaluate("window.owned") is None
    assert page.locator("main :is(img, script, iframe, [onerror], [onload], a[href^='javascript'])").count() == 0
    for each in page.locator("main a[href^='http']").all():
        assert "noopener" in (each.get_attribute("rel") or "")


def test_screens_are_whole_without_a_script(open_page: OpenPage, reading: Mapping[str, str]) -> None:
    page = open_page(f"/runs/{reading['demo']}/report", java_script_enabled=False)
    page.locator("button.n").nth(2).click()
    expect(page.locator(".ev").nth(2)).to_be_visible()
    expect(page.get_by_role("heading", name=re.compile("Conflicts side by side"))).to_be_visible()
    assert page.locator(".conflict figure").count() % 2 == 0 < page.locator(".conflict figure").count()
    page.goto(page.url.replace("/report", "/rating"))
    page.get_by_role("button", name="Store the rating").click()
    expect(page.locator("fieldset.rate").first).to_be_visible()


def test_on_paper_quotes_are_numbered_notes(
    open_page: OpenPage, site: Site, reading: Mapping[str, str], tmp_path: Path
) -> None:
    page = open_page(f"/runs/{reading['demo']}/report")
    other = page.context.new_page()
    other.goto(save_export(site, page, reading["demo"], tmp_path).as_uri())
    for each in (page, other):
        each.emulate_media(media="print")
        notes = each.locator("#evidence .ev")
        assert notes.count() == each.locator("button.n").count() > 5
        for at in (0, notes.count() - 1):
            expect(notes.nth(at)).to_be_visible()
            expect(notes.nth(at).locator("mark").first).to_be_visible()
        number = "each => getComputedStyle(each.querySelector('.ev-head'), '::before').content"
        assert "Note" in notes.first.evaluate(number)
        kept = "all => [...new Set(all.map(each => getComputedStyle(each).breakInside))]"
        whole = {chosen: each.locator(chosen).evaluate_all(kept) for chosen in ("section, .ev, blockquote, li", "tr")}
        assert list(whole.values()) == [["auto"], ["avoid"]], "long parts leave gaps, or rows of tables are cut"
        assert each.pdf(prefer_css_page_size=True).startswith(b"%PDF-")
