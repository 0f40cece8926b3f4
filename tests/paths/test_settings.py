"""Settings without a flag, each set by file or environment, with its effect seen through the command."""

from __future__ import annotations

import base64
import email
import email.policy
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import Any

import pytest
from bench.model_server.server import ModelServer
from tests.paths.starts import CLEAR
from tests.plugins.shell import Shell
from tests.plugins.sink import HANG, open_sink
from tests.unit.adapters.smtp import SmtpServer

from corrobora.app import Workspace
from corrobora.config import load_settings
from corrobora.domain.errors import JournalError
from corrobora.testing.http_server import HttpServer, Request, Response
from corrobora.testing.web import LoopbackWeb, WebPage

KEY = "a-key-of-the-test"
SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()
PAGE = WebPage.of_html(
    "/bridge.html",
    "<title>The bridge at Arnholm</title><p>The bridge at Arnholm was opened in 1931. The bridge at Arnholm is 412 "
    "metres long and was built of riveted steel by the Varde company, which had built three bridges before.</p>",
)


def write_user_file(shell: Shell, text: str) -> None:
    file = shell.folder / "user" / "corrobora" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def first_profile(shell: Shell, *args: str) -> dict[str, Any]:
    lines = shell(CLEAR, "-l", "docs", *args, "--display", "jsonl").out.splitlines()
    return json.loads(lines[1])["data"]["profile"]


@pytest.mark.covers("setting sources.exa_url", "setting keys.exa", "setting sources.allowed_endpoints")
@pytest.mark.covers("setting sources.tavily_url", "setting keys.tavily", "setting sources.providers")
@pytest.mark.parametrize(("name", "header"), [("exa", "x-api-key"), ("tavily", "authorization")])
def test_a_provider_is_asked_at_its_address_with_its_key(filled: Shell, serve: Any, name: str, header: str) -> None:
    web = serve(LoopbackWeb([PAGE]))
    variable = f"CORROBORA_SOURCES_{name.upper()}_URL"
    filled.setenv(**{f"{name.upper()}_API_KEY": KEY, variable: web.url, "CORROBORA_SOURCES_PROVIDERS": name})
    filled.setenv(CORROBORA_SOURCES_ALLOWED_ENDPOINTS=f"127.0.0.1:{web.port}")  # without it no private page is read
    result = filled(CLEAR, "-s", "max_rounds=1", "-q")
    assert (result.code, "412 metres" in result.out, f"{web.url}/bridge.html" in result.out) == (0, True, True)
    assert {KEY in request.headers[header] for request in web.requests if request.path == "/search"} == {True}


@pytest.mark.covers("setting sources.firecrawl_url", "setting keys.firecrawl", "setting sources.reader")
def test_firecrawl_searches_and_reads_where_the_settings_say_so(filled: Shell, serve: Any) -> None:
    page = WebPage.of_html("https://pages.example/bridge", PAGE.body.decode())
    web = serve(LoopbackWeb([page], key=KEY))
    write_user_file(
        filled, f'[sources]\nproviders = ["firecrawl"]\nreader = "firecrawl"\nfirecrawl_url = "{web.url}"\n'
    )
    assert "FIRECRAWL_API_KEY" in filled(CLEAR, "-q").complaint
    filled.setenv(FIRECRAWL_API_KEY=KEY)
    result = filled(CLEAR, "-s", "max_rounds=1", "-q")
    assert (result.code, "412 metres" in result.out) == (0, True)
    assert {request.path for request in web.requests} == {"/v2/search", "/v2/scrape"}


@pytest.mark.covers("setting limits.attempts", "setting home", "setting storage.database_url")
def test_attempts_home_and_database(filled: Shell) -> None:
    (filled.folder / "corrobora.toml").write_text("[limits]\nattempts = 1\n")
    assert first_profile(filled)["attempts"] == 1
    elsewhere = filled.folder / "elsewhere"
    filled.setenv(CORROBORA_HOME=str(elsewhere))
    assert filled(CLEAR, "-l", "docs", "-q").code == 0
    assert [path.name for path in elsewhere.iterdir()] == ["runs"], "the database is the one that was named"


@pytest.mark.covers("setting storage.wait_seconds")
async def test_a_statement_waits_for_a_connection_as_long_as_the_settings_say(served: Shell) -> None:
    served.setenv(CORROBORA_STORAGE_WAIT_SECONDS="1")
    async with Workspace.open(load_settings()) as workspace, AsyncExitStack() as stack:
        with pytest.raises(JournalError) as caught:  # noqa: PT012 - each takes a connection, the last finds none
            for _ in range(20):
                await stack.enter_async_context(workspace.database.connection())
    assert "storage.wait_seconds" in caught.value.next_step


@pytest.mark.covers("setting models.lead", "setting models.worker", "setting models.fast", "setting models.judge")
def test_each_tier_is_played_by_its_model(filled: Shell, serve: Any) -> None:
    server = serve(ModelServer())
    tiers = ("lead", "worker", "fast", "judge")
    lines = [f'{tier} = "openai-compatible:model-{tier}@{server.url}/v1"' for tier in tiers]
    write_user_file(filled, "\n".join(["[models]", *lines]))
    assert filled(CLEAR, "-l", "docs", "-p", "angles", "-s", "max_rounds=1", "-q").code == 0
    assert {asked.model for asked in server.asked} == {f"model-{tier}" for tier in tiers}


@pytest.mark.covers("setting effort.lead", "setting effort.worker", "setting effort.fast", "setting effort.judge")
def test_each_tier_thinks_as_much_as_the_settings_say(filled: Shell, serve: Any) -> None:
    server = serve(ModelServer())
    wanted = {"lead": "high", "worker": "low", "fast": "low", "judge": "medium"}
    models = [f'{tier} = "openai-compatible:model-{tier}@{server.url}/v1"' for tier in wanted]
    effort = [f'{tier} = "{level}"' for tier, level in wanted.items()]
    write_user_file(filled, "\n".join(["[models]", *models, "[effort]", *effort]))
    assert filled(CLEAR, "-l", "docs", "-p", "angles", "-s", "max_rounds=1", "-q").code == 0
    assert {(asked.model, asked.body["reasoning_effort"]) for asked in server.asked} == {
        (f"model-{tier}", level) for tier, level in wanted.items()
    }


@pytest.mark.covers("setting keys.openai", "setting keys.anthropic")
@pytest.mark.parametrize(("kind", "header"), [("openai", "authorization"), ("anthropic", "x-api-key")])
def test_the_key_of_a_vendor_is_sent(filled: Shell, serve: Any, kind: str, header: str) -> None:
    found: list[Request] = []

    async def refuse(request: Request) -> Response:
        found.append(request)
        return Response(401, b"{}")

    server = serve(HttpServer(refuse))
    variable = f"{kind.upper()}_API_KEY"
    assert variable in filled(CLEAR, "-l", "docs", "-m", f"{kind}:m", "-q").complaint
    filled.setenv(**{variable: KEY})
    filled(CLEAR, "-l", "docs", "-m", f"{kind}:m@{server.url}/v1", "-q")
    assert found
    assert {KEY in request.headers[header] for request in found} == {True}


@pytest.mark.covers("setting delivery.smtp_server", "setting delivery.smtp_user", "setting delivery.smtp_from")
@pytest.mark.covers("setting keys.smtp")
def test_a_report_is_mailed_by_the_server_of_the_settings(filled: Shell, serve: Any) -> None:
    post = serve(SmtpServer(auth=True))
    server = f'smtp_server = "smtp://127.0.0.1:{post.port}"\nsmtp_user = "me"\nsmtp_from = "reports@example.org"\n'
    write_user_file(filled, f"[delivery]\n{server}")
    filled.setenv(SMTP_PASSWORD=KEY)
    assert filled(CLEAR, "-l", "docs", "--deliver", "email:reader@example.org", "-q").code == 0
    login = next(line for line in post.lines if line.startswith("AUTH PLAIN ")).split()[-1]
    assert base64.b64decode(login) == f"\0me\0{KEY}".encode()
    message = email.message_from_bytes(post.messages[0], policy=email.policy.default)
    assert (message["From"], message["To"]) == ("reports@example.org", "reader@example.org")


@pytest.mark.covers("setting delivery.webhook_url", "setting keys.webhook")
def test_a_report_goes_signed_to_the_webhook_of_the_settings(filled: Shell, serve: Any) -> None:
    found: list[Request] = []

    async def accept(request: Request) -> Response:
        found.append(request)
        return Response(200)

    server = serve(HttpServer(accept))
    filled.setenv(CORROBORA_DELIVERY_WEBHOOK_URL=f"{server.url}/hook")
    assert "WEBHOOK_SECRET" in filled(CLEAR, "-l", "docs", "--deliver", "webhook", "-q").complaint
    filled.setenv(WEBHOOK_SECRET=SECRET)
    assert filled(CLEAR, "-l", "docs", "--deliver", "webhook", "-q").code == 0
    assert [(request.path, "webhook-signature" in request.headers) for request in found] == [("/hook", True)]
    assert b"412 metres" in found[0].body


@contextmanager
def open_silent_server() -> Iterator[int]:
    """Take connections on loopback, and send each the beginning of an answer of SMTP that never ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            with suppress(OSError):
                while True:
                    taken, _ = listening.accept()
                    with taken, suppress(OSError):
                        for _ in range(600):
                            taken.sendall(b"220-wait\r\n")
                            time.sleep(0.2)

        threading.Thread(target=drip, daemon=True).start()
        yield listening.getsockname()[1]


@pytest.mark.covers("setting delivery.wait_seconds")
@pytest.mark.parametrize("kind", ["email", "webhook"])
def test_a_receiver_that_hangs_is_waited_for_as_the_setting_says(filled: Shell, kind: str) -> None:
    with open_silent_server() as port, open_sink(HANG) as sink:
        filled.setenv(CORROBORA_DELIVERY_SMTP_SERVER=f"smtp://127.0.0.1:{port}", WEBHOOK_SECRET=SECRET)
        filled.setenv(CORROBORA_DELIVERY_SMTP_FROM="reports@example.org", CORROBORA_DELIVERY_WEBHOOK_URL=sink.url)
        filled.setenv(CORROBORA_DELIVERY_WAIT_SECONDS="1")
        target = "email:reader@example.org" if kind == "email" else kind
        began = time.monotonic()
        result = filled(CLEAR, "-l", "docs", "--deliver", target, "-q")
        assert time.monotonic() - began < 30
        sink.released.set()
    assert (result.code, "within 1 s" in result.complaint) == (7, True), result
    assert "412 metres" in result.out, "the report is not lost"
    assert len(sink.received) == (kind == "webhook")


@pytest.mark.filterwarnings("ignore:Api key is used")  # on loopback it may be
@pytest.mark.covers("setting facts.qdrant_url", "setting keys.qdrant")
def test_facts_go_to_the_qdrant_server_of_the_settings(filled: Shell, serve: Any) -> None:
    found: list[Request] = []

    async def fail(request: Request) -> Response:
        found.append(request)
        return Response(500, b"{}")

    server = serve(HttpServer(fail))
    filled.setenv(CORROBORA_FACTS_QDRANT_URL=server.url, QDRANT_API_KEY=KEY)
    filled(CLEAR, "-l", "docs", "-p", "tree", "--yes", "-q")
    assert {request.headers.get("api-key") for request in found} == {KEY}
