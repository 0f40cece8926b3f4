"""`corrobora verify`: whether a report is the one that was delivered, and what of it its sources support.

Knows the flags, how the result is printed (for people, as JSON, as SARIF) and which exit code it gives. Does not check:
`app.verification` does.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from corrobora import __version__
from corrobora.config import read_small_file
from corrobora.config.values import read_small_bytes
from corrobora.domain.errors import UserError
from corrobora.domain.limits import read_table
from corrobora.domain.run import missing_report_error, validate_id
from corrobora.faces.cli import FILE_PATH, Exit, print_notice
from corrobora.faces.cli.options import (
    GroupedCommand,
    complete_names,
    config_option,
    json_option,
    list_run_names,
    open_settings,
    print_json,
    read_stdin_text,
    with_workspace,
)
from corrobora.faces.cli.screen import one_line
from corrobora.text.phrases import describe_code, format_count

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.reporting.bundle_check import BundleVerdict
    from corrobora.reporting.recheck import CheckedStatement, CheckVerdict, RecheckResult

_MAX_REPORT_BYTES = 64_000_000
_MOST_CHANGES = 40
_SEALS = {
    "delivered": "this is the report that run {run} delivered",
    "changed": "this is NOT the report that run {run} delivered: {changes}",
    "unknown_here": "its run is not known here: the seal proves only that nothing was changed after sealing",
    "bundled": "it fits the text: nothing was changed after sealing; a bundle is checked without a database",
    "broken": "BROKEN: the text was changed after it was sealed",
    "none": "none, and no stored report resembles it",
}


@click.command(cls=GroupedCommand, example="corrobora verify report.md --strict")
@click.argument("what", metavar="FILE|RUN", shell_complete=complete_names(list_run_names, paths="also"))
@click.option(
    "--sources",
    type=FILE_PATH,
    metavar="FOLDER",
    help="Look sources up in these files too, by name, title or address.",
)
@click.option("--fetch", is_flag=True, help="Request cited addresses that are not stored here.")
@click.option("--min-score", metavar="0..1", help="Exit 4 if a smaller share of the cited statements is supported.")
@click.option("--strict", is_flag=True, help="Exit 6 too if anything could not be checked.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print SARIF 2.1.0 on stdout, for editors and pipelines.")
@json_option
@config_option
def verify(  # noqa: PLR0913 - one parameter for each flag, all by name
    *,
    what: str,
    sources: Path | None,
    fetch: bool,
    min_score: str | None,
    strict: bool,
    as_sarif: bool,
    as_json: bool,
    config_file: Path | None,
) -> int:
    """Check a report against the delivered one and its stored sources.

    FILE is Markdown, HTML or JSON that Corrobora wrote, or any Markdown with numbered or linked citations; - reads it
    from stdin. No model is used, and no network without --fetch. A bundle carries its sources: it is checked without a
    database. Exit 0 only if all that can be checked holds.
    """
    if as_sarif and as_json:
        raise UserError("verify_format", "Stdout can take only one format.", next_step="Leave out --json or --sarif.")
    form = "json" if as_json else "sarif" if as_sarif else ""
    settings = open_settings(config_file, {} if min_score is None else {"verify.min_score": (min_score, "--min-score")})
    if Path(what).suffix.lower() == ".zip":
        if sources is not None or fetch:
            raise UserError(
                "verify_bundle", "A bundle carries its sources.", next_step="Leave out --sources and --fetch."
            )
        found = _check_bundle(Path(what))
        if found.statements is None:
            return _report_broken(found, as_json=as_json)
        verdict = found.statements.judge(min_score=settings.min_score, strict=strict, broken=found.problem is not None)
        _print_result(found.statements, verdict, what, form, found)
        if found.problem is not None:
            return _report_broken(found, as_json=False)
        return _exit_code(found.statements, verdict, min_score=settings.min_score)
    text = _read_file(what)

    async def check_text(workspace: Workspace) -> RecheckResult:
        from corrobora.app.verification import verify_report  # noqa: PLC0415 - the engine is loaded where it is needed

        given = text if text is not None else await _read_report(workspace, what)
        return await verify_report(workspace, given, folder=sources, fetch=fetch)

    result = with_workspace(settings, check_text)
    verdict = result.judge(min_score=settings.min_score, strict=strict)
    _print_result(result, verdict, what, form)
    return _exit_code(result, verdict, min_score=settings.min_score)


def _print_result(
    result: RecheckResult,
    verdict: CheckVerdict,
    what: str,
    form: Literal["json", "sarif", ""],
    bundle: BundleVerdict | None = None,
) -> None:
    if form == "json":
        summary = {} if bundle is None else {"bundle": _summarize_bundle(bundle)}
        print_json(summarize_recheck(result, verdict) | summary | list_findings(result))
    elif form == "sarif":
        from corrobora.reporting.recheck import build_sarif  # noqa: PLC0415 - only this format needs it

        print_json(build_sarif(result, what, __version__))
    else:
        if bundle is not None:
            click.echo(
                f"bundle      {format_count(bundle.members, 'member')} as in the manifest, sha256:{bundle.digest}"
            )
            quotes = format_count(bundle.quotes, "quote stands", "quotes stand")
            click.echo(f"evidence    {quotes} in the stored texts of the sources")
            click.echo(
                "not checked who sealed it: anybody who rebuilds all members can put in another run, question or "
                "status; compare the digest with one from another place"
            )
        _print_summary(result, bundled=bundle is not None)


def _check_bundle(path: Path) -> BundleVerdict:
    from corrobora.reporting.bundle import MAX_BYTES  # noqa: PLC0415 - the engine is loaded where it is needed
    from corrobora.reporting.bundle_check import check_bundle  # noqa: PLC0415 - as above
    from corrobora.reporting.seal import SealStatus  # noqa: PLC0415 - as above

    found = asyncio.run(check_bundle(read_small_bytes(path, limit=MAX_BYTES, what="The bundle")))
    if found.statements is None:
        return found
    return replace(found, statements=replace(found.statements, seal=SealStatus.UNKNOWN))


def _summarize_bundle(found: BundleVerdict) -> dict[str, object]:
    bad = found.problem
    return {
        "passed": bad is None,
        "member": bad.member if bad else "",
        "problem": bad.code if bad else "",
        "sha256": found.digest,
        "run": found.run,
        "members": found.members,
        "quotes": found.quotes,
    }


def _report_broken(found: BundleVerdict, *, as_json: bool) -> int:
    assert found.problem is not None, "only a broken bundle is reported as one"
    if as_json:
        print_json({"bundle": _summarize_bundle(found), "passed": False})
    problems = read_table("bundle_problems.toml")
    print_notice(f"Not verified: {found.problem.member}: {problems[found.problem.code]}.")
    return Exit.INCOMPLETE


def _read_file(what: str) -> str | None:
    """Return the text of a file or of stdin, None for the id of a run; a name that is both is the file."""
    if what == "-":
        text = read_stdin_text(_MAX_REPORT_BYTES)
        if text is None:
            raise UserError("file_too_large", f"The report has more than {_MAX_REPORT_BYTES:,} bytes.")
        return text
    path = Path(what)
    if path.suffix.lower() in (".docx", ".pdf"):
        kind = f"'{what}' is a {path.suffix[1:].upper()} file, which is not checked."
        raise UserError("report_format", kind, next_step="Verify another form: corrobora export RUN --format md")
    if os.path.exists(path) or "/" in what or path.suffix:  # noqa: PTH110 - no error for a name that is too long
        return read_small_file(path, limit=_MAX_REPORT_BYTES, what="The report")
    validate_id(what)
    return None


async def _read_report(workspace: Workspace, given: str) -> str:
    run = await workspace.runs.find_id(given)
    text = await workspace.runs.read_text(run, "report.md")
    if text is None:
        raise missing_report_error(await workspace.runs.get(run))
    return text


def summarize_recheck(result: RecheckResult, verdict: CheckVerdict | None = None) -> dict[str, object]:
    """Return the verdict, by default the one of a check without conditions, and the counts of what each rate is of."""
    from corrobora.reporting.references import CitationStatus  # noqa: PLC0415 - the engine is loaded where it is needed

    verdict = verdict or result.judge()
    return {
        "seal": result.seal.value,
        "run": result.run,
        "differences": len(result.changes),
        "statements": len(result.statements),
        "cited": result.cited,
        "coverage": round(result.coverage, 3),
        "checkable": result.checkable,
        "not_checkable": result.not_checkable,
        "run_lines_not_checkable": result.not_compared,
        "carried": result.carried,
        "judged_in_run": dict(result.judges),
        "carried_of_checkable": round(result.carried / result.checkable, 3) if result.checkable else None,
        "citations": {found.value: result.count_status(found) for found in CitationStatus},
        "references": len(result.references),
        "references_wrong": len(result.problems),
        "references_never_cited": len(result.never_cited),
        "references_twice": result.duplicates,
        "verdict": verdict,
        "passed": verdict == "passed",
    }


def list_findings(result: RecheckResult) -> dict[str, object]:
    """Return every statement with its verdict, and what else was found, as JSON values."""
    return {
        "statements_checked": [
            {
                "text": each.text,
                "line": each.line,
                "cited": list(each.cited),
                "found": [found.value for found in each.found],
                "support": each.support.value,
                "carried": each.carried,
                "judged_by": each.judged_by,
                "reasons": list(each.reasons),
                "failing": list(each.failing),
            }
            for each in result.statements
        ],
        "reference_problems": {str(number): problem for number, problem in result.problems.items()},
        "notices": {str(number): notice for number, notice in result.notices.items()},
        "changes": [{"line": each.line, "text": each.text, "added": each.added} for each in result.changes],
    }


def _print_summary(result: RecheckResult, *, bundled: bool) -> None:
    """Print the seal and the counts, then everything that does not hold, with the line and the reason."""
    from corrobora.reporting.references import CitationStatus  # noqa: PLC0415 - the engine is loaded where it is needed

    statuses = {found: result.count_status(found) for found in CitationStatus}
    fates = ", ".join(f"{count} {found.value.replace('_', ' ')}" for found, count in statuses.items() if count)
    if result.ours or result.run:
        changes = format_count(len(result.changes), "difference")
        seal = "bundled" if bundled and result.seal.value == "unknown_here" else result.seal.value
        click.echo(f"seal        {_SEALS[seal].format(run=result.run, changes=changes)}")
    click.echo(f"statements  {len(result.statements)}, {result.cited} cited (coverage {result.coverage:.0%})")
    click.echo(f"citations   {fates or 'none'}")
    checkable = format_count(result.checkable, "statement")
    click.echo(
        f"supported   {result.carried} of {checkable} that could be checked"
        if result.checkable
        else "supported   nothing could be checked"
    )
    for model, count in result.judges.items():
        click.echo(f"judged      {count} of these by {model} in the run: code alone leaves them open")
    if result.not_checkable:
        click.echo(f"not checked {result.not_checkable} of {result.cited}: their sources could not be looked up")
    if result.not_compared:
        what = "lines about the run (status, gaps, account, methodology)"
        why = "a bundle is checked without a database" if bundled else "the run is not stored here"
        click.echo(f"not checked {result.not_compared} {what}: not checkable, because {why}")
    if result.never_cited or result.duplicates:
        click.echo(f"references  {len(result.never_cited)} never cited, {result.duplicates} twice")
    for line in _describe_findings(result):
        click.echo(one_line(line, 500))


def _describe_findings(result: RecheckResult) -> list[str]:
    lines = [
        f"!  line {each.line}: {'not in' if each.added else 'left out of'} the delivered report: {each.text}"
        for each in result.changes[:_MOST_CHANGES]
    ]
    more = len(result.changes) - _MOST_CHANGES
    lines += [f"!  and {format_count(more, 'more difference')}"] if more > 0 else []
    lines += [f"!  reference [{number}]: {problem}" for number, problem in result.problems.items()]
    lines += [
        f"!  line {each.line}: [{', '.join(each.cited)}] {each.text}  ({_explain(each)})" for each in result.failed
    ]
    return [*lines, *(f"note: reference [{number}] says of itself: {text}" for number, text in result.notices.items())]


def _explain(each: CheckedStatement) -> str:
    fates = dict.fromkeys(describe_code(found) for found in each.found)
    lost = "quote_missing" in each.found  # the rest of the quotes does not show what is wrong with the sentence
    return ", ".join((*fates, each.support.value, *(() if lost else each.reasons)))


def _exit_code(result: RecheckResult, verdict: CheckVerdict, *, min_score: float | None) -> int:
    """Say why the report is not verified, and return the exit code of the verdict."""
    from corrobora.reporting.recheck import CheckVerdict  # noqa: PLC0415 - the engine is loaded where it is needed
    from corrobora.reporting.references import CitationStatus  # noqa: PLC0415 - as above

    match verdict:
        case CheckVerdict.PASSED:
            return Exit.DONE
        case CheckVerdict.FAILED:
            print_notice(_count_failures(result))
            return Exit.INCOMPLETE
        case CheckVerdict.BELOW_MIN_SCORE:
            share = result.carried / result.checkable if result.checkable else 0.0
            print_notice(f"The share {share:.2f} is below {min_score:.2f}.")
            return Exit.BELOW_THRESHOLD
        case CheckVerdict.NOTHING_CHECKABLE:
            why = "none of the cited sources is stored here. See: --sources, --fetch"
            print_notice(f"No cited statement can be checked: {why if result.cited else 'nothing is cited.'}")
        case CheckVerdict.SOURCE_NOT_STORED:
            blind = result.count_status(CitationStatus.NOT_STORED)
            why = "the source is not stored here, and nothing says that it exists. See: --sources, --fetch"
            print_notice(f"{format_count(blind, 'citation')} of this report: {why}")
        case CheckVerdict.PARTLY_CHECKED:
            unseen = format_count(
                result.not_checkable + result.not_compared, "statement or line", "statements and lines"
            )
            print_notice(f"--strict: {unseen} could not be checked.")
    return Exit.NO_EVIDENCE


def _count_failures(result: RecheckResult) -> str:
    parts = (
        (len(result.failed), "statement is not supported", "statements are not supported"),
        (len(result.problems), "reference is wrong", "references are wrong"),
        (len(result.changes), "difference from the delivered report", "differences from the delivered report"),
    )
    said = ", ".join(format_count(*each) for each in parts if each[0])
    return f"Not verified: {said or 'the seal is broken'}."
