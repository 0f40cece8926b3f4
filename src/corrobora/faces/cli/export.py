"""`corrobora export`: the report of a run as files.

Knows formats and targets. Does not render: the stored files of the run are the report.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.domain.errors import NoEvidence, UserError
from corrobora.faces.cli.options import config_option, open_settings, print_text
from corrobora.faces.cli.target import check_target
from corrobora.faces.cli.workspace import check_run_id, with_workspace

if TYPE_CHECKING:
    from corrobora.assembly import Workspace

_EXPORT_FORMATS = ("md", "html", "json")


@click.command()
@click.argument("run")
@click.option("-f", "--format", "formats", default="md,html,json", show_default=True, help="Formats, with commas.")
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
    name = check_run_id(run)
    wanted = tuple(part.strip() for part in formats.split(",") if part.strip())
    strange = [part for part in wanted if part not in _EXPORT_FORMATS]
    if strange or not wanted:
        raise UserError(
            "export_format",
            f"--format {formats!r}: {strange[0] if strange else 'nothing'!r} is no format.",
            next_step=f"Formats: {', '.join(_EXPORT_FORMATS)}.",
        )
    target = None if str(output) == "-" else check_target(output, wanted, force=force, follow=follow_symlinks)
    first = wanted[0]
    if target is None and len(wanted) > 1:
        raise UserError("export_format", "Stdout takes one format.", next_step="Such as: --format md --output -")

    async def load_texts(workspace: Workspace) -> dict[str, str]:
        await workspace.runs.get(name)
        texts: dict[str, str] = {}
        for form in set(wanted if target is None else target.files.values()):
            stored = await workspace.runs.read_artifact(name, f"report.{form}")
            if stored is not None:
                texts[form] = stored.content.decode("utf-8", "replace")
        return texts

    texts = with_workspace(open_settings(config_file), load_texts)
    if not texts:
        raise NoEvidence(
            "report_missing", f"The run {name} has no report.", next_step=f"See: corrobora runs show {name}"
        )
    if target is None:
        print_text(texts[first])
        return
    for path in target.write(texts):
        click.echo(str(path))
