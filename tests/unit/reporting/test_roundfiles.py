"""Round files: the finding, and the badge of the synthesis."""

from __future__ import annotations

from tests.unit.policies.threads import decided, one_round

from corrobora.domain.evidence import Hit, PassageId, Query
from corrobora.domain.report import Findings
from corrobora.domain.thread import Intent, Round
from corrobora.reporting.thread_json import (
    build_research_state,
    build_round_finding,
    get_synthesis_badge,
    name_findings_file,
    name_state_file,
)


def test_rounds_a_finding_has_its_fields() -> None:
    hit = Hit("https://a.example", "A", "text", 0.5, "tavily", published="2024")
    done = Round(2, "deepen", Intent("goal", (Query("q"),)), (hit,), providers=("tavily",), decision=decided("a gap"))
    found = build_round_finding(done)
    assert list(found) == ["round", "queries", "results", "reasoning", "gaps", "metadata"]
    assert found["results"] == [
        {
            "title": "A",
            "url": "https://a.example",
            "content": "text",
            "score": 0.5,
            "publishedDate": "2024",
            "provider": "tavily",
        }
    ]
    assert found["gaps"] == ["a gap"]
    assert found["queries"] == ["q"]


def test_rounds_passages_of_one_document_are_results_of_their_own() -> None:
    hits = tuple(Hit("a.md", "A", passage=PassageId(name)) for name in ("C1", "C2", "C1"))
    found = build_round_finding(Round(1, "x", Intent("goal", ()), hits))
    assert found["metadata"] == {"queriesGenerated": 0, "sourcesFound": 2, "providersUsed": []}


def test_findings_of_one_leaf_among_several_are_named_after_its_place() -> None:
    assert name_findings_file("root") == "rounds.json"
    assert name_findings_file("root/1/2") == "rounds-1-2.json"
    assert (name_state_file("root"), name_state_file("root/1")) == ("research_state.json", "research_state-1.json")


def test_rounds_a_state_without_rounds_is_at_its_first_one() -> None:
    state = build_research_state((), iterative_complete=False, complete=False)
    assert state["currentRound"] == 1
    assert state["researchComplete"] is False


def test_rounds_the_synthesis_has_the_badge_after_the_last_round() -> None:
    leaf = Findings("root", "t", rounds=(one_round(1), one_round(2), one_round(3)))
    assert get_synthesis_badge(leaf) == 4
    assert get_synthesis_badge(Findings("root", "t")) == 1
