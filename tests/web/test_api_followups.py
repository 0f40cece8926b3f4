"""What follows a run over the HTTP API: questions, repetitions, comparison, edits and versions, found in lists."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from tests.plugins.serving import Site, wait_for_status

QUESTION = "When was the bridge at Arnholm opened?"
OPENED = "The bridge at Arnholm was opened in 1931 and carries two lanes of traffic."


@pytest.fixture(scope="module")
def asked(site: Site) -> tuple[str, str]:
    """The address of a server and a finished run of its own."""
    body = {"question": QUESTION, "libraries": ["docs"]}
    run = httpx2.post(f"{site.url}/api/v1/runs", json=body, timeout=120).json()["id"]
    wait_for_status(site.url, run, "done")
    return f"{site.url}/api/v1/runs", run


def send(asked: tuple[str, str], action: str, body: dict[str, Any] | None = None, key: str = "") -> httpx2.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return httpx2.post(f"{asked[0]}/{asked[1]}/{action}", json=body, headers=headers, timeout=120)


def read(asked: tuple[str, str], path: str) -> Any:
    return httpx2.get(f"{asked[0]}{path}", timeout=120).json()


def finish(asked: tuple[str, str], answer: httpx2.Response, *status: str) -> str:
    assert answer.status_code == 202, answer.text
    run = answer.json()["id"]
    assert answer.headers["location"] == f"/api/v1/runs/{run}"
    wait_for_status(asked[0].removesuffix("/api/v1/runs"), run, *(status or ("done",)))
    return run


def test_an_update_is_a_run_of_its_own_that_is_compared_with_its_origin(asked: tuple[str, str]) -> None:
    run = finish(asked, send(asked, "update"))
    told = read(asked, f"/{run}")
    assert (told["relation"], told["previous"], told["question"]) == ("update", asked[1], QUESTION)
    changed = read(asked, f"/{run}/compare")
    assert (changed["before"], changed["after"], changed["has_news"]) == (asked[1], run, False)
    assert {each["kind"] for each in changed["statements"]} == {"same"}
    assert read(asked, f"/{run}/compare?before={asked[1]}") == changed
    alone = httpx2.get(f"{asked[0]}/{asked[1]}/compare", timeout=60)
    assert (alone.status_code, alone.json()["code"]) == (422, "compare_one")
    listed = {each["id"]: each["relation"] for each in read(asked, "")["runs"]}
    assert (listed[run], listed[asked[1]]) == ("update", "")


@pytest.mark.parametrize(("action", "body"), [("update", None), ("ask", {"question": "How long is the bridge?"})])
def test_a_key_gives_the_same_follow_up_again(asked: tuple[str, str], action: str, body: Any) -> None:
    first, again = (send(asked, action, body, key=f"key-{action}").json()["id"] for _ in range(2))
    assert first == again != send(asked, action, body, key=f"other-{action}").json()["id"]
    newest = (asked[0], "last")
    last, same = (send(newest, action, body, key=f"last-{action}").json() for _ in range(2))
    assert last["id"] == same["id"], "the second `last` is the run that the first one meant"
    if body is not None:
        other = send(asked, action, {"question": "Who built it?"}, key=f"key-{action}")
        assert (other.status_code, other.json()["code"]) == (409, "run_exists")


def test_an_edit_shows_its_changes_and_waits_for_its_reader(asked: tuple[str, str]) -> None:
    outline = read(asked, f"/{asked[1]}/outline")
    (one,) = [each["id"] for each in outline["sentences"] if each["text"] == OPENED]
    assert outline["sections"][0] == {"id": "0", "title": ""}
    run = finish(asked, send(asked, "edit", {"edits": [{"action": "drop", "target": one}]}), "paused")
    (change,) = read(asked, f"/{run}/changes")["changes"]
    assert (change["number"], change["losses"][0]["kind"]) == (1, "statement")
    waiting = (asked[0], run)
    wrong = send(waiting, "accept", {"accept": "7"})
    assert (wrong.status_code, "these are: 1" in wrong.json()["detail"]) == (422, True)
    assert send(waiting, "accept", {"accept": "1"}).status_code == 202
    wait_for_status(asked[0].removesuffix("/api/v1/runs"), run, "done")
    assert OPENED not in read(asked, f"/{run}/report")["markdown"].partition("## Sources")[0]
    versions = read(asked, f"/{run}/versions")
    assert [each["run"] for each in versions][:2] == [asked[1], run]
    back = finish(asked, send(waiting, "edit", {"version": 1}))
    assert OPENED in read(asked, f"/{back}/report")["markdown"].partition("## Sources")[0]
    assert read(asked, f"/{back}")["relation"] == "edit"
    late = send(waiting, "accept", {"accept": "1"})
    assert (late.status_code, late.json()["code"]) == (409, "edit_not_waiting")


@pytest.mark.parametrize(
    ("body", "code", "step"),
    [
        ({}, "edit_missing", "`edits`"),
        ({"feedback": "Shorter."}, "edit_no_model", "`edits`"),
        ({"edits": [{"action": "drop", "target": "9.9"}]}, "edit_nothing", "/outline"),
        ({"edits": [{"action": "burn", "target": "1"}]}, "request_invalid", "openapi"),
        ({"edits": [{"action": "move", "target": "1.1"}]}, "edit_nothing", "move 1.1: it does not say behind which"),
        ({"edits": [{"action": "drop", "target": "1.1", "after": "1"}]}, "edit_nothing", "only a move has"),
        ({"edits": [{"action": "drop", "target": ""}]}, "edit_nothing", "drop: no sentence or section is named"),
        ({"version": 99}, "edit_version", "/versions"),
        ({"version": 1, "feedback": "Shorter."}, "edit_option", "version"),
    ],
)
def test_an_edit_that_cannot_be_made_says_why_and_makes_no_run(
    asked: tuple[str, str], body: Any, code: str, step: str
) -> None:
    before = read(asked, "?limit=1")["runs"][0]["id"]
    answer = send(asked, "edit", body)
    assert answer.headers["content-type"] == "application/problem+json"
    told = (answer.json()["code"], step in answer.json()["detail"], "corrobora edit" in answer.text)
    assert told == (code, True, False), answer.text
    assert read(asked, "?limit=1")["runs"][0]["id"] == before


def test_a_follow_up_can_be_waited_for_in_the_request_that_starts_it(asked: tuple[str, str]) -> None:
    url = f"{asked[0]}/{asked[1]}/ask"
    body = {"question": "How many lanes does the bridge carry?"}
    answer = httpx2.post(url, json=body, headers={"Prefer": "wait=30"}, timeout=120)
    assert (answer.headers["preference-applied"], answer.json()["status"]) == ("wait=30", "done")
