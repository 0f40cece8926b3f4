"""The working screens of the page: start, dialogue, plan, live run, runs, libraries, settings, doctor and login.

Each is a plain page that needs no script; forms carry a token, and every text is escaped by the templates.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from corrobora.faces.refusals import Problem
from corrobora.faces.web.context import RENDERERS, render_page, render_problem
from corrobora.faces.web.pages import live, plan, settings, start

router = APIRouter(include_in_schema=False)
for part in (start, plan, live, settings):
    router.include_router(part.router)


def render_problem_page(request: Request, problem: Problem) -> Response:
    """Return a problem as a page for a browser, and as a document for a program."""
    if "text/html" not in request.headers.get("accept", ""):
        return render_problem(request, problem)
    return render_page(request, "problem.html", status=problem.status, problem=problem)


RENDERERS.update({"/": render_problem_page, "/api/": render_problem})
