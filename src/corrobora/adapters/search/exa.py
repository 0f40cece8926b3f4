"""Exa: queries to hits. Knows the wire format. Does not know profiles, budgets or the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from corrobora.adapters.search.provider import KeyedProvider, ResultRow, clean_text
from corrobora.domain.evidence import Hit, Query

_MOST = 100  # results that one call may ask for
_TEXT_CHARS = 1_000


class Exa(KeyedProvider):
    """`SearchProvider` over Exa's search (ROUNDS-12)."""

    name = "exa"
    base_url = "https://api.exa.ai"
    calls_per_second = 5.0

    def auth_headers(self, key: str) -> Mapping[str, str]:
        return {"x-api-key": key}

    async def search(self, query: Query, /, *, limit: int) -> Sequence[Hit]:
        body: dict[str, object] = {
            "query": query.text,
            "type": "auto",
            "numResults": max(1, min(limit, _MOST)),
            "contents": {"text": {"maxCharacters": _TEXT_CHARS}, "highlights": True},
        }
        if "." in query.site:
            body["includeDomains"] = [query.site]
        elif query.site:
            body["query"] = f"{query.text} site:{query.site}"  # a whole top-level domain is a hint, not a domain
        return await self.post_search("/search", body, "results", _read_row, query=query, limit=limit)


def _read_row(row: Mapping[str, object]) -> ResultRow:
    """Read one result: its highlights are the snippet, else the beginning of its text."""
    marked = row.get("highlights")
    parts = cast("list[object]", marked) if isinstance(marked, list) else []
    snippet = " … ".join(text for part in parts if (text := clean_text(part))) or row.get("text") or row.get("summary")
    return ResultRow(row.get("url"), row.get("title"), snippet, row.get("score"), row.get("publishedDate"))
