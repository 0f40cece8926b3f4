"""Ingesting: folders and files into a library, parsed by the readers, stored by the catalog.

Knows which parser is trusted to run here and which in a killable child: `ParserChild` decides by format.

Vectors: the embedder that the settings name.

Knows settings. Imports an embedder only when one is named: vectors are an option.

Facts: the knowledge base that the settings name, if it is not the database.

Knows the setting facts.qdrant_url. Imports the client only where it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from corrobora.adapters.readers.parser import ParserProcess
from corrobora.config import Settings
from corrobora.config.trust import is_vendor_host
from corrobora.domain.documents import ParsedDocument
from corrobora.domain.errors import UserError
from corrobora.engine.steps.ingest import Ingest, SkippedFile
from corrobora.engine.steps.ingest import IngestProgress as FileProgress
from corrobora.ports import Embedder
from corrobora.registry import list_added, load_part
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres.database import Database

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


def load_embedder(settings: Settings) -> Embedder:
    """Return the embedder for `embedder.model`: a folder, a name at `embedder.url`, or PLUGIN:NAME of another package.

    Raises:
        UserError: it cannot be used.
    """
    name, colon, model = (settings.embedder_model or "").partition(":")
    if colon and name in list_added("embedders"):
        own = settings.key(name)
        return load_part("embedders", name)(model, url=settings.embedder_url, key=own.reveal() if own.set else "")
    if settings.embedder_url:
        if not settings.embedder_model:
            raise UserError("embedder_model", "embedder.url is set, embedder.model is not.", next_step="Name it.")
        key = settings.key("openai" if is_vendor_host("openai", settings.embedder_url) else "embedder")
        open_model = load_part("embedders", "openai-compatible")
        return open_model(settings.embedder_url, settings.embedder_model, key=key.reveal() if key.set else "")
    folder = Path(settings.embedder_model or "")
    if not folder.is_dir():
        raise UserError("embedder_folder", f"embedder.model {str(folder)!r} is no folder.", next_step="Name one.")
    return load_part("embedders", "onnx")(folder)


if TYPE_CHECKING:
    from corrobora.adapters.facts.qdrant import QdrantFacts


def open_fact_store(settings: Settings) -> QdrantFacts | None:
    """Return the store of facts outside the database, None if none is named. Raises `UserError` without the extra."""
    if settings.qdrant_url is None:
        return None
    if find_spec("qdrant_client") is None:
        raise UserError(
            "facts_extra",
            "The setting facts.qdrant_url needs the client of Qdrant, which is not installed.",
            next_step="pip install 'corrobora[qdrant]'",
        )
    from corrobora.adapters.facts.qdrant import QdrantFacts  # noqa: PLC0415 - heavy, and an option

    secret = settings.key("qdrant")
    return QdrantFacts.from_url(settings.qdrant_url, secret.reveal() if secret.set else "")
