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
from starlette.exceptions import HTTPException

from corrobora.domain.errors import CorroboraError, LimitReached, ProviderError
from corrobora.faces.refusals import PROBLEM_TYPE, Problem, choose_next_step, describe_fault, make_problem

log = logging.getLogger("corrobora")
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
