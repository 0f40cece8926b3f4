"""Connections: nothing reaches a private address, whatever the name, the redirect or the second answer says."""

from __future__ import annotations

import ast
import asyncio
import itertools
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.unit.adapters.web.loopback import QUICK, Canary, outcome, redirecting, resolver, visitor

from corrobora.adapters.web import network
from corrobora.adapters.web.network import AllowList, ConnectionBlocked, NameUnresolved, VettedNetwork, resolve_host
from corrobora.testing.http_server import HttpServer, Request, Response

LITERALS = (  # bad-input F01: ways to write addresses that no page has
    "127.0.0.1 127.0.0.2 127.255.255.254 0.0.0.0 0 127.1 127.0.1 2130706433 0x7f000001 0x7f.0.0.1 0177.0.0.1 "
    "017700000001 "
    "127.000.000.001 127.0.0.1. localhost localhost. LOCALHOST [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] "
    "[::127.0.0.1] [0:0:0:0:0:0:0:1] [64:ff9b::127.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::] "
    "[::ffff:0:127.0.0.1] [fe80::1] [fec0::1] [fc00::1] [fd00:ec2::254] [ff02::1] [100::1] [5f00::1] 10.0.0.1 "
    "172.16.0.1 192.168.0.1 169.254.169.254 100.64.0.1 100.100.100.200 192.0.0.192 168.63.129.16 198.18.0.1 224.0.0.1 "
    "239.255.255.250 255.255.255.255 240.0.0.1 192.88.99.1 ①②⑦.⓪.⓪.① 127。0。0。1 １２７.0.0.1 ⓛocalhost "
    "127.0.0.1%00.example 127.0.0.1%2eexample"
).split()
NAMES = {  # bad-input F03: names that lead to private addresses
    "localhost": ["127.0.0.1", "::1"],
    "private.example": ["10.0.0.1"],
    "loopback.example": ["127.0.0.1"],
    "loopback6.example": ["::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nat64.example": ["64:ff9b::7f00:1"],
    "sixtofour.example": ["2002:7f00:1::"],
    "teredo.example": ["2001:0:7f00:1::"],
    "ula.example": ["fd00::1"],
    "cgnat.example": ["100.64.1.1"],
    "multicast.example": ["224.0.0.251"],
    "zero.example": ["0.0.0.0"],
    "metadata.example": ["169.254.169.254"],
    "both.example": ["1.1.1.1", "127.0.0.1"],  # bad-input F04: one public and one private answer
    "both6.example": ["2606:4700::1111", "::1"],
    "last.example": [*(f"1.1.1.{n}" for n in range(1, 40)), "127.0.0.1"],
    "odd.example": ["1.1.1.1", "not an address"],
    "many.example": [f"1.0.{n // 250}.{n % 250}" for n in range(500)],  # bad-input F14
}
WAYS = ("direct", "redirect", "two hops", "robots")


async def _refused_everywhere(hosts: Sequence[str], way: str) -> tuple[int, set[str]]:
    """Try every host at the canary's port, in one way; return the connections it saw and the outcomes."""
    async with Canary() as canary:

        async def robots_too(request: Request) -> Response:
            if request.path == "/robots.txt":
                return Response(302, headers={"location": target.encode().decode("latin-1")})
            return await redirecting(request)

        target = ""
        async with HttpServer(redirecting) as hop, HttpServer(robots_too) as site:
            seen: set[str] = set()
            for host in hosts:
                at = visitor(hop, site, names=NAMES, ports=[canary.port])
                target = f"http://{host}:{canary.port}/"
                once = f"{hop.url}/to?url={quote(target)}"
                urls = {
                    "direct": target,
                    "redirect": once,
                    "two hops": f"{hop.url}/to?url={quote(once)}",
                    "robots": f"{site.url}/page",
                }
                seen.add(await outcome(at, urls[way]))
        return canary.connections, seen


@pytest.mark.parametrize("way", WAYS)
async def test_safe_2_f01_no_packet_to_literal_private_addresses(way: str):
    connections, outcomes = await _refused_everywhere(LITERALS, way)
    assert connections == 0
    assert outcomes == {"refused"} or outcomes <= {"refused", "failed"}


@pytest.mark.parametrize("way", WAYS)
async def test_safe_2_f03_f04_no_packet_to_names_of_private_addresses(way: str):
    connections, outcomes = await _refused_everywhere(list(NAMES), way)
    assert connections == 0
    assert outcomes == {"refused"}


async def test_the_canary_sings_when_it_is_reached():
    async with Canary() as canary:
        for address in ("127.0.0.1", "::1"):
            allow = AllowList(endpoints=frozenset({(address, canary.port)}))
            stream = await VettedNetwork(allow=allow).connect_tcp(address, canary.port, 5.0)
            await stream.aclose()
        await canary.reached(2)


async def test_f05_rebinding_50_rounds_each_connection_goes_to_the_address_that_was_vetted():
    """The name alternates between an allowed server and the canary's machine; a second look-up would be caught."""
    asked = itertools.count()

    async def flip(host: str, port: int) -> Sequence[str]:
        del host, port
        return ["127.0.0.1"] if next(asked) % 2 == 0 else ["127.0.0.2"]

    hits: list[Request] = []

    async def page(request: Request) -> Response:
        hits.append(request)
        return Response(200 if request.path == "/" else 404, b"<p>x</p>", "text/html")

    async with HttpServer(page) as server:
        backend = VettedNetwork(resolve=flip, allow=AllowList(endpoints=frozenset(_named("flip.example", server.port))))
        for number in range(50):
            if number % 2 == 0:
                stream = await backend.connect_tcp("flip.example", server.port, 5.0)
                assert stream.get_extra_info("server_addr")[0] == "127.0.0.1"
                await stream.aclose()
            else:
                with pytest.raises(ConnectionBlocked):
                    await backend.connect_tcp("flip.example", server.port, 5.0)
    assert next(asked) == 50, "one look-up for each connection"


def _named(host: str, port: int) -> list[tuple[str, int]]:
    return [("127.0.0.1", port), (host, port)]


async def test_a_foreign_name_that_leads_to_an_allowed_endpoint_is_refused():
    async with Canary() as canary:
        allow = AllowList(endpoints=frozenset(_named("wiki.internal", canary.port)))
        names = {"wiki.internal": ["127.0.0.1"], "foreign.example": ["127.0.0.1"]}
        backend = VettedNetwork(resolve=resolver(names), allow=allow)
        await (await backend.connect_tcp("wiki.internal", canary.port, 5.0)).aclose()
        with pytest.raises(ConnectionBlocked):
            await backend.connect_tcp("foreign.example", canary.port, 5.0)
        assert canary.connections == 1


@pytest.mark.parametrize("port", [0, 22, 25, 6379, 9200, 5432, 65535])
async def test_f08_other_ports_are_refused_before_any_look_up(port: int):
    with pytest.raises(ConnectionBlocked, match="port"):
        await VettedNetwork(resolve=resolver({})).connect_tcp("a.example", port, 1.0)


async def test_local_sockets_are_refused():
    with pytest.raises(ConnectionBlocked):
        await VettedNetwork().connect_unix_socket("/var/run/docker.sock")


async def test_f14_a_name_without_address_and_a_silent_resolver_are_told_apart_from_refusals():
    async def silent(host: str, port: int) -> Sequence[str]:
        del host, port
        await asyncio.Event().wait()
        return []

    with pytest.raises(NameUnresolved, match="no address"):
        await VettedNetwork(resolve=resolver({})).connect_tcp("nowhere.example", 443, 1.0)
    with pytest.raises(NameUnresolved, match=r"within 0\.05 s"):
        await VettedNetwork(resolve=silent, dns_seconds=0.05).connect_tcp("silent.example", 443, 1.0)
    at = visitor(resolve=silent, limits=replace(QUICK, dns_seconds=0.05))
    assert await outcome(at, "https://silent.example/") == "failed"


async def test_the_system_resolver_answers_for_this_machine():
    assert "127.0.0.1" in await resolve_host("localhost", 80)
    with pytest.raises(NameUnresolved):
        await resolve_host("x" * 300, 80)


def test_f14_a_look_up_that_hangs_does_not_hold_the_exit():
    """The program ends while its look-up still hangs: the thread is nobody's."""
    script = """
        import asyncio, socket, threading
        from corrobora.adapters.web.network import NameUnresolved, VettedNetwork

        def hang(*_, **__):
            threading.Event().wait()

        socket.getaddrinfo = hang

        async def main():
            try:
                await VettedNetwork(dns_seconds=0.1).connect_tcp("a.example", 443, 1.0)
            except NameUnresolved as error:
                print(error)

        asyncio.run(main())
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=600, check=True
    )
    assert "no answer about a.example" in done.stdout


async def test_f15_an_address_that_cannot_be_reached_fails_and_the_next_one_is_tried():
    async with Canary() as canary:
        addresses = [("127.0.0.9", canary.port), *_named("two.example", canary.port)]
        backend = VettedNetwork(
            resolve=resolver({"two.example": ["127.0.0.9", "127.0.0.1"]}),
            allow=AllowList(endpoints=frozenset(addresses)),
        )
        stream = await backend.connect_tcp("two.example", canary.port, 5.0)
        assert stream.get_extra_info("server_addr")[0] == "127.0.0.1"
        await stream.aclose()


MAY_SPEAK_TO_THE_NETWORK = {  # 3.1 rule 1: what of readers, searches and the web may import a network library
    "web/network.py": "the only one that opens sockets for pages",
    "web/transport.py": "requests over those sockets",
    "web/__init__.py": "parses URLs, opens nothing",
    "search/__init__.py": "configured endpoints: a client of its own, that pages and models cannot reach",
}


def test_safe_2_one_module_opens_sockets_for_pages():
    libraries = {"socket", "httpx2", "httpcore2", "urllib.request", "http.client", "requests", "aiohttp", "ftplib"}
    root = Path(network.__file__).parents[1]
    found: set[str] = set()
    for file in [path for part in ("web", "search", "readers") for path in (root / part).glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if libraries & set(names):
                found.add(file.relative_to(root).as_posix())
    assert found == set(MAY_SPEAK_TO_THE_NETWORK)
