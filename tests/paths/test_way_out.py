"""The way out of a company: a proxy with a password, certificates of an authority of its own, and mistakes in both."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from bench.model_server.server import ModelServer
from tests.paths.test_egress import PAGES, QUESTION
from tests.plugins.shell import Result, Shell
from tests.plugins.tunnel import TunnelProxy
from tests.unit.adapters.web.certificates import Key, showing

from corrobora.testing.web import LoopbackWeb, WebPage

PUBLIC = "93.184.215.14"  # an address of the open web, which nothing here connects to


class PublicWeb(LoopbackWeb):
    """A web whose pages lie at a public address."""

    def _page_url(self, page: WebPage) -> str:
        return f"http://{PUBLIC}{page.path}"


def ask(shell: Shell, *more: str) -> Result:
    model = ("--model", "openai-compatible:scripted-large@https://model.example/v1")
    command = ("research", QUESTION, "--provider", "tavily", "-p", "timed", "-s", "max_rounds=1")
    return shell.process(*command, "-y", "-q", *model, *more)


def check_doctor(shell: Shell, named: str) -> None:
    """The doctor goes on to its end, and marks what is wrong."""
    shell.setenv(CORROBORA_SOURCES_PROVIDERS="tavily")
    doctor = shell.process("doctor")
    assert doctor.code == 1, doctor.err
    assert re.search(rf"^!!? +shared +{named} ", doctor.out, re.MULTILINE), doctor.out
    assert "PostgreSQL" in doctor.out


@pytest.fixture
def company(served: Shell, tmp_path: Path) -> tuple[Shell, Key]:
    """A shell in a network with an authority of its own."""
    authority = Key("Authority of the company")
    (tmp_path / "authority.pem").write_text(authority.certificate(authority))
    served.setenv(
        SSL_CERT_FILE=str(tmp_path / "authority.pem"),
        TAVILY_API_KEY="a-key-of-the-test",
        CORROBORA_SOURCES_TAVILY_URL="https://search.example",
        CORROBORA_SOURCES_TAVILY_RATE="1000",
    )
    return served, authority


def test_f12_models_searches_and_pages_go_through_the_proxy(company: tuple[Shell, Key], serve: Any) -> None:
    shell, authority = company
    own = Key("server")
    tls = showing(authority.certificate(own, "model.example", "search.example"), own)
    web, model = serve(PublicWeb([*PAGES])), serve(ModelServer())
    routes = {"model.example:443": (model.port, tls), "search.example:443": (web.port, tls)}
    proxy = serve(TunnelProxy({**routes, f"{PUBLIC}:80": (web.port, None)}))
    address = f"http://clerk:w%3Ard@127.0.0.1:{proxy.port}"
    shell.setenv(HTTPS_PROXY=address, HTTP_PROXY=address)
    result = ask(shell)
    assert result.code == 0, result.err
    assert f"http://{PUBLIC}/batteries-" in result.out
    assert f"the proxy 127.0.0.1:{proxy.port} of the environment carries connections to others" in result.out
    hosts = {line.split(" ")[1] for line in proxy.asked}
    assert hosts == {"model.example:443", "search.example:443", f"{PUBLIC}:80"}
    assert model.received > 3
    assert proxy.proofs == {"Basic Y2xlcms6dzpyZA=="}
    assert not any("proxy-authorization" in request.headers for request in web.requests), "it is the proxy's alone"
    assert "w%3Ard" not in result.out + result.err
    shell.setenv(CORROBORA_SOURCES_PROVIDERS="tavily")
    doctor = shell.process("doctor")
    assert f"the proxy 127.0.0.1:{proxy.port}" in doctor.out


def test_a_proxy_that_refuses_is_named(company: tuple[Shell, Key], serve: Any) -> None:
    shell, _ = company
    proxy = serve(TunnelProxy({}))
    shell.setenv(HTTPS_PROXY=f"http://127.0.0.1:{proxy.port}")
    result = ask(shell)
    assert result.code == 7, result.err
    assert f"the proxy 127.0.0.1:{proxy.port} refused to open a connection there (HTTP 407)" in result.err


@pytest.mark.parametrize("value", ["socks5://127.0.0.1:9", "ftp://x", "http://", "http://[::1"])
def test_what_is_no_http_proxy_is_refused_before_anything_is_sent(company: tuple[Shell, Key], value: str) -> None:
    shell, _ = company
    shell.setenv(ALL_PROXY=value)
    result = ask(shell)
    assert result.code == 2, result.err
    assert "ALL_PROXY" in result.complaint
    assert "http://HOST:PORT" in result.complaint
    check_doctor(shell, "ALL_PROXY")


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_named_before_anything_is_sent(
    company: tuple[Shell, Key], text: str | None
) -> None:
    shell, _ = company
    file = shell.folder / "authority.pem"
    file.unlink() if text is None else file.write_text(text)
    result = ask(shell)
    assert result.code == 2, result.err
    assert "SSL_CERT_FILE" in result.complaint
    assert str(file) in result.complaint
    check_doctor(shell, "SSL_CERT_FILE")
