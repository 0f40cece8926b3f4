"""A follow-up question with a model over the wire: what the earlier run has read comes first, then a search."""

from __future__ import annotations

from tests.integration.harness import DOCUMENTS, Ended, Harness, good, open_harness, passages_sent

from corrobora.app.followups import submit_follow_up
from corrobora.testing.server import ModelServer

POND = "Why was the level of the mill pond of Orrin lowered to 210 centimetres?"
GEESE = "How many geese live on the mill pond of Orrin in winter?"
KNOWN = {name: text for name, text in DOCUMENTS.items() if name != "geese.md"}


async def ask(harness: Harness, run: str, question: str, *, search: bool = True) -> Ended:
    return await harness.work(await submit_follow_up(harness.workspace, run, question, search=search))


async def test_what_the_run_has_read_answers_and_nothing_is_searched(database_url: str) -> None:
    async with ModelServer() as server, open_harness(database_url) as harness:
        first = await harness.run(server)
        asked = len(server.asked)
        found = await ask(harness, first.row.id, POND)
        await good(found, harness)
    assert first.report is not None
    assert found.report is not None
    assert found.report.methodology.providers == ("evidence",)
    assert "The lower level protects the cellar" in found.markdown
    assert found.report.previous == first.row.id
    assert found.report.from_previous == tuple(each.number for each in found.report.citations)
    read = {each.source for each in first.report.citations}
    assert {each.source for each in found.report.citations} & read
    assert len(server.asked) > asked, "the model wrote the answer"
    assert "scripted-large" in found.report.methodology.analyst


async def test_what_it_has_not_read_is_searched_for_unless_nobody_may_search(database_url: str, tmp_path) -> None:
    """The geese came into the library after the first run."""
    from corrobora.app.libraries import ingest_files

    async with ModelServer() as server, open_harness(database_url, KNOWN) as harness:
        first = await harness.run(server)
        assert "geese" not in first.markdown
        (tmp_path / "geese.md").write_text(DOCUMENTS["geese.md"])
        await ingest_files(harness.workspace.database, "mills", (tmp_path,), lambda *_: None)
        before = passages_sent(server)
        found = await ask(harness, first.row.id, GEESE)
        await good(found, harness)
        kept = await ask(harness, first.row.id, GEESE, search=False)
    assert found.report is not None
    assert kept.report is not None
    assert set(found.report.methodology.providers) == {"evidence", "library"}
    assert "About 40 geese" in found.markdown
    geese = next(each.number for each in found.report.citations if "40 geese" in " ".join(each.quotes))
    assert geese not in found.report.from_previous
    assert passages_sent(server) - before, "the new page was sent to the model"
    assert kept.report.methodology.providers in ((), ("evidence",))
    assert "40 geese" not in kept.markdown
