"""Forms of the page: read with their token, and answered with the page to go to next.

Knows where a form came from. Does not know what a form asks for.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile

from corrobora.faces.web.context import Allowed
from corrobora.faces.web.security import FORM_FIELD

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
