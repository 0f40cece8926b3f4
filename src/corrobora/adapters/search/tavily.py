"""Tavily: queries to hits. Knows the wire format. Does not know profiles, budgets or the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from corrobora.adapters.search.provider import KeyedProvider, ResultRow
from corrobora.domain.evidence import Hit, Query

_MOST = 20  # results that one call may ask for


class Tavily(KeyedProvider):
    """`SearchProvider` over Tavily's search (ROUNDS-12)."""

    name = "tavily"
    base_url = "https://api.tavily.com"
    calls_per_second = 1.6

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        body: dict[str, object] = {
            "query": query.text,
            "search_depth": "basic",
            "topic": "general",
            "max_results": max(1, min(limit, _MOST)),
        }
        if query.site:
            body["include_domains"] = [query.site if "." in query.site else f"*.{query.site}"]
        return await self.post_search("/search", body, "results", _read_row, query=query, limit=limit)


def _read_row(row: Mapping[str, object]) -> ResultRow:
    return ResultRow(row.get("url"), row.get("title"), row.get("content"), row.get("score"), row.get("published_date"))
