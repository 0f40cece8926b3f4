"""The working screens of the page: start, dialogue, plan, live run, runs, libraries, settings, doctor and login.

Each is a plain page that needs no script; forms carry a token, and every text is escaped by the templates.
"""

from __future__ import annotations

from fastapi import APIRouter

from corrobora.faces.web.context import RENDERERS, render_problem
from corrobora.faces.web.pages import live, plan, settings, start

router = APIRouter(include_in_schema=False)
for part in (start, plan, live, settings):
    router.include_router(part.router)


RENDERERS.update({"/": settings.render_problem_page, "/api/": render_problem})
