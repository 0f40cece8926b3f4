"""Scoping, self-check and round files: what code adds to an analyst's intent and asserts of a round."""

from __future__ import annotations

from corrobora.domain.evidence import Hit, Query
from corrobora.domain.thread import Intent, Round
from corrobora.engine.roundfiles import finding, findings_name
from corrobora.engine.scoping import changed, enough, forced
from corrobora.engine.selfcheck import self_checked
from corrobora.testing.samples import SAMPLES

NEEDS = next(given for role, given in SAMPLES if role.prompt == "scope")


def test_s4_a_forced_subject_is_asked_for_and_logged() -> None:
    intent = forced(Intent("goal", (Query("pump flow"),)), NEEDS)
    assert intent.subjects == ("Valve",)
    assert intent.queries[0].text == "Valve pump flow"
    assert intent.forced == "Subject Valve has received 0 dedicated search rounds. Forcing coverage."


def test_s3_a_round_has_as_many_queries_as_its_phase_asks_for() -> None:
    many = Intent("goal", tuple(Query(text) for text in ("a lamp", "a tower", "a dam", "a gate")))
    assert len(enough(many, NEEDS).queries) == NEEDS.phase.max_queries
    assert len(enough(Intent("goal", ()), NEEDS).queries) == NEEDS.phase.min_queries


def test_s4_the_query_that_changed_enough_comes_first() -> None:
    intent = changed(Intent("goal", (Query("pump flow"), Query("displacement litres"))), NEEDS)
    assert [query.text for query in intent.queries] == ["displacement litres", "pump flow"]


def test_s3_a_finding_counts_queries_sources_and_providers() -> None:
    hits = (Hit("https://a.example", "A"), Hit("https://a.example", "A"))
    found = finding(Round(1, "x", Intent("goal", (Query("q"),)), hits, providers=("tavily",)))
    assert found["metadata"] == {"queriesGenerated": 1, "sourcesFound": 1, "providersUsed": ["tavily"]}
    assert findings_name("root") == "rounds.json"
    assert findings_name("root/1/2") == "rounds-1-2.json"
    assert callable(self_checked)
