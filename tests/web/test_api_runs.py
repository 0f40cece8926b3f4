"""Runs over the HTTP API: asked once, found again, planned, authorized, paused, steered, finished, ended, removed."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from tests.plugins.serving import Site, serve_settings, wait_for_status
from tests.plugins.shell import DOCUMENTS, _fill

from corrobora.config import Settings, load_settings

QUESTION = "When was the bridge at Arnholm opened?"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "serve.md"


def ask(url: str, **more: Any) -> httpx2.Response:
    headers = more.pop("headers", {})
    body = {"question": QUESTION, "libraries": ["docs"], **more}
    return httpx2.post(f"{url}/api/v1/runs", json=body, headers=headers, timeout=120)


def call(url: str, run: str, action: str, **body: Any) -> httpx2.Response:
    return httpx2.post(f"{url}/api/v1/runs/{run}/{action}", json=body or None, timeout=120)


@pytest.fixture
async def own(database_url: str, tmp_path: Path) -> Settings:
    """Settings on a database of the test alone, with the library `docs`."""
    await _fill("docs", DOCUMENTS, database_url)
    env = {"CORROBORA_HOME": str(tmp_path / "home"), "CORROBORA_DATABASE_URL": database_url}
    return load_settings(env=env, folder=tmp_path, user_file=Path("/nonexistent"))


@pytest.fixture
def idle(own: Settings) -> Iterator[str]:
    """A server that works on no run."""
    with serve_settings(own, work=False) as url:
        yield url


def test_a_run_can_be_waited_for_in_the_request_that_starts_it(site: Site) -> None:
    answer = ask(site.url, headers={"Prefer": "wait=30"})
    assert answer.status_code == 202
    assert answer.headers["preference-applied"] == "wait=30"
    run = answer.json()
    assert answer.headers["location"] == run["links"]["self"] == f"/api/v1/runs/{run['id']}"
    wait_for_status(site.url, run["id"], "done")


def test_the_commands_of_the_guide_do_what_it_says(own: Settings, tmp_path: Path) -> None:
    """A newcomer copies them one after the other; each must succeed, and leave what the next one needs."""
    blocks = re.findall(r"(?ms)^```bash\n(.*?)^```", GUIDE.read_text(encoding="utf-8"))
    said = 'set -e\ncurl() { command curl -f "$@"; echo; }\n' + "".join(blocks)
    with serve_settings(own) as url:
        lines = said.replace("localhost:8765", url.removeprefix("http://"))
        done = subprocess.run(["bash", "-c", lines], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout[-2000:]
        runs = httpx2.get(f"{url}/api/v1/runs", timeout=60).json()["runs"]
    assert [(each["status"], each["relation"]) for each in runs] == [
        *(("done", "edit"), ("done", ""), ("done", "ask"), ("done", ""))
    ]


def test_a_run_over_the_shipped_documents_has_its_id_before_they_are_read(own: Settings) -> None:
    with serve_settings(own, work=False) as url:
        run = ask(url, libraries=["demo"]).json()
        assert list_names(url) == {"docs"}
    with serve_settings(own) as url:
        wait_for_status(url, run["id"], "done", "failed")
        assert list_names(url) == {"docs", "demo"}


def list_names(url: str) -> set[str]:
    return {each["name"] for each in httpx2.get(f"{url}/api/v1/libraries", timeout=60).json()}


def test_a_key_gives_the_same_run_again_also_after_a_restart(own: Settings) -> None:
    key = {"Idempotency-Key": "a4f0-11"}
    with serve_settings(own, work=False) as url:
        first = ask(url, headers=key).json()["id"]
        assert ask(url, headers=key).json()["id"] == first
        assert ask(url, headers={"Idempotency-Key": "other"}).json()["id"] != first
        other = ask(url, headers=key, max_rounds=2)
        assert (other.status_code, other.json()["code"]) == (409, "run_exists")
    elsewhere = replace(own, home=own.home.parent / "elsewhere")  # another data folder over the same database
    with serve_settings(elsewhere, work=False) as url:
        assert ask(url, headers=key).json()["id"] == first
        assert len(httpx2.get(f"{url}/api/v1/runs").json()["runs"]) == 2
        assert httpx2.delete(f"{url}/api/v1/runs/{first}").status_code == 204
        assert count_keys(own, first) == 0
        made = ask(url, headers=key, max_rounds=2)
        assert (made.status_code, made.json()["id"] != first) == (202, True)


def test_a_page_of_runs_follows_the_one_before_whatever_came_or_went_between(idle: str) -> None:
    made = [ask(idle, question=f"What is {word} like?").json()["id"] for word in ("Perch", "Pike", "Bream")]
    cursor = httpx2.get(f"{idle}/api/v1/runs", params={"limit": 2}).json()["next_cursor"]
    ask(idle, question="What came between?")
    assert httpx2.delete(f"{idle}/api/v1/runs/{made[1]}").status_code == 204  # the last one of the page before
    page = httpx2.get(f"{idle}/api/v1/runs", params={"limit": 1, "cursor": cursor}).json()
    assert [run["id"] for run in page["runs"]] == made[:1]
    for wrong in ("2", "!", "MjAyNi1XMDE=", "MjAyNi0wMS0wMSDFgQ=="):
        refused = httpx2.get(f"{idle}/api/v1/runs", params={"cursor": wrong})
        assert (refused.status_code, refused.json()["code"]) == (422, "cursor_unknown"), wrong
    earlier = httpx2.get(f"{idle}/runs", params={"cursor": cursor}).text
    assert ("1 run further back" in earlier, made[0] in earlier) == (True, True)


def count_keys(settings: Settings, run: str) -> int:
    """Return how many keys stand for a run."""
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.reveal()) as connection:
        row = connection.execute("SELECT count(*) FROM request_key WHERE run = %s", [run]).fetchone()
    assert row is not None
    return int(row[0])


def test_runs_are_listed_in_pages_searched_and_filtered(idle: str) -> None:
    made = [ask(idle, question=f"What is {word} 100% like?").json()["id"] for word in ("Perch", "Pike", "Bream_")]
    page = httpx2.get(f"{idle}/api/v1/runs", params={"limit": 2}).json()
    assert [run["id"] for run in page["runs"]] == made[:0:-1]
    params = {"limit": 2, "cursor": page["next_cursor"]}
    page = httpx2.get(f"{idle}/api/v1/runs", params=params).json()
    assert ([run["id"] for run in page["runs"]], page["next_cursor"]) == (made[:1], None)
    for words, found in (("IS pike", made[1:2]), ("bream_", made[2:]), ("e_c", []), ("100%", made[::-1])):
        page = httpx2.get(f"{idle}/api/v1/runs", params={"q": words}).json()
        assert [run["id"] for run in page["runs"]] == found
    for status, count in (("queued", 3), ("done", 0)):
        assert len(httpx2.get(f"{idle}/api/v1/runs", params={"status": status}).json()["runs"]) == count


def test_a_plan_waits_is_replaced_and_authorized_in_exact_words(site: Site) -> None:
    run = ask(site.url, profile="tree").json()["id"]
    assert wait_for_status(site.url, run, "awaiting_authorization")["reason"] == "The plan waits for authorization."
    plan = httpx2.get(f"{site.url}/api/v1/runs/{run}/plan").json()
    path = f"{site.url}/api/v1/runs/{run}/plan"
    refused = httpx2.put(path, json={"plan": {"title": 7}})
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    leaf = {"title": "Opening of the bridge", "objective": "When was the bridge at Arnholm opened?"}
    replaced = httpx2.put(path, json={"plan": {**leaf, "queries": [leaf["objective"]]}}, timeout=60)
    assert replaced.status_code == 202, replaced.text
    wait_for_status(site.url, run, "awaiting_authorization")
    again = httpx2.get(path).json()
    assert again != plan
    assert "Opening of the bridge" in json.dumps(again)
    wrong = call(site.url, run, "authorize", words="go on")
    assert (wrong.status_code, wrong.json()["code"]) == (422, "phrase")
    assert call(site.url, run, "authorize", words="Authorized to execute").status_code == 202
    wait_for_status(site.url, run, "done")
    late = call(site.url, run, "authorize", words="Authorized to execute")
    assert (late.status_code, late.json()["code"]) == (409, "not_waiting")
    assert httpx2.put(path, json={"plan": {}}).json()["code"] == "not_waiting"


def test_a_run_of_another_process_is_paused_after_its_round_and_steered(own: Settings, idle: str) -> None:
    run = ask(idle, profile="rounds").json()["id"]
    assert call(idle, run, "pause").status_code == 202
    with serve_settings(own):
        assert wait_for_status(idle, run, "paused")["reason"] == "The run pauses after round 1 of root."
        assert call(idle, run, "pause").json()["code"] == "not_running"
        assert call(idle, run, "steer", hint="look at the ferry").status_code == 202
        wait_for_status(idle, run, "done")
    lines = httpx2.get(f"{idle}/api/v1/runs/{run}/events", params={"format": "ndjson"}).text.splitlines()
    assert sum(json.loads(line)["type"] == "round.started" for line in lines) > 1
    refused = call(idle, run, "steer", hint="").json()
    assert (refused["code"], "/pause" in refused["next_step"]) == ("not_paused", True)
    assert refused["detail"].count("Its state") == 1
    assert not refused["next_step"].startswith("Pause")  # nobody works on it any more
    assert call(idle, run, "resume").json()["code"] == "run_ended"


def test_a_run_that_was_finished_before_anything_was_found_goes_on_when_it_is_resumed(own: Settings, idle: str) -> None:
    run = ask(idle, profile="rounds").json()["id"]
    assert call(idle, run, "finish").status_code == 202
    with serve_settings(own):
        paused = wait_for_status(idle, run, "paused")
        assert (paused["outcome"], "before anything was found" in paused["reason"]) == ("finished_early", True)
        assert httpx2.get(f"{idle}/api/v1/runs/{run}/report").json()["code"] == "report_missing"
        assert call(idle, run, "resume").status_code == 202
        wait_for_status(idle, run, "done")
    assert "1931" in httpx2.get(f"{idle}/api/v1/runs/{run}/report").json()["markdown"]


def test_a_run_is_cancelled_resumed_and_removed(own: Settings, idle: str) -> None:
    run = ask(idle).json()["id"]
    assert call(idle, run, "cancel").json()["status"] == "cancelled"
    assert call(idle, run, "resume").json()["status"] == "queued"
    with serve_settings(own):
        wait_for_status(idle, run, "done")
    for short in (run[:12], "last"):
        refused = httpx2.delete(f"{idle}/api/v1/runs/{short}")
        assert (refused.status_code, refused.json()["code"]) == (422, "run_id_whole")
        assert call(idle, short, "cancel").json()["code"] == "run_id_whole"
    follow = call(idle, run, "ask", question="How long is the bridge at Arnholm?")
    assert follow.status_code == 202
    with serve_settings(own):
        wait_for_status(idle, follow.json()["id"], "done")
    report = httpx2.get(f"{idle}/api/v1/runs/{follow.json()['id']}/report").json()
    assert (report["previous"], "412 metres" in report["markdown"]) == (run, True)
    assert (own.home / "runs" / run / "report.md").is_file()
    assert httpx2.delete(f"{idle}/api/v1/runs/{run}").status_code == 204
    assert not (own.home / "runs" / run).exists()
    gone = httpx2.get(f"{idle}/api/v1/runs/{run}")
    assert (gone.status_code, gone.json()["code"]) == (404, "run_unknown")


def test_events_go_on_from_a_cursor_in_both_forms(site: Site) -> None:
    path = f"{site.url}/api/v1/runs/{site.run}/events"
    lines = [json.loads(line) for line in httpx2.get(path, params={"format": "ndjson"}).text.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    rest = httpx2.get(path, headers={"Accept": "application/x-ndjson"}, params={"after": len(lines) - 3}).text
    assert [json.loads(line)["seq"] for line in rest.splitlines()] == [line["seq"] for line in lines[-3:]]
    stream = httpx2.get(path, headers={"Last-Event-ID": str(len(lines) - 2)}).text
    assert [line for line in stream.splitlines() if line.startswith("id: ")] == [
        f"id: {line['seq']}" for line in lines[-2:]
    ]
    assert stream.count("\n\n") == 2


def test_what_is_wrong_is_said_as_a_problem_document(site: Site) -> None:
    json_body = {"content-type": "application/json"}
    for answer, status, code, words in (
        (ask(site.url, libraries=["nowhere"]), 404, "library_unknown", "There is no library"),
        (ask(site.url, libraries=["/etc"]), 404, "library_unknown", "There is no library"),
        (ask(site.url, libraries=[""]), 422, "config_value", "none empty"),
        (ask(site.url, libraries=[]), 422, "sources_missing", "Name some in `libraries` or `providers`."),
        (ask(site.url, question=" "), 422, "question_empty", "Write it in `question`."),
        (ask(site.url, question=""), 422, "request_invalid", "body.question: it is empty."),
        (ask(site.url, time=0), 422, "config_value", "a time above 0"),
        (ask(site.url, time="5m"), 422, "request_invalid", "body.time: it must be a valid number or 'unlimited'."),
        (ask(site.url, home="/tmp"), 422, "request_invalid", "body.home: there is no such field."),
        (httpx2.post(f"{site.url}/api/v1/runs", json={}), 422, "request_invalid", "body.question: it is missing."),
        (httpx2.post(f"{site.url}/api/v1/runs", content=b"{"), 422, "request_invalid", "body: it is not a JSON object"),
        (
            httpx2.post(f"{site.url}/api/v1/runs", content=b"{", headers=json_body),
            422,
            "request_invalid",
            "body: it is not a JSON object",
        ),
        (
            httpx2.get(f"{site.url}/api/v1/runs?search=mill"),
            422,
            "request_invalid",
            "query.search: there is no such field.",
        ),
        (httpx2.get(f"{site.url}/api/v1/runs/r_unknown/report"), 404, "run_unknown", "GET /api/v1/runs"),
        (httpx2.get(f"{site.url}/api/v1/nothing"), 404, "not_found", "at /api/v1/openapi.json."),
        (httpx2.get(f"{site.url}/openapi.json"), 404, "not_found", "at /api/v1/openapi.json."),
        (httpx2.patch(f"{site.url}/api/v1/runs"), 405, "method_not_allowed", ""),
    ):
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (status, code), problem
        assert answer.headers["content-type"] == "application/problem+json"
        assert (problem["status"], problem["type"]) == (status, f"urn:corrobora:error:{code}")
        assert problem["detail"].startswith(problem["title"])
        assert words in problem["detail"], problem
        assert not re.search(r"corrobora \w|--\w", problem["detail"]), "a program cannot follow a command"
    page = httpx2.get(f"{site.url}/runs/r_unknown", headers={"accept": "text/html"})
    assert page.status_code == 404
    assert "All runs lists what is stored." in page.text
    assert "corrobora runs" not in page.text


def test_a_filter_that_takes_several_values_takes_them(site: Site) -> None:
    several = httpx2.get(f"{site.url}/api/v1/runs?status=failed&status=done&limit=200").json()
    assert site.run in [each["id"] for each in several["runs"]]
    twice = httpx2.get(f"{site.url}/api/v1/runs?limit=1&limit=2").json()
    assert twice["title"] == "query.limit: it is given twice."


@pytest.mark.parametrize(
    ("path", "body", "code", "words"),
    [
        ("runs", b'{"question": "a mill?", "question": "b?"}', "request_invalid", "body.question: it is given twice."),
        ("runs", b'{"fields": {"deep_rounds": 1, "deep_rounds": 9}}', "request_invalid", "deep_rounds: it is given"),
        ("runs", b'{"plan": ' + b"[" * 100_000, "body_unreadable", "nested too deeply"),
        ("runs", b'{"max_tokens": ' + b"9" * 5_000 + b"}", "body_unreadable", "a number that is too long"),
        ("runs", b'{"question": "a mill?", "language": "../de"}', "request_invalid", "language: it must match pattern"),
        ("runs/RUN/update", b'{"notify": "me"}', "request_invalid", "body: this call takes none."),
        ("runs/RUN/pause", b'{"after": "now"}', "request_invalid", "body: this call takes none."),
        ("runs?limit=1&limit=2", b"", "request_invalid", "query.limit: it is given twice."),
        ("runs/RUN/files/" + "a" * 500, b"", "request_invalid", "path.name: it must have at most 400 characters."),
    ],
)
def test_nothing_that_is_sent_is_left_unread(site: Site, path: str, body: bytes, code: str, words: str) -> None:
    address = f"{site.url}/api/v1/{path.replace('RUN', site.run)}"
    headers = {"content-type": "application/json"}
    answer = httpx2.post(address, content=body, headers=headers) if body else httpx2.get(address)
    assert answer.json()["code"] == code, answer.text
    assert answer.status_code == (400 if code == "body_unreadable" else 422)
    assert words in answer.json()["detail"]
    assert "should" not in answer.json()["detail"]


def test_a_key_that_was_used_for_another_request_is_refused_in_its_own_words(site: Site) -> None:
    headers = {"Idempotency-Key": "one"}
    assert httpx2.post(f"{site.url}/api/v1/runs/{site.run}/update", headers=headers).status_code == 202
    body = {"question": "How long is the bridge at Arnholm?"}
    asked = httpx2.post(f"{site.url}/api/v1/runs/{site.run}/ask", json=body, headers=headers)
    for again in (asked, ask(site.url, headers=headers)):
        assert (again.status_code, again.json()["code"]) == (409, "run_exists")
        assert again.json()["next_step"].startswith("Send another Idempotency-Key")


def test_no_key_of_the_operator_goes_to_a_server_that_a_client_names(own: Settings, monkeypatch: Any) -> None:
    """By any provider: the client of a server is not the person whose keys it has."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-operator-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-operator-2")
    keys = load_settings(folder=own.home.parent, user_file=Path("/nonexistent")).keys
    with socket.create_server(("127.0.0.1", 0)) as thief, serve_settings(replace(own, keys=keys)) as url:
        thief.settimeout(1)
        for vendor in ("openai", "openai-chat", "openai-compatible", "anthropic"):
            model = f"{vendor}:small@http://127.0.0.1:{thief.getsockname()[1]}/v1"
            said = ask(url, models={"lead": model}, accept_unknown_price=True)
            assert (said.status_code, said.json().get("code")) == (422, "model_address")
        with pytest.raises(TimeoutError):
            thief.accept()
