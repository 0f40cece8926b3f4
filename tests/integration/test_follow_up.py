"""A follow-up question with a model over the wire: what the earlier run has read comes first, then a search."""

from __future__ import annotations

from bench.model_server.server import ModelServer
from tests.integration.harness import DOCUMENTS, QUESTION, Ended, Harness, good, open_harness, passages_sent

from corrobora.app.followups import submit_follow_up
from corrobora.domain.report import Outcome

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


async def test_what_its_facts_answer_is_written_at_once(database_url: str) -> None:
    async with ModelServer() as server, open_harness(database_url) as harness:
        first = await harness.run(server)
        asked = len(server.asked)
        found = await ask(harness, first.row.id, QUESTION)
    assert first.report is not None
    assert found.report is not None
    assert found.report.findings.rounds == ()
    told = found.report.methodology
    assert (told.providers, told.searches, told.outcomes) == ((), 0, ())
    assert told.sources_read == len({each.source for each in found.report.findings.facts})
    assert (found.report.outcome, found.report.findings.gaps) == (Outcome.COMPLETE, ())
    assert found.report.citations
    assert len(server.asked) - asked <= 5, "clarify, plan, reflect, and writing"


async def test_what_it_has_not_read_is_searched_for_unless_nobody_may_search(database_url: str, tmp_path) -> None:
    """The geese came into the library after the first run."""
    from tests.plugins.reading import ingest_here

    async with ModelServer() as server, open_harness(database_url, KNOWN) as harness:
        first = await harness.run(server)
        assert "geese" not in first.markdown
        (tmp_path / "geese.md").write_text(DOCUMENTS["geese.md"])
        await ingest_here(harness.workspace.database, "mills", tmp_path)
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


async def test_a_follow_up_ends_when_it_is_answered_and_is_not_filled_to_the_length_of_the_first_report(
    database_url: str,
) -> None:
    """The profile `rounds` knows no other end than its third round, and wants 2,000 words."""
    async with ModelServer() as server, open_harness(database_url) as harness:
        first = await harness.run(server, "rounds")
        found = await ask(harness, first.row.id, POND)
    assert first.report is not None
    assert found.report is not None
    assert first.report.methodology.rounds == 3
    assert found.report.methodology.rounds < 2
    assert set(found.report.methodology.providers) <= {"evidence"}
    assert any("2000 or more" in note for note in first.report.methodology.notes)
    assert not any("2000 or more" in note for note in found.report.methodology.notes)


async def test_a_question_on_a_follow_up_knows_the_facts_of_all_runs_before_it(database_url: str) -> None:
    async with ModelServer() as server, open_harness(database_url) as harness:
        first = await harness.run(server)
        second = await ask(harness, first.row.id, POND)
        third = await ask(harness, second.row.id, QUESTION)
    assert first.report is not None
    assert second.report is not None
    assert third.report is not None
    known = {fact.id for fact in first.report.findings.facts} - {fact.id for fact in second.report.findings.facts}
    assert known & {fact.id for fact in third.report.findings.facts}
    assert third.report.findings.rounds == ()


async def test_the_update_of_a_follow_up_searches_anew_and_knows_what_it_follows_up_on(database_url: str) -> None:
    """Its question may mean nothing without the first one, and what that had read may have changed since."""
    async with ModelServer() as server, open_harness(database_url) as harness:
        first = await harness.run(server)
        second = await ask(harness, first.row.id, POND)
        before = len(server.asked)
        third = await harness.work(await submit_follow_up(harness.workspace, second.row.id))
        told = [each for each in server.asked[before:] if "This follows up on an earlier question" in str(each)]
    assert first.row.request.question in str(told[0])
    assert third.report is not None
    assert "evidence" not in third.report.methodology.providers
    assert third.report.outcome is Outcome.COMPLETE
