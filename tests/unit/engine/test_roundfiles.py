"""Round files: the seed's Finding, and the badge of the synthesis."""

from __future__ import annotations

from tests.unit.policies.threads import decided, one_round

from corrobora.domain.evidence import Hit, PassageId, Query
from corrobora.domain.report import Findings
from corrobora.domain.thread import Intent, Round
from corrobora.engine.roundfiles import finding, findings_name, last_badge, research_state, state_name


def test_s3_a_finding_has_the_fields_of_the_seed() -> None:
    hit = Hit("https://a.example", "A", "text", 0.5, "tavily", published="2024")
    done = Round(2, "deepen", Intent("goal", (Query("q"),)), (hit,), providers=("tavily",), decision=decided("a gap"))
    found = finding(done)
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


def test_s3_passages_of_one_document_are_results_of_their_own() -> None:
    hits = tuple(Hit("a.md", "A", passage=PassageId(name)) for name in ("C1", "C2", "C1"))
    found = finding(Round(1, "x", Intent("goal", ()), hits))
    assert found["metadata"] == {"queriesGenerated": 0, "sourcesFound": 2, "providersUsed": []}


def test_findings_of_one_leaf_among_several_are_named_after_its_place() -> None:
    assert findings_name("root") == "rounds.json"
    assert findings_name("root/1/2") == "rounds-1-2.json"
    assert (state_name("root"), state_name("root/1")) == ("research_state.json", "research_state-1.json")


def test_s3_a_state_without_rounds_is_at_its_first_one() -> None:
    state = research_state((), iterative_complete=False, complete=False)
    assert state["currentRound"] == 1
    assert state["researchComplete"] is False


def test_s3_the_synthesis_has_the_badge_after_the_last_round() -> None:
    leaf = Findings("root", "t", rounds=(one_round(1), one_round(2), one_round(3)))
    assert last_badge(leaf) == 4
    assert last_badge(Findings("root", "t")) == 1
