"""The HTTP client for model endpoints: without proxies, without redirects."""

from __future__ import annotations

import pytest

from corrobora.adapters.models.client import model_client
from corrobora.testing.http_server import HttpServer, Request, Response


async def test_proxies_of_the_environment_and_redirects_are_ignored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    asked: list[str] = []

    async def respond(request: Request) -> Response:
        asked.append(request.path)
        return Response(302, headers={"location": "/elsewhere"})

    async with HttpServer(respond) as server, model_client() as client:
        assert (await client.get(f"{server.url}/here")).status_code == 302
    assert asked == ["/here"]
