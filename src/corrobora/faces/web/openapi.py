"""The OpenAPI document of the HTTP API: what FastAPI derives from the routes, with every error as a problem document.

Knows which paths belong to the API. Does not know what they do.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from corrobora.faces.web.errors import PROBLEM_TYPE, Problem

_PATHS = ("/api/v1", "/healthz", "/readyz", "/metrics")
_PROBLEMS = {
    400: "The request cannot be read.",
    401: "A token is missing.",
    403: "The token does not allow it, or the page of another site asked.",
    404: "There is no such thing.",
    405: "The path has other methods.",
    409: "The state of the run does not allow it, or a person must decide first.",
    413: "The body is too large.",
    421: "The server does not answer for this host.",
    422: "Something in the request cannot be used; nothing was stored and nothing was paid.",
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
