"""`corrobora serve` as a process: it prints its address, answers there, and refuses to be open to others."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from typing import Any

import httpx2
import pytest

from corrobora.faces.serve import bind_socket


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


@pytest.mark.covers("serve --port")
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


async def test_the_end_of_an_answer_does_not_wait_for_the_receipt_of_its_beginning() -> None:
    connections = asyncio.Queue[asyncio.StreamWriter]()
    server = await asyncio.start_server(
        lambda _, writer: connections.put_nowait(writer), sock=bind_socket("127.0.0.1", 0)
    )
    async with server:
        _, client = await asyncio.open_connection(*server.sockets[0].getsockname())
        accepted = await connections.get()
        assert accepted.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        client.close()
        accepted.close()


@pytest.mark.covers("serve --host")
def test_a_public_address_is_refused_without_a_token(shell: Any) -> None:
    result = shell("serve", "--host", "0.0.0.0")
    assert result.code == 2
    assert "--token-file" in result.complaint


@pytest.mark.covers("serve --token-file", "serve --allow-host")
def test_a_token_file_and_another_name_hold_on_the_wire(filled: Any) -> None:
    (filled.folder / "token").write_text("a-token-of-24-characters")
    arguments = ("--port", "0", "--token-file", "token", "--allow-host", "Research.example:80")
    process = filled.start("serve", *arguments)
    try:
        address = read_address(process)
        wait_until_it_answers(process, address)
        path, token = f"{address}api/v1/runs", {"Authorization": "Bearer a-token-of-24-characters"}
        assert httpx2.get(path).status_code == 401
        assert httpx2.get(path, headers=token).status_code == 200
        assert httpx2.get(path, headers={**token, "Host": "research.example:80"}).status_code == 200
        assert httpx2.get(path, headers={**token, "Host": "other.example:80"}).status_code == 421
    finally:
        process.kill()
        process.communicate()


@pytest.mark.covers("serve --demo", "serve --open", "serve --config")
def test_the_demo_is_researched_once_and_its_report_is_opened(served: Any) -> None:
    browser = served.folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {served.folder / "opened"}\n')
    browser.chmod(0o755)
    served.setenv(BROWSER=f"{browser} %s")
    (served.folder / "own.toml").write_text('offline = true\nprofile = "rounds"\n')
    pages = []
    for _ in range(2):
        process = served.start("serve", "--port", "0", "--demo", "--open", "--config", "own.toml")
        try:
            page = next(line for line in process.stderr if line.startswith(b"corrobora: http")).decode().split()[1]
            address = page.partition("runs/")[0]
            wait_until_it_answers(process, address)
            run = page.removesuffix("/report").rpartition("/")[2]
            found = httpx2.get(f"{address}api/v1/runs/{run}").json()
            assert (found["status"], found["profile"]) == ("done", "rounds")
            pages.append(page)
        finally:
            process.kill()
            process.communicate()
    first, second = (page.rpartition("/runs/")[2] for page in pages)
    assert first == second
    deadline = time.monotonic() + 60
    while not (served.folder / "opened").exists() or (served.folder / "opened").read_text().split() != pages:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_an_empty_token_file_is_refused(shell: Any) -> None:
    (shell.folder / "token").write_text("\n")
    result = shell("serve", "--host", "0.0.0.0", "--token-file", "token")
    assert (result.code, "is empty" in result.complaint) == (2, True)
