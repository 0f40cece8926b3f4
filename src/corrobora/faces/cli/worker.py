"""`corrobora worker`: takes queued runs until it is told to leave, and logs each of them.

Knows the form of the log and how many runs it takes. Does not know how a run is worked on.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.faces.cli.logs import LOG_FORMS, LogForm, set_up_logs
from corrobora.faces.cli.options import config_option, open_settings, with_workspace

if TYPE_CHECKING:
    from corrobora.app import Workspace

_log = logging.getLogger("corrobora")


@click.command()
@click.option("--concurrency", metavar="N", help="Most runs at the same time.  [default: 16]")
@click.option(
    "--log", "form", type=click.Choice(LOG_FORMS), default="plain", show_default=True, help="Form of its log."
)
@config_option
def worker(concurrency: str | None, form: LogForm, config_file: Path | None) -> None:
    """Work on queued runs until SIGTERM or Ctrl-C; unfinished ones are taken over by another worker.

    Each run that begins and ends is a log line on stderr, plain or as one JSON object.
    """
    set_up_logs(level=logging.INFO, form=form)
    flags = {} if concurrency is None else {"worker.concurrency": (concurrency, "--concurrency")}
    settings = open_settings(config_file, flags)

    async def serve_runs(workspace: Workspace) -> None:
        from corrobora.app.attempts import serve_queue  # noqa: PLC0415

        _log.info("working on up to %d runs at once", settings.worker_concurrency)
        await serve_queue(workspace, concurrency=settings.worker_concurrency)

    with_workspace(settings, serve_runs)
