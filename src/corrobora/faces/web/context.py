"""What a request handler asks of the application: its workspace, its templates, and the CSRF token of its caller.

Knows where the application keeps them. Does not know any page.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from corrobora import __version__
from corrobora.app import Workspace
from corrobora.faces.web.security import Access

_TEMPLATES = Path(__file__).parent / "templates"
_SHARED = Path(str(resources.files("corrobora.reporting"))) / "templates"  # of exported pages


def get_workspace(request: Request) -> Workspace:
    """Return the workspace of the process."""
    return request.app.state.workspace


def get_access(request: Request) -> Access:
    """Return who may do what on this server."""
    return request.app.state.access


Opened = Annotated[Workspace, Depends(get_workspace)]
Allowed = Annotated[Access, Depends(get_access)]


@cache
def load_templates() -> Environment:
    """Return the templates of the page; every value is escaped, and a missing one is an error."""
    return Environment(
        loader=FileSystemLoader([_TEMPLATES, _SHARED]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )


def render_page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template as a page; it knows `request`, `csrf` (for forms) and `version` beside the given values."""
    text = load_templates().get_template(template)
    shown = text.render(
        request=request, csrf=get_access(request).make_form_token(request.scope), version=__version__, **values
    )
    return HTMLResponse(shown, status_code=status)
