"""The knowledge base in Qdrant (TREE-33): the client of the extra, in its own in-memory mode."""

from __future__ import annotations

import json

import pytest
from tests.fakes import MemoryLibrary
from tests.profiles.research import DOCUMENTS, make_run

from corrobora.domain.evidence import SourceId
from corrobora.domain.plan import SubQuestion
from corrobora.testing.conformance import check_insights

SQ = SubQuestion("sq-1", "How often must the harbour cranes of Brenhaven be inspected?")


async def test_tree_facts_may_be_kept_in_qdrant():
    qdrant = pytest.importorskip("qdrant_client", reason="the extra `corrobora[qdrant]` is not installed")
    from corrobora.adapters.qdrant import QdrantFacts

    store = QdrantFacts(qdrant.AsyncQdrantClient(":memory:"))
    library = await MemoryLibrary.of(DOCUMENTS)
    report = await (await make_run("tree", library=library, facts=store)).research()
    kept = await store.recall(SQ.text)
    assert {fact.id for fact in kept} <= {fact.id for fact in report.findings.facts}
    assert any("12 months" in fact.quote for fact in kept)
    assert await store.remember(report.findings.facts, run="again") == 0
    later = await make_run("tree", library=library, facts=store, question=SQ.text)
    await later.research()
    assert any(json.loads(later.journal.entries[k].out) for k in later.journal.entries if k.endswith("/recall"))
    await check_insights(store, SourceId("S1"))
    await store.close()
