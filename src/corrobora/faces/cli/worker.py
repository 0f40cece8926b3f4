"""`corrobora worker`: takes runs from the queue until it is told to stop.

Knows how many runs at once. Does not know how a run is done.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.faces.cli.options import config_option, open_settings
from corrobora.faces.cli.terminal import write_stderr
from corrobora.faces.cli.workspace import with_workspace

if TYPE_CHECKING:
    from corrobora.assembly import Workspace


@click.command()
@click.option("--concurrency", metavar="N", help="Runs at once.")
@config_option
def worker(concurrency: str | None, config_file: Path | None) -> None:
    """Work on queued runs until SIGTERM or Ctrl-C; unfinished ones are taken over by another worker."""
    flags = {} if concurrency is None else {"worker.concurrency": (concurrency, "--concurrency")}
    settings = open_settings(config_file, flags)

    async def serve_runs(workspace: Workspace) -> None:
        write_stderr(f"corrobora: working on up to {settings.worker_concurrency} runs at once")
        await workspace.serve_queue(concurrency=settings.worker_concurrency)

    with_workspace(settings, serve_runs)
