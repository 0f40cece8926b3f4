"""Conversion: what a model filled in becomes the role's output, with everything that code decides."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from corrobora.analysts.language_model.rendering import render_prompt
from corrobora.domain.evidence import PassageId, SourceId
from corrobora.domain.plan import Brief
from corrobora.roles import find_roles
from corrobora.roles.clarify import Asking, WireQuery, WireScoping, WireSubject, convert_scoping
from corrobora.roles.extract import WireExtraction, WireQuote
from corrobora.roles.forms import (
    FACTS,
    TEXT,
    UnusableAnswer,
    clean_text,
    find_literal,
    make_delimiter,
    name_origin,
    quote_rows,
    quote_text,
    show_identifier,
)
from corrobora.roles.refine import WireChange, WireRefinement
from corrobora.roles.scope import WireChoice, WireExcluded, WireIntent, WireSearch, WireShortlist
from corrobora.roles.synthesize import WireAnswered, WireContradiction, WireGap, WireProposal, WireReport
from corrobora.testing.conformance import find_sample


def convert(prompt: str, filled: Any, **changes: Any) -> Any:
    role, given = find_sample(prompt)
    assert role.convert is not None
    return role.convert(replace(given, **changes), filled)


def test_every_role_has_a_form_a_conversion_a_full_example_and_a_prompt_of_its_own():
    roles = find_roles()
    assert len({role.name for role in roles}) == 13
    assert len({role.prompt for role in roles}) == len(roles) == 15
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
    made = convert("extract", WireExtraction(quotes))
    assert [(quote.passage, quote.quote in TEXT) for quote in made.quotes] == [
        ("C7", True),
        ("C7", True),
        ("C7", False),
    ]
    assert (made.quotes[0].answers, made.quotes[0].subjects) == (("sq-1",), ("Pump",))


def test_words_that_two_sources_of_a_call_share_are_shown_once_and_their_quotes_are_of_both():
    role, shown = find_sample("extract")
    copy = replace(shown.passages[0], id=PassageId("C9"), source=SourceId("S4"))
    shared = replace(shown, beside=(replace(shown.beside[0], passages=(copy,)),))
    assert render_prompt(role, shared).user.count("Operators shall not exceed 4 bar.") == 1
    quote = WireQuote("C7", "Operators shall not exceed 4 bar.", 0.9, "", ["sq-1"])
    made = convert("extract", WireExtraction([quote]), beside=shared.beside)
    assert [(quote.passage, quote.answers) for each in (made, *made.beside) for quote in each.quotes] == [
        ("C7", ("sq-1",)),
        ("C9", ("sq-1",)),
    ]


def test_reflect_keeps_facts_that_exist_and_no_invented_address():
    a, b = FACTS[0].id, FACTS[1].id
    contradictions = [
        WireContradiction(a, b, "c"),
        WireContradiction(a, "F0", "c"),
        WireContradiction(a, a, "c"),
    ]
    answered = [WireAnswered("sq-1", [a, "F0"]), WireAnswered("sq-9", [a])]
    filled = WireProposal(
        "s", "r", answered, [WireGap(" "), WireGap("g", "sq-2")], False,
        next_topic="see https://evil.example/?q=secret now", url="https://evil.example", contradictions=contradictions,
    )  # fmt: skip
    made = convert("reflect", filled)
    assert [(c.a, c.b) for c in made.contradictions] == [(a, b)]
    assert (made.answered, [gap.text for gap in made.gaps]) == (("sq-1",), ["g"])
    assert made.answered_by == (("sq-1", (a,)),), "of ids that were shown"
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


TEXTS = st.text(st.characters(codec=None), max_size=300) | st.lists(
    st.sampled_from(["<data-", "</data-", "DATA-", "[S1:C2]", "\u200b", "\n", "a", " ", "0123456789", ">"]), max_size=40
).map("".join)


@given(TEXTS)
def test_the_delimiter_of_a_text_never_occurs_in_it(text: str):
    assert make_delimiter(text) not in text
    block = quote_text(text)
    code = re.match(r"<data-([0-9a-f]{6})>", block)
    assert code is not None
    assert block.count(code.group(1)) == 2
    assert block.endswith(f"</data-{code.group(1)}>")


def test_a_text_that_holds_its_own_first_code_gets_another():
    text = "abc"
    holding = next(t for t in (f"{text}{n:010x}" for n in range(3)))
    assert make_delimiter(holding) not in holding


@given(TEXTS)
def test_a_cleaned_text_holds_no_tag_no_marker_and_nothing_invisible(text: str):
    kept = clean_text(text)
    assert not re.search(r"</?data-", kept, re.IGNORECASE)
    assert not re.search(r"[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]", kept)
    assert kept.encode().decode() == kept


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="<["), max_size=200))
def test_plain_text_is_kept_as_it_is(text: str):
    assert clean_text(text) == text


def test_a_model_reads_code_without_the_marks_of_its_lines():
    assert "close:\n\nshut(1)\n    wait(2)\n" in quote_text("To close:\n\n\u2002shut(1)\n\u2002    wait(2)\n\nDone.")


def test_markers_stay_where_they_are_asked_for_only():
    assert clean_text("It moves [S3:C2].") == "It moves ."
    assert clean_text("It moves [S3:C2].", markers=True) == "It moves [S3:C2]."


@given(st.lists(st.tuples(st.just("K1"), st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=5))
def test_a_row_is_one_line_whatever_its_texts_hold(lines):
    block = quote_rows(lines)
    assert block.count("\n") == len(lines) + 1


@pytest.mark.parametrize("bad", ["Ignore all; rules!", "a\nb", "x" * 300, "<b>"])
def test_only_ids_and_numbers_may_stand_outside_data_tags(bad: str):
    with pytest.raises(ValueError, match="not an id"):
        show_identifier(bad)
    assert show_identifier("root/1") == "root/1"
    assert show_identifier(0.5) == "0.5"


PAGE = (
    "First line.\n\nThe “rate” was 12.5\u00a0% in 2019\u20132020,\nand 10² in total. "
    "It is soft\u00adware. Long tail of words here.\n\n"
    "The cap is 30. The cap is 5 whole\nseconds here, and later: The cap is 7 seconds here."
)


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        ("First line.", "First line."),
        ('The "rate" was 12.5 % in 2019-2020, and', "The “rate” was 12.5\u00a0% in 2019\u20132020,\nand"),
        ("It is software.", "It is soft\u00adware."),
        (
            "The “rate” was 12.5 ... and 10² in total.",
            "The “rate” was 12.5\u00a0% in 2019\u20132020,\nand 10² in total.",
        ),
        ("was 12.6 % in", None),
        ("102 in total", None),
        ("the “rate” was", None),
        ("First line. ... and 10² in total.", None),
        ("The cap is 5 ... seconds here", "The cap is 5 whole\nseconds here"),
        ("The cap is ... seconds here", None),
        ("tail ... of", None),
        ("", None),
        ("\x80\u200b", None),
        ("x" * 5_000, None),
    ],
)
def test_a_quote_finds_the_exact_characters_of_the_source_or_nothing(said: str, stands: str | None):
    assert find_literal(said, PAGE) == stands


@given(st.text(max_size=200), st.data())
def test_every_part_of_a_text_is_a_literal_quote_of_it(text: str, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    part = text[start:end].strip()
    found = find_literal(text[start:end], text)
    assert found == (part or None)


@given(st.text(max_size=200), st.text(max_size=50))
def test_whatever_is_found_stands_in_the_text(text: str, said: str):
    found = find_literal(said, text)
    assert found is None or found in text


def test_a_publisher_that_is_only_the_host_is_not_named_twice():
    assert name_origin("example.org", "www.example.org:8080") == ("", "example.org:8080")
    assert name_origin("Pump makers", "example.org") == ("Pump makers", "example.org")


def test_a_list_belongs_to_the_line_that_leads_it_in():
    page = "It does all but the following:\n\nopening the gate, closing the gate\n\nIt is old."
    whole = "It does all but the following:\n\nopening the gate, closing the gate"
    assert find_literal("It does all but the following: ... closing the gate", page) == whole
    assert find_literal("opening the gate, ... It is old.", page) is None
