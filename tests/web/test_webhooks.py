"""Webhooks at the end of runs: signed, retried under one id, kept through crashes, sent only where they may be."""

from __future__ import annotations

import base64
import json
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from standardwebhooks import Webhook
from tests.plugins.serving import serve_settings, wait_for_status
from tests.plugins.shell import DOCUMENTS, Shell, _fill
from tests.plugins.sink import HANG, Received, Sink, open_sink
from tests.web.test_restart import serve

from corrobora.app.webhooks import POLL_SECONDS, RETRY_SECONDS
from corrobora.config import Settings, load_settings

HANG_SECONDS = 120.0
QUESTION = "When was the bridge at Arnholm opened?"
SECRET = "whsec_" + base64.b64encode(b"a key of thirty-two bytes, just so").decode()


@pytest.fixture
async def own(database_url: str, tmp_path: Path) -> Settings:
    """Settings on a database of the test alone, with the library `docs` and a key for webhooks."""
    await _fill("docs", DOCUMENTS, database_url)
    env = {"CORROBORA_HOME": str(tmp_path / "home"), "CORROBORA_DATABASE_URL": database_url, "WEBHOOK_SECRET": SECRET}
    return load_settings(env=env, folder=tmp_path, user_file=Path("/nonexistent"))


@contextmanager
def serve_with(settings: Settings, *sinks: Sink, **options: Any) -> Iterator[str]:
    """Serve with these receivers allowed."""
    allowed = replace(settings, webhook_hosts=tuple(f"127.0.0.1:{sink.port}" for sink in sinks))
    with serve_settings(allowed, **options) as url:
        yield url


def ask(url: str, hook: str, **more: Any) -> httpx2.Response:
    headers = more.pop("headers", {})
    body = {"question": QUESTION, "libraries": ["docs"], "webhook": hook, **more}
    return httpx2.post(f"{url}/api/v1/runs", json=body, headers=headers, timeout=120)


def read_log(url: str, run: str) -> list[dict[str, Any]]:
    return httpx2.get(f"{url}/api/v1/runs/{run}/webhooks", timeout=60).json()


def wait_for_state(url: str, run: str, state: str, attempts: int) -> dict[str, Any]:
    """Wait until the delivery of a run is in a state after so many attempts, and return it."""
    deadline = time.monotonic() + 120
    while True:
        found = read_log(url, run)
        reached = bool(found) and (found[0]["state"], len(found[0]["attempts"])) == (state, attempts)
        if reached and found[0]["attempts"][-1]["result"]:
            return found[0]
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def verify(received: Received) -> dict[str, Any]:
    """Check a request with the official library, and return its event."""
    return Webhook(SECRET).verify(received.body, {name.lower(): value for name, value in received.headers.items()})


def change(settings: Settings, statement: str) -> None:
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.reveal()) as connection:
        connection.execute(statement)  # type: ignore[arg-type]


DUE_NOW = "UPDATE webhook_delivery SET next_at = clock_timestamp() WHERE next_at IS NOT NULL"


@pytest.mark.covers("setting delivery.webhook_hosts")
def test_the_end_of_a_run_is_told_once_signed_and_logged(
    own: Settings, shell: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with open_sink() as sink, serve_with(own, sink) as url:
        made = ask(url, sink.url)
        run = made.json()["id"]
        wait_for_status(url, run, "done")
        event = verify(sink.wait_for(1))
        assert (event["type"], event["data"]["run"], event["data"]["outcome"]) == ("run.done", run, "complete")
        assert httpx2.get(f"{url}{event['data']['links']['report']}").json()["citations"]
        entry = wait_for_state(url, run, "delivered", 1)
        assert entry["id"] == sink.received[0].headers["webhook-id"]
        assert (entry["host"], entry["event"], entry["next_at"]) == ("127.0.0.1", "run.done", None)
        assert entry["attempts"][0]["result"] == "HTTP 200"
        page = httpx2.get(f"{url}/runs/{run}").text
        assert "run.done to 127.0.0.1" in page
        assert "Not sent yet" not in page
        assert own.database_url is not None
        shell.setenv(CORROBORA_DATABASE_URL=own.database_url.reveal())
        shown = shell("runs", "show", run)
        assert f"run.done to 127.0.0.1: delivered (1 attempt, last HTTP 200), id {entry['id']}" in shown.out
        listed = shell("runs", "show", run, "--json").out
        assert json.loads(listed)["webhooks"] == [entry]
        time.sleep(2)
    assert len(sink.received) == 1
    for told in (caplog.text, page, shown.out, listed, made.text, json.dumps(entry)):
        assert SECRET not in told
        assert "of-the-receiver" not in told
    assert f"webhook {entry['id']}: attempt 1: HTTP 200" in caplog.text


def test_a_cancelled_run_is_told_too_and_each_end_of_a_run_has_an_id_of_its_own(own: Settings) -> None:
    with open_sink() as sink:
        with serve_with(own, sink, work=False) as url:
            run = ask(url, sink.url).json()["id"]
            httpx2.post(f"{url}/api/v1/runs/{run}/cancel")
            assert [each["state"] for each in read_log(url, run)] == ["waiting"]
        with serve_with(own, sink) as url:
            assert verify(sink.wait_for(1))["type"] == "run.cancelled"
            httpx2.post(f"{url}/api/v1/runs/{run}/resume")
            wait_for_status(url, run, "done")
            assert verify(sink.wait_for(2))["type"] == "run.done"
            ids = [each.headers["webhook-id"] for each in sink.received]
            assert len(set(ids)) == 2
            assert [each["id"] for each in read_log(url, run)] == ids
            assert httpx2.delete(f"{url}/api/v1/runs/{run}").status_code == 204


def test_errors_are_retried_later_and_later_under_one_id_with_the_same_body(own: Settings) -> None:
    with open_sink(500, 503) as sink, serve_with(own, sink) as url:
        run = ask(url, sink.url).json()["id"]
        sink.wait_for(2)  # the second after the five seconds of the schedule
        entry = wait_for_state(url, run, "waiting", 2)
        assert [each["result"] for each in entry["attempts"]] == ["HTTP 500", "HTTP 503"]
        change(own, DUE_NOW)
        sink.wait_for(3)
        wait_for_state(url, run, "delivered", 3)
    assert len({each.headers["webhook-id"] for each in sink.received}) == 1
    assert len({each.body for each in sink.received}) == 1
    assert [verify(each)["data"]["run"] for each in sink.received] == [run] * 3
    first, second, _ = (int(each.headers["webhook-timestamp"]) for each in sink.received)
    assert second - first >= 4, "it was sent again before the five seconds of the schedule"


def test_the_pause_that_a_receiver_asks_for_is_kept_and_its_replay_verifies_as_new(own: Settings) -> None:
    with open_sink((429, "7200"), (503, "1")) as sink, serve_with(own, sink) as url:
        run = ask(url, sink.url).json()["id"]
        entry = wait_for_state(url, run, "waiting", 1)
        assert entry["attempts"][0]["result"] == "HTTP 429, asks for 7200 s"
        pause = datetime.fromisoformat(entry["next_at"]) - datetime.fromisoformat(entry["attempts"][0]["at"])
        assert 7200 <= pause.total_seconds() < 7200 * 1.1 + HANG_SECONDS
        change(own, DUE_NOW)
        entry = wait_for_state(url, run, "waiting", 2)
        pause = datetime.fromisoformat(entry["next_at"]) - datetime.fromisoformat(entry["attempts"][1]["at"])
        assert pause.total_seconds() >= RETRY_SECONDS[1], "a shorter wish does not shorten the schedule"
        change(own, "UPDATE webhook_delivery SET next_at = clock_timestamp() + interval '3 days'")  # was set back
        wait_for_state(url, run, "delivered", 3)
    assert len({each.headers["webhook-id"] for each in sink.received}) == 1
    assert len({each.headers["webhook-signature"] for each in sink.received}) == 3
    assert [verify(each)["data"]["run"] for each in sink.received] == [run] * 3


@pytest.mark.parametrize("status", [410, 500])
def test_a_receiver_that_wants_no_more_or_never_recovers_is_given_up(own: Settings, status: int) -> None:
    with open_sink(500, status) as sink, serve_with(own, sink) as url:
        run = ask(url, sink.url).json()["id"]
        wait_for_state(url, run, "waiting", 1)
        if status == 500:
            change(own, f"UPDATE webhook_delivery SET attempts = {len(RETRY_SECONDS)}")
        change(own, DUE_NOW)
        entry = wait_for_state(url, run, "given_up", 2)
        assert entry["attempts"][-1]["result"] == f"HTTP {status}"
        time.sleep(2)
    assert len(sink.received) == 2


def test_a_receiver_that_hangs_does_not_delay_the_others(own: Settings) -> None:
    with open_sink(*[HANG] * 4) as slow, open_sink() as quick, serve_with(own, slow, quick) as url:
        for _ in range(4):
            ask(url, slow.url)
        slow.wait_for(4)
        sent = [int(each.headers["webhook-timestamp"]) for each in slow.received[:4]]
        assert max(sent) - min(sent) < 40, "each waited for the one before to be given up"
        run = ask(url, quick.url).json()["id"]
        quick.wait_for(1)
        assert wait_for_state(url, run, "delivered", 1)


def test_a_server_killed_while_it_sends_is_followed_by_one_that_sends_again(own: Settings, shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    assert own.database_url is not None
    with open_sink(HANG) as sink:
        shell.setenv(CORROBORA_DATABASE_URL=own.database_url.reveal(), WEBHOOK_SECRET=SECRET)
        shell.setenv(CORROBORA_DELIVERY_WEBHOOK_HOSTS=f"127.0.0.1:{sink.port}")
        with serve(shell, port) as process:
            run = ask(url, sink.url).json()["id"]
            first = sink.wait_for(1)
            process.kill()  # SIGKILL: the run has ended, and its delivery is not answered
            process.wait(60)
            told = process.stderr.read().decode()
        change(own, DUE_NOW)  # the minute that a dead sender keeps its delivery has passed
        with serve(shell, port):
            again = sink.wait_for(2)
            entry = wait_for_state(url, run, "delivered", 2)
    assert [each["result"] for each in entry["attempts"]] == ["", "HTTP 200"]
    assert (again.headers["webhook-id"], again.body) == (first.headers["webhook-id"], first.body)
    assert verify(again)["type"] == "run.done"
    assert SECRET not in told


def test_a_run_that_ended_in_a_process_without_the_key_is_told_by_one_that_has_it(
    own: Settings, tmp_path: Path
) -> None:
    assert own.database_url is not None
    bare = load_settings(
        env={"CORROBORA_HOME": str(tmp_path / "bare"), "CORROBORA_DATABASE_URL": own.database_url.reveal()},
        folder=tmp_path,
        user_file=Path("/nonexistent"),
    )
    with open_sink() as sink:
        with serve_with(own, sink, work=False) as url:
            run = ask(url, sink.url).json()["id"]
        with serve_with(bare, sink) as url:
            wait_for_status(url, run, "done")
            refused = ask(url, sink.url)
            assert (refused.status_code, refused.json()["code"]) == (422, "secret_missing")
            looked = time.monotonic() + 2 * POLL_SECONDS  # in which a sender would have looked
            while time.monotonic() < looked:
                assert [each["state"] for each in read_log(url, run)] == ["waiting"]
                assert not sink.received
                time.sleep(0.1)
        with serve_with(own, sink):
            assert verify(sink.wait_for(1))["data"]["run"] == run


def test_a_request_names_no_receiver_that_the_operator_did_not_allow(own: Settings) -> None:
    with open_sink() as sink, serve_with(own, work=False) as url:
        for hook, code in (
            (sink.url, "webhook_refused"),
            ("https://hooks.example.org/x", "webhook_refused"),
            ("https://me:pass@hooks.example.org/x", "webhook_address"),
            ("file:///etc/passwd", "webhook_address"),
        ):
            refused = ask(url, hook)
            assert (refused.status_code, refused.json()["code"]) == (422, code), refused.text
            assert "me:pass" not in refused.text
        assert not httpx2.get(f"{url}/api/v1/runs").json()["runs"]
    with open_sink() as sink, serve_with(own, sink, work=False) as url:
        key = {"Idempotency-Key": "one"}
        run = ask(url, sink.url, headers=key).json()["id"]
        assert ask(url, sink.url, headers=key).json()["id"] == run
        other = ask(url, f"{sink.url}2", headers=key)
        assert (other.status_code, other.json()["code"]) == (409, "run_exists")
