"""Addresses: the networks that no page fetch may reach, as a table.

Knows numbers only. Does not know names, and does not ask `ipaddress.is_global`, which is wrong for half of them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

BLOCKED_NETWORKS: Sequence[tuple[str, str]] = (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by carriers"),
    ("127.0.0.0/8", "this machine"),
    ("168.63.129.16/32", "cloud metadata (Azure)"),
    ("169.254.0.0/16", "link-local and cloud metadata"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments and cloud metadata (Oracle)"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "AS112"),
    ("192.52.193.0/24", "AMT"),
    ("192.88.99.0/24", "6to4 relays"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "AS112"),
    ("198.18.0.0/15", "benchmarks"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved and broadcast"),
    ("::/96", "unspecified, this machine, or IPv4 in a form out of use"),
    ("::ffff:0:0/96", "IPv4 written as IPv6"),
    ("::ffff:0:0:0/96", "IPv4 translated"),
    ("64:ff9b::/96", "IPv4 behind NAT64"),
    ("64:ff9b:1::/48", "IPv4 behind local NAT64"),
    ("100::/64", "discarded"),
    ("100:0:0:1::/64", "dummy prefix"),
    ("2001::/23", "protocol assignments, Teredo among them"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("2620:4f:8000::/48", "AS112"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "unique local, cloud metadata among them"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
_PARSED_NETWORKS: tuple[tuple[Network, str], ...] = tuple(
    (ipaddress.ip_network(text), why) for text, why in BLOCKED_NETWORKS
)
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")  # all that IANA has given out for public use


def blocked_reason(address: Address) -> str | None:
    """Say why `address` may not be reached, or None for a public one."""
    for network, why in _PARSED_NETWORKS:
        if address.version == network.version and address in network:
            return why
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            return "bound to one interface"
        if address not in _GLOBAL_V6:
            return "not given out for public use"
    return None


@dataclass(frozen=True, slots=True)
class AllowList:
    """What an operator adds to the open web: ports, and whole endpoints such as a test server on loopback.

    Built by the assembly or a test, from settings and code only; nothing that a page, a plan or a model says gets here.
    """

    ports: frozenset[int] = frozenset({80, 443})
    endpoints: frozenset[tuple[str, int]] = field(default=frozenset())  # (address, port), the address as a number

    def allows_port(self, port: int) -> bool:
        """True for a port that some allowed address may be reached at."""
        return port in self.ports or any(port == allowed for _, allowed in self.endpoints)

    def refusal_reason(self, address: Address, port: int) -> str | None:
        """Say why this endpoint may not be reached, or None."""
        if (str(address), port) in self.endpoints:
            return None
        if port not in self.ports:
            return f"port {port} is not open to page fetches"
        return blocked_reason(address)
