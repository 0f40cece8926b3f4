"""Stored reports: where `-o` writes one, `corrobora export`, and `corrobora verify`, which checks one again offline.

Knows paths, links, permissions, free space, and how the result of a check is printed. Does not render and does not
check: the stored files of a run are its report, and `reporting.recheck` compares them with the sources.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.app.runs import recheck_report
from corrobora.config import read_small_file
from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.report import Support
from corrobora.domain.run import validate_id
from corrobora.faces.cli.exit_codes import Exit, print_notice
from corrobora.faces.cli.options import (
    config_option,
    json_option,
    open_settings,
    print_json,
    print_text,
    with_workspace,
)
from corrobora.faces.cli.terminal import one_line
from corrobora.reporting.report_format import REPORT_FILES
from corrobora.reporting.words import describe_code

SUFFIX_FORMATS = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".json": "json"}
_MIN_FREE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Where the report goes: the files to write, each with its format."""

    files: Mapping[Path, str]

    def write(self, texts: Mapping[str, str]) -> tuple[Path, ...]:
        """Write each format that there is a text for; return the files. Raises `UserError` if the disk refuses."""
        written: list[Path] = []
        for path, form in self.files.items():
            if form in texts:
                _write_atomically(path, texts[form])
                written.append(path)
        return tuple(written)


def check_target(
    path: Path, formats: tuple[str, ...] = tuple(REPORT_FILES), *, force: bool = False, follow: bool = False
) -> OutputTarget:
    """Return the target, or raise `UserError` `output_*` that names path, reason and a way out (bad-input C12, C13).

    A name with a known ending is a file of that format; an existing folder, or a name without an ending, is a folder
    that will hold one file for each of `formats`.
    """
    if "\0" in str(path):
        raise _target_error("name", path, "has a NUL character in its name", "Name another file.")
    path = _resolve_link(path, follow=follow)
    form = SUFFIX_FORMATS.get(path.suffix.lower())
    if path.is_dir() or (form is None and not path.suffix):
        files = {path / REPORT_FILES[each]: each for each in formats}
    elif form is None:
        raise _target_error(
            "format", path, f"has an unknown ending {path.suffix!r}", "Use .md, .html, .json or a folder."
        )
    else:
        files = {path: form}
    for file in files:
        if os.path.lexists(file) and not (file.is_file() and force):
            step = "Add --force to replace it, or name another." if file.is_file() else "Name another file."
            raise _target_error("exists", file, "exists already", step)
    _check_folder(next(iter(files)).parent, path)
    return OutputTarget(files)


def _resolve_link(path: Path, *, follow: bool) -> Path:
    path = path.expanduser()
    link = next((each for each in (path, path.parent) if each.is_symlink()), None)
    if link is not None and not follow:
        raise _target_error("link", link, "is a symbolic link", "Add --follow-symlinks, or name the place it leads to.")
    try:
        return path.resolve() if link is not None else path
    except (OSError, RuntimeError):
        raise _target_error("link", path, "is a loop of symbolic links", "Name another place.") from None


def _check_folder(folder: Path, named: Path) -> None:
    """Prove that a file can be written: make the folder, write a byte, look at the free space."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\n")
            probe.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise _unwritable_error(named, error) from None
    if free < _MIN_FREE_BYTES:
        raise _target_error("disk_full", named, f"lies on a disk with {free:,} bytes left", "Make room first.")


def _write_atomically(path: Path, text: str) -> None:
    temporary = path
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".corrobora-")
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_current_umask())  # as `open` would have made it
        temporary.replace(path)
    except OSError as error:
        if temporary != path:
            with contextlib.suppress(OSError):
                temporary.unlink()
        raise _unwritable_error(path, error) from None


def _current_umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _unwritable_error(path: Path, error: OSError) -> UserError:
    reasons = {
        errno.EACCES: "may not be written by this user",
        errno.EPERM: "may not be written by this user",
        errno.EROFS: "lies on a read-only disk",
        errno.ENOSPC: "lies on a full disk",
        errno.EDQUOT: "lies on a disk whose quota is used up",
        errno.ENAMETOOLONG: "has too long a name",
        errno.ENOTDIR: "goes through something that is not a folder",
        errno.EEXIST: "goes through something that is not a folder",
        errno.ELOOP: "is a loop of symbolic links",
    }
    why = reasons.get(error.errno or 0, f"cannot be written ({os.strerror(error.errno or 0).lower()})")
    return _target_error("unwritable", path, why, "Name another place.")


def _target_error(code: str, path: Path, why: str, next_step: str) -> UserError:
    return UserError(f"output_{code}", f"The output {str(path)!r} {why}.", next_step=next_step)


if TYPE_CHECKING:
    from corrobora.app import Workspace


@click.command()
@click.argument("run")
@click.option(
    "-f", "--format", "formats", default=",".join(REPORT_FILES), show_default=True, help="Formats, with commas."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path(),
    help="File, folder, or - for stdout.",
    metavar="PATH",
)
@click.option("--force", is_flag=True, help="Replace files.")
@click.option("--follow-symlinks", is_flag=True, help="Write through a symbolic link.")
@config_option
def export(  # noqa: PLR0913 - one parameter for each flag, all by name
    *, run: str, formats: str, output: Path, force: bool, follow_symlinks: bool, config_file: Path | None
) -> None:
    """Write the report of a run as Markdown, HTML and JSON."""
    validate_id(run)
    wanted = tuple(part.strip() for part in formats.split(",") if part.strip())
    strange = [part for part in wanted if part not in REPORT_FILES]
    if strange or not wanted:
        raise UserError(
            "export_format",
            f"--format {formats!r}: {strange[0] if strange else 'nothing'!r} is no format.",
            next_step=f"Formats: {', '.join(REPORT_FILES)}.",
        )
    target = None if str(output) == "-" else check_target(output, wanted, force=force, follow=follow_symlinks)
    first = wanted[0]
    if target is None and len(wanted) > 1:
        raise UserError("export_format", "Stdout takes one format.", next_step="Such as: --format md --output -")

    async def load_texts(workspace: Workspace) -> dict[str, str]:
        name = await workspace.runs.find_id(run)
        texts: dict[str, str] = {}
        for form in set(wanted if target is None else target.files.values()):
            stored = await workspace.runs.read_artifact(name, REPORT_FILES[form])
            if stored is not None:
                texts[form] = stored.content.decode("utf-8", "replace")
        if not texts:
            raise _missing_report_error(name)
        return texts

    texts = with_workspace(open_settings(config_file), load_texts)
    if target is None:
        print_text(texts[first])
        return
    for path in target.write(texts):
        click.echo(str(path))


if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.reporting.recheck import CheckedStatement, RecheckResult

_MAX_REPORT_BYTES = 10_000_000


@click.command()
@click.argument("what", metavar="FILE|RUN")
@click.option("--min-score", metavar="0..1", help="Exit 4 if a smaller share of the cited statements is carried.")
@click.option("--strict", is_flag=True, help="Exit 5 if any statement is not carried, or a citation leads nowhere.")
@json_option
@config_option
def verify(*, what: str, min_score: str | None, strict: bool, as_json: bool, config_file: Path | None) -> int:
    """Check every citation of a report against the stored sources. No network, no model.

    FILE is any Markdown with numbered or linked citations, also of another tool.
    """
    flags = {} if min_score is None else {"verify.min_score": (min_score, "--min-score")}
    settings = open_settings(config_file, flags)
    text = _read_file(what)

    async def recheck_text(workspace: Workspace) -> RecheckResult:
        return await recheck_report(workspace, text if text is not None else await _read_report(workspace, what))

    result = with_workspace(settings, recheck_text)
    counts = summarize_recheck(result)
    if as_json:
        print_json(counts | {"statements": [_statement_json(each) for each in result.statements]})
    else:
        _print_summary(result, counts)
    return _exit_code(result, min_score=settings.min_score, strict=strict or settings.strict)


def _read_file(what: str) -> str | None:
    """Return the text of a file, None for the id of a run; a name that is both is the file."""
    path = Path(what)
    if path.exists() or "/" in what or path.suffix:
        return read_small_file(path, limit=_MAX_REPORT_BYTES, what="The report")
    validate_id(what)
    return None


def _missing_report_error(run: str) -> NoEvidence:
    return NoEvidence("report_missing", f"The run {run} has no report.", next_step=f"See: corrobora runs show {run}")


async def _read_report(workspace: Workspace, given: str) -> str:
    run = await workspace.runs.find_id(given)
    stored = await workspace.runs.read_artifact(run, "report.md")
    if stored is None:
        raise _missing_report_error(run)
    return stored.content.decode("utf-8", "replace")


def summarize_recheck(result: RecheckResult) -> dict[str, object]:
    """Return the counts, each rate with what it is a rate of."""
    from corrobora.reporting.recheck import CitationStatus  # noqa: PLC0415 - the engine is loaded only where it is needed

    return {
        "statements": len(result.statements),
        "cited": result.cited,
        "coverage": round(result.coverage, 3),
        "checkable": result.checkable,
        "carried": result.carried,
        "carried_of_checkable": round(result.carried / result.checkable, 3) if result.checkable else None,
        "citations": {found.value: result.count_status(found) for found in CitationStatus},
        "references": len(result.references),
        "references_never_cited": len(result.never_cited),
        "references_twice": result.duplicates,
    }


def _statement_json(each: CheckedStatement) -> dict[str, object]:
    return {
        "text": each.text,
        "cited": list(each.cited),
        "found": [found.value for found in each.found],
        "support": each.support.value,
        "reasons": list(each.reasons),
    }


def _print_summary(result: RecheckResult, counts: Mapping[str, object]) -> None:
    """Print the counts, then every cited statement that is not carried, with the reason."""
    from corrobora.reporting.recheck import CitationStatus  # noqa: PLC0415 - the engine is loaded only where it is needed

    fates = ", ".join(
        f"{result.count_status(found)} {found.value.replace('_', ' ')}"
        for found in CitationStatus
        if result.count_status(found)
    )
    click.echo(f"statements  {counts['statements']}, {result.cited} cited (coverage {result.coverage:.0%})")
    click.echo(f"citations   {fates or 'none'}")
    click.echo(f"carried     {result.carried} of {result.checkable} that can be checked offline")
    if result.never_cited or result.duplicates:
        click.echo(f"references  {len(result.never_cited)} never cited, {result.duplicates} twice")
    for each in unsupported_statements(result):
        why = ", ".join((*(describe_code(found) for found in each.found), each.support.value, *each.reasons))
        click.echo(one_line(f"!  [{', '.join(each.cited)}] {each.text}  ({why})", 500))


def unsupported_statements(result: RecheckResult) -> list[CheckedStatement]:
    """Return the cited statements that no stored source carries."""
    from corrobora.reporting.recheck import CitationStatus  # noqa: PLC0415 - the engine is loaded only where it is needed

    def is_supported(each: CheckedStatement) -> bool:
        kept = any(found in (CitationStatus.VERIFIED, CitationStatus.SAID) for found in each.found)
        return kept and each.support in (Support.SUPPORTED, Support.PARTLY)

    return [each for each in result.statements if each.cited and not is_supported(each)]


def _exit_code(result: RecheckResult, *, min_score: float | None, strict: bool) -> int:
    """Return the exit code: 6 if nothing could be checked, 4 below the threshold, 5 for a strict reader."""
    if not result.checkable:
        print_notice("No cited statement can be checked offline: none of the cited sources is stored here.")
        return Exit.NO_EVIDENCE
    share = result.carried / result.checkable
    if min_score is not None and share < min_score:
        print_notice(f"The share {share:.2f} is below {min_score:.2f}.")
        return Exit.BELOW_THRESHOLD
    missing = len(unsupported_statements(result))
    if strict and missing:
        print_notice(f"--strict: {missing} cited statements are not carried.")
        return Exit.INCOMPLETE
    return Exit.DONE
