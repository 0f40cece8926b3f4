"""One attempt to add folders to a library, for kill tests. Called as a program: `ingest_run.py URL SPACE FOLDER...`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from corrobora.adapters.readers.parser import ParserProcess
from corrobora.app.ingest import IngestReport
from corrobora.app.libraries import Ingest
from corrobora.ports import ParsedDocument
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres import Database


async def add(database: Database, space: str, *folders: Path) -> list[IngestReport]:
    """Add folders one after the other, as `corrobora library add SPACE FOLDER...` does."""
    async with ParserProcess() as child:

        async def parse(data: bytes, name: str) -> ParsedDocument:
            return await child.parse_document(data, name=name)

        ingest = Ingest(Catalog(database), parse)
        return [await ingest.add_path(space, folder) for folder in folders]


async def _main(url: str, space: str, *folders: str) -> None:
    async with await Database.connect(url, size=2) as database:
        await add(database, space, *map(Path, folders))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
