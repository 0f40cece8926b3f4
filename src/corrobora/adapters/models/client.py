"""The HTTP client for configured model endpoints: no proxies from the environment, bounded answers.

Knows sizes and times. Does not know any provider, and is never used for an address that a page or a model wrote.
"""

from __future__ import annotations

import httpx2

from corrobora.domain.limits import LIMITS


def model_client(*, idle_seconds: float = 120.0, limit: int = LIMITS.provider_json_max_bytes) -> httpx2.AsyncClient:
    """Return a client for one configured endpoint. A call that brings no byte for `idle_seconds` fails."""
    from corrobora.adapters.models.transport import ModelTransport  # noqa: PLC0415 - no command without a model loads it

    return httpx2.AsyncClient(
        transport=ModelTransport(limit),
        timeout=httpx2.Timeout(connect=10.0, read=idle_seconds, write=30.0, pool=30.0),
        headers={"accept-encoding": "gzip, deflate"},
        trust_env=False,
        follow_redirects=False,
    )
