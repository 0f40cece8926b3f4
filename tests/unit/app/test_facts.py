"""The knowledge base outside the database, if the settings name one."""

from __future__ import annotations

from typing import Any

from corrobora.adapters.qdrant import QdrantFacts
from corrobora.app.wiring import open_fact_store


def test_facts_stay_in_the_database_unless_a_server_is_named(settings_of: Any) -> None:
    assert open_fact_store(settings_of()) is None


async def test_a_named_server_keeps_the_facts(settings_of: Any) -> None:
    store = open_fact_store(settings_of(CORROBORA_FACTS_QDRANT_URL="http://127.0.0.1:9"))
    assert isinstance(store, QdrantFacts)
    await store.close()
