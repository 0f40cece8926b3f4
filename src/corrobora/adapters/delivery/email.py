"""Delivery by e-mail: a report sent over SMTP, the Markdown as text and the files as attachments.

Knows SMTP with and without TLS. The server and the sender are the operator's; only the recipient belongs to a run.
"""

from __future__ import annotations

import asyncio
import smtplib
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import formatdate
from typing import Self
from urllib.parse import urlsplit

from corrobora.adapters.http import tls_context
from corrobora.domain.errors import ProviderError, UserError
from corrobora.registry import Configuration

SMTP_SECONDS = 60.0
_NAME = "localhost"  # in the greeting: the real name of this machine is private, and looking it up may hang
_SCHEMES = {"smtp": (25, "none"), "smtps": (465, "tls"), "smtp+starttls": (587, "starttls")}
_PERMANENT_FAILURE = 500  # SMTP answers from here on say that another attempt is useless (RFC 5321, 4.2.1)
_BODY = "report.md"
_TYPES = {"md": ("text", "markdown"), "html": ("text", "html"), "json": ("application", "json")}


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed in. `security` is tls (from the first byte), starttls, or none."""

    host: str
    port: int = 587
    security: str = "starttls"
    user: str = ""
    password: str = field(default="", repr=False)
    sender: str = ""


class EmailDelivery:
    """Sends to one address. Blocking SMTP runs in a thread."""

    name = "email"
    syntax = "email:ADDRESS"

    def __init__(self, server: MailServer, to: str) -> None:
        if "@" not in to or any(letter.isspace() or letter in ",;<>" for letter in to):
            raise UserError("delivery_address", f"{to[:80]!r} is no e-mail address.", next_step="Write NAME@HOST.")
        self._server = server
        self._to = to

    @classmethod
    def open_target(cls, where: str, given: Configuration) -> Self:
        """Return the channel to the address `where` through the operator's server. Raises `UserError`."""
        text, user = given.require("delivery.smtp_server"), given.setting("delivery.smtp_user")
        parts = urlsplit(text if "://" in text else f"smtp+starttls://{text}")
        port, security = _SCHEMES[parts.scheme]
        server = MailServer(
            host=parts.hostname or "",
            port=parts.port or port,
            security=security,
            user=user,
            password=given.secret("smtp") if user else "",
            sender=given.setting("delivery.smtp_from"),
        )
        return cls(server, where)

    async def send(self, title: str, files: Mapping[str, bytes], *, delivery: str) -> None:
        """Send one message; its Message-ID is made of `delivery`, so that a second copy is recognized.

        Raises:
            ProviderError: `delivery_email`; retryable unless the server refused for good.
        """
        message = self._build_message(title, files, delivery)
        try:
            async with asyncio.timeout(2 * SMTP_SECONDS):
                await asyncio.to_thread(self._submit_message, message)
        except smtplib.SMTPAuthenticationError as error:
            raise self._delivery_error("the server refused the user or the password") from error
        except smtplib.SMTPResponseException as error:
            temporary = error.smtp_code < _PERMANENT_FAILURE
            raise self._delivery_error(f"the server answered {error.smtp_code}", retryable=temporary) from error
        except smtplib.SMTPRecipientsRefused as error:
            codes = [int(code) for code, _ in error.recipients.values()]
            later = all(code < _PERMANENT_FAILURE for code in codes)
            raise self._delivery_error(f"the server refused the address ({codes})", retryable=later) from error
        except (smtplib.SMTPException, MessageError, OSError) as error:  # TimeoutError is an OSError
            raise self._delivery_error(type(error).__name__, retryable=True) from error

    def _build_message(self, title: str, files: Mapping[str, bytes], delivery: str) -> EmailMessage:
        message = EmailMessage()
        message["Subject"] = " ".join(title.split())[:200] or "Report"
        message["From"] = self._server.sender or self._server.user
        message["To"] = self._to
        message["Date"] = formatdate()
        message["Message-ID"] = f"<{delivery}@corrobora>"
        message.set_content(files.get(_BODY, b"").decode("utf-8", "replace") or title)
        for name, content in files.items():
            if name == _BODY:
                continue
            kind, sub = _TYPES.get(name.rsplit(".", 1)[-1], ("application", "octet-stream"))
            message.add_attachment(content, maintype=kind, subtype=sub, filename=name.replace("/", "-"))
        return message

    def _submit_message(self, message: EmailMessage) -> None:
        server = self._server
        context = tls_context()
        tls = server.security == "tls"
        made = (
            smtplib.SMTP_SSL(server.host, server.port, _NAME, timeout=SMTP_SECONDS, context=context)
            if tls
            else smtplib.SMTP(server.host, server.port, _NAME, timeout=SMTP_SECONDS)
        )
        with made as connection:
            if server.security == "starttls":
                connection.starttls(context=context)
            if server.user:
                connection.login(server.user, server.password)
            connection.send_message(message)

    def _delivery_error(self, why: str, *, retryable: bool = False) -> ProviderError:
        return ProviderError(
            "delivery_email",
            f"The report was not sent to {self._to}: {why}.",
            provider=self.name,
            retryable=retryable,
            next_step="Check the settings delivery.smtp_*, then: corrobora resume RUN --from-stage delivery",
        )
