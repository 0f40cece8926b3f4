"""The server: the page, the HTTP API and what is compatible with another service, over one workspace of this process.

Knows which parts there are, in which order a request passes them, and that the process works on the runs that it
submits. Has no research logic: everything is asked of `service`. Needs the extra `serve`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.staticfiles import StaticFiles

from corrobora import __version__
from corrobora.config import Settings
from corrobora.faces.refusals import PROBLEM_TYPE, Problem
from corrobora.faces.web import api, openai, pages, reader
from corrobora.faces.web.context import add_error_handlers
from corrobora.faces.web.pages.login import refuse_browser
from corrobora.faces.web.security import Access, SecurityMiddleware, Token, Traffic, default_hosts, read_server_secret
from corrobora.faces.web.service import open_service

DEFAULT_PORT = 8765
STATIC = Path(str(resources.files(__name__))) / "static"


def create_app(
    settings: Settings,
    *,
    tokens: Sequence[Token] = (),
    allowed_hosts: Sequence[str] = (),
    work: bool = True,
) -> FastAPI:
    """Return the application of one server.

    Args:
        settings: those of the process; requests can change what a command line could, but no server, key or path.
        tokens: what callers must show, and what each lets them do; without any, every caller may do everything, which
            only a server at a loopback address may allow.
        allowed_hosts: the exact values of the header Host that are answered, as `name:port`; by default those of the
            usual loopback address.
        work: whether this process works on queued runs; without, `corrobora worker` must run beside it.
    """
    access = Access(
        tokens=tuple(tokens),
        hosts=tuple(allowed_hosts) or default_hosts("127.0.0.1", DEFAULT_PORT),
        secret=read_server_secret(settings.home),
        ended=settings.home / "ended-logins",
    )

    @asynccontextmanager
    async def hold_workspace(app: FastAPI) -> AsyncGenerator[None]:
        async with open_service(settings, work=work) as workspace:
            app.state.workspace = workspace
            yield

    app = FastAPI(
        title="Corrobora",
        version=__version__,
        lifespan=hold_workspace,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # they load scripts from another host
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    app.state.access, app.state.traffic = access, Traffic()
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for part in (api, openai, reader, pages):  # where two have the same path, the first counts
        app.include_router(part.router)
    add_error_handlers(app)
    app.openapi = partial(build_openapi, app)
    app.add_middleware(SecurityMiddleware, access=access, traffic=app.state.traffic, refuse=refuse_browser)
    return app


_PATHS = ("/api/v1", "/healthz", "/readyz", "/metrics")
_PROBLEMS = {
    400: "The request cannot be read.",
    401: "A token is missing.",
    403: "The token does not allow it, or a page of another site sent the request.",
    404: "There is no such resource.",
    405: "The path does not support this method.",
    409: "The state of the run does not allow it, or a person must decide first.",
    413: "The body is too large.",
    421: "The server does not answer for this host.",
    422: "A value of the request cannot be used; nothing was stored and nothing was charged.",
    429: "A limit was reached.",
    500: "A bug.",
    502: "A provider failed.",
    503: "The database does not answer.",
}
_ABOUT = (
    "Start research, follow it, and read every piece of evidence behind a report. Errors are problem documents "
    "(RFC 9457) with stable codes. Where the server has tokens, send one as `Authorization: Bearer TOKEN`."
)


def build_openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the API, built once."""
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(title="Corrobora", version=app.version, description=_ABOUT, routes=app.routes)
    document["paths"] = {path: each for path, each in document["paths"].items() if path.startswith(_PATHS)}
    schemas: dict[str, Any] = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    schemas["Problem"] = Problem.model_json_schema()
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"token": []}]
    reference = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operations in document["paths"].values():
        for operation in operations.values():
            answers = operation["responses"]
            answers.pop("422", None)
            for status, about in _PROBLEMS.items():
                if str(status) not in answers:
                    answers[str(status)] = {"description": about, "content": reference}
    app.openapi_schema = document
    return document
