"""The demo documents that ship with the package: 118 Markdown files on digital identity and web security.

Knows how to unpack them once, whole or not at all, and to mend a copy that lost files. Their terms and origins stand in
the NOTICE beside them. Does not know libraries or questions: what is unpacked is a folder like any other.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zlib
from contextlib import suppress
from importlib import resources
from pathlib import Path, PurePosixPath

from corrobora.domain.errors import UserError
from corrobora.files import make_private_folder

_ARCHIVE = "demo.tar.gz"
_MANIFEST = "manifest.jsonl"
_STAMP = ".archive"  # names the archive a copy came from; an update of the package replaces the copy
_MAX_ATTEMPTS = 5  # to put the copy in place while other processes do the same


def demo_documents(into: Path) -> Path:
    """Unpack the demo documents below `into`, unless a whole copy is there, and return the folder that holds them.

    Several processes may call this at once. Beside the returned folder lie NOTICE, manifest.jsonl (one row a document:
    path, bytes, doc, version, url, license) and demo_questions.json (questions with the passages an answer must cite).

    Raises:
        UserError: `demo_damaged` if the installed archive can not be read, `demo_not_unpacked` if `into` can not be
            written (permissions, full disk); nothing half-unpacked is left where a reader would find it.
    """
    packed = resources.files(__name__).joinpath(_ARCHIVE).read_bytes()
    digest = hashlib.sha256(packed).hexdigest()
    target = into / "demo"
    if not _is_whole(target, digest):
        files = _unpack_archive(packed)
        try:
            _install_copy(files, target, digest)
        except OSError as error:
            raise UserError(
                "demo_not_unpacked",
                f"The demo documents cannot be unpacked into {into}: {error.strerror or error}.",
                next_step="Free some space there or name another data folder.",
            ) from error
    return target / "documents"


def _unpack_archive(packed: bytes) -> dict[str, bytes]:
    """Read the archive into memory (1.4 MB), so that nothing is written unless all of it is sound."""
    import tarfile  # noqa: PLC0415 - a run reads other files of the package

    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                content = archive.extractfile(member) if member.isreg() else None
                if content is None or path.is_absolute() or ".." in path.parts:
                    raise _damaged_error(f"unexpected entry {member.name!r}")
                files[member.name] = content.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise _damaged_error(str(error)) from error
    return files | {f"documents/{_MANIFEST}": files[_MANIFEST]}  # where a library looks for the titles and versions


def _damaged_error(why: str) -> UserError:
    return UserError(
        "demo_damaged",
        f"The demo documents of this installation are damaged: {why}.",
        next_step="Install corrobora again.",
    )


def _install_copy(files: dict[str, bytes], target: Path, digest: str) -> None:
    """Write all files beside the target and move them there in one step; the first of several writers wins."""
    make_private_folder(target.parent)
    with tempfile.TemporaryDirectory(prefix=".demo-", dir=target.parent) as scratch:
        fresh = Path(scratch) / "demo"
        for name, content in files.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        (fresh / _STAMP).write_text(digest, encoding="ascii")
        for attempt in range(_MAX_ATTEMPTS):
            try:
                fresh.rename(target)
            except OSError:  # there is an older or harmed copy, or another process was faster
                if _is_whole(target, digest):
                    return
                if attempt == _MAX_ATTEMPTS - 1:
                    raise
                with suppress(FileNotFoundError):  # another process just took it away
                    target.rename(Path(scratch) / f"old{attempt}")
            else:
                return


def _is_whole(target: Path, digest: str) -> bool:
    """Tell whether a copy came from this archive and still has every document at its size."""
    try:
        if (target / _STAMP).read_text(encoding="ascii") != digest:
            return False
        rows = [json.loads(line) for line in (target / _MANIFEST).read_text(encoding="utf-8").splitlines()]
        return all((target / "documents" / row["path"]).stat().st_size == row["bytes"] for row in rows)
    except (OSError, ValueError, KeyError):
        return False
