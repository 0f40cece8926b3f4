"""The network of page fetches: connections to vetted public addresses only, with each name resolved once.

Knows the resolver and the table of blocked networks (`ipaddress.is_global` is wrong for half of them), and connects to
the very address that was vetted, so that no second look-up can answer differently. Does not know URLs, HTTP or pages;
no other module opens sockets for pages.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import ipaddress
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

import httpcore2

from corrobora.adapters.http import END_OF_HEAD, Proxy, ProxyRefused, find_proxy, tls_context
from corrobora.adapters.web import DEFAULT_PORTS, BadUrl, check_host, parse_ip
from corrobora.domain.limits import LIMITS, read_table

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
T = TypeVar("T")

BLOCKED_NETWORKS: Mapping[str, str] = read_table("networks.toml")
_PARSED_NETWORKS: tuple[tuple[Network, str], ...] = tuple(
    (ipaddress.ip_network(text), why) for text, why in BLOCKED_NETWORKS.items()
)
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")  # all that IANA has allocated for public use


def blocked_reason(address: Address) -> str | None:
    """Say why `address` may not be reached, or None for a public one."""
    for network, why in _PARSED_NETWORKS:
        if address.version == network.version and address in network:
            return why
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            return "bound to one interface"
        if address not in _GLOBAL_V6:
            return "not allocated for public use"
    return None


@dataclass(frozen=True, slots=True)
class AllowList:
    """What an operator adds to the open web: ports, and whole endpoints such as a test server on loopback.

    Built from settings and code only, never from what a page, a plan or a model says. An endpoint is reached by
    its address, or under a name that the operator wrote beside it: any other name that leads there is refused.
    """

    ports: frozenset[int] = frozenset(DEFAULT_PORTS.values())
    endpoints: frozenset[tuple[str, int]] = field(
        default=frozenset()
    )  # (host, port): an address as a number, or a name

    def allows_port(self, port: int) -> bool:
        """True for a port that some allowed address may be reached at."""
        return port in self.ports or any(port == allowed for _, allowed in self.endpoints)

    def refusal_reason(self, address: Address, port: int, host: str = "") -> str | None:
        """Say why this endpoint may not be reached under the name `host`, by default the address itself, or None."""
        if {(host or str(address), port), (str(address), port)} <= self.endpoints:
            return None
        if port not in self.ports:
            return f"port {port} is not open to page fetches"
        return blocked_reason(address)


Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
_MAX_ANSWERS = 64  # of one name; more are no honest answer
_MAX_TRIED = 4
_MOST_HEAD = 16_384  # bytes of what a proxy answers


class ConnectionBlocked(Exception):
    """The connection would leave the open web: a private address, or a port that is not open."""


class NameUnresolved(Exception):
    """The name has no address, or the resolver did not answer in time."""


async def run_detached(work: Callable[[], T]) -> T:
    """Run in a daemon thread what may block for minutes: neither who gives it up nor the exit waits for it."""
    done = concurrent.futures.Future[T]()
    done.set_running_or_notify_cancel()

    def perform() -> None:
        try:
            done.set_result(work())
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            done.set_exception(error)

    threading.Thread(target=perform, name="detached", daemon=True).start()
    return await asyncio.wrap_future(done)


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver. Raises `NameUnresolved`."""
    try:
        rows = await run_detached(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError, OverflowError) as error:
        raise NameUnresolved(f"{host} has no address ({error})") from error
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


class VettedNetwork(httpcore2.AsyncNetworkBackend):
    """A network backend that vets addresses before it connects.

    All addresses of a name are vetted, and one blocked address blocks the name (bad-input F04). The connection goes to
    the vetted address as a number, so that no second look-up can return another one (bad-input F05).
    """

    def __init__(
        self,
        *,
        resolve: Resolver = resolve_host,
        allow: AllowList | None = None,
        dns_seconds: float = LIMITS.dns_seconds,
    ) -> None:
        self._resolve = resolve
        self._allow = allow or AllowList()
        self._dns_seconds = dns_seconds
        self._plain = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature of the library
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect. Raises `ConnectionBlocked`, `NameUnresolved`, or the library's connect errors."""
        addresses = await self._vet_host(host, port)
        proxy = self._find_proxy(host, port)
        each = None if timeout is None else timeout / min(len(addresses), _MAX_TRIED)
        failure: Exception | None = None
        for address in addresses[:_MAX_TRIED]:
            to = (str(address), port) if proxy is None else (proxy.host, proxy.port)
            try:
                stream = await self._plain.connect_tcp(*to, each, local_address, socket_options)
                return stream if proxy is None else await _open_tunnel(stream, proxy, str(address), port, each)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error if proxy is None else ProxyRefused(f"the proxy {proxy} cannot be reached")
        assert failure is not None
        raise failure

    def _find_proxy(self, host: str, port: int) -> Proxy | None:
        """Return the proxy of a host that is not exempt; what the operator opened is reached directly, too."""
        if any(port == at and host == name for name, at in self._allow.endpoints):
            return None
        return find_proxy("http" if port == DEFAULT_PORTS["http"] else "https", host, port)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature of the library
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Refuse: no page is served through a local socket."""
        del path, timeout, socket_options
        raise ConnectionBlocked("local sockets are not part of the web")

    async def sleep(self, seconds: float) -> None:
        """Wait; the library asks for it between its own retries."""
        await asyncio.sleep(seconds)

    async def _vet_host(self, host: str, port: int) -> Sequence[Address]:
        if not self._allow.allows_port(port):
            raise ConnectionBlocked(f"port {port} is not open to page fetches")
        addresses = await self._resolve_addresses(host, port)
        for address in addresses:
            why = self._allow.refusal_reason(address, port, host)
            if why is not None:
                raise ConnectionBlocked(
                    f"{host} leads to {address} ({why})" if str(address) != host else f"{host}: {why}"
                )
        return sorted(addresses, key=lambda address: address.version)  # IPv4 first: it is there more often

    async def _resolve_addresses(self, host: str, port: int) -> Sequence[Address]:
        literal = parse_ip(host)
        if literal is not None:
            return [literal]
        try:
            check_host(host)
        except BadUrl as error:
            raise ConnectionBlocked(str(error)) from error
        try:
            async with asyncio.timeout(self._dns_seconds):
                found = await self._resolve(host, port)
        except TimeoutError as error:
            raise NameUnresolved(f"no answer about {host} within {self._dns_seconds:g} s") from error
        addresses = [parse_ip(text) for text in found[: _MAX_ANSWERS + 1]]
        known = [address for address in addresses if address is not None]
        if not known:
            raise NameUnresolved(f"{host} has no address")
        if len(known) < len(addresses) or len(known) > _MAX_ANSWERS:
            raise ConnectionBlocked(f"the addresses of {host} are not valid")
        return known


async def _open_tunnel(
    stream: httpcore2.AsyncNetworkStream, proxy: Proxy, address: str, port: int, seconds: float | None
) -> httpcore2.AsyncNetworkStream:
    """Ask a proxy for a connection to a vetted address, as a number: a name it would look up again, with its own eyes.

    Raises `ConnectionError` if it refuses.
    """
    try:
        if proxy.tls:
            stream = await stream.start_tls(tls_context(), proxy.host, seconds)
        await stream.write(proxy.write_tunnel_request(address, port), seconds)
        head = b""
        while END_OF_HEAD not in head:
            block = await stream.read(_MOST_HEAD, seconds)
            head += block
            if not block or len(head) > _MOST_HEAD:
                raise ProxyRefused(f"the proxy {proxy} gave no answer that is HTTP")  # noqa: TRY301 - closed below
        proxy.check_tunnel(head)
    except BaseException:
        await stream.aclose()
        raise
    return stream
