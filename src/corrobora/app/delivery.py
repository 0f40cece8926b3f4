"""Delivery: finished reports to the targets of a request and to a folder, and who is notified of the end of a run.

Knows installed delivery channels, the operator's settings (ANGLES-36 to ANGLES-38), the names of a thread's reports
(TRIPLET-2), when a webhook is tried again and what it says. A delivery is journaled: a resumed run does not send twice.
A webhook belongs to no process: after a crash another one sends it, under the same id. Does not know what a report
says. What speaks HTTP is loaded where it is sent, as a command over a library needs it not.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corrobora.adapters.pacing import SystemClock
from corrobora.config import Settings
from corrobora.config.settings import list_settings
from corrobora.domain.errors import JournalError, UserError
from corrobora.domain.report import Report
from corrobora.domain.run import Request
from corrobora.engine.session import Session
from corrobora.engine.session.journal import CallMeta, hash_parts
from corrobora.ports import Delivery
from corrobora.registry import Configuration, load_part
from corrobora.reporting.report_format import REPORT_FILES
from corrobora.storage.journal.runs import RunFolder, Runs
from corrobora.storage.postgres import cancel_tasks

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.storage.queue.statements import DueWebhook, WebhookRecord


def check_targets(request: Request, settings: Settings) -> None:
    """Refuse a target that cannot work before anything is paid. Raises `UserError`."""
    for kind, where in request.output:
        open_target(kind, where, settings)


async def send_report(report: Report, run: Session, settings: Settings, runs: Runs) -> None:
    """Hand the report's files to every target of the request, each once.

    Raises:
        ProviderError: a target did not take it; the report is kept, and the stage can be done again.
    """
    if not (report.markdown and run.request.output):
        return
    files: dict[str, bytes] = {}
    for name in (*REPORT_FILES.values(), "changes.md"):
        stored = await runs.read_artifact(run.run, name)
        if stored is not None:
            files[name] = stored.content
    for kind, where in run.request.output:
        made, name = open_target(kind, where, settings), hash_parts(kind, where)
        await _send_once(made, name, report, files, run)


async def _send_once(made: Delivery, name: str, report: Report, files: Mapping[str, bytes], run: Session) -> None:
    """Send a report once; another one, which says something else after failures were tried again, is sent as well."""
    digest = hash_parts(*(check.sentence for check in report.checks))
    key, said = f"deliver/{made.name}/{name}", f"sent {digest}"

    async def send_files(number: str) -> tuple[str, CallMeta]:
        await run.call_with_retries(lambda: made.send(report.title, files, delivery=number))
        return said, CallMeta(provider=made.name)

    first = partial(send_files, f"{run.run}-{name}")
    if await run.call_once(key, first, paid=False) not in ("sent", said):  # older versions wrote no more
        await run.call_once(f"{key}/{digest}", partial(send_files, f"{run.run}-{name}-{digest}"), paid=False)


def open_target(kind: str, where: str, settings: Settings) -> Delivery:
    """Return the channel of one target. Raises `UserError` if the kind is unknown or the operator set no server."""

    def read_setting(key: str) -> str:
        declared = list_settings().get(key)
        value = declared.read(settings) if declared else None
        return "" if value is None else str(value)

    given = Configuration(read_setting, lambda name: settings.key(name).reveal(), SystemClock())
    return load_part("delivery", kind).open_target(where, given)


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


log = logging.getLogger("corrobora")
RETRY_SECONDS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)  # as Standard Webhooks advises
_LEASES = 4  # times the time of one attempt, after which another process takes what a dead one had taken
POLL_SECONDS = 1.0
_AT_ONCE = 8


def check_request_webhook(settings: Settings, url: str) -> None:
    """Refuse a webhook that could not be sent. Raises `UserError`: no key, or an address that is not allowed."""
    from corrobora.adapters.delivery import check_webhook, parse_signing_keys  # noqa: PLC0415 - it loads what speaks HTTP

    check_webhook(url, settings.webhook_hosts)
    parse_signing_keys(settings.key("webhook").reveal())


async def send_webhooks(workspace: Workspace) -> None:
    """Send what is due, until cancelled; a process without a usable key leaves it to others."""
    from corrobora.adapters.delivery import WEBHOOK_SECONDS, parse_signing_keys  # noqa: PLC0415 - it loads what speaks HTTP

    if not workspace.settings.key("webhook").set:
        return
    try:
        keys = parse_signing_keys(workspace.settings.key("webhook").reveal())
    except UserError as error:
        log.warning("no webhook is sent: %s", error.message)
        return
    sending: set[asyncio.Task[None]] = set()
    try:
        while True:
            try:
                most = _AT_ONCE - len(sending)
                found = await workspace.webhooks.take_due(most=most, seconds=_LEASES * WEBHOOK_SECONDS) if most else ()
            except JournalError as error:
                log.warning("looking for due webhooks: %s", error)
                found = ()
            for due in found:
                task = asyncio.create_task(_send_one(workspace, due, keys), name=f"webhook {due.id}")
                sending.add(task)
                task.add_done_callback(sending.discard)
            await asyncio.sleep(POLL_SECONDS)
    finally:
        await cancel_tasks(*sending)


async def _send_one(workspace: Workspace, due: DueWebhook, keys: Sequence[bytes]) -> None:
    from corrobora.adapters.delivery import WebhookMessage, post_webhook  # noqa: PLC0415 - it loads what speaks HTTP

    message = WebhookMessage(due.id, write_body(due), int(datetime.now(UTC).timestamp()))
    result = await post_webhook(due.url, message, keys=keys, hosts=workspace.settings.webhook_hosts)
    again = None
    if not (result.delivered or result.gone) and due.attempt <= len(RETRY_SECONDS):
        pause = max(RETRY_SECONDS[due.attempt - 1], result.wait)
        again = pause * random.uniform(1.0, 1.1)  # noqa: S311 - receivers are not met at once
    try:
        await workspace.webhooks.store_result(due, result.told, delivered=result.delivered, again=again)
    except JournalError as error:  # the lease ends, and it is sent again under the same id
        log.warning("webhook %s: %s", due.id, error)
        return
    log.info("webhook %s: attempt %d: %s", due.id, due.attempt, result.told, extra={"run": due.run})


def describe_webhook(record: WebhookRecord) -> dict[str, Any]:
    """Return a delivery as JSON values for people and programs: its host, never the rest of the address."""
    from corrobora.adapters.delivery import find_host  # noqa: PLC0415 - it loads what speaks HTTP

    return {
        "id": record.id,
        "host": find_host(record.url),
        "event": f"run.{record.status}",
        "state": record.state,
        "ended_at": record.ended_at,
        "next_at": record.next_at,
        "attempts": [{"at": each.at, "result": each.result} for each in record.attempts],
    }


def write_body(due: DueWebhook) -> bytes:
    """Return the body of an event: the same bytes in every attempt."""
    data = {"run": due.run, "status": due.status, "outcome": due.outcome, "reason": due.reason}
    links = {"self": f"/api/v1/runs/{due.run}", "report": f"/api/v1/runs/{due.run}/report"}
    event = {"type": f"run.{due.status}", "timestamp": due.ended_at, "data": {**data, "links": links}}
    return json.dumps(event, ensure_ascii=False).encode()
