"""Libraries of the server: listed, searched, filled with uploaded documents; reports checked against what is stored.

Pages, HTTP API and MCP call these functions. Uploaded documents are kept as files in the data folder, so that a library
can be read anew. Knows no HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corrobora.app import Workspace
from corrobora.app.ingest import NothingReadable, escape_unprintable
from corrobora.app.libraries import (
    check_library_name,
    find_library,
    ingest_files,
    list_libraries,
    open_library,
    show_nothing,
    upload_folder,
)
from corrobora.app.libraries import list_documents as list_stored
from corrobora.app.verification import verify_report as recheck_text
from corrobora.config.profiles import list_presets, load_profile, resolve_profile
from corrobora.domain.errors import UserError
from corrobora.domain.evidence import Hit, PassageId
from corrobora.domain.limits import LIMITS
from corrobora.domain.run import DEMO
from corrobora.faces.cli.verify import list_findings, summarize_recheck
from corrobora.faces.request import parse_question
from corrobora.files import write_whole
from corrobora.policies import Profile

_MAX_NAME_BYTES = 200  # file systems end at 255, and a file is written beside its place first


async def search_library(workspace: Workspace, name: str, text: str, *, limit: int = 10) -> Sequence[Hit]:
    """Return the best passages of a library. Raises `UserError` `library_unknown`, or for a text without words."""
    await find_library(workspace, name)
    return await open_library(workspace, [name]).hybrid_search(parse_question(text, least=1).text, limit=limit)


async def list_places(workspace: Workspace, name: str, hits: Sequence[Hit]) -> Mapping[PassageId, str]:
    """Return where the passages of hits stand in their documents: the headings above them, or the page."""
    found = await open_library(workspace, [name]).passages([hit.passage for hit in hits if hit.passage])
    return {each.id: each.heading for each in found}


@dataclass(frozen=True, slots=True)
class AddedDocuments:
    """What became of uploaded documents: names of those that are new or changed, and why others are not kept."""

    stored: frozenset[str]
    refused: Mapping[str, str]


async def add_document(workspace: Workspace, name: str, document: str, content: bytes) -> bool:
    """Store a document in a library of uploads, replacing the one of this name; False if it was there unchanged.

    Raises:
        UserError: `document_unreadable`, or as `add_documents`.
    """
    added = await add_documents(workspace, name, {document: content})
    if document in added.refused:
        raise UserError("document_unreadable", f"{document} cannot be read: {added.refused[document].rstrip('.')}.")
    return document in added.stored


async def add_documents(workspace: Workspace, name: str, files: Mapping[str, bytes]) -> AddedDocuments:
    """Store documents in a library of uploads, replacing those of their names; one that cannot be read is not kept.

    Raises:
        UserError: the name is not one of a library or file, a document is too large, or the library was read from a
            folder of the operator's. Nothing was stored.
    """
    folder = await _find_uploads(workspace, name)
    for document, content in files.items():
        if len(content) > LIMITS.file_max_bytes:
            raise UserError(
                "file_too_large", f"{document} has {len(content):,} bytes; the limit is {LIMITS.file_max_bytes:,}."
            )
        plain = (folder / document).parent == folder and not document.startswith(".") and document.isprintable()
        if not plain or len(document.encode()) > _MAX_NAME_BYTES:
            raise UserError("file_name", f"{document[:80]!r} is not a valid name for a document.")
    before = {each: await asyncio.to_thread(_replace_file, folder / each, files[each]) for each in files}
    try:
        report = await ingest_files(workspace.database, name, (folder,), show_nothing, embedder=workspace.embedder)
    except NothingReadable as error:
        report = error.report
    refused = {Path(each.path).name: each.reason for each in report.skipped}
    refused = {each: refused[escape_unprintable(each)] for each in files if escape_unprintable(each) in refused}
    for each in refused:
        await asyncio.to_thread(_restore_file, folder / each, before[each])
    stored = {Path(each).name for each in report.stored}
    return AddedDocuments(frozenset(each for each in files if escape_unprintable(each) in stored), refused)


async def _find_uploads(workspace: Workspace, name: str) -> Path:
    """Return the folder of a library of uploads. Raises `UserError` `library_folder` for one of the operator's."""
    folder = upload_folder(workspace, check_library_name(name))
    known = {space.name: space.roots for space in await list_libraries(workspace)}
    if name == DEMO or known.get(name, (folder,)) != (folder,):
        raise UserError(
            "library_folder", f"The library {name} is read from a folder.", next_step="Upload into another library."
        )
    return folder


def _replace_file(path: Path, content: bytes) -> bytes | None:
    """Write a file as a whole, and return what was there."""
    before = path.read_bytes() if path.is_file() else None
    write_whole(path, content)
    return before


def _restore_file(path: Path, before: bytes | None) -> None:
    """Undo `_replace_file`."""
    if before is None:
        path.unlink()
    else:
        _replace_file(path, before)


async def list_documents(workspace: Workspace, name: str) -> Sequence[str]:
    """Return the documents of a library below its folders, whose places are the operator's business."""
    roots = sorted((escape_unprintable(str(each)) for each in (await find_library(workspace, name)).roots), key=len)
    found = await list_stored(workspace, name)
    for root in reversed(roots):
        found = [each.removeprefix(f"{root}/") if each != root else Path(each).name for each in found]
    return found


async def remove_document(workspace: Workspace, name: str, document: str) -> None:
    """Remove a document from a library of uploads; reports of earlier runs keep their quotes.

    Raises `UserError` `library_unknown`, `document_unknown`, or `library_folder` for a library of the operator's.
    """
    known = await list_stored(workspace, name)
    folder = await _find_uploads(workspace, name)
    if escape_unprintable(f"{folder}/{document}") not in known or (folder / document).parent != folder:
        raise UserError("document_unknown", f"The library {name} has no document {document[:80]!r}.")
    await asyncio.to_thread((folder / document).unlink, missing_ok=True)
    await ingest_files(workspace.database, name, (folder,), show_nothing, embedder=workspace.embedder)


async def verify_report(workspace: Workspace, text: str) -> Mapping[str, Any]:
    """Check a report against what is stored, as `corrobora verify --json` does; nothing is fetched."""
    result = await recheck_text(workspace, text)
    return summarize_recheck(result) | list_findings(result)


def list_profiles(workspace: Workspace) -> Mapping[str, Profile]:
    """Return the profiles that a run may name, the operator's own included."""
    settings = workspace.settings
    names = dict.fromkeys((*list_presets(), *settings.profiles))
    return {name: load_profile(*resolve_profile(settings, name)) for name in names}
