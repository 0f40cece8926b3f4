"""Exports of a stored run: its report in each format, its plots, and what else leaves the database with it.

Knows which stored values each format needs. Does not know how a format is written (`reporting` does) or where it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from corrobora.app.runs import load_report
from corrobora.domain.run import Event
from corrobora.reporting.plots import PlotKind, draw_plot
from corrobora.storage.journal.events import read_events

if TYPE_CHECKING:
    from corrobora.app import Workspace


async def list_events(workspace: Workspace, run: str) -> list[Event]:
    """Return all events of a run so far, in order."""
    found: list[Event] = []
    while page := await read_events(workspace.database, run, after=found[-1].seq if found else 0):
        found += page
    return found


async def plot_run(workspace: Workspace, run: str, kinds: Sequence[PlotKind]) -> dict[PlotKind, str]:
    """Return the plots of these kinds that have something to show, each as an SVG file of its own."""
    events, report = await list_events(workspace, run), await load_report(workspace, run)
    drawn = {kind: draw_plot(kind, events, report, standalone=True) for kind in kinds}
    return {kind: picture for kind, picture in drawn.items() if picture}
