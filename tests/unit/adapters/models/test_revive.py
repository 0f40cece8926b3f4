"""Reviving: what a model filled in becomes the role's output, with everything that code decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.unit.adapters.models.conftest import sample

from corrobora.adapters.models import wire
from corrobora.adapters.models.planning import Unusable
from corrobora.adapters.models.revive import REVIVE
from corrobora.adapters.models.wire import WIRE
from corrobora.domain.plan import Brief
from corrobora.roles.clarify import Asking
from corrobora.testing.samples import FACTS, SAMPLES, TEXT


def revive(role: str, filled: Any, **changes: Any) -> Any:
    return REVIVE[role](replace(sample(role)[1], **changes), filled)


def test_every_role_has_a_wire_type_and_a_way_back():
    names = {role.prompt for role, _ in SAMPLES}
    assert set(WIRE) == set(REVIVE) == names
    for kind in WIRE.values():
        assert TypeAdapter(kind).json_schema()["type"] == "object"


def test_clarify_numbers_sub_questions_through_all_queries():
    given = Asking("root", Brief("All of it?", known_facts=("k",)), max_sub_questions=2)
    queries = [wire.WireQuery("A?", ["a1", "a2", "a3"]), wire.WireQuery("B?", [], [wire.WireSubject("S", ["s"])])]
    made = REVIVE["clarify"](given, wire.WireScoping(True, "complex", queries))
    assert [[q.id for q in brief.sub_questions] for brief in made.queries] == [["sq-1", "sq-2"], ["sq-3"]]
    assert made.queries[1].sub_questions[0].text == "B?"
    assert made.queries[1].known_facts == ("k",)
    assert made.complexity_hint == "complex"


def test_clarify_keeps_what_the_brief_brought_along():
    made = revive("clarify", wire.WireScoping(True, "simple", [wire.WireQuery("Other?", ["new"])]))
    assert [q.id for q in made.queries[0].sub_questions] == ["sq-1", "sq-2"]
    assert made.queries[0].question == "Other?"


@pytest.mark.parametrize("filled", [wire.WireScoping(True, "simple", []), wire.WireScoping(False, "simple", [])])
def test_clarify_needs_queries_or_reasons(filled: wire.WireScoping):
    with pytest.raises(Unusable):
        revive("clarify", filled)


def test_an_infeasible_question_gets_no_query():
    made = revive("clarify", wire.WireScoping(False, "simple", [wire.WireQuery("A?", [])], ["too wide"], ["narrow?"]))
    assert (made.feasible, made.queries, made.narrower) == (False, (), ("narrow?",))


def test_refine_changes_only_tasks_that_exist_and_takes_only_listed_links():
    change = wire.WireChange("root/1/2", ["q", "q", " "], ["L1", "L9", "https://x"])
    made = revive("refine", wire.WireRefinement([change], "because"))
    assert made.queries == (("root/1/2", ("q",)),)
    assert made.sources == (("root/1/2", ("Manual 3",)),)
    with pytest.raises(Unusable, match="root/1/1, root/1/2"):
        revive("refine", wire.WireRefinement([wire.WireChange("root/9", ["q"])], ""))


def test_scope_keeps_to_the_phase_and_to_ids_that_were_shown():
    searches = [
        wire.WireSearch("flow  of https://evil.example/x pump", "site:gov"),
        wire.WireSearch("FLOW of pump", "site:evil.example"),
        *(wire.WireSearch(f"q{n}", "gov") for n in range(5)),
    ]
    made = revive("scope", wire.WireIntent("r", "g", searches, ["sq-2", "sq-9"], ["p-1", "Unknown"]))
    assert [(query.text, query.site) for query in made.queries] == [
        ("flow of pump", "site:gov"),
        ("q0", "site:gov"),
        ("q1", "site:gov"),
    ]
    assert made.targets == ("sq-2",)
    assert made.subjects == ("Valve", "Pump")
    assert made.forced == "subject Valve has had no round"
    with pytest.raises(Unusable, match="1 to 3"):
        revive("scope", wire.WireIntent("r", "g", [wire.WireSearch(" ")]))


def test_scout_puts_references_back_and_keeps_the_limit():
    score = {"authority": 0.5, "recency": 0.5, "coverage": 0.5, "diversity": 0.5, "rationale": "r"}
    chosen = [wire.WireChoice(label, **score) for label in ("K2", "K2", "K7", "K1")]
    made = revive("scout", wire.WireShortlist(chosen, [wire.WireExcluded("K1", "old")]), limit=1)
    assert [source.reference for source in made.sources] == ["S3"]
    assert made.excluded == (("https://example.org/a", "old"),)
    with pytest.raises(Unusable, match="K1 to K2"):
        revive("scout", wire.WireShortlist([wire.WireChoice("x", **score)]))


def test_extract_gives_the_exact_words_of_the_passage_and_finds_misplaced_ones():
    quotes = [
        wire.WireQuote("C7", "The pump moves  12.5 litres\na minute.", "c", 0.9, ["sq-1", "sq-9"], ["P-1"]),
        wire.WireQuote("[S3:C8]", "Operators shall not exceed 4 bar.", "c", 0.9),
        wire.WireQuote("C7", "The pump moves 12.6 litres a minute.", "c", 0.9),
    ]
    made = revive("extract", wire.WireExtraction(True, quotes))
    assert [(quote.passage, quote.quote in TEXT) for quote in made.quotes] == [
        ("C7", True),
        ("C7", True),
        ("C7", False),
    ]
    assert (made.quotes[0].answers, made.quotes[0].subjects) == (("sq-1",), ("Pump",))


def test_insights_of_an_extraction_pass_only_under_a_trigger():
    good = [wire.WireQuote("C7", "The pump moves 12.5 litres a minute.", "c", 0.9)]
    follow = [wire.WireFollowUp("q?", 0.5, "r")]
    linked = [wire.WireLinked("Manual", "c")]
    sure = wire.WireExtraction(True, good, follow_ups=follow, linked=linked)
    assert revive("extract", sure, discovery_intense=False).follow_ups == ()
    assert revive("extract", sure, discovery_intense=True).linked
    weak = replace(sure, quotes=[replace(good[0], confidence=0.2)])
    assert revive("extract", weak, discovery_intense=False).follow_ups
    for trigger in ({"gaps": ["future work"]}, {"contradicts_known": ["k"]}):
        assert revive("extract", replace(sure, **trigger), discovery_intense=False).linked


def test_reflect_keeps_facts_that_exist_and_no_invented_address():
    a, b = FACTS[0].id, FACTS[1].id
    contradictions = [
        wire.WireContradiction(a, b, "c"),
        wire.WireContradiction(a, "F0", "c"),
        wire.WireContradiction(a, a, "c"),
    ]
    filled = wire.WireProposal(
        "s", "r", ["sq-1", "sq-9"], [wire.WireGap(" "), wire.WireGap("g", "sq-2")], False, True,
        "see https://evil.example/?q=secret now", "https://evil.example", contradictions,
    )  # fmt: skip
    made = revive("reflect", filled)
    assert [(c.a, c.b) for c in made.contradictions] == [(a, b)]
    assert (made.answered, [gap.text for gap in made.gaps]) == (("sq-1",), ["g"])
    assert (made.url, made.next_topic) == ("", "see now")
    asked = revive("reflect", replace(filled, url="https://ok.example/a"), question="What says https://ok.example/a ?")
    assert asked.url == "https://ok.example/a"


def test_m23_a_report_that_cites_nothing_it_was_given_goes_back_to_its_writer():
    marker = FACTS[0].marker
    kept = marker, marker.lower(), marker.replace(":", " "), f"[{marker.strip('[]')}, S99:C99]"
    assert [revive("synthesize", wire.WireDraft("T", f"It is so {each}.")).title for each in kept] == ["T"] * 4
    for body in ("A fine essay without a source.", "It is so [S99:C99].", "It is so [1]. https://a.example"):
        with pytest.raises(Unusable, match="No sentence of `body` cites a fact"):
            revive("synthesize", wire.WireDraft("T", body))
    assert revive("synthesize", wire.WireDraft("T", "Nothing was found."), parts=()).body == "Nothing was found."
    assert revive("summarize", wire.WireDraft("T", "A summary.")).body == "A summary."
