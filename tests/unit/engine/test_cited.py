"""Cited sources: hashes, notices and evidence from what is stored; nothing is made up for what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.fakes import MemoryLibrary
from tests.unit.domain.test_report import REPORT

from corrobora.domain.errors import ReadError
from corrobora.domain.evidence import Document, Fact, SourceId
from corrobora.domain.report import Citation
from corrobora.engine.review import add_evidence, read_cited_sources

TEXT = "# Rules\n\nRetracted on 3 May 2021 by the editors.\n\nThe pond of Orrin may stand at most 210 centimetres high."


async def test_a_report_gets_the_evidence_of_its_stored_sources() -> None:
    library = await MemoryLibrary.of({"rules.md": TEXT})
    source, text = await library.document(SourceId("S1"))
    passages = await library.source_passages(source.id)
    quote = "The pond of Orrin may stand at most 210 centimetres high."
    fact = Fact.from_quote(Document(source, text, tuple(passages)), passages[-1], quote)
    assert fact is not None
    cited = Citation(1, fact.source, fact.passage, source.title, source.url, source.snapshot, (quote,))
    report = replace(
        REPORT, markdown=f"# T\n\n{quote} [1]", citations=(cited,), findings=replace(REPORT.findings, facts=(fact,))
    )
    found = await add_evidence(report, library)
    assert [(each.number, each.quotes[0].text) for each in found.evidence] == [(1, quote)]
    assert found.passages[0].text == passages[-1].text
    assert (await read_cited_sources(library, [source.id]))[source.id].snapshot == source.snapshot
    with pytest.raises(ReadError):
        await add_evidence(replace(report, citations=(replace(cited, source="S9"),)), library)
