"""The server as a whole: it answers with its headers, refuses foreign hosts and origins, and works on runs."""

from __future__ import annotations

import time

import httpx2
import pytest
from tests.plugins.serving import Site, serve_settings

from corrobora.config import Settings
from corrobora.domain.errors import UserError
from corrobora.faces.web.security import check_bind, parse_tokens


def test_every_answer_forbids_scripts_and_frames_of_others(site: Site) -> None:
    for path in ("/healthz", "/api/v1/runs", "/api/v1/runs/none", "/nothing"):
        headers = httpx2.get(site.url + path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_a_head_is_answered_as_its_get_without_a_body(site: Site) -> None:
    for path in ("/", "/healthz", "/api/v1/runs", f"/api/v1/runs/{site.run}/report.md", "/static/page.css", "/nothing"):
        asked, read = httpx2.head(site.url + path), httpx2.get(site.url + path)
        assert (asked.status_code, asked.content) == (read.status_code, b""), path
        assert asked.headers["content-type"] == read.headers["content-type"]
    assert httpx2.head(site.url, headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/api/v1/runs", "GET, HEAD, POST"),
        ("/api/v1/runs/r_x", "DELETE, GET, HEAD"),
        ("/api/v1/runs/r_x/plan", "GET, HEAD, PUT"),
        ("/api/v1/runs/r_x/cancel", "POST"),
        ("/login", "GET, HEAD, POST"),
        ("/v1/models", "GET, HEAD"),
    ],
)
def test_a_refused_method_is_told_all_that_its_path_knows(site: Site, path: str, methods: str) -> None:
    answer = httpx2.patch(site.url + path)
    assert (answer.status_code, answer.headers["allow"]) == (405, methods)


def test_a_foreign_host_or_origin_is_refused(site: Site) -> None:
    assert httpx2.get(f"{site.url}/healthz", headers={"Host": "evil.example:80"}).status_code == 421
    body = {"question": "When was the bridge at Arnholm opened?", "libraries": ["docs"]}
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = httpx2.post(f"{site.url}/api/v1/runs", json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "origin_refused")


def test_a_body_over_the_limit_is_refused(site: Site) -> None:
    answer = httpx2.post(f"{site.url}/api/v1/runs", content=b" " * 2_100_000)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")

    def write_slowly():
        for _ in range(30):
            yield b" " * 100_000

    answer = httpx2.post(f"{site.url}/api/v1/runs", content=write_slowly())
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_a_public_address_needs_a_token() -> None:
    for host in ("0.0.0.0", "192.0.2.7", "::", "example.org"):
        with pytest.raises(UserError, match="CORROBORA_SERVER_TOKEN"):
            check_bind(host, ())
        check_bind(host, parse_tokens("long-and-secret-token"))
    for host in ("127.0.0.1", "::1", "localhost"):
        check_bind(host, ())


def test_with_a_token_nothing_is_shown_without_it(site_settings: Settings) -> None:
    with serve_settings(site_settings, tokens=parse_tokens("long-and-secret-token"), work=False) as url:
        refused = httpx2.get(f"{url}/api/v1/runs")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert httpx2.get(f"{url}/api/v1/runs", headers={"Authorization": "Bearer wrong"}).status_code == 401
        shown = httpx2.get(f"{url}/api/v1/runs", headers={"Authorization": "Bearer long-and-secret-token"})
        assert shown.status_code == 200
        assert httpx2.get(f"{url}/healthz").status_code == 200


def test_a_run_is_worked_on_by_the_server_and_followed(site: Site) -> None:
    body = {"question": "When was the bridge at Arnholm opened?", "libraries": ["docs"]}
    made = httpx2.post(f"{site.url}/api/v1/runs", json=body)
    assert made.status_code == 202
    run = made.json()["id"]
    with httpx2.stream("GET", f"{site.url}/api/v1/runs/{run}/events", timeout=120) as answer:
        lines = [line for line in answer.iter_lines() if line.startswith("event: ")]
    assert lines[0] == "event: run.started"
    assert lines[-1] == "event: run.finished"
    deadline = time.monotonic() + 60
    while httpx2.get(f"{site.url}/api/v1/runs/{run}").json()["status"] != "done":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "1931" in httpx2.get(f"{site.url}/api/v1/runs/{run}/report").json()["markdown"]


def test_the_demo_run_is_stored(site: Site) -> None:
    report = httpx2.get(f"{site.url}/api/v1/runs/{site.run}/report").json()
    assert report["citations"]
