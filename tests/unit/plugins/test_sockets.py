"""The plugin that keeps tests on this machine: what it lets through and what it refuses."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

AWAY = ("192.0.2.1", 9)  # a documentation address: nobody answers there, and nothing may be sent to it


def test_a_server_on_loopback_is_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()[:2]) as client:
        assert client.getpeername() == server.getsockname()


def test_a_connection_that_leaves_is_refused_and_remembered(refused_attempts: list[str]) -> None:
    with socket.socket() as client, pytest.raises(PermissionError, match=r"192\.0\.2\.1"):
        client.connect(AWAY)
    assert refused_attempts == ["socket.connect 192.0.2.1"]
    refused_attempts.clear()


def test_a_datagram_that_leaves_is_refused(refused_attempts: list[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client, pytest.raises(PermissionError):
        client.sendto(b"x", AWAY)
    assert len(refused_attempts) == 1
    refused_attempts.clear()


def test_a_name_look_up_that_leaves_is_refused(refused_attempts: list[str]) -> None:
    with pytest.raises(PermissionError):
        socket.getaddrinfo("example.invalid", 80)
    assert refused_attempts == ["socket.getaddrinfo example.invalid"]
    refused_attempts.clear()


async def test_asyncio_is_watched_too(refused_attempts: list[str]) -> None:
    with pytest.raises(PermissionError):
        await asyncio.open_connection(*AWAY)
    assert refused_attempts
    refused_attempts.clear()


def test_a_numeric_look_up_asks_nobody(refused_attempts: list[str]) -> None:
    assert socket.getaddrinfo("192.0.2.1", 80)
    assert refused_attempts == []


def test_code_that_swallows_the_refusal_is_found_as_well(tmp_path: Path) -> None:
    (tmp_path / "test_swallows.py").write_text(
        "import socket\n"
        "def test_it():\n"
        "    try:\n"
        "        socket.create_connection(('192.0.2.1', 9))\n"
        "    except OSError:\n"
        "        pass\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "tests.plugins.sockets", str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "the test tried to leave this machine: socket.connect 192.0.2.1" in done.stdout
