"""Libraries: opened for search, brought in line with folders and files, with the embedder that the settings name.

Knows the settings, and that documents are parsed in a child process that may be killed. Does not know how documents are
indexed, and imports an embedder only where one is configured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corrobora.adapters.readers.parser import ParserProcess
from corrobora.app.ingest import Ingest, IngestReport
from corrobora.app.ingest import IngestProgress as FileProgress
from corrobora.config import Settings
from corrobora.config.trust import is_vendor_host
from corrobora.domain.errors import UserError
from corrobora.ports import Embedder, ParsedDocument
from corrobora.registry import list_added, load_part
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.index.vectors import VectorIndex
from corrobora.storage.postgres import Database

if TYPE_CHECKING:
    from corrobora.app import Workspace

Progress = Callable[[int, int, str], None]


def open_library(workspace: Workspace, names: Sequence[str]) -> PostgresLibrary:
    """Open the named libraries as one."""
    return PostgresLibrary(workspace.database, tuple(names), workspace.embedder, workspace.tokenizer)


async def ingest_files(  # noqa: PLR0913 - all but the first four are keywords
    database: Database,
    name: str,
    paths: Sequence[Path],
    progress: Progress,
    *,
    label: str = "",
    embedder: Embedder | None = None,
) -> IngestReport:
    """Bring a library in line with folders and files. Unchanged files are skipped, vanished ones removed.

    With an embedder, every passage of the library that has no vector of its model gets one. A failing embedder costs
    the vectors only; `vector_problem` then says why.

    Raises:
        UserError: a path does not exist, or nothing in it can be read.
    """

    def report_progress(step: FileProgress) -> None:
        progress(step.done, step.total, step.path)

    vectors = None if embedder is None else VectorIndex(database, embedder, may_replace=True)
    async with ParserProcess() as child:

        async def parse_file(data: bytes, file: str) -> ParsedDocument:
            return await child.parse_document(data, name=file)

        catalog = Catalog(database, vectors=vectors)
        work = Ingest(catalog, parse_file, on_progress=report_progress)
        report = IngestReport()
        for path in paths:
            report.add_report(await work.add_path(name, path, label=label))
    report.vector_problem = "" if vectors is None else vectors.problem
    return report


def open_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder for `embedder.model`: a folder, a name at `embedder.url`, or PLUGIN:NAME of another package.

    None if neither setting is given.

    Raises:
        UserError: the address comes without a model, or the folder holds no usable one.
    """
    if not settings.embedder_model and not settings.embedder_url:
        return None
    name, colon, model = (settings.embedder_model or "").partition(":")
    if colon and name in list_added("embedders"):
        own = settings.key(name)
        return load_part("embedders", name)(model, url=settings.embedder_url, key=own.reveal() if own.set else "")
    if settings.embedder_url:
        if not settings.embedder_model:
            raise UserError("embedder_model", "embedder.url is set, embedder.model is not.", next_step="Set it.")
        key = settings.key("openai" if is_vendor_host("openai", settings.embedder_url) else "embedder")
        open_model = load_part("embedders", "openai-compatible")
        return open_model(settings.embedder_url, settings.embedder_model, key=key.reveal() if key.set else "")
    folder = Path(settings.embedder_model or "")
    if not folder.is_dir():
        raise UserError(
            "embedder_folder",
            f"embedder.model {str(folder)!r} is not a folder.",
            next_step="Name the folder of a model.",
        )
    return load_part("embedders", "onnx")(folder)
