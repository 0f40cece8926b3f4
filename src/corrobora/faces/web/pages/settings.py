"""Settings, never with a secret, and the checks of the installation.

Knows what `corrobora config list` and `corrobora doctor` print.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from corrobora.faces.cli.config import describe_settings
from corrobora.faces.cli.installation import check_installation
from corrobora.faces.web.context import (
    Opened,
    render_page,
)

router = APIRouter()


@router.get("/settings")
async def show_settings(request: Request, workspace: Opened) -> HTMLResponse:
    """Show each setting of this server: its value and where it comes from. A key is only `set` or `not set`."""
    return render_page(request, "settings.html", groups=group_settings(describe_settings(workspace.settings)))


def group_settings(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return settings by the first part of their names, those without one first."""
    groups: dict[str, list[tuple[str, str, str]]] = {"general": []}
    for row in rows:
        head, dot, _ = row[0].partition(".")
        groups.setdefault(head if dot else "general", []).append(row)
    return list(groups.items())


@router.get("/doctor")
async def show_doctor(request: Request, workspace: Opened) -> HTMLResponse:
    """Show what `corrobora doctor` finds."""
    return render_page(request, "doctor.html", checks=await check_installation(workspace.settings, workspace))
