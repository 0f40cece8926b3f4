"""`corrobora serve` as a process: it prints its address, answers there, and refuses to be open to others."""

from __future__ import annotations

import signal
import time
from typing import Any

import httpx2


def read_address(process: Any) -> str:
    line = process.stderr.readline().decode()
    assert line.startswith("corrobora: http://127.0.0.1:"), line
    return line.removeprefix("corrobora: ").strip()


def wait_until_it_answers(process: Any, address: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None
        try:
            assert httpx2.get(f"{address}healthz", timeout=60).json()["status"] == "ok"
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the server never answered")


def test_the_server_prints_its_address_and_ends_with_ctrl_c(served: Any) -> None:
    process = served.start("serve", "--port", "0")
    try:
        wait_until_it_answers(process, read_address(process))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, b"")
    finally:
        process.kill()
        process.communicate()


def test_a_public_address_is_refused_without_a_token(shell: Any) -> None:
    result = shell("serve", "--host", "0.0.0.0")
    assert result.code == 2
    assert "--token-file" in result.complaint


def test_an_empty_token_file_is_refused(shell: Any) -> None:
    (shell.folder / "token").write_text("\n")
    result = shell("serve", "--host", "0.0.0.0", "--token-file", "token")
    assert (result.code, "is empty" in result.complaint) == (2, True)
