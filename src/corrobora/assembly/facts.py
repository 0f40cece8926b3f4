"""Facts: the knowledge base that the settings name, if it is not the database.

Knows the setting facts.qdrant_url. Imports the client only where it is asked for.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from corrobora.config import Settings
from corrobora.domain.errors import UserError

if TYPE_CHECKING:
    from corrobora.adapters.facts.qdrant import QdrantFacts


def fact_store(settings: Settings) -> QdrantFacts | None:
    """Return the store of facts outside the database, None if none is named. Raises `UserError` without the extra."""
    if settings.qdrant_url is None:
        return None
    if find_spec("qdrant_client") is None:
        raise UserError(
            "facts_extra",
            "The setting facts.qdrant_url needs the client of Qdrant, which is not installed.",
            next_step="pip install 'corrobora[qdrant]'",
        )
    from corrobora.adapters.facts.qdrant import QdrantFacts  # noqa: PLC0415 - heavy, and an option

    secret = settings.key("qdrant")
    return QdrantFacts.at(settings.qdrant_url, secret.reveal() if secret.set else "")
