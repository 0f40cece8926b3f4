"""The parts of the server, in one list: a new part adds its router here and changes nothing else.

Does not know what a part answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from corrobora.faces.web import api, login, openai, pages, reader


def list_routers() -> Sequence[APIRouter]:
    """Return the routers of all parts; where two have the same path, the first counts."""
    return (api.router, login.router, openai.router, reader.router, pages.router)
