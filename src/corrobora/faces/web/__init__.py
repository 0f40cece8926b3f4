"""The server: the page, the HTTP API and what speaks like another service, over one workspace of this process.

Knows which parts there are, in which order a request passes them, and that the process works on the runs that it
submits. Has no research logic: everything is asked of `service`. Needs the extra `serve`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from pathlib import Path

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from corrobora import __version__
from corrobora.config import Settings
from corrobora.faces.web.errors import add_error_handlers
from corrobora.faces.web.openapi import build_openapi
from corrobora.faces.web.routers import list_routers
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
    for router in list_routers():
        app.include_router(router)
    add_error_handlers(app)
    app.openapi = partial(build_openapi, app)
    app.add_middleware(SecurityMiddleware, access=access, traffic=app.state.traffic)
    return app
