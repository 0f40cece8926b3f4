"""Delivery: finished reports to the targets of a request, and the reports of a given thread to its folder.

Knows installed delivery channels, the operator's settings (ANGLES-36 to ANGLES-38) and the names of a thread's reports
(TRIPLET-2). A delivery is journaled: a resumed run does not send twice. Does not know what a report says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from corrobora.adapters.pacing import SystemClock
from corrobora.config import Settings
from corrobora.config.settings import list_settings
from corrobora.domain.report import Report
from corrobora.domain.run import Request, RunRow
from corrobora.engine.session import Session
from corrobora.engine.session.journal import CallMeta, hash_parts
from corrobora.ports import Delivery
from corrobora.registry import Configuration, load_part
from corrobora.reporting.report_format import REPORT_FILES
from corrobora.storage.journal.artifacts import RunFolder
from corrobora.storage.journal.runs import Runs

if TYPE_CHECKING:
    from corrobora.app import Workspace


def check_targets(request: Request, settings: Settings) -> None:
    """Refuse a target that cannot work before anything is paid. Raises `UserError`."""
    for kind, where in request.output:
        open_target(kind, where, settings)


async def redirect_report(workspace: Workspace, row: RunRow, output: tuple[tuple[str, str], ...]) -> None:
    """Let a run that nobody works on deliver to other targets than before. Raises `UserError` for a bad one."""
    request = replace(row.request, output=output)
    check_targets(request, workspace.settings)
    await workspace.runs.replace_request(row.id, request)


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
    if await run.call_once(key, first, paid=False) != said:
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
