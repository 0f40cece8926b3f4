"""The command `runs resend`: the end of a run is told to its webhook once more.

Knows the command and its messages. Does not know how a webhook is sent: a server or worker with the key does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corrobora.domain.run import validate_id
from corrobora.faces.cli.options import config_option, open_settings, with_workspace
from corrobora.text.phrases import format_count

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.storage.queue.webhooks import WebhookRecord


@click.command(name="resend")
@click.argument("run")
@click.argument("delivery", required=False, default="")
@config_option
def resend_webhook(run: str, delivery: str, config_file: Path | None) -> None:
    """Tell the end of a run to its webhook once more, under the same id.

    DELIVERY is an id that `runs show` prints; without it, it is the last end of the run. `serve` or `worker` sends it.
    """
    validate_id(run)

    async def send_again(workspace: Workspace) -> WebhookRecord:
        from corrobora.app.webhooks import send_webhook_again  # noqa: PLC0415 - only here

        return await send_webhook_again(workspace, await workspace.runs.find_id(run), delivery)

    sent = with_workspace(open_settings(config_file), send_again)
    click.echo(f"{sent.id} is due now; a running `corrobora serve` or `worker` with WEBHOOK_SECRET sends it")


def describe_delivery(webhook: Mapping[str, Any]) -> str:
    """Say what became of a delivery in one line, with its id."""
    tries, state = webhook["attempts"], str(webhook["state"]).replace("_", " ")
    last = f", last {tries[-1]['result'] or 'without a result'}" if tries else ""
    due = f", next {webhook['next_at'][:19].replace('T', ' ')} UTC" if webhook["next_at"] else ""
    return f"{state} ({format_count(len(tries), 'attempt')}{last}{due}), id {webhook['id']}"
