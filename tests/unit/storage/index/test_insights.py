"""Insights: kept once for each source, the surer confidence stays, found by rare shared words in one's own spaces."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.storage.index import shelves

from corrobora.domain.evidence import Insight, InsightKind, SourceId
from corrobora.storage.index import PostgresLibrary


async def stored(library, number=1):
    given = shelves.item(number, f"Doc {number}", f"The otter number {number} swims at night.").source
    source, _ = await library.store(given, given.title, space="lib")
    return source.id


async def test_tree_an_insight_is_kept_once_with_its_source_and_the_surer_confidence(database):
    library = PostgresLibrary(database, ["lib"])
    asked = Insight(InsightKind.FOLLOW_UP, "How far do otters swim?", await stored(library), "not said", 0.3)
    assert await library.remember_insights([asked, replace(asked, confidence=0.2)], run="r1") == 1
    assert await library.remember_insights([replace(asked, confidence=0.8)], run="r2") == 0
    (found,) = await library.recall_insights("otters swim far")
    assert found == replace(asked, confidence=0.8, title="Doc 1")
    assert await PostgresLibrary(database, ["other"]).recall_insights("otters") == []


async def test_tree_one_question_of_two_sources_is_two_insights_and_rare_words_come_first(database):
    library = PostgresLibrary(database, ["lib"])
    one, two = await stored(library, 1), await stored(library, 2)
    told = [
        Insight(InsightKind.GAP, "Nobody counted the otters.", one),
        Insight(InsightKind.GAP, "Nobody counted the otters.", two),
        Insight(InsightKind.LINKED, "https://example.org/weirs", two, "otters at the weirs", 0.9),
    ]
    assert await library.remember_insights(told, run="r1") == 3
    assert [each.source for each in await library.recall_insights("otters counted")][:2] == [one, two]
    assert (await library.recall_insights("otters weirs"))[0].kind is InsightKind.LINKED
    assert len(await library.recall_insights("otters", limit=2)) == 2


async def test_an_insight_of_a_source_that_is_not_stored_is_left_out(database):
    library = PostgresLibrary(database, ["lib"])
    await stored(library)
    lost = Insight(InsightKind.GAP, "Otters are not counted.", SourceId("S987654"))
    assert await library.remember_insights([lost], run="r1") == 0
    assert await library.remember_insights([], run="r1") == 0
    assert await library.recall_insights("otters") == []
    assert await library.recall_insights("") == []
