"""What a request handler asks of the application: workspace, templates, forms, CSRF tokens, and errors as answers.

Knows where the application keeps them, and who gets an error as a problem document (RFC 9457) or in another form.
Codes, texts and statuses are those of `domain.errors`. Does not know any page.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.routing import Match

from corrobora import __version__
from corrobora.app import Workspace
from corrobora.domain.errors import CorroboraError, LimitReached, ProviderError, UserError
from corrobora.faces.cli.screen import one_line
from corrobora.faces.event_text import format_clock
from corrobora.faces.refusals import PROBLEM_TYPE, Problem, choose_next_step, describe_fault, make_problem
from corrobora.faces.web.security import FORM_FIELD, Access
from corrobora.roles.edit import cut_common_words
from corrobora.roles.forms import name_section
from corrobora.text.phrases import describe_code, describe_stop, format_count

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
        "capital": _begin_with_capital,
        "stop": describe_stop,
        "clock": format_clock,
        "arrows": _set_arrows,
        "counted": format_count,
        "split_hits": split_hits,
        "section": name_section,
        "differing": _cut_change,
    }
    environment.filters.update(filters)  # pyright: ignore[reportUnknownMemberType] - not typed there
    return environment


def _cut_change(change: Mapping[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    return cut_common_words(change["before"], change["after"])


def _describe_code(code: str) -> str:
    """Return a stored code in words, with a capital letter."""
    return _begin_with_capital(describe_code(code))


def _begin_with_capital(text: str) -> str:
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
    frame = {
        "request": request,
        "csrf": access.make_form_token(access.read_cookie(request.scope)),
        "version": __version__,
        "signed_in": bool(access.tokens) and access.identify(request.scope) is not None,
    }
    shown = text.render(frame | values)
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


def keep_fields(data: FormData) -> list[tuple[str, str]]:
    """Return what a person chose and typed in a form, without its files and its token."""
    return [(name, text) for name, text in data.multi_items() if isinstance(text, str) and name != FORM_FIELD]


async def read_form(request: Request, access: Allowed) -> AsyncGenerator[Form]:
    """Read the form of a request. Raises `UserError` `form_stale` if no page of this server sent it."""
    async with request.form(max_files=_MAX_FILES, max_fields=_MAX_FIELDS) as data:
        given = data.get(FORM_FIELD)
        request.state.sent = keep_fields(data)  # shown again if it is refused
        access.check_form_token(request.scope, given if isinstance(given, str) else "")
        yield Form(data)


SentForm = Annotated[Form, Depends(read_form)]


def go_to(path: str) -> RedirectResponse:
    """Answer a form with the page to show next, so that a reload does not send it again."""
    return RedirectResponse(path, status_code=303)


def keep_here(path: str) -> str:
    """Return a path of this server as it is, and the start page in place of any other address."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/"


log = logging.getLogger("corrobora")
_NOT_FOUND = frozenset(  # codes of bad input that name something which does not exist
    {
        "run_unknown",
        "library_unknown",
        "document_unknown",
        "source_unknown",
        "dialogue_unknown",
        "schedule_unknown",
        "unknown_profile",
        "passage_unknown",
        "source_not_cited",
        "edit_version",
    }
)
_CONFLICT = frozenset(
    {
        "run_busy",
        "run_active",
        "run_exists",
        "not_paused",
        "not_waiting",
        "edit_not_waiting",
        "run_ended",
        "not_running",
    }
)


class FieldError(UserError):
    """A field of a form that cannot be used."""

    def __init__(self, field: str, message: str, *, next_step: str = "") -> None:
        super().__init__("form_field", message, next_step=next_step)
        self.field = field


_HTTP_CODES = {400: "body_unreadable", 404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}
_BROKEN = "The body cannot be read: it is broken, nested too deeply, or holds a number that is too long."


def describe_error(error: CorroboraError) -> Problem:
    """Return an expected error as a problem."""
    status = 404 if error.code in _NOT_FOUND else 409 if error.code in _CONFLICT else error.http_status
    more: dict[str, Any] = {}
    if isinstance(error, LimitReached):
        more["limit"] = error.limit
    if isinstance(error, ProviderError):
        more["provider"] = error.provider
    return make_problem(error.code, error.message, status, next_step=choose_next_step(error, "api"), **more)


def describe_invalid(error: RequestValidationError) -> Problem:
    """Return what is wrong with a request of the wrong shape: its first fault."""
    where, fault = describe_fault(error.errors())
    title = f"{where}: {fault}."
    step = "The shapes: /api/v1/openapi.json"
    return make_problem("request_invalid", title, 422, next_step=step, field=where)


Renderer = Callable[[Request, Problem], Response]


def render_problem(request: Request, problem: Problem) -> Response:  # noqa: ARG001 - one signature
    """Return a problem document."""
    return JSONResponse(problem.model_dump(exclude_defaults=True), problem.status, media_type=PROBLEM_TYPE)


RENDERERS: dict[str, Renderer] = {  # by the beginning of the path; a part with a form of its own adds it here
    "/": render_problem
}


def respond_with(request: Request, problem: Problem) -> Response:
    """Return a problem in the form of the part that was asked."""
    path = request.url.path
    longest = max((start for start in RENDERERS if path.startswith(start)), key=len)
    return RENDERERS[longest](request, problem)


def _list_methods(request: Request) -> list[str]:
    """Return all methods of a path: each route of it knows its own alone."""
    routes = request.app.routes
    scopes = {method: {**request.scope, "method": method} for method in ("DELETE", "GET", "HEAD", "POST", "PUT")}
    scopes["HEAD"] = scopes["GET"]
    return [name for name, scope in scopes.items() if any(each.matches(scope)[0] is Match.FULL for each in routes)]


def add_error_handlers(app: FastAPI) -> None:
    """Let every error of the application be answered as a problem."""

    async def answer_expected(request: Request, error: Exception) -> Response:
        assert isinstance(error, CorroboraError)
        return respond_with(request, describe_error(error))

    async def answer_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return respond_with(request, describe_invalid(error))

    async def answer_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = _HTTP_CODES.get(error.status_code, f"http_{error.status_code}")
        step = "The pages begin at /; the API is described at /api/v1/openapi.json." if code == "not_found" else ""
        title = _BROKEN if error.detail.startswith("There was an error parsing") else f"{error.detail.rstrip('.')}."
        found = make_problem(code, title, error.status_code, next_step=step)
        answer = respond_with(request, found)
        answer.headers.update(error.headers or {})
        if code == "method_not_allowed":
            answer.headers["Allow"] = ", ".join(_list_methods(request))
        return answer

    async def answer_bug(request: Request, error: Exception) -> Response:
        log.error("a bug while answering %s %s", request.method, request.url.path, exc_info=error)
        step = "Finished work is saved. The log of the server has the details."
        return respond_with(request, make_problem("bug", f"A bug: {type(error).__name__}.", 500, next_step=step))

    app.add_exception_handler(CorroboraError, answer_expected)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_exception_handler(HTTPException, answer_http)
    app.add_exception_handler(Exception, answer_bug)
