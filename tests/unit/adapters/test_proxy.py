"""Which proxy of the environment a connection goes through, and that no page reaches more through it than without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.plugins.tunnel import TunnelProxy
from tests.unit.adapters.web.loopback import fetch, outcome, visitor

from corrobora.adapters.http import find_proxy
from corrobora.adapters.models.framing import UnreachableError
from corrobora.adapters.models.transport import HttpEndpoint
from corrobora.domain.errors import ReadError
from corrobora.testing.http_server import HttpServer, Request, Response

PUBLIC = "93.184.215.14"


@pytest.fixture
async def proxy(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TunnelProxy]:
    """The proxy of the environment."""
    async with TunnelProxy({}) as found:
        monkeypatch.setenv("ALL_PROXY", f"http://a:b@127.0.0.1:{found.port}")
        yield found


@pytest.mark.parametrize(
    ("variables", "address", "expected"),
    [
        ({}, ("https", "a.example", 443), None),
        ({"HTTPS_PROXY": "http://p:1"}, ("https", "a.example", 443), "p:1"),
        ({"HTTPS_PROXY": "p:1"}, ("https", "a.example", 443), "p:1"),
        ({"HTTPS_PROXY": "http://p"}, ("https", "a.example", 443), "p:80"),
        ({"HTTPS_PROXY": "https://p"}, ("https", "a.example", 443), "p:443"),
        ({"HTTPS_PROXY": "http://p:1"}, ("http", "a.example", 80), None),
        ({"HTTP_PROXY": "http://p:1"}, ("http", "a.example", 80), "p:1"),
        ({"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, ("http", "a.example", 80), None),
        ({"HTTP_PROXY": "http://p:1", "http_proxy": "http://q:2"}, ("http", "a.example", 80), "q:2"),
        ({"ALL_PROXY": "http://p:1", "HTTPS_PROXY": ""}, ("https", "a.example", 443), None),
        ({"ALL_PROXY": "http://p:1"}, ("https", "localhost", 443), None),
        ({"ALL_PROXY": "http://p:1"}, ("http", "127.8.9.1", 80), None),
        ({"ALL_PROXY": "http://p:1"}, ("http", "::1", 80), None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, ("http", "a.example", 80), None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "b.example, .a.example"}, ("http", "x.A.example", 80), None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.example:8080"}, ("http", "a.example", 8080), None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.example:8080"}, ("http", "a.example", 80), "p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "example"}, ("http", "an-example", 80), "p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8,[fd00::1]"}, ("http", "10.1.2.3", 80), None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8,[fd00::1]"}, ("http", "fd00::1", 80), None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8,[fd00::1]:1"}, ("http", "fd00::1", 80), "p:1"),
    ],
)
def test_f12_a_proxy_counts_as_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], address: tuple[str, str, int], expected: str | None
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = find_proxy(*address)
    assert (found and str(found)) == expected


async def test_f12_a_page_is_asked_for_at_the_number_that_was_vetted(proxy: TunnelProxy):
    async def page(_: Request) -> Response:
        return Response(200, b"<p>x</p>", "text/html")

    async with HttpServer(page) as server:
        proxy.routes = {f"{PUBLIC}:80": (server.port, None)}
        reply = await fetch(visitor(names={"page.example": [PUBLIC]}), "http://page.example/")
    assert reply.status == 200
    assert set(proxy.asked) == {f"CONNECT {PUBLIC}:80 HTTP/1.1"}, "so that the proxy looks up no name again"


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "http://inside.example/", "http://169.254.169.254/", "http://[fd00::1]/"]
)
async def test_f12_no_private_address_is_reached_through_a_proxy(proxy: TunnelProxy, url: str):
    at = visitor(names={"inside.example": ["192.168.1.1"]})
    assert await outcome(at, url) == "refused"
    assert await outcome(at, "http://only-the-proxy-knows.example/") == "failed"
    assert not proxy.asked


async def test_a_page_says_what_became_of_the_proxy(proxy: TunnelProxy, monkeypatch: pytest.MonkeyPatch):
    at = visitor(names={"page.example": [PUBLIC]})
    with pytest.raises(ReadError, match=r"the proxy 127.0.0.1:\d+ refused to open a connection there \(HTTP 403\)"):
        await fetch(at, "http://page.example/1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with pytest.raises(ReadError, match=r"the proxy 127\.0\.0\.1:1 cannot be reached"):
        await fetch(visitor(names={"page.example": [PUBLIC]}), "http://page.example/2")


async def test_a_model_without_tls_is_asked_through_the_proxy_itself(proxy: TunnelProxy):
    async def respond(request: Request) -> Response:
        return Response(200, f'{{"path": "{request.path}"}}'.encode())

    async with HttpServer(respond) as server:
        proxy.routes = {"model.example:8000": (server.port, None)}
        endpoint = HttpEndpoint("http://model.example:8000/v1")
        async with endpoint.request("GET", "/models") as answer:
            assert await answer.read_body() == b'{"path": "/v1/models"}'
        await endpoint.aclose()
    assert proxy.asked == ["GET http://model.example:8000/v1/models HTTP/1.1"]


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 2x0 Fine\r\n\r\n", b"x" * 70_000])
async def test_what_does_not_speak_as_a_proxy_is_named(monkeypatch: pytest.MonkeyPatch, said: bytes):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    monkeypatch.setenv("ALL_PROXY", f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
    with pytest.raises(UnreachableError, match=r"the proxy 127\.0\.0\.1"):
        async with HttpEndpoint("https://model.example/v1").request("GET", "/models"):
            pass
    with pytest.raises(ReadError, match=r"the proxy 127\.0\.0\.1"):
        await fetch(visitor(names={"page.example": [PUBLIC]}), "http://page.example/")
    server.close()
    await server.wait_closed()
