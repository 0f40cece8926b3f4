"""Delivery to a folder, by e-mail and to a webhook (ANGLES-36 to ANGLES-38), on real files and servers on loopback."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import email
import email.policy
import hashlib
import hmac
import json
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from tests.fakes import FakeClock
from tests.unit.adapters.smtp import SmtpServer

from corrobora.adapters.delivery import EmailDelivery, FolderDelivery, MailServer, WebhookDelivery
from corrobora.adapters.pacing import SystemClock
from corrobora.domain.errors import ProviderError, UserError

FILES = {"report.md": "# Kräne\n\nTwelve months. [1]\n".encode(), "report.json": b"{}", "report.html": b"<p>x</p>"}


async def test_angles_delivery_to_a_folder_replaces_files_as_a_whole(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.md").write_text("old")
    await FolderDelivery(tmp_path / "out").send("T", FILES, delivery="d")
    assert (tmp_path / "out" / "report.md").read_bytes() == FILES["report.md"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)


async def test_angles_delivery_to_a_folder_never_leaves_it_and_says_what_fails(tmp_path: Path):
    with pytest.raises(ProviderError) as outside:
        await FolderDelivery(tmp_path / "out").send("T", {"../x.md": b"x"}, delivery="d")
    assert outside.value.code == "delivery_folder"
    assert not (tmp_path / "x.md").exists()
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ProviderError):
        await FolderDelivery(tmp_path / "file").send("T", FILES, delivery="d")


async def test_angles_delivery_by_mail_sends_the_report_with_its_files():
    async with SmtpServer() as post:
        server = MailServer("127.0.0.1", post.port, "none", sender="reports@example.org")
        await EmailDelivery(server, "reader@example.org").send(
            "Kräne\r\nBcc: x\x1b[2J@\u202ey", FILES, delivery="r_1-abc"
        )
    message = email.message_from_bytes(post.messages[0], policy=email.policy.default)
    assert message["To"] == "reader@example.org"
    assert message["Subject"] == "Kräne Bcc: x@y"
    assert message["Bcc"] is None
    assert message["Message-ID"] == "<r_1-abc@corrobora>"
    body = message.get_body(("plain",))
    assert body is not None
    assert "Twelve months. [1]" in body.get_content()
    shown = message.get_body(("html",))
    assert shown is not None
    assert shown.get_content().strip() == FILES["report.html"].decode()
    assert sorted(part.get_filename() or "" for part in message.iter_attachments()) == ["report.html", "report.json"]


@pytest.mark.parametrize(("wanted", "why"), [
    (MailServer("127.0.0.1", 0, "starttls", sender="r@example.org"), "offers no STARTTLS; smtps:// before its name"),
    (MailServer("127.0.0.1", 0, "none", user="r", password="p", sender="r@example.org"), "takes no user name"),
])  # fmt: skip
async def test_a_mail_server_that_cannot_do_what_is_asked_is_told(wanted: MailServer, why: str):
    """It said "it broke"; nothing is sent in clear text instead."""
    async with SmtpServer() as post:
        with pytest.raises(ProviderError, match=why):
            await EmailDelivery(replace(wanted, port=post.port), "reader@example.org").send("T", {}, delivery="r_1")
    assert post.messages == []


_BCC = "=?utf-8?q?=0D=0ABcc:_e@x?="  # an encoded word, whose line end the mail of Python 3.11 writes as one


@pytest.mark.parametrize(
    "title", [_BCC, f"a {_BCC} b", f"=\x00{_BCC[1:]}", f"=\udc80{_BCC[2:]}", "=?utf-8?b?DQoNCmhp?="]
)
async def test_no_title_writes_a_header_or_a_body(title: str):
    async with SmtpServer() as post:
        server = MailServer("127.0.0.1", post.port, "none", sender="reports@example.org")
        await EmailDelivery(server, "reader@example.org").send(title, {}, delivery="r_1-abc")
    head = post.messages[0].split(b"\r\n\r\n")[0]
    names = [line.split(b":")[0] for line in head.split(b"\r\n") if not line.startswith(b" ")]
    assert (len(names), b"Bcc" in names, names[-1]) == (9, False, b"MIME-Version")
    assert [line for line in post.lines if line.startswith("rcpt")] == ["rcpt TO:<reader@example.org>"]


@pytest.mark.parametrize(
    "address", [f"r@{_BCC}.org", f"{_BCC}@e.org", "r@[", "r@e.org\x00", "r\x1b[2J@e.org", "r@e.org,x@e.org"]
)
async def test_only_a_plain_address_is_written_to_a_mail(address: str):
    sends = MailServer("127.0.0.1", 25, "none", sender="reports@example.org")
    with pytest.raises(UserError, match="is not an e-mail address"):
        EmailDelivery(sends, address)
    with pytest.raises(UserError, match="is not a valid sender"):
        EmailDelivery(replace(sends, sender=f"Reports <{address}>" if "," not in address else "Reports"), "r@e.org")


async def test_a_mail_of_a_watch_begins_with_what_changed():
    news = {
        "changes.md": b"# What changed\n\n- new: <b>7 & 9</b> crowns\n",
        "report.html": (
            b'<body><main class="report"><p>x&nbsp;<button type="button" class="n ok" id="m1" popovertarget="e1" '
            b'popovertargetaction="show" aria-label="[1]">[1]</button></p><div class="ev" popover id="e1"><p>Passage'
            b'<button type="button" class="ev-close" popovertarget="e1">x</button></p></div></main></body>'
        ),
    }
    async with SmtpServer() as post:
        server = MailServer("127.0.0.1", post.port, "none", sender="reports@example.org")
        await EmailDelivery(server, "reader@example.org").send("Cranes", FILES | news, delivery="r_1-abc")
    message = email.message_from_bytes(post.messages[0], policy=email.policy.default)
    assert (message["Subject"], message["Auto-Submitted"]) == ("Changed: Cranes", "auto-generated")
    plain, shown = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert plain.get_content().replace("\r\n", "\n").startswith("# What changed\n\n- new: <b>7 & 9</b> crowns\n")
    assert "Twelve months. [1]" in plain.get_content()
    assert shown is not None
    before, _, after = shown.get_content().replace("\r\n", "\n").partition("&lt;b&gt;7 &amp; 9&lt;/b&gt; crowns")
    assert before.startswith('<body><main class="report"><h1>What changed</h1>\n<ul>\n<li>new: ')
    assert '<p>x&nbsp;<a class="n ok" id="m1" href="#e1">[1]</a></p>' in after, "no mail program opens a popover"
    assert '<div class="ev" id="e1"><p>Passage</p></div>' in after


@pytest.mark.parametrize(("refusal", "retryable"), [("550 nobody here", False), ("451 later", True)])
async def test_angles_delivery_by_mail_that_is_refused_is_an_error(refusal: str, retryable: bool):
    async with SmtpServer(refusal) as post:
        server = MailServer("127.0.0.1", post.port, "none", sender="reports@example.org")
        with pytest.raises(ProviderError) as refused:
            await EmailDelivery(server, "reader@example.org").send("T", FILES, delivery="d")
    assert refused.value.code == "delivery_email"
    assert refused.value.retryable is retryable


class Hook:
    """A webhook on loopback: keeps requests, answers with a status."""

    def __init__(self, status: int = 204) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self._status = status

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/hook"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        raw = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await reader.readexactly(int(headers["content-length"]))
        self.requests.append(({name.lower(): value for name, value in raw.items()}, body))
        writer.write(
            f"HTTP/1.1 {self._status} X\r\nRetry-After: 7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()


SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


async def test_angles_delivery_to_a_webhook_is_signed_as_standard_webhooks():
    async with Hook() as hook:
        await WebhookDelivery(hook.url, SECRET, clock=FakeClock(5)).send("T", FILES, delivery="r_1-abc")
    headers, body = hook.requests[0]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(b"0123456789abcdef" * 2, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["webhook-id"] == "r_1-abc"
    assert json.loads(body)["data"]["files"]["report.md"] == FILES["report.md"].decode()


async def test_a_delivery_while_the_secret_is_changed_is_valid_by_the_old_and_the_new_one():
    other = "whsec_" + base64.b64encode(b"fedcba9876543210fedcba9876543210").decode()
    async with Hook() as hook:
        both = WebhookDelivery(hook.url, f"{other} {SECRET}\n", clock=SystemClock())
        await both.send("T", FILES, delivery="r_1-abc")
    headers, body = hook.requests[0]
    for secret in (SECRET, other):
        assert Webhook(secret).verify(body, headers)["type"] == "report.completed"
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + base64.b64encode(bytes(32)).decode()).verify(body, headers)


@pytest.mark.parametrize(
    "secret", ["", " ", "whsec_", f"{SECRET} short", f"{SECRET} whsec_YWJj", SECRET[6:], SECRET[:9] + "!?" + SECRET[9:]]
)
def test_a_secret_of_which_one_part_is_weak_is_refused(secret: str):
    with pytest.raises(UserError, match="at least 16 bytes"):
        WebhookDelivery("http://127.0.0.1:1/", secret, clock=FakeClock())


@pytest.mark.parametrize(("status", "retryable"), [(500, True), (429, True), (400, False), (302, False)])
async def test_angles_delivery_to_a_webhook_that_refuses_is_an_error(status: int, retryable: bool):
    async with Hook(status) as hook:
        with pytest.raises(ProviderError) as refused:
            await WebhookDelivery(hook.url, SECRET, clock=FakeClock()).send("T", FILES, delivery="d")
    assert (refused.value.retryable, refused.value.retry_after_seconds) == (retryable, 7)
    assert len(hook.requests) == 1, "a redirect is not followed"


@pytest.mark.parametrize("dripped", [b"X: y\r\n", b"\r\n" + b"x" * 9_000])
async def test_a_receiver_without_end_is_not_waited_for(dripped: bytes):
    ended = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n")
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            while not ended.is_set():
                writer.write(dripped)
                await writer.drain()
                await asyncio.sleep(0.02)

    async with await asyncio.start_server(answer, "127.0.0.1") as server, asyncio.timeout(20):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        sent = WebhookDelivery(url, SECRET, clock=FakeClock(), seconds=0.2).send("T", FILES, delivery="d")
        if dripped.startswith(b"\r\n"):
            await sent
        else:
            with pytest.raises(ProviderError, match="did not accept"):
                await sent
        ended.set()
        await asyncio.sleep(0.1)
