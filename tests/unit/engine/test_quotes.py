"""Extract: a quote that is too short or stands in too many places grows until it points to one place of its source."""

from __future__ import annotations

import pytest

from corrobora.config.profiles import load_profile
from corrobora.domain.evidence import Document, Passage, PassageId, Source, SourceId
from corrobora.domain.plan import Brief, Node, SubQuestion
from corrobora.domain.thread import ThreadState
from corrobora.engine.sections import QUOTE_MAX_PLACES, quotes_to_facts
from corrobora.roles.extract import Quote

ENTRIES = "\n\n".join(
    f"{name}\n\n- Specifies: {what}.\n- Type of value: {unit}.\n- Default value: {value}\n- Unset: The default is used."
    for name, what, unit, value in (
        ("gate-limit", "How many gates may stand open", "Number", "128"),
        ("queue-limit", "How many boats may wait", "Number", "128"),
        ("oil-buffer", "How much oil is kept", "Litres", "4096"),
        ("a-gate", "Which gate is first", "Name", "oak"),
        ("b-gate", "Which gate is second", "Name", "elm"),
        ("c-gate", "Which gate is third", "Name", "ash"),
    )
)


def read_quote(quote: str, entry: str) -> str:
    """Return what the fact quotes that is made of a quote of an entry; "" if none is made."""
    start = ENTRIES.index(entry)
    end = ENTRIES.find("\n\n", ENTRIES.index("- Unset", start))
    text = ENTRIES[start : end if end > 0 else len(ENTRIES)]
    passage = Passage(PassageId("C1"), SourceId("S1"), text, start, start + len(text))
    document = Document(Source(SourceId("S1"), "Gates", "gates.md", "0"), ENTRIES, (passage,))
    node = Node("root", "Gates", "", sub_questions=(SubQuestion("sq-1", "Which limits are there?"),))
    thread = ThreadState.open_thread(node, Brief("Which limits are there?"), load_profile("timed").course)
    facts, _, dropped = quotes_to_facts([Quote("C1", quote, "", 0.9, ("sq-1",))], document, thread, 1.0)
    assert len(facts) + dropped == 1
    return facts[0].quote if facts else ""


@pytest.mark.parametrize(
    ("quote", "entry", "grown"),
    [
        ("Default value: 4096", "oil-buffer", "- Type of value: Litres.\n- Default value: 4096"),
        ("4096", "oil-buffer", "- Type of value: Litres.\n- Default value: 4096"),
        ("Default value: 128", "gate-limit", "- Type of value: Number.\n- Default value: 128"),
        ("How much oil", "oil-buffer", "- Specifies: How much oil is kept."),
        (
            "Unset: The default is used.",
            "b-gate",
            "- Default value: elm\n- Unset: The default is used.",
        ),
        ("How many gates may stand open", "gate-limit", "How many gates may stand open"),
    ],
)
def test_a_quote_that_points_to_no_place_grows_to_one_within_the_passage_that_was_sent(
    quote: str, entry: str, grown: str
) -> None:
    assert ENTRIES.count("The default is used.") > QUOTE_MAX_PLACES
    assert read_quote(quote, entry) == grown


@pytest.mark.parametrize("quote", ["Default value: 512", "value", "409", "e", ""])
def test_a_short_quote_that_stands_nowhere_or_often_or_is_half_a_word_makes_no_fact(quote: str) -> None:
    assert read_quote(quote, "oil-buffer") == ""
