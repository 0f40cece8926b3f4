"""Settings, shown with their origins and never with a secret, and the checks of the installation."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from corrobora.faces.cli.config import describe_settings
from corrobora.faces.cli.installation import check_installation
from corrobora.faces.web.context import Opened, render_page

router = APIRouter()


@router.get("/settings")
async def show_settings(request: Request, workspace: Opened) -> HTMLResponse:
    """Show each setting of this server: its value and where it comes from. A key is only `set` or `not set`."""
    return render_page(request, "settings.html", rows=describe_settings(workspace.settings))


@router.get("/doctor")
async def show_doctor(request: Request, workspace: Opened) -> HTMLResponse:
    """Show what `corrobora doctor` finds."""
    return render_page(request, "doctor.html", checks=await check_installation(workspace.settings, workspace))
