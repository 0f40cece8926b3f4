"""Keep tests on this machine: an audit hook refuses every connection and name look-up that leaves it.

Knows loopback addresses, numeric look-ups and local sockets, which pass. An attempt to leave is refused at once and
fails the test that made it, so that code which swallows the error is found as well. Does not see child processes.
"""

from __future__ import annotations

import ipaddress
import sys
from typing import Any

import pytest

_LOCAL_NAMES = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})
_attempts: list[str] = []
_watching = False


class LeftTheMachine(PermissionError):
    """A test tried to reach something that is not this machine."""


def _host(address: Any) -> str | None:
    """Return the host of a socket address, or None for families without one (local sockets, netlink)."""
    return address[0] if isinstance(address, tuple) and address and isinstance(address[0], str) else None


def _stays(host: str) -> bool:
    if host.lower().rstrip(".") in _LOCAL_NAMES:
        return True
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _refuse(what: str) -> None:
    _attempts.append(what)
    raise LeftTheMachine(f"Tests stay on this machine, refused: {what}. Use a server on 127.0.0.1 instead.")


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not _watching or not event.startswith("socket."):
        return
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        host = _host(args[1])
        if host is not None and not _stays(host):
            _refuse(f"{event} {host}")
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        host = args[0].decode() if isinstance(args[0], bytes) else args[0]
        if host and not _stays(host) and not _is_number(host):
            _refuse(f"{event} {host}")


sys.addaudithook(_audit)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """Watch from the first fixture to the last clean-up of each test."""
    global _watching  # noqa: PLW0603 - an audit hook can not be removed, only told to look away
    _watching = True
    try:
        return (yield)
    finally:
        _watching = False


@pytest.fixture(autouse=True)
def stays_on_this_machine() -> Any:
    """Fail a test that tried to leave the machine, even if the code under test swallowed the refusal."""
    _attempts.clear()
    yield
    tried = ", ".join(_attempts)
    _attempts.clear()
    assert not tried, f"the test tried to leave this machine: {tried}"


@pytest.fixture
def refused_attempts() -> list[str]:
    """The attempts of this test so far; a test about refusals empties the list when it has looked at it."""
    return _attempts
