"""The files that every page loads: small, served, and free of what the policy of the page forbids."""

from __future__ import annotations

import gzip
import html
import re
from pathlib import Path

import httpx2
import pytest
from tests.plugins.serving import Site

import corrobora.faces.web

WEB = Path(corrobora.faces.web.__file__).parent


@pytest.mark.parametrize(("ending", "most"), [("js", 30_000), ("css", 20_000)])
def test_scripts_and_styles_are_small(ending: str, most: int) -> None:
    files = sorted((WEB / "static").glob(f"*.{ending}"))
    assert files
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= most


def test_no_template_has_an_inline_style_or_handler_or_marks_text_as_safe() -> None:
    for file in (WEB / "templates").rglob("*.html"):
        text = file.read_text()
        assert not re.search(r"\sstyle=|\son[a-z]+=|<style|<script(?! type=\"module\" src=\"/static/)", text), file.name


def test_a_form_of_another_site_changes_nothing(site: Site) -> None:
    answer = httpx2.post(f"{site.url}/runs", data={"question": "When was the bridge opened?", "csrf": "0"})
    assert answer.status_code == 422
    assert answer.json()["code"] == "form_stale"
    stale = httpx2.post(f"{site.url}/runs/{site.run}/remove", data={})
    assert stale.json()["code"] == "form_stale"
    assert httpx2.get(f"{site.url}/api/v1/runs/{site.run}").status_code == 200


@pytest.mark.parametrize(
    ("path", "fields", "wrong", "said"),
    [
        (
            "/runs",
            {"max_cost": "-5"},
            ["cost"],
            "The max cost cannot be used: it must be greater than or equal to 0.",
        ),
        ("/runs", {"time": "soon"}, ["time"], "The time is not a number: 'soon'."),
        (
            "/runs",
            {"question": "a" * 20_001},
            ["question"],
            "The question cannot be used: it must have at most 20000 characters.",
        ),
        ("/runs", {"question": "?!"}, ["question"], "The question has fewer than"),
        ("/runs", {"profile": "none"}, [], "There is no profile 'none'."),
        ("/chat", {"question": ""}, ["question"], "The question cannot be used: it is empty."),
        (
            "/libraries/docs/rename",
            {"new": "../x"},
            ["new"],
            "is not a valid library name: up to 64 of a-z, A-Z, 0-9, _, . and -",
        ),
    ],
)
def test_a_form_that_cannot_be_used_says_why_in_plain_words(
    site: Site, path: str, fields: dict[str, str], wrong: list[str], said: str
) -> None:
    with httpx2.Client(base_url=site.url, headers={"accept": "text/html"}) as client:
        token = client.get("/").text.partition('name="csrf" value="')[2].partition('"')[0]
        sent = {"question": "When was the bridge opened?", "library": "docs", "csrf": token} | fields
        answer = client.post(path, data=sent)
    assert answer.status_code == 422
    assert said in html.unescape(answer.text)
    assert re.findall(r'id="(\w+)"[^>]* aria-invalid="true" aria-describedby="error\b', answer.text) == wrong
    assert '<div id="error"' in answer.text
    assert "should" not in answer.text.partition("<main")[2].partition("<form")[0]
    assert "corrobora library" not in answer.text


def test_more_files_than_one_form_may_hold_are_counted_and_not_called_broken(site: Site) -> None:
    files = [("files", (f"{number}.md", b"# Text")) for number in range(201)]
    answer = httpx2.post(f"{site.url}/libraries/add", data={"name": "many"}, files=files, timeout=60)
    assert (answer.status_code, "Too many files" in answer.text) == (400, True)


def read_token(client: httpx2.Client) -> str:
    return client.get("/").text.partition('name="csrf" value="')[2].partition('"')[0]


def test_a_refused_form_keeps_the_choices_and_the_name_that_were_made(site: Site) -> None:
    with httpx2.Client(base_url=site.url, headers={"accept": "text/html"}) as client:
        csrf = read_token(client)
        chat = client.post("/chat", data={"question": "", "profile": "rounds", "library": "docs", "csrf": csrf}).text
        files = [("files", ("picture.png", b"\x89PNG\r\n\x1a\n"))]
        added = client.post("/libraries/add", data={"name": "pictures", "csrf": csrf}, files=files).text
    assert re.search(r"<option selected>rounds<", chat)
    assert re.search(r'name="library" value="docs" checked', chat)
    assert 'id="name" name="name" value="pictures"' in added


def test_a_passage_that_is_found_says_where_in_its_document_it_stands(site: Site) -> None:
    with httpx2.Client(base_url=site.url, headers={"accept": "text/html"}) as client:
        data = {"name": "places", "csrf": read_token(client)}
        prices = "".join(f"A ticket to Lund costs {price} crowns on day {price}. " for price in range(60))
        text = f"# Ferry\n\nIt sails from May.\n\n## Tickets\n\n{prices}\n\n## Season\n\nIt ends in June."
        client.post("/libraries/add", data=data, files=[("files", ("ferry.md", text.encode()))])
        found = client.get("/libraries/places", params={"search": "ticket to Lund"}).text
        client.post("/libraries/places/remove", data=data)
    assert re.search(r"<strong>Ferry</strong> <span[^>]*>Tickets</span>", found)
