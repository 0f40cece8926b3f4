"""Delivery channels: a finished report written to a folder, sent by e-mail or posted to a webhook.

Know the files of a report, each written as a whole or not at all; SMTP with and without TLS; and the headers and the
signature of Standard Webhooks. Server, sender and endpoint are the operator's settings; only the recipient belongs to a
run. The webhook of a request reaches no private address that the operator did not write down. Do not know runs.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import smtplib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import formatdate, parseaddr
from functools import partial
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import httpcore2
import httpx2

from corrobora.adapters.http import find_proxy_url, parse_retry_after, tls_context
from corrobora.adapters.web import DEFAULT_PORTS, BadUrl, parse_url
from corrobora.adapters.web.network import AllowList, ConnectionBlocked, NameUnresolved, VettedNetwork, run_detached
from corrobora.adapters.web.transport import USER_AGENT
from corrobora.domain.errors import ProviderError, UserError, describe_connection
from corrobora.files import write_whole
from corrobora.ports import Clock
from corrobora.registry import Configuration
from corrobora.text.tokens import sanitize_text


class FolderDelivery:
    """Writes files below `folder`, replacing those of the same name."""

    name = "folder"
    syntax = "folder:DIR"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def open_target(cls, where: str, given: Configuration) -> Self:
        del given
        return cls(Path(where))

    async def send(self, title: str, files: Mapping[str, bytes], *, delivery: str) -> None:  # noqa: ARG002 - one signature
        """Write the files. Raises `ProviderError` (`delivery_folder`) if the folder cannot be written."""
        await asyncio.to_thread(self._write_files, files)

    def _write_files(self, files: Mapping[str, bytes]) -> None:
        base = self._folder.expanduser().absolute()
        try:
            for name, content in files.items():
                path = base / name
                if not path.resolve().is_relative_to(base.resolve()):
                    raise PermissionError(13, "a file of the report would lie outside")
                write_whole(path, content, mode=0o644)
        except OSError as error:
            raise ProviderError(
                "delivery_folder",
                f"The report cannot be written to {str(base)!r}: {error.strerror or error}.",
                provider=self.name,
                next_step="Free space, then: corrobora resume RUN; elsewhere add: --deliver folder:DIR",
            ) from error


WAIT_SECONDS = 30.0  # for a mail server or webhook that gives no answer
_NAME = "localhost"  # in the greeting: the real name of this machine is private, and looking it up may hang
_SCHEMES = {"smtp": (25, "none"), "smtps": (465, "tls"), "smtp+starttls": (587, "starttls")}
_PERMANENT_FAILURE = 500  # SMTP answers from here on say that another attempt is useless (RFC 5321, 4.2.1)
_BODY, _PAGE, _NEWS = "report.md", "report.html", "changes.md"
_ADDRESS = re.compile(r"[\w!#$%&'*+/=^`{|}~.-]+@(?:[\w.-]+|\[[\w.:]+\])")  # without "?", so without encoded words
_BEGIN = re.compile(r"<main[^>]*>")
_IN_MAIL = (  # no mail program opens what the page opens: a number leads to its evidence, which is shown at the end
    (
        re.compile(r'<button[^>]*(class="n[^>]*id="\w+") popovertarget="(\w+)"[^>]*>(.*?)</button>'),
        r'<a \1 href="#\2">\3</a>',
    ),
    (re.compile(r'<button[^>]*class="ev-close".*?</button>| popover(?= id=)', re.DOTALL), ""),
)
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

    def __init__(self, server: MailServer, to: str, *, seconds: float = WAIT_SECONDS) -> None:
        if _ADDRESS.fullmatch(to) is None:
            raise UserError("delivery_address", f"{to[:80]!r} is not an e-mail address.", next_step="Write NAME@HOST.")
        sender = server.sender or server.user
        if _ADDRESS.fullmatch(parseaddr(sender)[1]) is None:
            problem = f"{sender[:80]!r} is not a valid sender: it has no e-mail address."
            raise UserError("delivery_sender", problem, next_step="Set delivery.smtp_from to NAME@HOST.")
        self._server = server
        self._to = to
        self._seconds = seconds

    @classmethod
    def open_target(cls, where: str, given: Configuration) -> Self:
        """Return the channel to the address `where` through the operator's server. Raises `UserError`."""
        text, user = given.require("delivery.smtp_server"), given.setting("delivery.smtp_user")
        parts = urlsplit(text if "://" in text else f"smtp+starttls://{text}")
        port, security = _SCHEMES[parts.scheme]
        host, port, password = parts.hostname or "", parts.port or port, given.secret("smtp") if user else ""
        sender, seconds = given.setting("delivery.smtp_from"), float(given.setting("delivery.wait_seconds"))
        return cls(MailServer(host, port, security, user, password, sender), where, seconds=seconds)

    async def send(self, title: str, files: Mapping[str, bytes], *, delivery: str) -> None:
        """Send one message; its Message-ID is made of `delivery`, so that a second copy is recognized.

        Raises:
            ProviderError: `delivery_email`; retryable unless the server refused for good or gave no answer in time.
        """
        message = self._build_message(title, files, delivery)
        try:
            async with asyncio.timeout(self._seconds):
                await run_detached(partial(self._submit_message, message))
        except TimeoutError as error:
            raise self._delivery_error(f"the server did not finish within {self._seconds:g} s") from error
        except smtplib.SMTPAuthenticationError as error:
            raise self._delivery_error("the server refused the user or the password") from error
        except smtplib.SMTPResponseException as error:
            later = error.smtp_code < _PERMANENT_FAILURE
            raise self._delivery_error(f"the server answered {error.smtp_code}", retryable=later) from error
        except smtplib.SMTPRecipientsRefused as error:
            codes = [int(code) for code, _ in error.recipients.values()]
            told, later = f"the server refused the address ({codes})", all(code < _PERMANENT_FAILURE for code in codes)
            raise self._delivery_error(told, retryable=later) from error
        except (smtplib.SMTPException, MessageError, OSError) as error:
            raise self._delivery_error(describe_connection(error), retryable=True) from error

    def _build_message(self, title: str, files: Mapping[str, bytes], delivery: str) -> EmailMessage:
        message = EmailMessage()
        news = files.get(_NEWS, b"").decode("utf-8", "replace")  # of a watch: what changed is what its reader waits for
        subject = _write_header(title)[:200] or "Report"
        message["Subject"] = f"Changed: {subject}" if news else subject
        message["From"] = _write_header(self._server.sender or self._server.user)
        message["To"] = self._to
        message["Date"] = formatdate()
        message["Message-ID"] = f"<{delivery}@corrobora>"
        message["Auto-Submitted"] = "auto-generated"  # so that nobody's absence note answers it (RFC 3834)
        report = files.get(_BODY, b"").decode("utf-8", "replace") or subject
        message.set_content(f"{news}\n\n{report}" if news else report)
        if _PAGE in files:  # what a mail program shows; attached as well, to be opened or handed on
            message.add_alternative(_adapt_page(files[_PAGE].decode("utf-8", "replace"), news), subtype="html")
        for name, content in files.items():
            kind, sub = _TYPES.get(name.rsplit(".", 1)[-1], ("application", "octet-stream"))
            if name != _BODY:
                message.add_attachment(content, maintype=kind, subtype=sub, filename=name.replace("/", "-"))
        return message

    def _submit_message(self, message: EmailMessage) -> None:
        server = self._server
        connect = partial(smtplib.SMTP_SSL, context=tls_context()) if server.security == "tls" else smtplib.SMTP
        with connect(server.host, server.port, _NAME, timeout=self._seconds) as connection:
            if server.security == "starttls":
                connection.starttls(context=tls_context())
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


def _adapt_page(page: str, news: str) -> str:
    """Return the page of a report as mail programs can show it, with what changed before it."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - slow to import, and `--help` lists the channels

    for pattern, shown in _IN_MAIL:
        page = pattern.sub(shown, page)
    parser = MarkdownIt("commonmark", {"html": False}).disable("image")
    return _BEGIN.sub(lambda found: found[0] + parser.render(news), page, count=1)


def _write_header(text: str) -> str:
    """Return a text as one line without encoded words: a message decodes them, line ends included, and writes these."""
    plain = sanitize_text(text.encode("utf-8", "replace").decode())
    return " ".join(plain.replace("=?", "= ?").split())


class WebhookDelivery:
    """Posts `{type, timestamp, data}` with the headers webhook-id, webhook-timestamp and webhook-signature."""

    name = "webhook"
    syntax = "webhook"

    def __init__(self, url: str, secret: str, *, clock: Clock, seconds: float = WAIT_SECONDS) -> None:
        self._url = url
        self._keys = parse_signing_keys(secret)
        self._clock = clock
        self._seconds = seconds

    @classmethod
    def open_target(cls, where: str, given: Configuration) -> Self:
        """Return the channel to the operator's endpoint. Raises `UserError` if a request names another one."""
        if where:
            problem = "The address of the webhook is the operator's: a request cannot name one."
            raise UserError("delivery_webhook", problem, next_step="Set delivery.webhook_url; write: --deliver webhook")
        seconds = float(given.setting("delivery.wait_seconds"))
        return cls(given.require("delivery.webhook_url"), given.secret("webhook"), clock=given.clock, seconds=seconds)

    async def send(self, title: str, files: Mapping[str, bytes], *, delivery: str) -> None:
        """Post the report; the same `delivery` has the same webhook-id, so that a receiver can drop a duplicate.

        Raises:
            ProviderError: `delivery_webhook`; retryable for 429, 5xx and broken connections, not where nothing came.
        """
        texts = {name: content.decode("utf-8", "replace") for name, content in files.items()}
        wall, data = self._clock.utc_time(), {"id": delivery, "title": title, "files": texts}
        body = json.dumps({"type": "report.completed", "timestamp": wall, "data": data}, ensure_ascii=False).encode()
        stamp = str(int(datetime.fromisoformat(wall).timestamp()))
        headers = {"Content-Type": "application/json", **sign_payload(self._keys, delivery, stamp, body)}
        proxy = find_proxy_url(self._url)
        client = httpx2.AsyncClient(trust_env=False, proxy=proxy, timeout=None, verify=tls_context())
        posted = client.stream("POST", self._url, content=body, headers=headers)
        try:
            async with asyncio.timeout(self._seconds), client, posted as reply:  # its body is not read
                status, asked = reply.status_code, reply.headers.get("retry-after", "")
        except TimeoutError as error:
            raise self._delivery_error(f"no answer within {self._seconds:g} s") from error
        except httpx2.RequestError as error:
            raise self._delivery_error(describe_connection(error), retryable=True) from error
        if not httpx2.codes.is_success(status):
            again, wait = status == 429 or status >= 500, parse_retry_after(asked, wall)  # noqa: PLR2004 - HTTP
            raise self._delivery_error(f"HTTP {status}", retryable=again, wait=wait)

    def _delivery_error(self, why: str, *, retryable: bool = False, wait: float | None = None) -> ProviderError:
        return ProviderError(
            "delivery_webhook",
            f"The webhook did not accept the report: {why}.",
            provider=self.name,
            retryable=retryable,
            retry_after_seconds=wait,
            next_step="Check the setting delivery.webhook_url, then: corrobora resume RUN --from-stage delivery",
        )


def parse_signing_keys(secret: str) -> tuple[bytes, ...]:
    """Read `whsec_BASE64`, or several: while a secret is changed, all of them sign. Raises `UserError` otherwise."""
    given = [each.removeprefix("whsec_") for each in secret.split() if each.startswith("whsec_")]
    try:
        keys = tuple(base64.b64decode(each, validate=True) for each in given)
    except ValueError:
        keys = ()
    if len(keys) == len(secret.split()) and min(map(len, keys), default=0) >= 16:  # noqa: PLR2004 - not to be guessed
        return keys
    problem = "The secret of the webhook must be whsec_ and the Base64 of at least 16 bytes."
    raise UserError("delivery_secret", problem, next_step="Make one: openssl rand -base64 32")


def sign_payload(keys: Sequence[bytes], identity: str, stamp: str, body: bytes) -> dict[str, str]:
    """Return the headers of Standard Webhooks: id, timestamp, and by each key an HMAC-SHA-256 of all."""
    signed = b".".join((identity.encode(), stamp.encode(), body))
    digests = (base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode() for key in keys)
    signature = " ".join(f"v1,{each}" for each in digests)
    return {"webhook-id": identity, "webhook-timestamp": stamp, "webhook-signature": signature}


ANYWHERE = "*"  # in the list of hosts: every public one
WEBHOOK_SECONDS = 15.0
LONGEST_WAIT_SECONDS = 86_400.0  # that a receiver may ask for
_GONE = 410


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """What is sent and signed: the id of the event, the same in every attempt, its body, and seconds since 1970."""

    id: str
    body: bytes
    at: int


@dataclass(frozen=True, slots=True)
class PostResult:
    """What a receiver answered, in words without its address; `gone` if it wants no more."""

    told: str
    delivered: bool = False
    gone: bool = False
    wait: float = 0.0  # seconds that it asked for


def find_host(url: str) -> str:
    """Return the host of an address, which may be shown: the rest of it may hold a secret."""
    return urlsplit(url).hostname or ""


def parse_hosts(hosts: Sequence[str]) -> AllowList:
    """Return what an operator's list allows: `HOST` means its port 443, and `HOST:PORT` that very endpoint.

    A private address is reached only if it is in the list itself, also where a name of the list leads to it.
    """
    endpoints: set[tuple[str, int]] = set()
    for each in hosts:
        parts = urlsplit(f"//{each}")
        if parts.hostname and each != ANYWHERE:
            endpoints.add((parts.hostname, parts.port or DEFAULT_PORTS["https"]))
    ports = {DEFAULT_PORTS["https"], *(port for _, port in endpoints)}
    return AllowList(ports=frozenset(ports), endpoints=frozenset(endpoints))


def check_webhook(url: str, hosts: Sequence[str]) -> None:
    """Refuse an address that a request may not name. Raises `UserError` `webhook_address` or `webhook_refused`."""
    try:
        parsed = parse_url(url)
    except BadUrl as error:
        raise UserError("webhook_address", f"The webhook has no usable address: {error}.") from error
    port = parsed.port or DEFAULT_PORTS[parsed.scheme]
    host = parsed.host.lower().rstrip(".")
    listed = (host, port) in parse_hosts(hosts).endpoints
    if not listed and not (ANYWHERE in hosts and port == DEFAULT_PORTS["https"]):
        raise UserError(
            "webhook_refused",
            f"The operator of this server allows no webhook to {host[:80]}:{port}.",
            next_step=f'Ask for it: delivery.webhook_hosts = ["{host[:80]}:{port}"]',
        )
    if parsed.scheme != "https" and port in DEFAULT_PORTS.values():
        raise UserError("webhook_address", "A webhook must have an address with https.", next_step="Use https.")


async def post_webhook(
    url: str, message: WebhookMessage, *, keys: Sequence[bytes], hosts: Sequence[str], seconds: float = WEBHOOK_SECONDS
) -> PostResult:
    """Post a message, signed with `keys`, to an address that `hosts` allow; what goes wrong is in the result."""
    try:
        check_webhook(url, hosts)
        async with asyncio.timeout(seconds):
            return await _send(url, message, keys, parse_hosts(hosts))
    except UserError as error:
        return PostResult(error.message)
    except (ConnectionBlocked, NameUnresolved) as error:
        return PostResult(f"not sent: {error}")
    except (TimeoutError, httpcore2.TimeoutException):
        return PostResult(f"no answer within {seconds:g} s")
    except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, UnicodeError, ValueError) as error:
        return PostResult(f"the connection failed: {describe_connection(error)}")


async def _send(url: str, message: WebhookMessage, keys: Sequence[bytes], allow: AllowList) -> PostResult:
    target = parse_url(url)
    host = target.raw_host.rstrip(b".")
    headers = {
        "Host": target.netloc.decode("ascii").lower(),
        "User-Agent": USER_AGENT,
        "Content-Type": "application/json",
        "Content-Length": str(len(message.body)),
        "Connection": "close",
        **sign_payload(keys, message.id, str(message.at), message.body),
    }
    request = httpcore2.Request(
        "POST",
        httpcore2.URL(scheme=target.raw_scheme, host=host, port=target.port, target=target.raw_path or b"/"),
        headers=[(name.encode(), value.encode("ascii")) for name, value in headers.items()],
        content=message.body,
    )
    async with httpcore2.AsyncHTTPConnection(
        httpcore2.Origin(target.raw_scheme, host, target.port or DEFAULT_PORTS[target.scheme]),
        ssl_context=tls_context() if target.scheme == "https" else None,
        network_backend=VettedNetwork(allow=allow),
    ) as connection:
        answer = await connection.handle_async_request(request)
        await answer.aclose()
    asked = httpx2.Headers(answer.headers).get("retry-after", "")
    wait = parse_retry_after(asked, datetime.now(UTC).isoformat(), most=LONGEST_WAIT_SECONDS) or 0.0
    told = f"HTTP {answer.status}{f', asks for {wait:.0f} s' if wait else ''}"
    return PostResult(told, delivered=httpx2.codes.is_success(answer.status), gone=answer.status == _GONE, wait=wait)
