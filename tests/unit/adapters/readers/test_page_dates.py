"""Dates of documents: a change log is as new as its newest release, and a history is not."""

from __future__ import annotations

from corrobora.adapters.readers.parser import ParserProcess

NEWS = "# News\n\n## 1.2.4 - 24 March 2023\n\nA fix.\n\n## 1.2.3 - 1 May 2022\n\nAnother fix.\n"
PAGE = (
    "<html><head><title>Log</title></head><body><main><h1>Log</h1>"
    "<h2>Version 1.2.4 (2023-03-24)</h2><p>Copies that were moved are found again and are not stored anew.</p>"
    "<h2>Version 1.1.18 (2022-06-05)</h2><p>What was said of locks in the manual is told in other words now.</p>"
    "</main></body></html>"
)


async def test_a_change_log_is_as_new_as_its_newest_release():
    history = NEWS.replace("1.2.4 - 24", "The war ends, 24").replace("1.2.3 - 1", "It begins, 1")
    async with ParserProcess() as child:
        found = [
            (await child.parse_document(text.encode(), name=name)).published
            for name, text in (
                ("a.md", NEWS),
                ("a.html", PAGE),
                ("b.md", history),
                ("c.md", f"---\ndate: 2024-01-02\n---\n{NEWS}"),
            )
        ]
    assert found == ["2023-03-24", "2023-03-24", "", "2024-01-02"]
