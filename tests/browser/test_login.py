"""The page of a server with tokens: whoever logs in comes to what was asked for, and nothing that was typed is lost."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import MINUTE, OpenPage, find_violations, run_aside
from tests.browser.test_every_screen import _store
from tests.plugins.serving import Site, serve_settings

from corrobora.faces.web.security import parse_tokens

OWNER, READER, NEXT = "owner-0123456789abcdef", "reader-0123456789abcdef", "next-0123456789abcdef"
TYPED = "When was the bridge at Arnholm opened?\n\nAnd <b>who</b> built it?"


@contextmanager
def guarded(site: Site, owner: str = OWNER, port: int = 0) -> Generator[str]:
    tokens = parse_tokens(f"admin {owner} owner\nread {READER} reader")
    with serve_settings(site.settings, tokens=tokens, port=port, work=False) as url:
        yield url


def log_in(page: Page, token: str = OWNER) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


@pytest.mark.parametrize("path", ["/runs?q=bridge&status=done", "/runs/{run}/report#findings", "/libraries"])
def test_a_login_leads_to_the_page_that_was_asked_for(open_page: OpenPage, site: Site, path: str) -> None:
    with guarded(site) as url:
        asked = path.format(run=site.run)
        page = open_page(asked, at=url)
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        assert not find_violations(page)
        page.get_by_role("button", name="Dark").click()  # the look of the page may be chosen before
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        if "#" in asked:
            page.goto(url + asked)  # the place within a page is known to the browser alone
        log_in(page)
        expect(page.get_by_role("button", name="Log out")).to_be_visible()
        assert page.url == url + asked
        page.context.close()


def test_a_login_leads_to_no_other_server(open_page: OpenPage, site: Site) -> None:
    with guarded(site) as url:
        for other in ("//evil.example/x", "https://evil.example/", "/\\evil.example"):
            page = open_page(f"/login?back={other}", at=url)
            log_in(page)
            expect(page.get_by_role("button", name="Log out")).to_be_visible()
            assert page.url == f"{url}/"
            page.context.close()


def test_a_login_in_two_tabs_works_in_both_and_a_logout_ends_both(open_page: OpenPage, site: Site) -> None:
    with guarded(site) as url:
        first = open_page("/runs", at=url, expected="401")
        second = first.context.new_page()
        second.goto(f"{url}/libraries")
        log_in(first)
        expect(first.get_by_role("heading", level=1)).to_have_text("Runs")
        log_in(second)
        expect(second.get_by_role("heading", level=1)).to_have_text("Libraries")
        first.get_by_role("button", name="Log out").click()
        expect(first.get_by_role("heading", level=1)).to_have_text("Log in")
        first.go_back()
        expect(first.get_by_role("heading", level=1)).to_have_text("Log in")
        second.get_by_role("button", name="Log out").click()
        expect(second.get_by_role("heading", level=1)).to_have_text("Log in")
        first.context.close()


def test_a_form_that_is_sent_after_the_session_ended_loses_nothing(open_page: OpenPage, site: Site) -> None:
    """The token was changed while a person was writing: another one is asked for, and then the form is sent."""
    with guarded(site) as url:
        page = open_page("/", at=url, expected="status of 40")
        log_in(page)
        page.get_by_label("Question").fill(TYPED)
        page.get_by_label("Time, in minutes").fill("7")
        page.get_by_role("radio", name="tree").check()
        page.get_by_role("checkbox", name="docs").check()
    with guarded(site, NEXT, int(url.rpartition(":")[2])):
        page.get_by_role("button", name="Estimate the cost").click()
        expect(page.get_by_role("status")).to_contain_text("What you wrote is kept")
        log_in(page, OWNER)
        expect(page.get_by_role("alert")).to_have_text("This token is not known.")
        log_in(page, NEXT)
        expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is sent yet")
        expect(page.get_by_role("main")).to_contain_text("And <b>who</b> built it?")
        assert not find_violations(page)
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_label("Question")).to_have_value(TYPED)
        expect(page.get_by_label("Time, in minutes")).to_have_value("7")
        expect(page.get_by_role("radio", name="tree")).to_be_checked()
        expect(page.get_by_role("checkbox", name="docs")).to_be_checked()
        page.context.close()


def test_a_form_of_another_login_is_shown_again_with_what_was_typed(open_page: OpenPage, site: Site) -> None:
    """In another tab somebody logged out, and in as another one."""
    with guarded(site) as url:
        page = open_page("/", at=url, expected="status of 4")
        log_in(page, READER)
        page.get_by_label("Question").fill(TYPED)
        page.get_by_role("button", name="Estimate the cost").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("That did not work")
        expect(page.get_by_role("alert")).to_contain_text("The token reader may read; this needs run.")
        page.go_back()
        page.get_by_label("Question").fill(TYPED)
        other = page.context.new_page()
        other.goto(url)
        other.get_by_role("button", name="Log out").click()
        log_in(other)
        expect(other.get_by_role("button", name="Log out")).to_be_visible()
        page.get_by_role("button", name="Estimate the cost").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is sent yet")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_label("Question")).to_have_value(TYPED)
        page.context.close()


def test_a_live_run_says_that_one_is_logged_out_and_goes_on_after_the_login(open_page: OpenPage, site: Site) -> None:
    run = run_aside(_store(site))
    with guarded(site) as url:
        page = open_page(f"/runs/{run}", at=url, expected="Failed to load resource")
        log_in(page)
        expect(page.locator("#status")).to_contain_text("Queued")
    with guarded(site, NEXT, int(url.rpartition(":")[2])):
        expect(page.locator("#lost")).to_contain_text("You are logged out", timeout=MINUTE)
        page.get_by_role("link", name="Log in").click()
        log_in(page, NEXT)
        expect(page.locator("#status")).to_contain_text("Queued")
        assert page.url == f"{url}/runs/{run}"
        page.context.close()
