"""The OpenAI-compatible API: models, chat completions and responses, so that chat programs can ask for research.

`chat` makes a conversation into a run and its report into text with annotations, and has chat completions; `responses`
is the other form. A model is a profile: `corrobora:timed`. Fields that mean nothing here, such as `temperature`, are
ignored.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from corrobora.config.profiles import list_presets
from corrobora.faces.refusals import Problem
from corrobora.faces.web.context import RENDERERS, Opened
from corrobora.faces.web.openai import chat, responses
from corrobora.faces.web.openai.chat import MODEL_PREFIX, unknown_model_error

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
router.include_router(chat.router)
router.include_router(responses.router)
_KINDS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class Model(BaseModel):
    """A model, which is a profile."""

    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = "corrobora"


class ModelList(BaseModel):
    """All models."""

    object: str = "list"
    data: list[Model]


@router.get("/models")
async def list_models(workspace: Opened) -> ModelList:
    """List the profiles as models."""
    names = dict.fromkeys((*list_presets(), *workspace.settings.profiles))
    return ModelList(data=[Model(id=f"{MODEL_PREFIX}{name}") for name in names])


@router.get("/models/{model}")
async def get_model(model: str, workspace: Opened) -> Model:
    """Return one model."""
    for each in (await list_models(workspace)).data:
        if each.id == model:
            return each
    raise unknown_model_error(model)


def render_error(request: Request, problem: Problem) -> Response:  # noqa: ARG001 - one signature
    """Return a problem in the form that clients of OpenAI read."""
    kind = "server_error" if problem.status >= 500 else _KINDS.get(problem.status, "invalid_request_error")  # noqa: PLR2004 - HTTP
    error = {"message": problem.detail, "type": kind, "param": problem.field or None, "code": problem.code}
    return JSONResponse({"error": error}, problem.status)


RENDERERS["/v1/"] = render_error
