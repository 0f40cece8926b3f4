"""RO-Crate metadata: what the specification asks for, for whatever members there are."""

from __future__ import annotations

from typing import Any, cast

from tests.profiles.research import make_run

from corrobora.reporting.bundle import build_crate


async def test_the_metadata_has_the_entities_that_the_specification_asks_for() -> None:
    report = await (await make_run("timed")).research()
    cited = report.citations[0]
    stored = f"snapshots/{cited.snapshot}.txt"
    crate = build_crate(report, "r_1", {"report.md": b"abc", stored: b"text"}, "2026-01-02")
    entities = {each["@id"]: each for each in cast("list[dict[str, Any]]", crate["@graph"])}
    assert crate["@context"] == "https://w3id.org/ro/crate/1.1/context"
    assert entities["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    root = entities["./"]
    assert root["@type"] == "Dataset"
    assert root["datePublished"] == "2026-01-02"
    assert {"name", "description", "license"} <= set(root)
    assert root["hasPart"] == [{"@id": "report.md"}, {"@id": stored}]
    assert entities["report.md"]["encodingFormat"] == "text/markdown"
    assert entities[entities[stored]["isBasedOn"]["@id"]]["url"] == cited.url
    assert {"name", "description"} <= set(entities[root["license"]["@id"]])
    assert entities["#run"]["result"] == [{"@id": "report.md"}]
    references = ("instrument", "mentions", "license", "isBasedOn")
    named = [entity[name] for entity in entities.values() for name in references if name in entity]
    assert all(each["@id"] in entities for each in named)  # what is referred to is described
