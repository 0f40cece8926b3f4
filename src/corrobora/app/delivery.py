"""Delivery: finished reports to the targets of a request, through the operator's servers (ANGLES-36 to ANGLES-38).

Knows which adapter stands for which target and which settings it needs. A delivery is journaled: a run that is resumed
does not send twice what was sent.

The folder of a given thread (TRIPLET-2): micro-reports as they come, and at the end the completion report.

Knows the names of the reports of a given thread. Does not know what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from corrobora.adapters.delivery.email import EmailDelivery, MailServer
from corrobora.adapters.delivery.folder import FolderDelivery
from corrobora.adapters.delivery.webhook import WebhookDelivery
from corrobora.app.runs import SystemClock
from corrobora.config import Settings
from corrobora.domain.errors import UserError
from corrobora.domain.report import Report
from corrobora.domain.run import Request
from corrobora.engine.session.calls import Session
from corrobora.engine.session.journal import CallMeta, hash_parts
from corrobora.ports import Delivery
from corrobora.storage.journal.runs import RunFolder, Runs

DELIVERY_KINDS = ("folder", "email", "webhook")
_REPORT_FILES = ("report.md", "report.html", "report.json")
_SMTP_PORTS = {"smtp": 25, "smtps": 465, "smtp+starttls": 587}
_SMTP_SECURITY = {"smtp": "none", "smtps": "tls", "smtp+starttls": "starttls"}


def check_targets(request: Request, settings: Settings) -> None:
    """Refuse a target that cannot work before anything is paid. Raises `UserError`."""
    for kind, where in request.output:
        open_target(kind, where, settings)


async def send_report(report: Report, run: Session, settings: Settings, runs: Runs) -> None:
    """Hand the report's files to every target of the request, each once.

    Raises:
        ProviderError: a target did not take it; the report is kept, and the stage can be done again.
    """
    if not report.markdown:
        return
    files: dict[str, bytes] = {}
    for name in _REPORT_FILES:
        stored = await runs.read_artifact(run.run, name)
        if stored is not None:
            files[name] = stored.content
    for kind, where in run.request.output:
        made, name = open_target(kind, where, settings), hash_parts(kind, where)
        await _send_once(made, name, report.title, files, run)


async def _send_once(made: Delivery, name: str, title: str, files: Mapping[str, bytes], run: Session) -> None:
    async def send_files() -> tuple[str, CallMeta]:
        await run.call_with_retries(lambda: made.send(title, files, delivery=f"{run.run}-{name}"))
        return "sent", CallMeta(provider=made.name)

    await run.call_once(f"deliver/{made.name}/{name}", send_files, paid=False)


def open_target(kind: str, where: str, settings: Settings) -> Delivery:
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
                raise _missing_setting("delivery.webhook_url", "webhook")
            return WebhookDelivery(settings.webhook_url, settings.key("webhook").reveal(), clock=SystemClock())
        case _:
            raise UserError(
                "delivery_kind",
                f"There is no delivery {kind[:40]!r}.",
                next_step=f"Known: {', '.join(DELIVERY_KINDS)}.",
            )


def _mail_server(settings: Settings) -> MailServer:
    if settings.smtp_server is None:
        raise _missing_setting("delivery.smtp_server", "email")
    text = settings.smtp_server
    parts = urlsplit(text if "://" in text else f"smtp+starttls://{text}")
    secret = settings.key("smtp")
    return MailServer(
        host=parts.hostname or "",
        port=parts.port or _SMTP_PORTS[parts.scheme],
        security=_SMTP_SECURITY[parts.scheme],
        user=settings.smtp_user or "",
        password=secret.reveal() if settings.smtp_user else "",
        sender=settings.smtp_from or settings.smtp_user or "",
    )


def _missing_setting(name: str, kind: str) -> UserError:
    return UserError("delivery_unset", f"Delivery by {kind} needs the setting {name}.", next_step="Set it.")


ARTIFACT_DIR = "artifact_dir"  # in a request's metadata: where the reports of a given thread go as well (TRIPLET-2)
_MICRO, _WHOLE = "micro-report-", "thread-completion-"


class ThreadReports:
    """Reports of a given thread in a folder of the user's (TRIPLET-2).

    The completion report says how many rounds there were; with it go the micro-reports that an earlier run of a thread
    of this name left there, so that the folder never holds rounds of two runs. Nothing else in the folder is touched.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = RunFolder(folder)
        self._written: set[str] = set()

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the run, if it is a report of a given thread."""
        if not name.startswith((_MICRO, _WHOLE)):
            return
        self._folder.write_file(name, content)
        self._written.add(name)
        if name.startswith(_WHOLE):
            self._remove_stale_rounds(name.removeprefix(_WHOLE).removesuffix(".md"))

    def _remove_stale_rounds(self, thread: str) -> None:
        start = f"{_MICRO}{thread}-round-"
        for file in self._folder.base.iterdir():
            number = file.name.removeprefix(start).removesuffix(".md")
            if file.name == f"{start}{number}.md" and number.isdecimal() and file.name not in self._written:
                file.unlink()
