"""The reader of documents that an MCP server has: a hit of its search is read by its tool `fetch`.

Knows that the text is Markdown or plain. Does not know how the server is reached, and requests no page of the web.
"""

from __future__ import annotations

from dataclasses import replace

from corrobora.adapters.readers.markup import read_markdown
from corrobora.adapters.search.library import store_page
from corrobora.adapters.search.mcp_server import IDENTIFIER, NAME, McpSearch
from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import Document, Hit, ReadOutcome
from corrobora.ports import Library


class McpReader:
    """`Reader` of the hits of an MCP server that name a document of it."""

    def __init__(self, server: McpSearch, library: Library, space: str) -> None:
        self._server = server
        self._library = library
        self._space = space

    def accepts(self, hit: Hit) -> bool:
        return hit.source is None and hit.provider == NAME and hit.identifier.startswith(IDENTIFIER)

    async def read(self, hit: Hit) -> Document:
        """Fetch and store one document. Raises `ReadError`, or `ProviderError` if the server itself failed."""
        title, text = await self._server.fetch_document(hit.identifier.removeprefix(IDENTIFIER))
        if not text:
            raise ReadError(ReadOutcome.EMPTY, "The MCP server has no text of the document.")
        parsed = read_markdown(text.encode())
        parsed = replace(parsed, title=title or hit.title or parsed.title)
        shown = replace(hit, identifier="")
        return await store_page(
            parsed, shown, url=hit.url, published=hit.published, library=self._library, space=self._space
        )
