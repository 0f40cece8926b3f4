"""Ingesting: folders and files into a library, parsed by the readers, stored by the catalog.

Knows which parser is trusted to run here and which in a killable child: `ParserChild` decides by format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from corrobora.adapters.readers.child import ParserProcess
from corrobora.domain.parsed import ParsedDocument
from corrobora.engine.ingest import Ingest, SkippedFile
from corrobora.engine.ingest import IngestProgress as FileProgress
from corrobora.storage.catalog import Catalog
from corrobora.storage.database import Database

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What became of every file: counts, and each that was not stored with the reason."""

    added: int
    unchanged: int
    removed: int
    skipped: tuple[SkippedFile, ...]
    truncated: tuple[str, ...] = ()


async def ingest_files(
    database: Database, name: str, paths: Sequence[Path], progress: Progress, *, label: str = ""
) -> IngestSummary:
    """Bring a library in line with folders and files. Unchanged files are skipped, vanished ones removed.

    Raises:
        UserError: a path does not exist, or nothing in it can be read.
    """

    def report_progress(step: FileProgress) -> None:
        progress(step.done, step.total, step.path)

    async with ParserProcess() as child:

        async def parse_file(data: bytes, file: str) -> ParsedDocument:
            return await child.parse_document(data, name=file)

        work = Ingest(Catalog(database), parse_file, on_progress=report_progress)
        reports = [await work.add_path(name, path, label=label) for path in paths]
    return IngestSummary(
        sum(len(report.stored) for report in reports),
        sum(len(report.unchanged) for report in reports),
        sum(len(report.removed) for report in reports),
        tuple(skipped for report in reports for skipped in report.skipped),
        tuple(path for report in reports for path in report.truncated),
    )
