"""Qdrant: facts kept in a collection, found by the words they share with a question (TREE-31).

Knows points, sparse vectors of stems and payloads. Needs the extra `corrobora[qdrant]`; no embedder is needed, because
the vectors are word counts and Qdrant weighs them by rarity.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from pydantic import TypeAdapter
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from corrobora.domain.errors import ProviderError, describe_connection
from corrobora.domain.evidence import Fact, Grade, Insight
from corrobora.policies.grading import claim_pairs, is_same_claim
from corrobora.text.tokens import stem_text

COLLECTION = "corrobora_facts"
_VECTOR = "words"
_CANDIDATES = 8
_FACT: TypeAdapter[Fact] = TypeAdapter(Fact)
_INSIGHT: TypeAdapter[Insight] = TypeAdapter(Insight)
_GRADES = (Grade.UNVERIFIED, Grade.PLAUSIBLE, Grade.VERIFIED)


class QdrantFacts:
    """A `FactStore` in Qdrant. Give it a client of your own, or the address of a server."""

    def __init__(self, client: AsyncQdrantClient, *, collection: str = COLLECTION) -> None:
        self._client = client
        self._collection = collection
        self._insights = f"{collection}_insights"
        self._ready = asyncio.Lock()
        self._made = False

    @classmethod
    def from_url(cls, url: str, key: str = "") -> QdrantFacts:
        """Connect to a server; nothing is asked of it before the first call, whatever its version."""
        return cls(AsyncQdrantClient(url=url, api_key=key or None, timeout=20, check_compatibility=False))

    async def close(self) -> None:
        await self._client.close()

    async def remember(self, facts: Sequence[Fact], /, *, run: str) -> int:
        """Keep facts with citation and confidence; near-duplicates of one origin are merged, the surer one stays.

        Raises:
            ProviderError: the server failed.
        """
        new = 0
        async with self._open_collections():
            for fact in facts:  # one after the other: a fact may be the twin of the one before
                new += await self._remember_fact(fact, run)
        return new

    async def recall(self, text: str, *, limit: int = 20) -> Sequence[Fact]:
        """Return stored facts that share words with `text`, the rarest shared words first. Raises `ProviderError`."""
        return [_load_fact(payload) for payload in await self._find_payloads(self._collection, text, limit)]

    async def remember_insights(self, insights: Sequence[Insight], /, *, run: str) -> int:
        """Keep insights in a collection beside the facts, the same of one source once. Raises `ProviderError`."""
        points = {_insight_point(each): each for each in insights if _word_vector(f"{each.text} {each.why}").indices}
        async with self._open_collections():
            known = {str(point.id) for point in await self._client.retrieve(self._insights, list(points))}
            fresh = [
                models.PointStruct(
                    id=name,
                    vector=cast("dict[str, Any]", {_VECTOR: _word_vector(f"{each.text} {each.why}")}),
                    payload={"insight": _INSIGHT.dump_python(each, mode="json"), "run": run},
                )
                for name, each in points.items()
                if name not in known
            ]
            if fresh:
                await self._client.upsert(self._insights, fresh, wait=True)
        return len(fresh)

    async def recall_insights(self, text: str, *, limit: int = 20) -> Sequence[Insight]:
        """Return stored insights that share words with `text`, best first. Raises `ProviderError`."""
        found = await self._find_payloads(self._insights, text, limit)
        return [_INSIGHT.validate_python(payload["insight"]) for payload in found]

    async def _find_payloads(self, collection: str, text: str, limit: int) -> list[dict[str, Any]]:
        """Return what is kept under the words of a text, the rarest shared words first."""
        vector = _word_vector(text)
        if not vector.indices:
            return []
        async with self._open_collections():
            found = await self._client.query_points(collection, query=vector, using=_VECTOR, limit=limit)
        return [point.payload or {} for point in found.points]

    async def _remember_fact(self, fact: Fact, run: str) -> int:
        twin = await self._find_duplicate(fact)
        if twin is None:
            payload = {"fact": _FACT.dump_python(fact, mode="json"), "origin": fact.origin, "run": run, "seen": 1}
            vector = cast("dict[str, Any]", {_VECTOR: _word_vector(f"{fact.title} {fact.heading} {fact.claim}")})
            point = models.PointStruct(id=_fact_point(fact), vector=vector, payload=payload)
            await self._client.upsert(self._collection, [point], wait=True)
            return 1
        name, payload = twin
        known = _load_fact(payload)
        surer = {
            "confidence": max(known.confidence, fact.confidence),
            "grade": max(known.grade, fact.grade, key=_GRADES.index).value,
        }
        changed = {"fact": {**payload["fact"], **surer}, "seen": payload["seen"] + 1}
        await self._client.set_payload(self._collection, changed, points=[name], wait=True)
        return 0

    async def _find_duplicate(self, fact: Fact) -> tuple[str, dict[str, Any]] | None:
        """Find the stored fact that says the same, from the same origin."""
        same_origin = models.Filter(
            must=[models.FieldCondition(key="origin", match=models.MatchValue(value=fact.origin))]
        )
        wanted = _word_vector(f"{fact.title} {fact.heading} {fact.claim}")
        if not wanted.indices:
            return None
        found = await self._client.query_points(
            self._collection, query=wanted, using=_VECTOR, query_filter=same_origin, limit=_CANDIDATES
        )
        for point in found.points:
            payload = cast("dict[str, Any]", point.payload)
            known = _load_fact(payload)
            if fact.id == known.id or is_same_claim(claim_pairs(fact.claim), claim_pairs(known.claim)):
                return str(point.id), payload
        return None

    @asynccontextmanager
    async def _open_collections(self) -> AsyncGenerator[None]:
        """Make the collections where they are missing; what the server fails in meanwhile is a `ProviderError`."""
        try:
            await self._ensure_collections()
            yield
        except (UnexpectedResponse, ResponseHandlingException) as error:
            status = error.status_code if isinstance(error, UnexpectedResponse) else None
            raise ProviderError.request_failed(
                "qdrant", status=status, why="" if status else describe_connection(error)
            ) from error

    async def _ensure_collections(self) -> None:
        async with self._ready:
            if self._made:
                return
            for collection in (self._collection, self._insights):
                if not await self._client.collection_exists(collection):
                    await self._client.create_collection(
                        collection,
                        vectors_config={},
                        sparse_vectors_config={_VECTOR: models.SparseVectorParams(modifier=models.Modifier.IDF)},
                    )
            self._made = True


def _word_vector(text: str) -> models.SparseVector:
    """Count the stems of a text, each under a number made of its hash."""
    counted = Counter(
        int.from_bytes(hashlib.blake2b(s.encode(), digest_size=4).digest(), "big") for s in stem_text(text)
    )
    return models.SparseVector(indices=list(counted), values=[float(count) for count in counted.values()])


def _fact_point(fact: Fact) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"corrobora:fact:{fact.source}:{fact.id}"))


def _insight_point(insight: Insight) -> str:
    name = f"corrobora:insight:{insight.source}:{insight.kind.value}:{insight.text}"
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def _load_fact(payload: dict[str, Any]) -> Fact:
    return _FACT.validate_python(payload["fact"])
