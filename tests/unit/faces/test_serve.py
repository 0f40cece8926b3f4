"""`corrobora serve` as a process: it prints its address, answers there, and refuses to be open to others."""

from __future__ import annotations

import signal
from typing import Any

import httpx2


def read_address(process: Any) -> str:
    line = process.stderr.readline().decode()
    assert line.startswith("corrobora: http://127.0.0.1:"), line
    return line.removeprefix("corrobora: ").strip()


def test_the_server_prints_its_address_and_ends_with_ctrl_c(served: Any) -> None:
    with served.start("serve", "--port", "0") as process:
        address = read_address(process)
        for _ in range(600):
            try:
                assert httpx2.get(f"{address}healthz", timeout=60).json() == {"status": "ok"}
                break
            except httpx2.ConnectError:
                assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stdout.read() == b""


def test_a_public_address_is_refused_without_a_token(shell: Any) -> None:
    result = shell("serve", "--host", "0.0.0.0")
    assert result.code == 2
    assert "--token-file" in result.complaint


def test_an_empty_token_file_is_refused(shell: Any) -> None:
    (shell.folder / "token").write_text("\n")
    result = shell("serve", "--host", "0.0.0.0", "--token-file", "token")
    assert (result.code, "is empty" in result.complaint) == (2, True)
