"""The one way to ask: rate limits first, keys never shown, nothing taken from the environment."""

from __future__ import annotations

import base64
import json
import traceback
from urllib.parse import quote

import pytest

from corrobora.adapters.pacing import SystemClock
from corrobora.adapters.search import ProviderApi
from corrobora.domain.errors import ProviderError, UserError
from corrobora.storage.postgres import Database
from corrobora.storage.queue.statements import RateLimiter
from corrobora.testing.http_server import HttpServer, Request, Response

KEY = 'key-canary/+="%'


class Gate:
    """Counts the slots that were taken; `closed` refuses them."""

    def __init__(self, closed: Exception | None = None) -> None:
        self.taken = 0
        self._closed = closed

    async def acquire(self) -> None:
        if self._closed is not None:
            raise self._closed
        self.taken += 1


def _api(url: str, gate: Gate | RateLimiter | None = None, key: str = KEY) -> ProviderApi:
    headers = {"x-api-key": key}
    return ProviderApi("p", base_url=url, headers=headers, setting="P_KEY", clock=SystemClock(), limiter=gate)


async def _fine(_: Request) -> Response:
    return Response(body=b'{"ok": true}')


async def test_each_call_takes_a_slot_and_none_is_sent_without_one():
    gate = Gate()
    async with HttpServer(_fine) as server:
        api = _api(server.url + "/", gate)
        assert await api.post_json("/x", {"a": 1}) == {"ok": True}
        assert await api.get_json("/x") == {"ok": True}
    assert gate.taken == 2
    sent: list[Request] = []

    async def respond(request: Request) -> Response:
        sent.append(request)
        return Response()

    async with HttpServer(respond) as server:
        with pytest.raises(RuntimeError):
            await _api(server.url, Gate(RuntimeError("no slot"))).get_json("/x")
    assert not sent


async def test_the_stored_limiter_is_a_limiter(database: Database):
    async with HttpServer(_fine) as server:
        assert await _api(server.url, RateLimiter(database, "p", rate=50.0)).get_json("/x") == {"ok": True}


@pytest.mark.parametrize("status", [200, 302, 400, 401, 402, 403, 404, 418, 429, 432, 500, 503])
async def test_s13_s20_g11_no_error_shows_the_key_in_any_form(status: int):
    forms = [KEY, quote(KEY), base64.b64encode(KEY.encode()).decode(), json.dumps(KEY)]

    async def respond(_: Request) -> Response:
        return Response(status, " ".join(forms).encode(), "text/plain", {"x-echo": KEY})

    async with HttpServer(respond) as server:
        with pytest.raises(ProviderError) as caught:
            await _api(server.url).post_json("/x", {})
    error = caught.value
    shown = "".join(traceback.format_exception(error)) + repr(vars(error))
    assert not [form for form in forms if form in shown]


async def test_f12_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch):
    async def proxy(_: Request) -> Response:
        raise AssertionError("the proxy may not be asked")

    async with HttpServer(_fine) as server, HttpServer(proxy) as other:
        for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, other.url)
        assert await _api(server.url).get_json("/x") == {"ok": True}


@pytest.mark.parametrize("key", ["canary\u00e4", "canary\nX-Other: 1", "canary\x00", "canary\ud800"])
def test_safe_5_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str):
    with pytest.raises(UserError, match="P_KEY") as caught:
        _api("http://127.0.0.1:1", key=key)
    assert "canary" not in "".join(traceback.format_exception(caught.value, chain=True)).replace("key=key", "")
