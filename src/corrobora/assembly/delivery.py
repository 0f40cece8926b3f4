"""Delivery: finished reports to the targets of a request, through the operator's servers (S1, stage delivery).

Knows which adapter stands for which target and which settings it needs. A delivery is journaled: a run that is resumed
does not send twice what was sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from corrobora.adapters.delivery.email import EmailDelivery, MailServer
from corrobora.adapters.delivery.folder import FolderDelivery
from corrobora.adapters.delivery.webhook import WebhookDelivery
from corrobora.assembly.people import SystemClock
from corrobora.config import Settings
from corrobora.domain.errors import UserError
from corrobora.domain.report import Report
from corrobora.domain.run import Request
from corrobora.engine.codec import Meta, digest
from corrobora.engine.session import Session
from corrobora.ports import Delivery
from corrobora.storage.runs import Runs

KINDS = ("folder", "email", "webhook")
_FILES = ("report.md", "report.html", "report.json")
_PORTS = {"smtp": 25, "smtps": 465, "smtp+starttls": 587}
_SECURITY = {"smtp": "none", "smtps": "tls", "smtp+starttls": "starttls"}


def check_targets(request: Request, settings: Settings) -> None:
    """Refuse a target that cannot work before anything is paid. Raises `UserError`."""
    for kind, where in request.output:
        target(kind, where, settings)


async def deliver(report: Report, run: Session, settings: Settings, runs: Runs) -> None:
    """Hand the report's files to every target of the request, each once.

    Raises:
        ProviderError: a target did not take it; the report is kept, and the stage can be done again.
    """
    if not report.markdown:
        return
    files: dict[str, bytes] = {}
    for name in _FILES:
        stored = await runs.artifact(run.run, name)
        if stored is not None:
            files[name] = stored.content
    for kind, where in run.request.output:
        made, name = target(kind, where, settings), digest(kind, where)
        await _once(made, name, report.title, files, run)


async def _once(made: Delivery, name: str, title: str, files: Mapping[str, bytes], run: Session) -> None:
    async def send() -> tuple[str, Meta]:
        await run.patiently(lambda: made.send(title, files, delivery=f"{run.run}-{name}"))
        return "sent", Meta(provider=made.name)

    await run.once(f"deliver/{made.name}/{name}", send, paid=False)


def target(kind: str, where: str, settings: Settings) -> Delivery:
    """Return the adapter of one target. Raises `UserError` if the kind is unknown or the operator set no server."""
    match kind:
        case "folder":
            return FolderDelivery(Path(where))
        case "email":
            return EmailDelivery(_mail_server(settings), where)
        case "webhook":
            if where:
                raise UserError(
                    "delivery_webhook",
                    "The address of the webhook is the operator's: a request cannot name one.",
                    next_step="Set delivery.webhook_url and write: --deliver webhook",
                )
            if settings.webhook_url is None:
                raise _unset("delivery.webhook_url", "webhook")
            return WebhookDelivery(settings.webhook_url, settings.key("webhook").reveal(), clock=SystemClock())
        case _:
            raise UserError(
                "delivery_kind", f"There is no delivery {kind[:40]!r}.", next_step=f"Known: {', '.join(KINDS)}."
            )


def _mail_server(settings: Settings) -> MailServer:
    if settings.smtp_server is None:
        raise _unset("delivery.smtp_server", "email")
    text = settings.smtp_server
    parts = urlsplit(text if "://" in text else f"smtp+starttls://{text}")
    secret = settings.key("smtp")
    return MailServer(
        host=parts.hostname or "",
        port=parts.port or _PORTS[parts.scheme],
        security=_SECURITY[parts.scheme],
        user=settings.smtp_user or "",
        password=secret.reveal() if settings.smtp_user else "",
        sender=settings.smtp_from or settings.smtp_user or "",
    )


def _unset(name: str, kind: str) -> UserError:
    return UserError("delivery_unset", f"Delivery by {kind} needs the setting {name}.", next_step="Set it.")
