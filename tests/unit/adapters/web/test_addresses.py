"""The table of refused networks: one test for each row, and the addresses beside them."""

from __future__ import annotations

import ipaddress

import pytest

from corrobora.adapters.web.network import BLOCKED_NETWORKS, AllowList, blocked_reason

SAMPLES = {  # one address inside each row, written down apart from the table
    "0.0.0.0/8": "0.0.0.0",
    "10.0.0.0/8": "10.20.30.40",
    "100.64.0.0/10": "100.100.100.200",
    "127.0.0.0/8": "127.0.0.53",
    "168.63.129.16/32": "168.63.129.16",
    "169.254.0.0/16": "169.254.169.254",
    "172.16.0.0/12": "172.31.255.255",
    "192.0.0.0/24": "192.0.0.192",
    "192.0.2.0/24": "192.0.2.1",
    "192.31.196.0/24": "192.31.196.7",
    "192.52.193.0/24": "192.52.193.7",
    "192.88.99.0/24": "192.88.99.1",
    "192.168.0.0/16": "192.168.1.1",
    "192.175.48.0/24": "192.175.48.1",
    "198.18.0.0/15": "198.19.255.255",
    "198.51.100.0/24": "198.51.100.1",
    "203.0.113.0/24": "203.0.113.1",
    "224.0.0.0/4": "239.255.255.250",
    "240.0.0.0/4": "255.255.255.255",
    "::/96": "::1",
    "::ffff:0:0/96": "::ffff:127.0.0.1",
    "::ffff:0:0:0/96": "::ffff:0:127.0.0.1",
    "64:ff9b::/96": "64:ff9b::7f00:1",
    "64:ff9b:1::/48": "64:ff9b:1::7f00:1",
    "100::/64": "100::1",
    "100:0:0:1::/64": "100:0:0:1::1",
    "2001::/23": "2001:0:7f00:1::",
    "2001:db8::/32": "2001:db8::1",
    "2002::/16": "2002:7f00:1::",
    "2620:4f:8000::/48": "2620:4f:8000::1",
    "3fff::/20": "3fff::1",
    "5f00::/16": "5f00::1",
    "fc00::/7": "fd00:ec2::254",
    "fe80::/10": "fe80::1",
    "fec0::/10": "fec0::1",
    "ff00::/8": "ff02::1",
}


@pytest.mark.parametrize(("row", "address"), SAMPLES.items())
def test_safe_2_f01_each_row_refuses_its_network_for_its_own_reason(row: str, address: str):
    network = ipaddress.ip_network(row)
    why = BLOCKED_NETWORKS[row]
    for each in (address, str(network[0]), str(network[-1])):
        assert blocked_reason(ipaddress.ip_address(each)) == why


def test_every_row_has_its_sample():
    assert list(BLOCKED_NETWORKS) == list(SAMPLES)


@pytest.mark.parametrize(
    "address",
    (
        "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 168.63.129.15 "
        "169.253.255.255 172.15.255.255 172.32.0.0 192.167.255.255 198.17.255.255 198.20.0.0 223.255.255.255 "
        "2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2a00::1"
    ).split(),
)
def test_public_addresses_are_let_through(address: str):
    assert blocked_reason(ipaddress.ip_address(address)) is None


@pytest.mark.parametrize("address", ["4000::1", "8000::1", "1000::1", "200::1", "2606:4700::1%eth0"])
def test_what_iana_has_not_given_out_and_scoped_addresses_are_refused(address: str):
    assert blocked_reason(ipaddress.ip_address(address))


def test_f08_an_operator_opens_an_endpoint_and_nothing_beside_it():
    allow = AllowList(endpoints=frozenset({("127.0.0.1", 8098)}))
    here = ipaddress.ip_address("127.0.0.1")
    assert allow.refusal_reason(here, 8098) is None
    assert allow.refusal_reason(here, 80)
    assert allow.refusal_reason(ipaddress.ip_address("127.0.0.2"), 8098)
    assert allow.refusal_reason(ipaddress.ip_address("1.1.1.1"), 8098), "the port is open for that address only"
    assert allow.refusal_reason(ipaddress.ip_address("1.1.1.1"), 443) is None
    assert not allow.allows_port(22)
