"""HTTP API v1 under /api/v1, its health checks and its metrics: what `service` can do, with typed bodies.

Knows which routers make it up. Errors are problem documents; see `errors`.
"""

from __future__ import annotations

from fastapi import APIRouter

from corrobora.faces.web.api import evidence, health, libraries, runs

router = APIRouter()
for _part in (health, runs, evidence, libraries):
    router.include_router(_part.router)
