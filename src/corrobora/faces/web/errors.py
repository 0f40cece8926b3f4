"""Errors as answers: the one error tree as problem documents (RFC 9457), or as a page for people.

Knows the fields of a problem and who gets which form. Codes, texts and statuses are those of `domain.errors`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from corrobora.domain.errors import CorroboraError, LimitReached, ProviderError
from corrobora.faces.refusals import choose_next_step, describe_fault

log = logging.getLogger("corrobora")
PROBLEM_TYPE = "application/problem+json"
_NOT_FOUND = frozenset(  # codes of bad input that name something which does not exist
    {
        "run_unknown",
        "library_unknown",
        "source_unknown",
        "dialogue_unknown",
        "schedule_unknown",
        "webhook_unknown",
        "unknown_profile",
        "passage_unknown",
    }
)
_CONFLICT = frozenset(
    {
        "run_busy",
        "run_active",
        "run_exists",
        "not_paused",
        "not_waiting",
        "run_ended",
        "not_running",
        "webhook_sending",
    }
)
_HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}


class Problem(BaseModel):
    """What went wrong: what, where, which limit, and the next step."""

    type: str = Field(description="A name of the kind of problem that never changes: urn:corrobora:error:CODE.")
    title: str = Field(description="What happened, in one sentence.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What happened, where, which limit, and what to do.")
    code: str = Field(description="The stable code, which programs may match; docs/reference/errors.md lists them.")
    next_step: str = Field(default="", description="What to do.")
    field: str = Field(default="", description="The field of the request that is wrong, as body.time.")
    limit: float | None = Field(default=None, description="The limit that was reached.")
    provider: str = Field(default="", description="The provider that failed.")


def make_problem(code: str, title: str, status: int, *, next_step: str = "", **more: Any) -> Problem:
    """Return a problem; its detail is title and next step."""
    detail = f"{title} {next_step}".strip()
    kind = f"urn:corrobora:error:{code}"
    return Problem(type=kind, title=title, status=status, detail=detail, code=code, next_step=next_step, **more)


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
        found = make_problem(code, f"{error.detail.rstrip('.')}.", error.status_code)
        answer = respond_with(request, found)
        answer.headers.update(error.headers or {})
        return answer

    async def answer_bug(request: Request, error: Exception) -> Response:
        log.error("a bug while answering %s %s", request.method, request.url.path, exc_info=error)
        step = "Finished work is saved. The log of the server has the details."
        return respond_with(request, make_problem("bug", f"A bug: {type(error).__name__}.", 500, next_step=step))

    app.add_exception_handler(CorroboraError, answer_expected)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_exception_handler(HTTPException, answer_http)
    app.add_exception_handler(Exception, answer_bug)
