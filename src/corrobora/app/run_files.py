"""Run files: what a run leaves, in the database for every machine and in its folder on this one.

Knows the order: the database first, in one statement, then the folder; whoever is cut short meanwhile is so after both.
Does not know what is in a file.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from corrobora.app.delivery import ThreadReports
from corrobora.domain.run import RequestOption, RunRow
from corrobora.ports import Entry
from corrobora.storage.journal import RunJournal
from corrobora.storage.journal.artifacts import OF_A_REPORT, Artifact, RunFolder
from corrobora.storage.journal.runs import Runs

T = TypeVar("T")


class RunFiles:
    """The files of one attempt at a run; reports of a given thread are written into `artifact_dir` as well."""

    def __init__(self, runs: Runs, folder: RunFolder, row: RunRow, journal: RunJournal) -> None:
        self._runs = runs
        self._run, self._epoch = row.id, journal.epoch
        self._folder = folder
        self._journal = journal
        wanted = row.request.get_option(RequestOption.ARTIFACT_DIR)
        self._reports = ThreadReports(Path(wanted)) if wanted else None

    async def write(self, texts: Mapping[str, str]) -> None:
        """Write files of the run by their names. Raises `Stale` if a newer attempt owns it, or it was removed."""
        await run_to_end(self._write(_list_files(texts)))

    async def seal(self, texts: Mapping[str, str], entry: Entry) -> Entry:
        """Write the files of a report and journal it, unless one was sealed before; return the entry that counts."""
        return await run_to_end(self._seal(_list_files(texts), entry))

    async def read(self, name: str) -> str | None:
        """Return the text of a file, None if the run has none of this name."""
        return await self._runs.read_text(self._run, name)

    async def restore(self) -> None:
        """Write all files into the folder again: the process that stored them may have died before it did."""
        stored = [
            await self._runs.read_artifact(self._run, name) for name in await self._runs.list_artifacts(self._run)
        ]
        await run_to_end(asyncio.to_thread(self._write_folders, [file for file in stored if file], sealed=True))

    async def _write(self, files: Sequence[Artifact]) -> None:
        await self._runs.store_artifacts(self._run, self._epoch, files)
        await asyncio.to_thread(self._write_folders, files)

    async def _seal(self, files: Sequence[Artifact], entry: Entry) -> Entry:
        first = await self._runs.seal_report(self._run, self._epoch, files, entry)
        self._journal.add_committed(first)
        await (asyncio.to_thread(self._write_folders, files, sealed=True) if first is entry else self.restore())
        return first

    def _write_folders(self, files: Sequence[Artifact], *, sealed: bool = False) -> None:
        for file in files:
            self._folder.write_file(file.name, file.content)
            if self._reports is not None:
                self._reports.write(file.name, file.content)
        names = {file.name for file in files}
        for path in self._folder.base.iterdir() if sealed else ():
            if re.match(OF_A_REPORT, path.name) and path.name not in names:  # of a report before the run was taken back
                path.unlink(missing_ok=True)


def _list_files(texts: Mapping[str, str]) -> list[Artifact]:
    return [Artifact.from_text(name, text) for name, text in texts.items()]


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Await work that is not to be left half done: a cancellation meanwhile takes effect after it."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        task.exception()  # retrieved: the cancellation is what the caller learns
        raise asyncio.CancelledError
    return task.result()
