"""Ingest: folders and files into a library, with every file accounted for.

Knows what changed since the last time and which files are never read (links, devices, secrets). Does not know formats
or storage: a parser and a catalog are given.
"""

from __future__ import annotations

import asyncio
import fnmatch
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from corrobora.adapters.readers.outline import name_document
from corrobora.adapters.readers.parser import strip_ending
from corrobora.adapters.readers.version import READ_BY, is_read_by_others, is_same_file
from corrobora.domain.errors import ReadError, UserError
from corrobora.domain.evidence import FILE_ENDING, ReadOutcome, Source, SourceId
from corrobora.domain.limits import LIMITS
from corrobora.ports import IngestItem, ParsedDocument
from corrobora.text.authors import clean_authors, read_byline

if TYPE_CHECKING:
    from corrobora.storage.index.catalog import Catalog

MANIFEST = "manifest.jsonl"
MAX_FILES = 200_000
MAX_DEPTH = 64
_BATCH_CHARS = 4_000_000
_BATCH_FILES = 1_000
_BATCH_SECONDS = 5.0  # after which what was read is stored, so that little is lost if the process is killed
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})
_PAGES = frozenset({".html", ".htm", ".xhtml"})
_PAGE_PARTS = frozenset({".js", ".mjs", ".css", ".map"})
_SECRETS = (
    *(".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
    *(".netrc", ".pgpass", ".htpasswd", "credentials", "credentials.*", "secrets.*", "*.keystore", "*.jks"),
    *(".npmrc", ".pypirc", ".git-credentials", "*.ovpn", "*.gpg", "*.ppk", "*.keytab", "*.kdb", "authorized_keys"),
    *("*.env", "kubeconfig*", "*.kubeconfig", "*.tfstate", "*.tfstate.*", "*.tfvars", "*_history"),
    "service-account*.json",
)

Parse = Callable[[bytes, str], Awaitable[ParsedDocument]]  # of the bytes of a named file; raises `ReadError`
Progress = Callable[[int, int, str], None]  # called after each file: how many are done, of how many, and its name


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was not stored, with its outcome and the reason for people."""

    path: str
    outcome: ReadOutcome
    reason: str


@dataclass(slots=True)
class IngestReport:
    """Every file ends in exactly one of the four: stored, unchanged, skipped, or removed.

    `embedded` counts the passages whose vectors were computed.
    """

    stored: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    truncated: list[str] = field(default_factory=list[str])
    older: list[str] = field(default_factory=list[str])  # of the unchanged: read by the readers of another version
    embedded: int = 0
    vector_problem: str = ""  # why some passages have no vectors, for people

    def __str__(self) -> str:
        """Count the files: "1 read, 0 unchanged, 0 removed, 1 skipped"."""
        ends = {"read": self.stored, "unchanged": self.unchanged, "removed": self.removed, "skipped": self.skipped}
        return ", ".join(f"{len(files)} {end}" for end, files in ends.items())

    def add_report(self, other: IngestReport) -> None:
        """Add what became of the files of another path."""
        self.stored += other.stored
        self.unchanged += other.unchanged
        self.removed += other.removed
        self.truncated += other.truncated
        self.older += other.older
        self.skipped += other.skipped
        self.embedded += other.embedded

    def skip_file(self, path: str, outcome: ReadOutcome, reason: str) -> None:
        self.skipped.append(SkippedFile(path, outcome, reason))


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file to read."""

    path: Path
    shown: str  # relative to the root, printable
    key: str  # under which the catalog stores it
    about: Mapping[str, object]


class Ingest:
    """Brings a library space in line with folders and files."""

    def __init__(
        self,
        catalog: Catalog,
        parse: Parse,
        *,
        on_progress: Progress = lambda _done, _total, _path: None,
        max_files: int = MAX_FILES,
        again: bool = False,
    ) -> None:
        """With `again`, files that the readers of another version read are read like changed ones."""
        self._again = again
        self._catalog = catalog
        self._parse = parse
        self._on_progress = on_progress
        self._max_files = max_files

    async def add_path(self, space: str, root: Path) -> IngestReport:
        """Store new and changed files under `root` (a folder or one file) and remove the files that were deleted.

        Raises:
            UserError: `root` does not exist, or holds no readable file and nothing of it was stored before.
        """
        report = IngestReport()
        base = _resolve_root(root)
        prefix = escape_unprintable(str(base))
        files = await asyncio.to_thread(list_files, base, prefix, report, self._max_files)
        made = not await self._catalog.space_numbers((space,))
        number = await self._catalog.open(space, root=str(base))
        known = await self._catalog.files(number)
        await self._store_all(number, files, known, report)
        kept = {file.key for file in files} - {each.path for each in report.skipped}
        gone = sorted(key for key in known if (key == prefix or key.startswith(f"{prefix}/")) and key not in kept)
        if gone:
            await self._catalog.retire(number, gone)
            report.removed += gone
        report.embedded = await self._catalog.embed_missing(number)
        await self._catalog.upkeep(number, deleted=bool(gone))
        report.removed[:] = [_strip_prefix(each, prefix) for each in report.removed]
        report.skipped[:] = [replace(each, path=_strip_prefix(each.path, prefix)) for each in report.skipped]
        if not (report.stored or report.unchanged or report.removed):
            if made:
                await self._catalog.remove_space(space)
            raise NothingReadable(root, report)
        return report

    async def _store_all(
        self, space: int, files: Sequence[ListedFile], known: Mapping[str, str], report: IngestReport
    ) -> None:
        batch: list[IngestItem] = []
        size, began = 0, time.monotonic()
        try:
            for done, file in enumerate(files, start=1):
                item = await _read_item(file, known, self._parse, report, again=self._again)
                if item is not None:
                    batch.append(item)
                    size += len(item.text)
                full = size >= _BATCH_CHARS or len(batch) >= _BATCH_FILES or time.monotonic() - began > _BATCH_SECONDS
                if full and batch:
                    await self._catalog.store(space, batch)
                    batch, size, began = [], 0, time.monotonic()
                self._on_progress(done, len(files), file.shown)
        finally:  # also when it is interrupted: what was read is stored, and not read again the next time
            if batch:
                await asyncio.shield(self._catalog.store(space, batch))


async def read_folder(root: Path, parse: Parse) -> list[IngestItem]:
    """Return the documents under a folder as a library would store them. Raises `UserError` as `Ingest.add_path`."""
    report, base = IngestReport(), _resolve_root(root)
    files = await asyncio.to_thread(list_files, base, escape_unprintable(str(base)), report, MAX_FILES)
    read = [await _read_item(file, {}, parse, report) for file in files]
    if not report.stored:
        raise NothingReadable(root, report)
    return [item for item in read if item is not None]


READABLE = "Markdown, HTML, reStructuredText, manual pages, text, CSV, JSON, notebooks, PDF, DOCX and e-mail"


class NothingReadable(UserError):
    """No file under a path can be read; `report` says of each why."""

    def __init__(self, root: Path, report: IngestReport) -> None:
        named = (f"{'' if each.path == str(root) else f'{each.path}: '}{each.reason}" for each in report.skipped[:3])
        reasons = "; ".join(each.rstrip(".") for each in named)
        message = f"Nothing readable in {root}{f': {reasons}' if reasons else ''}."
        super().__init__("library_nothing_readable", message, next_step=f"{READABLE} are read.")
        self.report = report


async def _read_item(
    file: ListedFile, known: Mapping[str, str], parse: Parse, report: IngestReport, *, again: bool = False
) -> IngestItem | None:
    """Read one file and report what became of it; None for one that is unchanged or cannot be read."""
    try:
        data = await asyncio.to_thread(read_bytes, file.path)
        digest = hash_file(file, data)
        older = is_read_by_others(stored := known.get(file.key, ""))
        if is_same_file(stored, digest) and not (older and again):
            report.unchanged.append(file.shown)
            report.older += [file.shown] * older
            return None
        parsed = await parse(data, file.shown)
    except ReadError as error:
        report.skip_file(file.key, ReadOutcome(error.outcome), str(error))
        return None
    if parsed.truncated:
        report.truncated.append(file.shown)
    report.stored.append(file.shown)
    return IngestItem(_build_source(file, parsed), parsed.text, parsed.headings, file.key, f"{digest}{READ_BY}")


def hash_file(file: ListedFile, data: bytes) -> str:
    """Return what changes with the bytes of a file, and with what the manifest says of it."""
    hashed = hashlib.sha256(json.dumps(dict(file.about), sort_keys=True).encode() + b"\0")
    hashed.update(data)
    return hashed.hexdigest()


def _resolve_root(root: Path) -> Path:
    base = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would follow a link that must be refused
    if not os.path.lexists(base):
        raise UserError("library_no_path", f"There is no file or folder {root}.", next_step="Check the path.")
    return base


_JOINT = re.compile(r"_|(?<!\d)-|-(?!\d)")  # between the words of a file's name; the hyphens of a date stay
_DATE = re.compile(r"(?<![\d-])(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?![\d-]\d)")


def _build_source(file: ListedFile, parsed: ParsedDocument) -> Source:
    """Combine the manifest with the metadata of the document; the manifest wins."""

    def manifest_text(name: str, fallback: str = "") -> str:
        value = file.about.get(name)
        return value if isinstance(value, str) and value else fallback

    name = FILE_ENDING.sub("", Path(strip_ending(file.shown)).name)
    dated = _DATE.search(name)
    called = _JOINT.sub(" ", name)
    title = manifest_text("title", name_document(parsed.title, parsed.headings, called) or called)
    series = manifest_text("doc")
    return Source(
        id=SourceId(""),
        title=f"{series}: {title}" if series and series.lower() not in title.lower() else title,
        url=manifest_text("url", file.shown),
        snapshot="",
        version=manifest_text("version", parsed.version),
        published=manifest_text("published", parsed.published or (dated.group() if dated else "")),
        publisher=manifest_text("publisher", parsed.publisher),
        primary=file.about.get("primary") is True,
        authors=_read_authors(file.about.get("authors")) or parsed.authors,
    )


def _read_authors(stated: object) -> tuple[str, ...]:
    listed = cast("list[object]", stated) if isinstance(stated, list) else [stated]
    return clean_authors(name for each in listed if isinstance(each, str) for name in read_byline(each))


def read_bytes(path: Path) -> bytes:
    """Read a regular file without following a link and without waiting for a pipe.

    Raises:
        ReadError: `refused` for anything but a regular file, `too_large`, `not_found`, `failed`.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
        with os.fdopen(handle, "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise ReadError(ReadOutcome.REFUSED, "It is not a regular file.")
            if state.st_size > LIMITS.file_max_bytes:
                raise ReadError(ReadOutcome.TOO_LARGE, f"It has {state.st_size} bytes (limit {LIMITS.file_max_bytes}).")
            data = file.read(LIMITS.file_max_bytes + 1)
    except FileNotFoundError as error:
        raise ReadError(ReadOutcome.NOT_FOUND, "It was deleted while the folder was read.") from error
    except OSError as error:
        raise ReadError(ReadOutcome.FAILED, f"It cannot be opened ({error.strerror}).") from error
    if len(data) > LIMITS.file_max_bytes:
        raise ReadError(ReadOutcome.TOO_LARGE, f"It grew over {LIMITS.file_max_bytes} bytes.")
    return data


def looks_secret(name: str) -> bool:
    """True for names of files that usually contain keys or passwords."""
    return any(fnmatch.fnmatch(strip_ending(name.lower()), pattern) for pattern in _SECRETS)


def list_files(base: Path, prefix: str, report: IngestReport, max_files: int) -> list[ListedFile]:
    """List the files to read, in a fixed order, and report the others."""
    about = _read_manifest(base, report) if base.is_dir() and not base.is_symlink() else {}
    files: list[ListedFile] = []
    for path, problem in _walk_folder(base):
        shown = escape_unprintable(path.relative_to(base).as_posix()) if path != base else escape_unprintable(path.name)
        key = f"{prefix}/{shown}" if path != base else prefix
        if shown == MANIFEST and path != base:
            continue
        if problem is not None:
            report.skip_file(key, *problem)
        elif looks_secret(path.name):
            report.skip_file(key, ReadOutcome.SKIPPED, "Files of this name usually contain secrets.")
        elif path != base and path.name.startswith((".", "~$")):  # "~$": of a document that is open
            report.skip_file(key, ReadOutcome.SKIPPED, "Hidden files are not read.")
        elif len(files) >= max_files:
            report.skip_file(key, ReadOutcome.SKIPPED, f"Over the limit of {max_files} files; this and all later ones.")
            break
        else:
            files.append(ListedFile(path, shown, key, about.get(shown, {})))
    if not any(each.path.suffix.lower() in _PAGES for each in files):
        return files
    for each in files:
        if each.path.suffix.lower() in _PAGE_PARTS:
            report.skip_file(each.key, ReadOutcome.SKIPPED, "Beside web pages, scripts and styles are not read.")
    return [each for each in files if each.path.suffix.lower() not in _PAGE_PARTS]


def _walk_folder(base: Path) -> Iterator[tuple[Path, tuple[ReadOutcome, str] | None]]:
    """Yield every file, and every folder that is left out, each with the reason if it is not read."""
    if not base.is_dir() or base.is_symlink():
        yield base, _find_problem(base.is_symlink(), base.is_file())
        return
    stack = [(base, 0)]
    while stack:
        folder, depth = stack.pop()
        if depth > MAX_DEPTH:
            yield folder, (ReadOutcome.SKIPPED, f"Deeper than {MAX_DEPTH} folders.")
            continue
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield folder, (ReadOutcome.FAILED, f"The folder cannot be opened ({error.strerror}).")
            continue
        inner: list[tuple[Path, int]] = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name.startswith("."):
                    yield Path(entry.path), (ReadOutcome.SKIPPED, "Hidden folders are not read.")
                elif entry.name in _SKIPPED_FOLDERS:
                    yield Path(entry.path), (ReadOutcome.SKIPPED, "Folders of this name hold no documents.")
                else:
                    inner.append((Path(entry.path), depth + 1))
            else:
                yield Path(entry.path), _find_problem(entry.is_symlink(), entry.is_file(follow_symlinks=False))
        stack += inner[::-1]


def _find_problem(link: bool, regular: bool) -> tuple[ReadOutcome, str] | None:  # noqa: FBT001 - two facts of one entry
    if link:
        return ReadOutcome.REFUSED, "It is a symbolic link."
    return None if regular else (ReadOutcome.REFUSED, "It is not a regular file (device, socket or pipe).")


def escape_unprintable(name: str) -> str:
    """Escape what is not UTF-8 or not printable in a name."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def _read_manifest(base: Path, report: IngestReport) -> dict[str, Mapping[str, object]]:
    """Read the optional manifest, one JSON object with a `path` in each line; a broken line is reported and skipped."""
    path = base / MANIFEST
    if not path.exists():
        return {}
    found: dict[str, Mapping[str, object]] = {}
    try:
        lines = read_bytes(path).decode("utf-8", "replace").split("\n")
    except ReadError as error:
        report.skip_file(MANIFEST, ReadOutcome(error.outcome), error.message)
        return {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row: object = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict) and isinstance(cast("dict[str, object]", row).get("path"), str):
            known = cast("dict[str, object]", row)
            found[str(known["path"])] = known
        else:
            report.skip_file(f"{MANIFEST}:{number}", ReadOutcome.BROKEN, "It is not a JSON object with a path.")
    return found


def _strip_prefix(key: str, prefix: str) -> str:
    return key.removeprefix(f"{prefix}/")
