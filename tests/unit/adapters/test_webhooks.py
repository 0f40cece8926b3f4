"""Webhooks: which addresses a request may name, and receivers that must not be reached or do not answer."""

from __future__ import annotations

import pytest
from tests.plugins.sink import HANG, open_sink

from corrobora.adapters.delivery import WebhookMessage, check_webhook, post_webhook
from corrobora.domain.errors import UserError

MESSAGE = WebhookMessage("r_1-1", b"{}", 1_700_000_000)
KEY = bytes(32)


@pytest.mark.parametrize(
    ("url", "hosts", "code"),
    [
        ("https://hooks.example.org/x", (), "webhook_refused"),
        ("https://hooks.example.org/x", ("example.org",), "webhook_refused"),
        ("https://hooks.example.org:8443/x", ("hooks.example.org",), "webhook_refused"),
        ("https://hooks.example.org:8443/x", ("*",), "webhook_refused"),
        ("http://hooks.example.org/x", ("*",), "webhook_refused"),
        ("http://hooks.example.org/x", ("hooks.example.org:80",), "webhook_address"),
        ("http://hooks.example.org:443/x", ("*",), "webhook_address"),
        ("https://me:secret@hooks.example.org/x", ("hooks.example.org",), "webhook_address"),
        ("https://hooks.example.org\\@evil.test/", ("hooks.example.org",), "webhook_address"),
        ("ftp://hooks.example.org/x", ("*",), "webhook_address"),
        ("hooks.example.org", ("*",), "webhook_address"),
    ],
)
def test_an_address_that_the_operator_did_not_allow_is_refused(url: str, hosts: tuple[str, ...], code: str) -> None:
    with pytest.raises(UserError) as refused:
        check_webhook(url, hosts)
    assert refused.value.code == code
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("https://hooks.example.org/x", ("hooks.example.org",)),
        ("https://HOOKS.example.org./x", ("hooks.example.org",)),
        ("https://hooks.example.org/x", ("*",)),
        ("https://hooks.example.org:8443/x", ("hooks.example.org:8443",)),
        ("http://127.0.0.1:9000/x", ("127.0.0.1:9000",)),
        ("https://[::1]:9000/x", ("[::1]:9000",)),
    ],
)
def test_an_address_of_the_list_is_allowed(url: str, hosts: tuple[str, ...]) -> None:
    check_webhook(url, hosts)


async def test_a_private_address_is_reached_only_if_it_is_written_down() -> None:
    with open_sink() as sink:
        name, address = f"localhost:{sink.port}", f"127.0.0.1:{sink.port}"
        by_name = f"http://{name}/hook"
        refused = await post_webhook(by_name, MESSAGE, keys=(KEY,), hosts=(name,))
        assert (refused.delivered, "this machine" in refused.told) == (False, True)
        refused = await post_webhook("https://127.0.0.1/hook", MESSAGE, keys=(KEY,), hosts=("*",))
        assert (refused.delivered, "this machine" in refused.told) == (False, True)
        refused = await post_webhook(by_name, MESSAGE, keys=(KEY,), hosts=("*",))
        assert (refused.delivered, "allows no webhook" in refused.told) == (False, True)
        assert not sink.received
        assert (await post_webhook(by_name, MESSAGE, keys=(KEY,), hosts=(name, address))).delivered
        assert sink.received[0].headers["webhook-id"] == "r_1-1"


@pytest.mark.parametrize(
    ("status", "delivered", "gone"), [(204, True, False), (302, False, False), (410, False, True), (500, False, False)]
)
async def test_only_a_status_of_success_is_a_delivery(status: int, *, delivered: bool, gone: bool) -> None:
    with open_sink(status) as sink:
        result = await post_webhook(sink.url, MESSAGE, keys=(KEY,), hosts=(f"127.0.0.1:{sink.port}",))
    assert (result.told, result.delivered, result.gone) == (f"HTTP {status}", delivered, gone)
    assert len(sink.received) == 1  # a redirect is not followed


async def test_a_receiver_that_hangs_or_is_gone_is_told_apart() -> None:
    with open_sink(HANG) as sink:
        hosts = (f"127.0.0.1:{sink.port}",)
        result = await post_webhook(sink.url, MESSAGE, keys=(KEY,), hosts=hosts, seconds=0.5)
        assert (result.told, result.delivered) == ("no answer within 0.5 s", False)
    result = await post_webhook(sink.url, MESSAGE, keys=(KEY,), hosts=hosts)
    assert (result.told, result.delivered) == ("the connection failed: nobody listens there", False)


@pytest.mark.parametrize(
    ("status", "asked", "wait"),
    [
        (429, "120", 120),
        (503, "3600", 3600),
        (429, "1000000000", 86_400),
        (503, "Fri, 31 Dec 2100 00:00:00 GMT", 86_400),
        *((429, asked, 0) for asked in ("-5", "soon", "1e9", "Mon, 01 Jan 1990 00:00:00 GMT", "0")),
        (500, "30", 30),
    ],
)
async def test_a_receiver_that_asks_for_a_pause_gets_it_up_to_a_day(status: int, asked: str, wait: float) -> None:
    with open_sink((status, asked)) as sink:
        result = await post_webhook(sink.url, MESSAGE, keys=(KEY,), hosts=(f"127.0.0.1:{sink.port}",))
    assert (result.wait, result.delivered) == (wait, False)
    assert result.told == (f"HTTP {status}, asks for {wait} s" if wait else f"HTTP {status}")
