"""Delivery by e-mail (ANGLES-37): a real message to an SMTP server on loopback."""

from __future__ import annotations

import email
import email.policy

import pytest
from tests.unit.adapters.delivery.smtp import SmtpServer

from corrobora.adapters.delivery.email import EmailDelivery, MailServer
from corrobora.domain.errors import ProviderError

FILES = {"report.md": "# Kräne\n\nTwelve months. [1]\n".encode(), "report.json": b"{}", "report.html": b"<p>x</p>"}


async def test_angles_delivery_by_mail_sends_the_report_with_its_files():
    async with SmtpServer() as post:
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
    async with SmtpServer(refusal) as post:
        server = MailServer("127.0.0.1", post.port, "none", sender="reports@example.org")
        with pytest.raises(ProviderError) as refused:
            await EmailDelivery(server, "reader@example.org").send("T", FILES, delivery="d")
    assert refused.value.code == "delivery_email"
    assert refused.value.retryable is retryable
