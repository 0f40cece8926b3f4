"""What holds for every screen: accessible, no wider than its window, whole without a script, nothing hostile runs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import MINUTE, SIDEWAYS, OpenPage, find_violations, focus_by_tab, run_aside
from tests.paths.starts import CLEAR
from tests.plugins.reading import ingest_here
from tests.plugins.serving import Site, serve_settings

from corrobora.app import Workspace
from corrobora.app.attempts import run_here
from corrobora.app.runs import submit_run
from corrobora.domain.run import Request

SCREENS = ("/", "/chat", "/runs", "/runs/{run}", "/runs/{run}/plan", "/runs/{wait}", "/runs/{wait}/plan", "/libraries")
MORE = ("/libraries/docs?search=bridge", "/settings", "/doctor", "/chat/{dialogue}", "/runs/none")
HOSTILE = (
    "<script>window.owned = 1</script><img src=http://evil.example/x.png onerror='window.owned = 2'>"
    "\"'><svg onload=window.owned=3> <a href=javascript:window.owned=4>x</a> {{ 7 * 7 }}"
)
CUT_OFF = """() => [...document.querySelectorAll(
    'nav a' + (innerWidth < 500 ? ', .stack th[scope=row], .stack td' : ''))]
    .filter(each => each.getBoundingClientRect().right > innerWidth || each.scrollWidth > each.clientWidth + 1)
    .map(each => each.textContent)"""
SQUEEZED = """() => [...document.querySelectorAll('main caption, main td, main th, main p, main li, main dd')]
    .filter(each => { const range = document.createRange(), text = each.innerText.trim();
        range.selectNodeContents(each);
        const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
        return text.length > 8 && each.clientWidth > 0 && lines.size > text.length / 2; })
    .map(each => each.innerText)"""
HUMAN = (("authorize", '"human"'), ("phrase", '"Authorized to execute"'))


@pytest.fixture(scope="session")
def stored(site: Site, chromium: str) -> dict[str, str]:
    """The ids of a finished run, of one that waits with its plan, and of a dialogue, all with hostile texts."""
    return {"run": site.run} | run_aside(_store_hostile(site))


async def _store_hostile(site: Site) -> dict[str, str]:
    folder = site.settings.home / "hostile"
    folder.mkdir(exist_ok=True)
    (folder / "evil.md").write_text(
        f"# Bridge {HOSTILE}\n\nThe bridge at Arnholm was opened in 1931. {HOSTILE}\n\nThe bridge is 412 metres long.\n"
    )
    async with Workspace.open(site.settings) as workspace:
        await ingest_here(workspace.database, "hostile", folder)
        question = f"When was the bridge at Arnholm opened? {HOSTILE}"
        asked = Request(question, "timed", libraries=("hostile",), overrides=HUMAN)
        wait = await submit_run(workspace, asked, deferred=False)
        await run_here(workspace, wait)
        done = await submit_run(workspace, Request(question, "timed", libraries=("hostile",)), deferred=False)
        await run_here(workspace, done)
        from corrobora.app.dialogues import open_dialogue

        manager = open_dialogue(workspace, Request("", "tree", libraries=("hostile",)))
        await manager.say(f"Tell me everything about bridges {HOSTILE}")
        return {"wait": wait, "hostile": done, "dialogue": manager.id}


@pytest.mark.parametrize("screen", [*SCREENS, *MORE, "/runs/{hostile}"])
def test_a_screen_is_accessible_and_no_wider_than_its_window(
    open_page: OpenPage, stored: dict[str, str], screen: str
) -> None:
    expected = "404" if screen.endswith("none") else ""
    page = open_page(screen.format(**stored), expected=expected)
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    expect(page.get_by_role("navigation", name="Main")).to_have_count(1)
    assert page.evaluate("document.querySelector('a, button').textContent") == "Skip to the content"
    for width in (320, 768, 1600):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"wider than {width}"
        assert page.evaluate(CUT_OFF) == [], f"cut off at {width}"
        assert page.evaluate(SQUEEZED) == [], f"squeezed at {width}"
        assert page.evaluate(SIDEWAYS) == [], f"a column is out of sight at {width}"
    assert not find_violations(page)


def test_the_place_where_one_is_stays_marked_in_forced_colours(open_page: OpenPage, site: Site) -> None:
    """Backgrounds and shadows are taken away there."""
    page = open_page(f"/runs/{site.run}", forced_colors="active")
    for chosen in (".masthead [aria-current]", ".tabs [aria-current]", '[aria-pressed="true"]', ".filters :checked"):
        mark = "each => getComputedStyle(each.closest('label') ?? each).textDecorationLine"
        assert page.locator(chosen).first.evaluate(mark) == "underline", chosen


def test_a_long_list_of_sources_scrolls_in_its_panel_and_is_printed_whole(open_page: OpenPage, site: Site) -> None:
    page = open_page(f"/runs/{site.run}")
    sources = page.locator("#sources ul")
    sources.evaluate("""each => { for (let n = 0; n < 4; n++)
        each.append(...[...each.children].map(one => one.cloneNode(true))); }""")
    measure = "each => each.clientHeight"
    assert sources.evaluate(measure) < 600
    assert not find_violations(page)
    focus_by_tab(sources)
    page.emulate_media(media="print")
    assert sources.evaluate(measure) > 1_500
    assert sources.evaluate("each => each.scrollHeight - each.clientHeight") == 0
    expect(page.get_by_role("link", name="Read the report")).to_be_hidden()


def test_no_word_of_a_name_is_broken_where_there_is_room(open_page: OpenPage, site: Site) -> None:
    page = open_page(f"/runs/{site.run}/audit", viewport={"width": 320, "height": 640})
    broken = """each => {
        const word = document.createElement('th'); word.scope = 'row'; word.textContent = 'completeness';
        each.innerHTML = '<table class="scores"><tr></tr></table>'; const row = each.querySelector('tr');
        row.append(word, ...[1, 2].map(() => document.createElement('td'))); row.lastChild.textContent = '0.85';
        const range = document.createRange(); range.selectNodeContents(word);
        return range.getClientRects().length; }"""
    assert page.locator("section.panel").nth(1).evaluate(broken) == 1


def test_a_text_from_right_to_left_begins_at_the_right(open_page: OpenPage, site: Site) -> None:
    run = run_aside(_store(site, "متى اكتمل برج المياه في خليج كيستريل؟"))
    page = open_page(f"/runs/{run}")
    free = """() => { const range = document.createRange(), title = document.querySelector('h1');
        range.selectNodeContents(title);
        const text = range.getBoundingClientRect(), box = title.getBoundingClientRect();
        return [text.left - box.left, box.right - text.right]; }"""
    left, right = page.evaluate(free)
    assert left > right + 100, "the question stands at the left"


def test_a_run_is_started_and_followed_without_a_script(open_page: OpenPage) -> None:
    page = open_page("/", java_script_enabled=False)
    page.get_by_label("Question").fill(CLEAR)
    page.get_by_role("checkbox", name=re.compile("^docs")).check()
    page.get_by_role("button", name="Research").click()
    page.wait_for_url("**/runs/r_*")
    expect(page.get_by_role("link", name="Read the report")).to_be_visible(timeout=MINUTE)  # the page refreshes itself


def test_hostile_texts_run_nothing_and_load_nothing(open_page: OpenPage, stored: dict[str, str]) -> None:
    for screen in ("/runs/{hostile}", "/runs/{hostile}/plan", "/runs/{wait}/plan", "/chat/{dialogue}", "/runs", "/"):
        page = open_page(screen.format(**stored))
        assert "window.owned = 1" in page.locator("body").inner_text() + page.content(), screen
        assert page.evaluate("window.owned") is None, screen
        assert page.locator("img, [onload], [onerror], a[href^=javascript]").count() == 0, screen
    page = open_page(f"/libraries/hostile?search={'bridge Arnholm'}")
    assert "window.owned = 1" in page.inner_text("main")
    assert page.evaluate("window.owned") is None


def test_the_policy_of_the_page_forbids_inline_scripts(open_page: OpenPage, stored: dict[str, str]) -> None:
    page = open_page(f"/runs/{stored['hostile']}", expected="Content Security Policy")
    policy = page.request.get(page.url).headers["content-security-policy"]
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'"} <= set(policy.split("; "))
    page.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'window.owned = 5';"
        " document.body.append(one); }"
    )
    assert page.evaluate("window.owned") is None


def test_a_page_that_was_offline_catches_up_from_its_cursor(open_page: OpenPage, site: Site) -> None:
    run = run_aside(_store(site))
    page = open_page(f"/runs/{run}", expected="ERR_INTERNET_DISCONNECTED")
    expect(page.locator("#status")).to_contain_text("Queued")
    page.context.set_offline(True)
    run_aside(_work(site, run))
    page.context.set_offline(False)
    expect(page.get_by_role("link", name="Read the report")).to_be_visible(timeout=MINUTE)
    seqs = page.locator("#activity .log li").evaluate_all("all => all.map(each => each.id)")
    assert seqs
    assert len(seqs) == len(set(seqs))


def test_a_page_follows_on_when_its_server_is_restarted(open_page: OpenPage, site: Site) -> None:
    run = run_aside(_store(site))
    with serve_settings(site.settings, work=False) as url:
        page = open_page(f"/runs/{run}", at=url, expected="net::ERR_")
        expect(page.locator("#status")).to_contain_text("Queued")
        page.evaluate("window.stays = true")
    expect(page.locator("#lost")).to_contain_text("may be old", timeout=MINUTE)
    run_aside(_work(site, run))
    with serve_settings(site.settings, port=int(url.rpartition(":")[2]), work=False):
        expect(page.get_by_role("link", name="Read the report")).to_be_visible(timeout=MINUTE)
        assert page.evaluate("window.stays") is True, "the page was loaded anew"
        expect(page.locator("#lost")).to_have_text("")
        seqs = page.locator("#activity .log li").evaluate_all("all => all.map(each => each.id)")
        assert len(seqs) == len(set(seqs)) > 0
        page.context.close()


async def _store(site: Site, question: str = CLEAR) -> str:
    async with Workspace.open(site.settings) as workspace:
        return await submit_run(workspace, Request(question, "timed", libraries=("docs",)), deferred=False)


async def _work(site: Site, run: str) -> None:
    async with Workspace.open(site.settings) as workspace:
        await run_here(workspace, run)
