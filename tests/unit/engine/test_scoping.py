"""Scoping, self-check and round files: what code adds to an analyst's intent and asserts of a round."""

from __future__ import annotations

from corrobora.domain.evidence import Hit, Query
from corrobora.domain.plan import Brief, Node
from corrobora.domain.thread import Course, Intent, Round, ThreadState
from corrobora.engine.pursue import check_invariants
from corrobora.policies.intent import bind_intent, ensure_changed_query, fit_query_count
from corrobora.reporting.thread_json import build_round_finding, name_findings_file
from corrobora.testing.conformance import SAMPLES

NEEDS = next(given for role, given in SAMPLES if role.prompt == "scope")
THREAD = ThreadState.open_thread(Node("root", "Valve", "Which valve?"), Brief("Which valve?"), Course((NEEDS.phase,)))


def test_triplet_a_forced_subject_is_asked_for_and_logged() -> None:
    intent = bind_intent(Intent("goal", (Query("pump flow"),)), NEEDS, THREAD)
    assert intent.subjects == ("Valve",)
    assert intent.queries[0].text.startswith("Valve pump flow")
    assert intent.forced == "Subject Valve has received 0 dedicated search rounds. Forcing coverage."


def test_rounds_a_round_has_as_many_queries_as_its_phase_asks_for() -> None:
    many = tuple(Query(text) for text in ("a lamp", "a tower", "a dam", "a gate"))
    assert len(fit_query_count(many, NEEDS, "goal")) == NEEDS.phase.max_queries
    assert len(fit_query_count((), NEEDS, "goal")) == NEEDS.phase.min_queries


def test_triplet_the_query_that_changed_enough_comes_first() -> None:
    intent = ensure_changed_query(Intent("goal", (Query("pump flow"), Query("displacement litres"))), NEEDS)
    assert [query.text for query in intent.queries] == ["displacement litres", "pump flow"]


def test_rounds_a_finding_counts_queries_sources_and_providers() -> None:
    hits = (Hit("https://a.example", "A"), Hit("https://a.example", "A"))
    found = build_round_finding(Round(1, "x", Intent("goal", (Query("q"),)), hits, providers=("tavily",)))
    assert found["metadata"] == {"queriesGenerated": 1, "sourcesFound": 1, "providersUsed": ["tavily"]}
    assert name_findings_file("root") == "rounds.json"
    assert name_findings_file("root/1/2") == "rounds-1-2.json"
    assert callable(check_invariants)
