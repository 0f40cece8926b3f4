"""Delivery by e-mail (ANGLES-37): a real message to an SMTP server on loopback."""

from __future__ import annotations

import asyncio
import email
import email.policy
from typing import Self

import pytest

from corrobora.adapters.delivery.email import EmailDelivery, MailServer
from corrobora.domain.errors import ProviderError

FILES = {"report.md": "# Kräne\n\nTwelve months. [1]\n".encode(), "report.json": b"{}", "report.html": b"<p>x</p>"}


class Post:
    """An SMTP server on loopback: keeps messages, or refuses the receiver."""

    def __init__(self, refuse: str = "") -> None:
        self.messages: list[bytes] = []
        self._refuse = refuse

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def say(line: str) -> None:
            writer.write(f"{line}\r\n".encode())
            await writer.drain()

        await say("220 post")
        while line := (await reader.readline()).decode().strip():
            word = line.split(" ")[0].upper()
            if word == "DATA":
                await say("354 go on")
                self.messages.append(await reader.readuntil(b"\r\n.\r\n"))
            if word == "RCPT" and self._refuse:
                await say(self._refuse)
                continue
            await say("221 bye" if word == "QUIT" else "250 good")
            if word == "QUIT":
                break
        writer.close()
        await writer.wait_closed()


async def test_angles_delivery_by_mail_sends_the_report_with_its_files():
    async with Post() as post:
        server = MailServer("127.0.0.1", post.port, "none", sender="reports@example.org")
        await EmailDelivery(server, "reader@example.org").send("Kräne\r\nBcc: x@y", FILES, delivery="r_1-abc")
    message = email.message_from_bytes(post.messages[0], policy=email.policy.default)
    assert message["To"] == "reader@example.org"
    assert message["Subject"] == "Kräne Bcc: x@y"
    assert message["Bcc"] is None
    assert message["Message-ID"] == "<r_1-abc@corrobora>"
    body = message.get_body(("plain",))
    assert body is not None
    assert "Twelve months. [1]" in body.get_content()
    assert sorted(part.get_filename() or "" for part in message.iter_attachments()) == ["report.html", "report.json"]


@pytest.mark.parametrize(("refusal", "retryable"), [("550 nobody here", False), ("451 later", True)])
async def test_angles_delivery_by_mail_that_is_refused_is_an_error(refusal: str, retryable: bool):
    async with Post(refusal) as post:
        server = MailServer("127.0.0.1", post.port, "none", sender="reports@example.org")
        with pytest.raises(ProviderError) as refused:
            await EmailDelivery(server, "reader@example.org").send("T", FILES, delivery="d")
    assert refused.value.code == "delivery_email"
    assert refused.value.retryable is retryable
