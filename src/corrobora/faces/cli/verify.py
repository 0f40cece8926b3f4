"""`corrobora verify`: a report checked again, offline: ours by its run, anybody's by its file.

Knows how the result is shown, coverage beside every rate. Does not check: the engine does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.config import read_small_file
from corrobora.domain.errors import NoEvidence
from corrobora.domain.report import Support
from corrobora.faces.cli.failure import Exit, say
from corrobora.faces.cli.options import config_option, json_option, open_settings, print_json
from corrobora.faces.cli.terminal import one_line
from corrobora.faces.cli.workspace import checked_run, with_workspace

if TYPE_CHECKING:
    from corrobora.assembly import Workspace
    from corrobora.engine.recheck import Recheck, Statement

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
    text = _file_text(what)

    async def work(workspace: Workspace) -> Recheck:
        return await workspace.recheck(text if text is not None else await _report_of(workspace, checked_run(what)))

    result = with_workspace(settings, work)
    counts = summary(result)
    if as_json:
        print_json(counts | {"statements": [_statement(each) for each in result.statements]})
    else:
        _print(result, counts)
    return _code(result, min_score=settings.min_score, strict=strict or settings.strict)


def _file_text(what: str) -> str | None:
    """Return the text of a file, None for the id of a run; a name that is both is the file."""
    path = Path(what)
    if path.exists() or "/" in what or path.suffix:
        return read_small_file(path, limit=_MAX_REPORT_BYTES, what="The report")
    checked_run(what)
    return None


async def _report_of(workspace: Workspace, run: str) -> str:
    await workspace.runs.get(run)
    stored = await workspace.runs.artifact(run, "report.md")
    if stored is None:
        raise NoEvidence("report_missing", f"The run {run} has no report.", next_step=f"See: corrobora runs show {run}")
    return stored.content.decode("utf-8", "replace")


def summary(result: Recheck) -> dict[str, object]:
    """Return the counts, each rate with what it is a rate of."""
    from corrobora.engine.recheck import Found  # noqa: PLC0415 - the engine is loaded only where it is needed

    return {
        "statements": len(result.statements),
        "cited": result.cited,
        "coverage": round(result.coverage, 3),
        "checkable": result.checkable,
        "carried": result.carried,
        "carried_of_checkable": round(result.carried / result.checkable, 3) if result.checkable else None,
        "citations": {found.value: result.count(found) for found in Found},
        "references": len(result.references),
        "references_never_cited": len(result.never_cited),
        "references_twice": result.duplicates,
    }


def _statement(each: Statement) -> dict[str, object]:
    return {
        "text": each.text,
        "cited": list(each.cited),
        "found": [found.value for found in each.found],
        "support": each.support.value,
        "reasons": list(each.reasons),
    }


def _print(result: Recheck, counts: Mapping[str, object]) -> None:
    """Print the counts, then every cited statement that is not carried, with the reason."""
    from corrobora.engine.recheck import Found  # noqa: PLC0415 - the engine is loaded only where it is needed

    fates = ", ".join(
        f"{result.count(found)} {found.value.replace('_', ' ')}" for found in Found if result.count(found)
    )
    click.echo(f"statements  {counts['statements']}, {result.cited} cited (coverage {result.coverage:.0%})")
    click.echo(f"citations   {fates or 'none'}")
    click.echo(f"carried     {result.carried} of {result.checkable} that can be checked offline")
    if result.never_cited or result.duplicates:
        click.echo(f"references  {len(result.never_cited)} never cited, {result.duplicates} twice")
    for each in not_carried(result):
        why = ", ".join((*(found.value.replace("_", " ") for found in each.found), each.support.value, *each.reasons))
        click.echo(one_line(f"!  [{', '.join(each.cited)}] {each.text}  ({why})", 500))


def not_carried(result: Recheck) -> list[Statement]:
    """Return the cited statements that no stored source carries."""
    from corrobora.engine.recheck import Found  # noqa: PLC0415 - the engine is loaded only where it is needed

    def carried(each: Statement) -> bool:
        kept = any(found in (Found.VERIFIED, Found.SAID) for found in each.found)
        return kept and each.support in (Support.SUPPORTED, Support.PARTLY)

    return [each for each in result.statements if each.cited and not carried(each)]


def _code(result: Recheck, *, min_score: float | None, strict: bool) -> int:
    """Return the exit code: 6 if nothing could be checked, 4 below the threshold, 5 for a strict reader."""
    if not result.checkable:
        say("No cited statement can be checked offline: none of the cited sources is stored here.")
        return Exit.NO_EVIDENCE
    share = result.carried / result.checkable
    if min_score is not None and share < min_score:
        say(f"The share {share:.2f} is below {min_score:.2f}.")
        return Exit.BELOW_THRESHOLD
    missing = len(not_carried(result))
    if strict and missing:
        say(f"--strict: {missing} cited statements are not carried.")
        return Exit.INCOMPLETE
    return Exit.DONE
