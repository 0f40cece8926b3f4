"""Proxies that the environment names: which one a connection goes through, and the request that opens a tunnel.

Knows HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, and that nothing on this machine is reached through a proxy. Does
not open connections, and does not know what travels through them.
"""

from __future__ import annotations

import base64
import ipaddress
import os
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from corrobora.domain.errors import UserError

END_OF_HEAD = b"\r\n\r\n"
_OK = range(200, 300)


class ProxyRefused(OSError):
    """The proxy does not open the tunnel."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy; `authorization` is the value of the header that proves who asks."""

    host: str
    port: int
    tls: bool = False
    url: str = field(default="", repr=False)
    authorization: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def write_tunnel_request(self, host: str, port: int) -> bytes:
        """Return the request for a tunnel to an address."""
        to = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        proof = f"Proxy-Authorization: {self.authorization}\r\n" if self.authorization else ""
        return f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{proof}\r\n".encode("latin-1")

    def check_tunnel(self, head: bytes) -> None:
        """Read the proxy's answer to the request for a tunnel. Raises `ProxyRefused`."""
        version, _, rest = head.partition(b"\r\n")[0].partition(b" ")
        status = rest[:3].decode("latin-1")
        if not version.startswith(b"HTTP/1.") or not (status.isascii() and status.isdigit()):
            raise ProxyRefused(f"the proxy {self} does not speak HTTP")
        if int(status) not in _OK:
            raise ProxyRefused(f"the proxy {self} refused to open a connection there (HTTP {status})")


def find_proxy(scheme: str, host: str, port: int) -> Proxy | None:
    """Return the proxy of the environment for an address; None if it is reached directly, as all of this machine is.

    As everywhere, the variable in lower case counts first, and HTTP_PROXY counts nothing in a CGI program.

    Raises:
        UserError: the variable names no HTTP proxy.
    """
    name, value = _read_variable(f"{scheme}_proxy") or _read_variable("all_proxy") or ("", "")
    if not value or _is_here(host) or _is_exempt(host, port, (_read_variable("no_proxy") or ("", ""))[1]):
        return None
    return _parse_proxy(name, value)


def find_proxy_url(url: str) -> str | None:
    """Return the URL of the proxy for a URL, with what it needs to be asked; None without one. Raises `UserError`."""
    parts = urlsplit(url)
    proxy = find_proxy(parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    return proxy and proxy.url


def list_proxies() -> tuple[str, ...]:
    """Return host and port of each proxy that the environment names. Raises `UserError`."""
    found = (_read_variable(f"{kind}_proxy") for kind in ("https", "http", "all"))
    return tuple(dict.fromkeys(str(_parse_proxy(*each)) for each in found if each is not None and each[1]))


def _read_variable(name: str) -> tuple[str, str] | None:
    for spelled in (name, name.upper()):
        if spelled in os.environ and not (spelled == "HTTP_PROXY" and "REQUEST_METHOD" in os.environ):
            return spelled, os.environ[spelled].strip()
    return None


def _parse_proxy(name: str, value: str) -> Proxy:
    url = value if "://" in value else f"http://{value}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        parts, host, port = urlsplit(""), "", 0
    if parts.scheme not in ("http", "https") or not host:
        raise UserError(
            "proxy_unusable",
            f"{name} does not name an HTTP proxy: it begins with {parts.scheme[:20] or 'no scheme'!r}.",
            next_step=f"Set {name} to http://HOST:PORT, or remove it.",
        )
    own = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()
    proof = f"Basic {base64.b64encode(own).decode()}" if parts.username else ""
    return Proxy(host, port, parts.scheme == "https", url, proof)


def _is_here(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _is_exempt(host: str, port: int, listed: str) -> bool:
    """True for a host that NO_PROXY lists: as a name with all below it, an address, a network, with a port, or all."""
    host = host.lower().rstrip(".")
    for entry in listed.lower().replace(",", " ").split():
        name, _, only = entry.rpartition(":")
        if not name or not only.isdigit() or (":" in name and not name.endswith("]")):
            name, only = entry, ""
        name = name.strip("[]").removeprefix("*").removeprefix(".")
        if only and int(only) != port:
            continue
        if not name or host == name or host.endswith(f".{name}") or _is_within(host, name):
            return True
    return False


def _is_within(host: str, network: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    return False
