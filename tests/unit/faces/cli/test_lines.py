"""Lines for people: every event that a person wants has one, on one line."""

from __future__ import annotations

import pytest

from corrobora.domain.run import Event, EventType
from corrobora.faces.cli.display import plain_line

TOLD = {
    EventType.PLAN_AUTHORIZED: ({"by": "policy"}, "▣ plan authorized by policy"),
    EventType.DRIFT: ({"why": "names none of: x"}, "≈ off the subject, names none of: x"),
    EventType.PLATEAU: ({"level": 3}, "▁ plateau, level 3"),
    EventType.FALLBACK: (
        {"role": "extract", "why": "too_slow"},
        "↓ another analyst took over (extract): the model was too slow for the time of the run",
    ),
    EventType.VERIFY: ({"supported": 0.5, "removed": 2}, "✓ 50% of cited sentences supported, 2 removed"),
    EventType.JUDGE: ({"overall": 0.8}, "✓ judged 0.80"),
    EventType.LEAF_FAILED: ({"why": "no\nluck"}, "✗ failed: no luck"),
    EventType.WARNING: ({"failed": "tavily is down"}, "! tavily is down"),
    EventType.COMPLETE: ({"outcome": "partial", "words": 3, "sources": 1}, "■ partial: 3 words, 1 source cited"),
    EventType.FACT: ({"fact": "F1"}, ""),
}


@pytest.mark.parametrize("kind", TOLD)
def test_line(kind: EventType) -> None:
    data, line = TOLD[kind]
    assert plain_line(Event(kind, "k", "root", None, data)) == line
