"""A form that one of our own pages sent. Does not know what it asks for."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import FormData

from corrobora.faces.web.context import Allowed
from corrobora.faces.web.security import FORM_FIELD


class Form:
    """The fields of a form."""

    def __init__(self, data: FormData) -> None:
        self._data = data

    def text(self, name: str) -> str:
        """Return a text field without white space around it, "" if there is none."""
        value = self._data.get(name)
        return value.strip() if isinstance(value, str) else ""


async def read_form(request: Request, access: Allowed) -> Form:
    """Read the form of a request. Raises `UserError` `form_stale` if no page of this server sent it."""
    form = Form(await request.form(max_files=0, max_fields=100))
    access.check_form_token(request.scope, form.text(FORM_FIELD))
    return form


SentForm = Annotated[Form, Depends(read_form)]
