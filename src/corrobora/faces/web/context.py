"""What a request handler asks of the application: its workspace, its templates, forms and CSRF tokens.

Knows where the application keeps them. Does not know any page.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import FormData, UploadFile

from corrobora import __version__
from corrobora.app import Workspace
from corrobora.faces.cli.screen import one_line
from corrobora.faces.event_text import format_clock
from corrobora.faces.refusals import choose_next_step
from corrobora.faces.web.security import FORM_FIELD, Access
from corrobora.reporting.bibliography import name_section
from corrobora.text.phrases import describe_code, format_count

_TEMPLATES = Path(__file__).parent / "templates"
_SHARED = Path(str(resources.files("corrobora.reporting"))) / "templates"  # of exported pages
_HIT_CHARS = 3  # a shorter word of a search is not marked


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
    environment = Environment(
        loader=FileSystemLoader([_TEMPLATES, _SHARED]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    filters = {
        "one_line": one_line,
        "next_step": partial(choose_next_step, face="page"),
        "words": _describe_code,
        "clock": format_clock,
        "arrows": _set_arrows,
        "counted": format_count,
        "split_hits": split_hits,
        "section": name_section,
    }
    environment.filters.update(filters)  # pyright: ignore[reportUnknownMemberType] - not typed there
    return environment


def _describe_code(code: str) -> str:
    """Return a stored code in words, with a capital letter."""
    text = describe_code(code)
    return text[:1].upper() + text[1:]


def _set_arrows(text: str) -> str:
    """Return what differs with an arrow between its sides."""
    return text.replace(" -> ", " → ")


def split_hits(text: str, words: str) -> list[tuple[str, bool]]:
    """Return a text in pieces, each with whether it is one of the words that were searched."""
    wanted = [re.escape(each) for each in words.split() if len(each) >= _HIT_CHARS]
    pieces = re.split(f"({'|'.join(wanted)})", text, flags=re.IGNORECASE) if wanted else [text]
    return [(piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece]


def render_page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template as a page; it knows `request`, `csrf` (for forms), `version` and `signed_in` too."""
    text, access = load_templates().get_template(template), get_access(request)
    shown = text.render(
        request=request,
        csrf=access.make_form_token(request.scope),
        version=__version__,
        signed_in=bool(access.tokens) and access.identify(request.scope) is not None,
        **values,
    )
    return HTMLResponse(shown, status_code=status)


_MAX_FILES = 200
_MAX_FIELDS = 5_000  # a plan has three of each node


class Form:
    """The fields of a form that one of our own pages sent."""

    def __init__(self, data: FormData) -> None:
        self._data = data

    def text(self, name: str, default: str = "") -> str:
        """Return a text field without white space around it."""
        value = self._data.get(name)
        return value.strip() if isinstance(value, str) else default

    def texts(self, name: str) -> Sequence[str]:
        """Return all values of a field that may be given several times."""
        return [value for value in self._data.getlist(name) if isinstance(value, str)]

    def files(self, name: str) -> Sequence[UploadFile]:
        """Return the files of a field; a field without a file has none."""
        return [value for value in self._data.getlist(name) if isinstance(value, UploadFile) and value.filename]

    def texts_after(self, prefix: str) -> Mapping[str, str]:
        """Return the text fields whose names begin with a prefix, by the rest of their names."""
        pairs = ((name, value) for name, value in self._data.multi_items() if name.startswith(prefix))
        return {name.removeprefix(prefix): value for name, value in pairs if isinstance(value, str)}


async def read_form(request: Request, access: Allowed) -> AsyncGenerator[Form]:
    """Read the form of a request. Raises `UserError` `form_stale` if no page of this server sent it."""
    async with request.form(max_files=_MAX_FILES, max_fields=_MAX_FIELDS) as data:
        given = data.get(FORM_FIELD)
        access.check_form_token(request.scope, given if isinstance(given, str) else "")
        yield Form(data)


SentForm = Annotated[Form, Depends(read_form)]


def go_to(path: str) -> RedirectResponse:
    """Answer a form with the page to show next, so that a reload does not send it again."""
    return RedirectResponse(path, status_code=303)
