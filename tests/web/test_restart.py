"""The server is killed at any moment: its runs go on when it is back, and a repeated request finds its run."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from tests.plugins.serving import wait_for_status

QUESTION = "When was the bridge at Arnholm opened?"
KEY = {"Idempotency-Key": "before-the-crash"}


@contextmanager
def serve(shell: Any, port: int) -> Iterator[Any]:
    """Serve as a process of its own at a port; yield the process when it answers."""
    process = shell.start("serve", "--port", str(port))
    try:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            assert process.poll() is None, process.stderr.read()
            try:
                if httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=60).status_code == 200:
                    break
            except httpx2.TransportError:
                time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_killed_server_goes_on_with_its_runs_and_knows_its_keys(filled: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    body = {"question": QUESTION, "libraries": ["docs"], "profile": "full", "authorize": True}
    with serve(filled, port) as process:
        run = httpx2.post(f"{url}/api/v1/runs", json=body, headers=KEY, timeout=120).json()["id"]
        with httpx2.stream("GET", f"{url}/api/v1/runs/{run}/events", timeout=120) as events:
            for line in events.iter_lines():
                if line.startswith("event: "):
                    process.kill()  # SIGKILL, at the first event
                    break
        process.wait(60)
    with serve(filled, port):
        again = httpx2.post(f"{url}/api/v1/runs", json=body, headers=KEY, timeout=120).json()
        assert again["id"] == run
        assert again["status"] in ("queued", "running", "interrupted", "awaiting_authorization", "done")
        found = wait_for_status(url, run, "done", "awaiting_authorization")
        if found["status"] == "awaiting_authorization":
            words = {"words": "Authorized to execute"}
            httpx2.post(f"{url}/api/v1/runs/{run}/authorize", json=words, timeout=120)
            found = wait_for_status(url, run, "done")
        assert found["attempts"] >= 2
        lines = httpx2.get(f"{url}/api/v1/runs/{run}/events", params={"format": "ndjson"}).text.splitlines()
        assert lines
        assert httpx2.get(f"{url}/api/v1/runs/{run}/report").json()["citations"]
