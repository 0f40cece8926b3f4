"""Conversion: what a model filled in becomes the role's output, with everything that code decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from corrobora.domain.plan import Brief
from corrobora.roles import find_roles
from corrobora.roles.clarify import Asking, WireQuery, WireScoping, WireSubject, convert_scoping
from corrobora.roles.extract import WireExtraction, WireFollowUp, WireLinked, WireQuote
from corrobora.roles.forms import FACTS, TEXT, UnusableAnswer
from corrobora.roles.refine import WireChange, WireRefinement
from corrobora.roles.reflect import WireContradiction, WireGap, WireProposal
from corrobora.roles.scope import WireChoice, WireExcluded, WireIntent, WireSearch, WireShortlist
from corrobora.roles.synthesize import WireReport
from corrobora.testing.conformance import find_sample


def convert(prompt: str, filled: Any, **changes: Any) -> Any:
    role, given = find_sample(prompt)
    assert role.convert is not None
    return role.convert(replace(given, **changes), filled)


def test_every_role_has_a_form_a_conversion_a_full_example_and_a_prompt_of_its_own():
    roles = find_roles()
    assert len({role.name for role in roles}) == 11
    assert len({role.prompt for role in roles}) == len(roles) == 13
    for role in roles:
        assert role.convert is not None
        assert role.example is not None
        assert role.wire is not None
        assert isinstance(role.example(), role.takes)
        assert TypeAdapter(role.wire).json_schema()["type"] == "object"


def test_clarify_numbers_sub_questions_through_all_queries():
    given = Asking("root", Brief("All of it?", known_facts=("k",)), max_sub_questions=2)
    queries = [WireQuery("A?", ["a1", "a2", "a3"]), WireQuery("B?", [], [WireSubject("S", ["s"])])]
    made = convert_scoping(given, WireScoping(True, "complex", queries))
    assert [[q.id for q in brief.sub_questions] for brief in made.queries] == [["sq-1", "sq-2"], ["sq-3"]]
    assert made.queries[1].sub_questions[0].text == "B?"
    assert made.queries[1].known_facts == ("k",)
    assert made.complexity_hint == "complex"


def test_clarify_keeps_what_the_brief_brought_along():
    made = convert("clarify", WireScoping(True, "simple", [WireQuery("Other?", ["new"])]))
    assert [q.id for q in made.queries[0].sub_questions] == ["sq-1", "sq-2"]
    assert made.queries[0].question == "Other?"


@pytest.mark.parametrize("filled", [WireScoping(True, "simple", []), WireScoping(False, "simple", [])])
def test_clarify_needs_queries_or_reasons(filled: WireScoping):
    with pytest.raises(UnusableAnswer):
        convert("clarify", filled)


def test_an_infeasible_question_gets_no_query():
    made = convert("clarify", WireScoping(False, "simple", [WireQuery("A?", [])], ["too wide"], ["narrow?"]))
    assert (made.feasible, made.queries, made.narrower) == (False, (), ("narrow?",))


def test_refine_changes_only_tasks_that_exist_and_takes_only_listed_links():
    change = WireChange("root/1/2", ["q", "q", " "], ["L1", "L9", "https://x"])
    made = convert("refine", WireRefinement([change], "because"))
    assert made.queries == (("root/1/2", ("q",)),)
    assert made.sources == (("root/1/2", ("Manual 3",)),)
    with pytest.raises(UnusableAnswer, match="root/1/1, root/1/2"):
        convert("refine", WireRefinement([WireChange("root/9", ["q"])], ""))


def test_scope_keeps_to_the_phase_and_to_ids_that_were_shown():
    searches = [
        WireSearch("flow  of https://evil.example/x pump", "site:gov"),
        WireSearch("FLOW of pump", "site:evil.example"),
        *(WireSearch(f"q{n}", "gov") for n in range(5)),
    ]
    made = convert("scope", WireIntent("r", "g", searches, ["sq-2", "sq-9"], ["p-1", "Unknown"]))
    assert [(query.text, query.site) for query in made.queries] == [
        ("flow of pump", "gov"),
        ("q0", "gov"),
        ("q1", "gov"),
    ]
    assert made.targets == ("sq-2",)
    assert made.subjects == ("Valve", "Pump")
    assert made.forced == "subject Valve has had no round"
    with pytest.raises(UnusableAnswer, match="1 to 3"):
        convert("scope", WireIntent("r", "g", [WireSearch(" ")]))


def test_scout_puts_references_back_and_keeps_the_limit():
    score = {"authority": 0.5, "recency": 0.5, "coverage": 0.5, "diversity": 0.5, "rationale": "r"}
    chosen = [WireChoice(label, **score) for label in ("K2", "K2", "K7", "K1")]
    made = convert("scout", WireShortlist(chosen, [WireExcluded("K1", "old")]), limit=1)
    assert [source.reference for source in made.sources] == ["S3"]
    assert made.excluded == (("https://example.org/a", "old"),)
    with pytest.raises(UnusableAnswer, match="K1 to K2"):
        convert("scout", WireShortlist([WireChoice("x", **score)]))


def test_extract_gives_the_exact_words_of_the_passage_and_finds_misplaced_ones():
    quotes = [
        WireQuote("C7", "The pump moves  12.5 litres\na minute.", 0.9, "c", ["sq-1", "sq-9"], ["P-1"]),
        WireQuote("[S3:C8]", "Operators shall not exceed 4 bar.", 0.9),
        WireQuote("C7", "The pump moves 12.6 litres a minute.", 0.9),
    ]
    made = convert("extract", WireExtraction(True, quotes))
    assert [(quote.passage, quote.quote in TEXT) for quote in made.quotes] == [
        ("C7", True),
        ("C7", True),
        ("C7", False),
    ]
    assert (made.quotes[0].answers, made.quotes[0].subjects) == (("sq-1",), ("Pump",))


def test_insights_of_an_extraction_pass_only_under_a_trigger():
    good = [WireQuote("C7", "The pump moves 12.5 litres a minute.", 0.9)]
    follow = [WireFollowUp("q?", 0.5, "r")]
    linked = [WireLinked("Manual", "c")]
    sure = WireExtraction(True, good, follow_ups=follow, linked=linked)
    assert convert("extract", sure, discovery_intense=False).follow_ups == ()
    assert convert("extract", sure, discovery_intense=True).linked
    weak = replace(sure, quotes=[replace(good[0], confidence=0.2)])
    assert convert("extract", weak, discovery_intense=False).follow_ups
    for trigger in ({"gaps": ["future work"]}, {"contradicts_known": ["k"]}):
        assert convert("extract", replace(sure, **trigger), discovery_intense=False).linked


def test_reflect_keeps_facts_that_exist_and_no_invented_address():
    a, b = FACTS[0].id, FACTS[1].id
    contradictions = [
        WireContradiction(a, b, "c"),
        WireContradiction(a, "F0", "c"),
        WireContradiction(a, a, "c"),
    ]
    filled = WireProposal(
        "s", "r", ["sq-1", "sq-9"], [WireGap(" "), WireGap("g", "sq-2")], False, True,
        "see https://evil.example/?q=secret now", "https://evil.example", contradictions,
    )  # fmt: skip
    made = convert("reflect", filled)
    assert [(c.a, c.b) for c in made.contradictions] == [(a, b)]
    assert (made.answered, [gap.text for gap in made.gaps]) == (("sq-1",), ["g"])
    assert (made.url, made.next_topic) == ("", "see now")
    asked = convert("reflect", replace(filled, url="https://ok.example/a"), question="What says https://ok.example/a ?")
    assert asked.url == "https://ok.example/a"


def test_m23_a_report_that_cites_nothing_it_was_given_goes_back_to_its_writer():
    marker = FACTS[0].marker
    kept = marker, marker.lower(), marker.replace(":", " "), f"[{marker.strip('[]')}, S99:C99]"
    assert [convert("synthesize", WireReport(title="T", body=f"It is so {each}.")).title for each in kept] == ["T"] * 4
    for body in ("A fine essay without a source.", "It is so [S99:C99].", "It is so [1]. https://a.example"):
        with pytest.raises(UnusableAnswer, match="No sentence of `body` cites a fact"):
            convert("synthesize", WireReport(title="T", body=body))
    assert (
        convert("synthesize", WireReport(title="T", body="Nothing was found."), parts=()).body == "Nothing was found."
    )
    assert convert("summarize", WireReport(title="T", body="A summary.")).body == "A summary."
