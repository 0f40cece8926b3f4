"""`corrobora runs compare`: what one run found that another did not, as text or JSON.

Knows how a comparison is printed. Does not compare: `app.followups` does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.domain.run import validate_id
from corrobora.faces.cli.options import (
    config_option,
    json_option,
    open_settings,
    print_json,
    print_text,
    with_workspace,
)

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.reporting.comparison import Comparison


@click.command(name="compare")
@click.argument("before")
@click.argument("after")
@json_option
@config_option
def compare(*, before: str, after: str, as_json: bool, config_file: Path | None) -> None:
    """Compare the reports of two runs: what is new, changed, gone and the same.

    Statements are compared by what they say; wording, order and copies are no change.
    """
    for each in (before, after):
        validate_id(each)

    async def compare_stored(workspace: Workspace) -> Comparison:
        from corrobora.app.followups import compare_runs  # noqa: PLC0415 - `--help` must not load the engine

        return await compare_runs(workspace, before, after)

    found = with_workspace(open_settings(config_file), compare_stored)
    from corrobora.reporting.comparison import dump_comparison, render_comparison  # noqa: PLC0415 - as above

    if as_json:
        print_json(dump_comparison(found))
    else:
        print_text(render_comparison(found))
