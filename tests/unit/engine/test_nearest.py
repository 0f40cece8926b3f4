"""Passages that a report prints whole: through the command, and what becomes of them as facts."""

from __future__ import annotations

from tests.plugins.shell import Shell

from corrobora.domain.evidence import Document, Fact, Passage, PassageId, Source, SourceId
from corrobora.domain.report import Findings
from corrobora.engine.nearest import add_nearest, drop_nearest

PUMP = (
    "# Harbour pump\n\n## Before the winter\n\n"
    "The pump stays in the water all year. Turn the brass valve until the gauge reads zero. "
    "The hose may then lie in the frost without harm.\n\n## Paint\n\nThe pump is painted every winter. "
    "Blue paint is used for the pump in the harbour. Cold weather makes paint on a pump crack.\n"
)
BOAT = "# Boats\n\n## Berths\n\nA boat may lie in the harbour for three days. The fee for a berth is 12 euros a day.\n"


def test_what_words_cannot_tell_is_printed_with_the_passage_that_was_found_first(served: Shell) -> None:
    """The opening told the sentences with most words of the question, in no order and without what is around them."""
    for name, text in (("pump.md", PUMP), ("boat.md", BOAT)):
        (served.folder / name).write_text(text)
    served("library", "add", "docs", "pump.md", "boat.md")
    ran = served(
        "research",
        "How do I keep the pump from damage by cold weather in the harbour?",
        "--library",
        "docs",
        "-q",
        "-o",
        "report.md",
    )
    assert ran.code == 0, ran.err
    report = (served.folder / "report.md").read_text()
    _, found, rest = report.partition("## Passages near the question\n")
    assert found, report
    passage = rest.partition("\n## ")[0]
    told = [
        passage.find(each) for each in ("stays in the water", "brass valve", "in the frost", "painted every winter")
    ]
    assert -1 not in told, passage
    assert told == sorted(told), passage
    assert served("verify", "report.md").code == 0


def test_an_answered_question_is_printed_without_them(served: Shell) -> None:
    (served.folder / "boat.md").write_text(BOAT)
    served("library", "add", "docs", "boat.md")
    ran = served("research", "How much is the fee for a berth?", "--library", "docs", "-q")
    assert "Status: complete" in ran.out, ran.out
    assert "## Passages near the question" not in ran.out


def test_a_passage_that_is_a_fact_already_stays_one() -> None:
    source = Source(SourceId("S1"), "Pump", "pump.md", "0" * 64)
    text = "The pump stays in the water all year. Turn the brass valve until the gauge reads zero."
    passage = Passage(PassageId("C1"), source.id, text, 0, len(text))
    document = Document(source, text, (passage,))
    known, whole = (Fact.from_quote(document, passage, quote) for quote in (text[:37], text))
    assert known is not None
    assert whole is not None
    found = Findings("root", "Pump", facts=(known,))
    added = add_nearest(found, (known, whole))
    assert added.facts == (known, whole)
    assert added.nearest == (whole.id,)
    assert drop_nearest(added) == found
