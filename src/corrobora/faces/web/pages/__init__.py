"""The working screens of the page: start, dialogue, plan, live run, runs, libraries, settings, doctor and login.

Each is a plain page that needs no script; forms carry a token, and every text is escaped by the templates.
"""

from __future__ import annotations

from fastapi import APIRouter

from corrobora.faces.web.context import RENDERERS, render_problem
from corrobora.faces.web.pages import libraries, live, login, plan, settings, start

router = APIRouter(include_in_schema=False)
for part in (start, plan, live, libraries, settings, login):
    router.include_router(part.router)


RENDERERS.update({"/": login.render_problem_page, "/api/": render_problem})
