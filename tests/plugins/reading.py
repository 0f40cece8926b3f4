"""Documents read into a library in this process, for tests that are about what comes after: a parser's takes longer."""

from __future__ import annotations

from pathlib import Path

from corrobora.adapters.readers.parser import find_reader
from corrobora.adapters.readers.worker import parse_bytes
from corrobora.app.ingest import Ingest, IngestReport
from corrobora.config import Settings, load_settings
from corrobora.ports import ParsedDocument
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres import Database


async def _parse_here(data: bytes, file: str) -> ParsedDocument:
    return parse_bytes(find_reader(file, data).read, data)


async def ingest_here(database: Database, name: str, *paths: Path) -> IngestReport:
    """Bring a library in line with folders and files, as `ingest_files` does."""
    work, report = Ingest(Catalog(database), _parse_here), IngestReport()
    for path in paths:
        report.add_report(await work.add_path(name, path))
    return report


def load_settings_of(home: Path, url: str) -> Settings:
    """Return the settings of a home whose database is on the server of the tests."""
    return load_settings(env={"CORROBORA_HOME": str(home), "CORROBORA_DATABASE_URL": url}, user_file=home / "none")
