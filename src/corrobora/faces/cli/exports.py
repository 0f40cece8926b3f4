"""What leaves a run for other programs: `corrobora export`, `corrobora plot` and `corrobora schema`.

Knows flags, formats and the names of files. Does not render: stored files and `app.exports` do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.domain.errors import NoEvidence, UserError
from corrobora.domain.run import validate_id
from corrobora.faces.cli.options import config_option, open_settings, print_json, print_text, with_workspace
from corrobora.faces.cli.report import check_target
from corrobora.reporting.report_format import REPORT_FILES

if TYPE_CHECKING:
    from corrobora.app import Workspace
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
_output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path(),
    help="File, folder, or - for stdout.",
    metavar="PATH",
)
_force_option = click.option("--force", is_flag=True, help="Replace files.")
_link_option = click.option("--follow-symlinks", is_flag=True, help="Write through a symbolic link.")


@click.command()
@click.argument("run")
@click.option(
    "-f", "--format", "formats", default=",".join(REPORT_FILES), show_default=True, help="Formats, with commas."
)
@_output_option
@_force_option
@_link_option
@config_option
def export(  # noqa: PLR0913 - one parameter for each flag, all by name
    *, run: str, formats: str, output: Path, force: bool, follow_symlinks: bool, config_file: Path | None
) -> None:
    """Write the report of a run in one or several formats.

    md, html and json are the report as it was delivered; docx and pdf the same text (they need the extra
    corrobora[export]); csl, bib and ris its sources for a reference manager (CSL-JSON, BibTeX, RIS); bundle is one file
    that `corrobora verify` checks anywhere.
    """
    validate_id(run)
    wanted = _split_names(formats, EXPORT_FILES, "format")
    first, names = wanted[0], {each: EXPORT_FILES[each] for each in wanted}
    target = None if str(output) == "-" else check_target(output, names, force=force, follow=follow_symlinks)
    if target is None and len(wanted) > 1:
        raise UserError("export_format", "Stdout takes one format.", next_step="Such as: --format md --output -")

    if target is None and first in _BINARY:
        raise UserError("export_format", f"{first} is no text.", next_step="Name a file or folder with -o.")

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


def _split_names(text: str, known: Sequence[str] | Mapping[str, str], flag: str) -> tuple[str, ...]:
    """Return the names of a list with commas. Raises `UserError` for one that is not known."""
    wanted = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    strange = [part for part in wanted if part not in known]
    if strange or not wanted:
        raise UserError(
            f"export_{flag}",
            f"--{flag} {text!r}: {strange[0] if strange else 'nothing'!r} is no {flag}.",
            next_step=f"{flag.capitalize()}s: {', '.join(known)}.",
        )
    return wanted


@click.command()
@click.argument("run")
@click.option("--kind", "kinds", default=",".join(_PLOTS), show_default=True, help="Plots, with commas.")
@_output_option
@_force_option
@_link_option
@config_option
def plot(  # noqa: PLR0913 - one parameter for each flag, all by name
    *, run: str, kinds: str, output: Path, force: bool, follow_symlinks: bool, config_file: Path | None
) -> None:
    """Draw a run as SVG pictures: coverage, saturation, publishers and dates of sources, spend, time line.

    A plot that has nothing to show is left out. Coverage, saturation and time line also show a run that still works.
    """
    validate_id(run)
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


@click.command()
@click.argument("name", type=click.Choice(["report", "events", "plan"]))
def schema(name: str) -> None:
    """Print the JSON Schema (2020-12) of report.json, of one event of the log, or of a plan."""
    from corrobora.reporting.schemas import build_schema  # noqa: PLC0415 - builds the types of all values

    print_json(build_schema(name))
