"""Tokens: which of them may do what, on every route of the API; how they are written and shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from tests.plugins.serving import Site, serve_settings

from corrobora.app import Workspace
from corrobora.app.runs import submit_run
from corrobora.config import Settings
from corrobora.domain.errors import UserError
from corrobora.domain.run import Request
from corrobora.faces.web import create_app
from corrobora.faces.web.security import LOGIN_SECONDS, Access, Scope, parse_tokens, read_server_secret

FILE = """
# who       token                         name
read        reader-0123456789abcdef       monitor
run         runner-0123456789abcdef
admin       keeper-0123456789abcdef       owner
"""
HOLDERS = {"nobody": "", "stranger": "stranger-0123456789", "reader": "reader-0123456789abcdef"} | {
    "runner": "runner-0123456789abcdef",
    "keeper": "keeper-0123456789abcdef",
}
READS, RUNS, ADMINS = {"reader", "runner", "keeper"}, {"runner", "keeper"}, {"keeper"}


@pytest.fixture(scope="module")
def guarded(site_settings: Settings) -> Iterator[str]:
    with serve_settings(site_settings, tokens=parse_tokens(FILE), work=False) as url:
        yield url


def list_operations(settings: Settings) -> list[tuple[str, str]]:
    document = create_app(settings).openapi()
    return [(verb.upper(), path) for path, verbs in document["paths"].items() for verb in verbs]


def who_may(verb: str, path: str) -> set[str]:
    """Say it once more, by hand: what the matrix must be."""
    if path in ("/healthz", "/readyz"):
        return set(HOLDERS)
    if verb == "GET":
        return READS
    return ADMINS if verb == "DELETE" or "/libraries/" in path else RUNS


def test_every_holder_may_do_exactly_what_the_scope_says(guarded: str, site_settings: Settings) -> None:
    operations = list_operations(site_settings)
    assert len(operations) > 30
    names = {"{run}": "r_unknown", "{name}": "nowhere", "{source}": "S1", "{passage}": "C1", "{form}": "md"}
    with httpx2.Client(base_url=guarded, timeout=120) as client:
        for verb, template in operations:
            path = template.replace("{name:path}", "x").replace("{document}", "x.md")
            for name, value in names.items():
                path = path.replace(name, value)
            allowed = set()
            for holder, token in HOLDERS.items():
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                answer = client.request(verb, path, headers=headers, json=7 if verb in ("POST", "PUT") else None)
                refused = {"nobody": 401, "stranger": 401}.get(holder, 403)
                if answer.status_code != refused:
                    allowed.add(holder)
                else:
                    assert answer.json()["code"] in ("token_missing", "scope_missing")
            assert allowed == who_may(verb, template), (verb, template)


def test_another_holder_learns_nothing_of_a_run_without_a_token(site: Site, guarded: str) -> None:
    real = httpx2.get(f"{guarded}/api/v1/runs/{site.run}")
    unreal = httpx2.get(f"{guarded}/api/v1/runs/r_unknown")
    assert (real.status_code, real.content) == (unreal.status_code, unreal.content)


def test_a_browser_logs_in_once_and_logs_out(guarded: str) -> None:
    with httpx2.Client(base_url=guarded, timeout=60) as client:
        sent = client.get("/runs", headers={"Accept": "text/html"})
        assert (sent.status_code, sent.headers["location"]) == (303, "/login?back=%2Fruns")
        page = client.get("/login")
        assert 'type="password"' in page.text
        wrong = client.post("/login", data={"token": "stranger-0123456789"})
        assert wrong.status_code == 403
        other = client.post("/login", data={"token": HOLDERS["reader"]}, headers={"Origin": "https://other.example"})
        assert (other.status_code, len(client.cookies)) == (403, 0)
        done = client.post("/login", data={"token": HOLDERS["reader"]})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        cookie = done.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert HOLDERS["reader"] not in cookie
        assert client.get("/api/v1/runs").status_code == 200
        assert client.post("/api/v1/runs", json={"question": "What is it?"}).json()["code"] == "scope_missing"
        client.post("/logout")
        assert client.get("/api/v1/runs").status_code == 401


@pytest.mark.parametrize("path", ["/runs/{run}/stream", "/api/v1/runs/{run}/events"])
def test_a_logout_ends_what_other_windows_follow_and_no_other_login(site: Site, guarded: str, path: str) -> None:
    address = path.format(run=asyncio.run(_store_run(site)))
    with httpx2.Client(base_url=guarded, timeout=5) as one, httpx2.Client(base_url=guarded, timeout=5) as other:
        for each in (one, other, one):  # in a second window too: the forms of the first go on
            held = dict(one.cookies)
            each.post("/login", data={"token": HOLDERS["reader"]})
        assert held == dict(one.cookies) != dict(other.cookies)
        with one.stream("GET", address) as stream, other.stream("GET", address) as goes_on:
            assert stream.status_code == goes_on.status_code == 200
            one.post("/logout")
            for _ in stream.iter_lines():  # until it ends; to wait for more than five seconds fails
                pass
            httpx2.post(f"{guarded}/logout")  # somebody who never logged in ends nothing
            with pytest.raises(httpx2.ReadTimeout):  # it goes on, in silence
                list(goes_on.iter_lines())
        assert other.get("/api/v1/runs").status_code == 200
    with serve_settings(site.settings, tokens=parse_tokens(FILE), work=False) as restarted:
        for url in (guarded, restarted):
            assert httpx2.get(f"{url}/api/v1/runs", cookies=held).status_code == 401, "the old cookie still opens it"
        assert httpx2.get(f"{restarted}/api/v1/runs", cookies=other.cookies).status_code == 200


def test_a_login_lasts_as_long_as_its_cookie_and_an_ended_one_is_kept_no_longer(
    guarded: str, site_settings: Settings
) -> None:
    access = Access(parse_tokens(FILE), (), read_server_secret(site_settings.home), site_settings.home / "ended-logins")
    now = int(time.time())
    for age, status in ((LOGIN_SECONDS - 60, 200), (LOGIN_SECONDS + 60, 401)):
        held = {access.cookie_name: access.make_cookie(access.tokens[0], f"{now - age}-a")}
        assert httpx2.get(f"{guarded}/api/v1/runs", cookies=held).status_code == status
        (access.ended / f"{now - age}-b").parent.mkdir(exist_ok=True)
        (access.ended / f"{now - age}-b").touch()
    with httpx2.Client(base_url=guarded, timeout=60) as client:
        client.post("/login", data={"token": HOLDERS["reader"]})
        client.post("/logout")
    kept = {each.name for each in access.ended.iterdir()}
    assert f"{now - LOGIN_SECONDS + 60}-b" in kept
    assert f"{now - LOGIN_SECONDS - 60}-b" not in kept


async def _store_run(site: Site) -> str:
    async with Workspace.open(site.settings) as workspace:
        return await submit_run(workspace, Request("When was it?", "timed", libraries=("docs",)), deferred=False)


def test_a_login_leads_to_no_other_server_whichever_form_was_sent(guarded: str) -> None:
    with httpx2.Client(base_url=guarded, timeout=60) as client:
        for other in ("//evil.example/x", "https://evil.example/", "/\\evil.example", "javascript:x"):
            assert 'name="back" value="/"' in client.get("/login", params={"back": other}).text
            sent = client.post("/login", data={"token": HOLDERS["reader"], "back": other})
            assert sent.headers["location"] == "/", other


async def test_the_cookie_of_a_server_behind_tls_stays_there(site_settings: Settings) -> None:
    app = create_app(site_settings, tokens=parse_tokens(HOLDERS["reader"]), allowed_hosts=("here",))
    for scheme, secure in (("https", True), ("http", False)):
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=f"{scheme}://here") as client:
            done = await client.post("/login", data={"token": HOLDERS["reader"]})
            assert ("secure" in done.headers["set-cookie"].lower()) is secure
            assert "max-age=2592000" in done.headers["set-cookie"].lower()
            assert "samesite=strict" in (await client.post("/logout")).headers["set-cookie"].lower()


def test_what_a_stranger_sends_is_kept_and_files_are_not_read(guarded: str) -> None:
    page = {"Accept": "text/html"}
    with httpx2.Client(base_url=guarded, timeout=60, headers=page) as client:
        typed = client.post("/runs", data={"question": "What is it?"})
        assert (typed.status_code, 'name="kept:question"' in typed.text) == (401, True)
        assert 'name="back" value="/runs"' in typed.text
        files = client.post("/libraries/docs/add", files={"files": ("a.txt", b"x")}, data={"name": "docs"})
        assert (files.status_code, "Choose them again" in files.text, "kept:" in files.text) == (401, True, False)
        assert 'name="back" value="/libraries"' in files.text  # a page that can be shown
        assert client.get("/").headers["location"] == "/login"


async def test_a_server_without_tokens_gives_no_cookie(site_settings: Settings) -> None:
    app = create_app(site_settings, allowed_hosts=("here",))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://here") as client:
        done = await client.post("/login", data={"token": "anything", "back": "/runs"})
        assert (done.headers["location"], "set-cookie" in done.headers) == ("/runs", False)


def test_a_token_may_have_a_name_in_any_script(site_settings: Settings) -> None:
    tokens = parse_tokens("read 0123456789abcdef \u6a4b")
    with serve_settings(site_settings, tokens=tokens, work=False) as url, httpx2.Client(base_url=url) as client:
        assert client.post("/login", data={"token": "0123456789abcdef"}, timeout=60).status_code == 303
        assert client.get("/api/v1/runs", timeout=60).status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        "short",
        "write 0123456789abcdef0123",
        "read 0123456789abcdef0123 name more",
        "read 0123456789abcdef\nrun 0123456789abcdef",
        "read 0123456789abcdef a\nrun 0123456789abcdeg a",
    ],
)
def test_a_token_file_that_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_tokens(text)
    assert caught.value.code == "serve_token"


@pytest.mark.parametrize("left", [b"", b"\n", b"0123456789abcdef", b"\xff\xfe"])
def test_a_key_of_forms_that_a_full_disk_cut_is_made_anew(tmp_path: Path, left: bytes) -> None:
    """With an empty one anybody could sign the cookie of a token whose name is known."""
    (tmp_path / "server-secret").write_bytes(left)
    made = read_server_secret(tmp_path)
    assert (len(made), read_server_secret(tmp_path)) == (64, made)
    assert (tmp_path / "server-secret").stat().st_mode & 0o077 == 0


def test_one_token_alone_has_all_rights() -> None:
    (token,) = parse_tokens("0123456789abcdef\n")
    assert (token.scope, token.name) == (Scope.ADMIN, "token-1")
    assert "0123456789abcdef" not in repr(token)
    assert parse_tokens("") == parse_tokens("# nothing\n") == ()


def test_two_servers_of_one_machine_have_a_cookie_each(guarded: str, tmp_path: Path, site_settings: Settings) -> None:
    """Cookies know no port: with one name, the login at one server ended that at the other."""
    elsewhere = create_app(replace(site_settings, home=tmp_path), tokens=parse_tokens(HOLDERS["keeper"]))
    with httpx2.Client(base_url=guarded, timeout=60) as client:
        client.post("/login", data={"token": HOLDERS["reader"]})
        (name,) = client.cookies
        assert name != elsewhere.state.access.cookie_name
