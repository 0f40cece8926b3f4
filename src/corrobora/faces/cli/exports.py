"""What a run gives out besides its report: `corrobora export`, `plot`, `schema` and `source`.

Knows flags, formats, the names of files and how a passage is printed. Does not render exports: stored files and
`app.exports` do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.domain.errors import NoEvidence, UserError
from corrobora.faces.cli import FILE_PATH
from corrobora.faces.cli.options import (
    GroupedCommand,
    add_options,
    complete_names,
    config_option,
    json_option,
    open_settings,
    print_json,
    print_text,
    run_argument,
    with_workspace,
)
from corrobora.faces.cli.report import check_target, take_output
from corrobora.faces.cli.screen import one_line
from corrobora.reporting.report_format import REPORT_FILES

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.app.exports import PassageReference, StoredQuote
    from corrobora.domain.evidence import Source
    from corrobora.domain.report import CitedPassage
    from corrobora.reporting.plots import PlotKind

EXPORT_FILES = {  # by format
    **REPORT_FILES,
    "docx": "report.docx",
    "pdf": "report.pdf",
    "csl": "references.csl.json",
    "bib": "references.bib",
    "ris": "references.ris",
    "bundle": "bundle.zip",
}
_BINARY = ("docx", "pdf", "bundle")
_PLOTS = ("coverage", "saturation", "publishers", "dates", "spend", "timeline")


def _take_target(context: click.Context, parameter: click.Parameter, given: tuple[Path, ...]) -> Path:
    return take_output(context, parameter, given) or Path()


_target_options = add_options(
    click.option(
        "-o",
        "--output",
        type=FILE_PATH,
        multiple=True,
        callback=_take_target,
        help="File, folder, or - for stdout.",
        metavar="PATH",
    ),
    click.option("--force", is_flag=True, help="Replace files."),
    click.option("--follow-symlinks", is_flag=True, help="Write through a symbolic link."),
)


@click.command(cls=GroupedCommand, example="corrobora export last --format pdf,bib -o out")
@run_argument
@click.option(
    "-f",
    "--format",
    "formats",
    multiple=True,
    metavar="NAME,..",
    shell_complete=complete_names(lambda: EXPORT_FILES, joined=True),
    help=f"Formats, with commas; repeatable.  [default: that of the file, or {','.join(REPORT_FILES)}]",
)
@_target_options
@config_option
def export(  # noqa: PLR0913 - one parameter for each flag, all by name
    *, run: str, formats: tuple[str, ...], output: Path, force: bool, follow_symlinks: bool, config_file: Path | None
) -> None:
    """Write the report of a run in one or several formats.

    md, html and json are the report as it was delivered; docx and pdf the same text (they need the extra
    corrobora[export]); csl, bib and ris its sources for a reference manager (CSL-JSON, BibTeX, RIS); bundle is one file
    that `corrobora verify` checks anywhere.
    """
    named = next((each for each, name in EXPORT_FILES.items() if Path(name).suffix == output.suffix.lower()), "")
    wanted = _split_names(formats or ([named] if named else [*REPORT_FILES]), EXPORT_FILES, "format")
    first, names = wanted[0], {each: EXPORT_FILES[each] for each in wanted}
    target = None if str(output) == "-" else check_target(output, names, force=force, follow=follow_symlinks)
    if target is None and len(wanted) > 1:
        raise UserError(
            "export_format", "Stdout can take only one format.", next_step="Such as: --format md --output -"
        )
    if target is None and first in _BINARY:
        raise UserError("export_format", f"{first} is not a text format.", next_step="Name a file or folder with -o.")

    async def load_contents(workspace: Workspace) -> dict[str, bytes]:
        from corrobora.app.exports import export_run  # noqa: PLC0415 - the engine is loaded where it is needed
        from corrobora.app.followups import find_reported  # noqa: PLC0415 - as above

        name = await find_reported(workspace, run)
        return await export_run(workspace, name, wanted if target is None else [*target.files.values()])

    contents = with_workspace(open_settings(config_file), load_contents)
    if target is None:
        print_text(contents[first].decode("utf-8", "replace"))
        return
    for path in target.write(contents):
        click.echo(str(path))


def _split_names(given: Sequence[str], known: Sequence[str] | Mapping[str, str], flag: str) -> tuple[str, ...]:
    """Return the names of lists with commas. Raises `UserError` for one that is not known."""
    text = ",".join(given)
    wanted = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    strange = [part for part in wanted if part not in known]
    if strange or not wanted:
        raise UserError(
            f"export_{flag}",
            f"--{flag} {text!r}: {strange[0] if strange else 'nothing'!r} is not a {flag}.",
            next_step=f"{flag.capitalize()}s: {', '.join(known)}.",
        )
    return wanted


@click.command(cls=GroupedCommand, example="corrobora plot last --kind timeline -o time.svg")
@run_argument
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="NAME,..",
    shell_complete=complete_names(lambda: _PLOTS, joined=True),
    default=(",".join(_PLOTS),),
    show_default=True,
    help="Plots, with commas; repeatable.",
)
@_target_options
@config_option
def plot(  # noqa: PLR0913 - one parameter for each flag, all by name
    *, run: str, kinds: tuple[str, ...], output: Path, force: bool, follow_symlinks: bool, config_file: Path | None
) -> None:
    """Draw a run as SVG pictures: coverage, saturation, publishers and dates of sources, spend, time line.

    Plots without data are left out. Coverage, saturation and time line also show a run that is still running.
    """
    wanted = _split_names(kinds, _PLOTS, "kind")
    names = {each: f"plot-{each}.svg" for each in wanted}
    if str(output) == "-" and len(wanted) > 1:
        raise UserError("export_kind", "Stdout takes one plot.", next_step="Such as: --kind coverage --output -")
    if output.suffix and not output.is_dir() and len(wanted) > 1:
        raise UserError("export_kind", f"{str(output)!r} takes one plot.", next_step="Name a folder, or one --kind.")
    target = None if str(output) == "-" else check_target(output, names, force=force, follow=follow_symlinks)

    async def draw(workspace: Workspace) -> Mapping[PlotKind, str]:
        from corrobora.app.exports import plot_run  # noqa: PLC0415 - the engine is loaded where it is needed
        from corrobora.reporting.plots import PlotKind  # noqa: PLC0415 - as above

        name = await workspace.runs.get(await workspace.runs.find_id(run))
        drawn = await plot_run(workspace, name.id, [PlotKind(each) for each in wanted])
        if not drawn:
            raise NoEvidence("plot_empty", f"The run {name.id} has nothing to show in: {', '.join(wanted)}.")
        return drawn

    drawn = with_workspace(open_settings(config_file), draw)
    if target is None:
        print_text(next(iter(drawn.values())))
        return
    for path in target.write({str(kind): picture for kind, picture in drawn.items()}):
        click.echo(str(path))


@click.command(cls=GroupedCommand, example="corrobora schema report > report.schema.json")
@click.argument("name", type=click.Choice(["report", "events", "plan"]))
def schema(name: str) -> None:
    """Print the JSON Schema (2020-12) of report.json, of one event of the log, or of a plan."""
    from corrobora.reporting.schemas import build_schema  # noqa: PLC0415 - builds the types of all values

    print_json(build_schema(name))


_MARKS = ("»", "«")


@dataclass(frozen=True, slots=True)
class _Found:
    source: Source
    passages: Sequence[CitedPassage]
    quotes: Sequence[StoredQuote]


@click.command(cls=GroupedCommand, name="source", example="corrobora source last S186:C4575")
@click.argument("names", nargs=-1, required=True, metavar="[RUN] SOURCE")
@json_option
@config_option
def source(*, names: tuple[str, ...], as_json: bool, config_file: Path | None) -> None:
    """Print a stored passage between its neighbours, with its quotes marked.

    SOURCE is what stands behind a reference of a report: S186:C4575, or S186 for its first passages. With a RUN, its id
    or `last`, the quotes of this run's report are marked, else those of all runs.
    """
    from corrobora.app.exports import parse_reference  # noqa: PLC0415 - `--help` must not load the engine

    if len(names) > 2:  # noqa: PLR2004 - a run and a source
        raise click.UsageError("Name one run and one source, such as: corrobora source last S186:C4575")
    wanted = parse_reference(names[len(names) - 1])

    async def read_stored(workspace: Workspace) -> _Found:
        return await _read(workspace, names[0] if len(names) > 1 else "", wanted)

    found = with_workspace(open_settings(config_file), read_stored)
    if as_json:
        print_json(
            {
                "source": dataclasses.asdict(found.source),
                "passages": [dataclasses.asdict(each) for each in found.passages],
                "quotes": [dataclasses.asdict(each) for each in found.quotes],
            }
        )
        return
    print_text(_render(found, wanted))


async def _read(workspace: Workspace, run: str, wanted: PassageReference) -> _Found:
    from corrobora.app.exports import (  # noqa: PLC0415 - as above
        StoredQuote,
        list_quotes,
        read_source,
        select_passages,
    )
    from corrobora.app.followups import find_reported, require_report  # noqa: PLC0415 - `--help` must not load the engine

    stored = await read_source(workspace, wanted.source)
    passages = select_passages(stored, wanted)
    if not run:
        return _Found(stored.source, passages, await list_quotes(workspace, stored))
    report = await require_report(workspace, await find_reported(workspace, run))
    taken = {
        StoredQuote(each.fact, each.start, each.end)
        for marker in report.evidence
        for each in marker.quotes
        if each.source == wanted.source
    }
    if not any(each.source == wanted.source for each in report.citations):
        raise UserError(
            "source_not_cited",
            f"The report of this run does not cite {wanted.source}.",
            next_step=f"Without a run: corrobora source {names_of(wanted)}",
        )
    return _Found(stored.source, passages, sorted(taken, key=lambda each: each.start))


def names_of(wanted: PassageReference) -> str:
    """Return a reference as a person writes it."""
    return f"{wanted.source}:{wanted.passage}" if wanted.passage else wanted.source


def _render(found: _Found, wanted: PassageReference) -> str:
    """Return the passages as plain text; quotes are between » and «."""
    from corrobora.reporting.cards import mark_spans  # noqa: PLC0415 - `--help` must not load the engine

    held = found.source
    said = ", ".join(each for each in (held.version, held.published, held.publisher) if each)
    lines = [one_line(held.title, 300), *([one_line(said, 300)] if said else []), held.url, f"sha256:{held.snapshot}"]
    for each in found.passages:
        name = f"{each.source}:{each.passage}, characters {each.start}-{each.end}"
        head = f"{name}, {one_line(each.place, 200)}" if each.place else name
        spans = [
            (max(0, quote.start - each.start), min(len(each.text), quote.end - each.start))
            for quote in found.quotes
            if quote.start < each.end and quote.end > each.start
        ]
        text = "".join(
            f"{_MARKS[0]}{part.text}{_MARKS[1]}" if part.quote else part.text for part in mark_spans(each.text, spans)
        )
        lines += ["", f"{'==' if each.passage == wanted.passage else '--'} {head}", "", text.strip("\n")]
    return "\n".join(lines)
