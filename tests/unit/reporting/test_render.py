"""The account of checking: every statement is counted once, and the sums close."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.domain.test_report import REPORT
from tests.unit.policies.threads import fact

from corrobora.domain.evidence import Contradiction, Fact, FactId, Relation, Severity
from corrobora.domain.report import Findings, Report, SentenceCheck, Support
from corrobora.domain.thread import Gap
from corrobora.reporting.render import (
    CitedSource,
    build_citations,
    number_citations,
    render_account,
    render_conflicts,
    render_gaps,
    render_sources,
    renumber_sections,
    summarize_checks,
)
from corrobora.text.tokens import sanitize_text

CHECKS = st.builds(
    SentenceCheck,
    sentence=st.just("It is so."),
    facts=st.just(("F1",)),
    support=st.sampled_from(Support),
    overlap=st.just(0.5),
    follows=st.sampled_from(["", "quote", "restatement", "count", "something new"]),
    withheld=st.sampled_from(["", "its number 64 stands in none of its sources"]),
)


def table_of(report: Report) -> list[list[str]]:
    rows = [line for line in render_account(report).split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if "---" not in row]


@given(st.lists(CHECKS, min_size=1, max_size=30))
def test_truth_7_the_sums_of_the_account_close(checks: list[SentenceCheck]) -> None:
    _, *rows, total = table_of(replace(REPORT, checks=tuple(checks)))
    numbers = [[int(cell) for cell in row[1:]] for row in (*rows, total)]
    assert all(sum(row[:-1]) == row[-1] for row in numbers)
    assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == numbers[-1]
    assert numbers[-1][-1] == len(checks)


@given(st.lists(CHECKS, min_size=1, max_size=30))
def test_truth_7_every_rate_has_its_denominator(checks: list[SentenceCheck]) -> None:
    said = summarize_checks(checks)
    for part, whole in re.findall(r"(\d+) of (\d+)", said + render_account(replace(REPORT, checks=tuple(checks)))):
        assert int(part) <= int(whole) <= len(checks)


def test_copies_are_counted_apart_and_what_was_withheld_is_told_with_its_reason() -> None:
    copied = SentenceCheck("A.", ("F1",), Support.SUPPORTED, 1.0, follows="quote")
    restated = replace(copied, follows="restatement")
    false = SentenceCheck("B.", ("F1",), Support.CONTRADICTED, 0.5, follows="restatement", withheld="negation differs")
    unclear = replace(restated, support=Support.UNCLEAR)
    checks = (copied, copied, restated, false, unclear)
    assert summarize_checks(checks) == (
        "2 of 5 statements copied word for word, 1 of 2 in other words supported by their quotes, 1 of 5 withheld"
    )
    account = render_account(replace(REPORT, checks=checks))
    assert "- Withheld: negation differs." in account
    assert "*(unclear)*" in account
    assert render_account(REPORT) == ""


ONE = fact("The harbour of Ardal was opened in 1874.", passage="C1")
TWO = fact("The mill of Ardal has two wheels.", source="S2", passage="C2")


def test_markers_are_numbered_by_first_appearance_and_invented_ones_vanish() -> None:
    text, numbers = number_citations(f"A {TWO.marker} b {ONE.marker} c {TWO.marker} d [S99:C9].", (ONE, TWO))
    assert "A [1] b [2] c [1] d" in text
    assert "S99" not in text
    assert numbers == {TWO.marker: 1, ONE.marker: 2}
    assert number_citations(f"A {TWO.marker}{TWO.marker}.", (TWO,))[0] == "A [1]."


def test_facts_that_only_a_table_cites_are_numbered_after_the_body() -> None:
    assert number_citations(f"A {TWO.marker}", (ONE, TWO), (ONE, TWO))[1] == {TWO.marker: 1, ONE.marker: 2}


def test_headings_are_numbered_anew_where_checks_removed_a_section() -> None:
    assert renumber_sections("## 1. A\n\nx\n\n---\n\n---\n\n## 4. B\n") == "## 1. A\n\nx\n\n---\n\n## 2. B\n"


def test_a_source_is_listed_with_its_address_its_hash_and_its_literal_quote() -> None:
    named = replace(ONE, title="Ardal\u202e, a port", url="ardal.md", published="1990")
    cited = build_citations({named.marker: 1}, (named,), {"S1": CitedSource("ab" * 32, "RETRACTED: Ardal")})
    section = render_sources(cited)
    assert "[1] **Ardal, a port** (1990). ardal.md `S1:C1` `sha256:" + "ab" * 32 + "`" in section
    assert "\n\n**Notice in this source:** RETRACTED: Ardal\n\n> The harbour of Ardal was opened in 1874." in section
    assert render_sources(()) == ""
    assert sanitize_text("a\u2066b\x00c") == "abc"


def test_a_quote_inside_of_another_is_listed_once_and_a_title_keeps_its_one_full_stop() -> None:
    whole = replace(ONE, title="The harbour was opened.", quote="Long ago. The harbour of Ardal was opened in 1874.")
    part = replace(whole, id=FactId("F9"), quote="The harbour of Ardal was opened in 1874.")
    cited = build_citations({whole.marker: 1}, (part, whole, part), {})
    assert cited[0].quotes == (whole.quote,)
    assert "[1] **The harbour was opened.** " in render_sources(cited)
    assert "opened.**." not in render_sources(cited)


def test_a_change_that_a_table_of_the_body_tells_is_not_printed_twice_and_an_open_contradiction_always_is() -> None:
    facts = {ONE.id: ONE, TWO.id: TWO}
    row = f"| x | old {ONE.marker} | new {TWO.marker} |"

    def section(relation: Relation, body: str) -> str:
        pair = Contradiction("claim", ONE.id, TWO.id, relation)
        return render_conflicts((pair,), facts, lambda fact: fact.marker, body)

    assert section(Relation.SUPERSEDES, row) == ""
    assert ONE.quote in section(Relation.SUPERSEDES, f"| x | old {ONE.marker} |")
    assert "open contradiction" in section(Relation.CONTRADICTS, row)


def test_open_contradictions_stand_first_and_weighty_changes_before_mere_wordings() -> None:
    facts = {ONE.id: ONE, TWO.id: TWO}
    pairs = [
        Contradiction("c", ONE.id, TWO.id, relation, severity, difference=named)
        for relation, severity, named in (
            (Relation.SUPERSEDES, Severity.LOW, "a word"),
            (Relation.SUPERSEDES, Severity.MEDIUM, "a duty"),
            (Relation.CONTRADICTS, Severity.LOW, "an open word"),
            (Relation.CONTRADICTS, Severity.HIGH, "an open duty"),
        )
    ]
    text = render_conflicts(pairs, facts, lambda fact: fact.marker)
    order = ["| an open duty", "| an open word", "| a duty", "| a word"]
    assert sorted(order, key=text.index) == order


def test_a_side_is_named_by_its_version_and_by_its_title_as_well_where_the_version_is_a_bare_number() -> None:
    facts = {one.id: replace(one, title="House rules", version=told) for one, told in ((ONE, "2023"), (TWO, "draft 4"))}
    pair = Contradiction("claim", ONE.id, TWO.id, Relation.CONTRADICTS)
    text = render_conflicts((pair,), facts, lambda fact: fact.marker)
    assert "| House rules, 2023: “" in text
    assert "| draft 4: “" in text


def test_of_a_contradiction_the_differing_sentences_are_shown_and_each_pair_once() -> None:
    def said(duty: str, more: str, source: str) -> Fact:
        return fact(f"The kiln is red. {duty}{more}", source=source)

    old, new = "Potters should lock the kiln room door.", "Potters shall lock the kiln room door."
    facts = {
        one.id: one
        for one in (
            said(old, "", "S1"),
            said(old, " Tea is served.", "S1"),
            said(new, "", "S2"),
            said(new, " Yes.", "S2"),
        )
    }
    a, b, c, d = facts
    pairs = [Contradiction("c", one, two, difference="should -> shall") for one, two in ((a, c), (b, d))]
    text = render_conflicts(pairs, facts, lambda one: one.marker)
    assert text.count(f"“{old}”") == text.count(f"“{new}”") == 1
    assert "The kiln is red" not in text


def test_a_gap_says_once_what_was_not_read_and_repeats_no_question_of_the_title() -> None:
    asked = "How many wheels has the mill?"
    number = Gap(f"No statement that was read gives the number that is asked for: {asked}")
    other = Gap("No statement that was read names Ruth Holt: Who keeps the sluice?")
    this = Gap(f"No statement that was read clearly answers this: {asked}")
    section = render_gaps(Findings("root", asked, "", gaps=(number, other, Gap("Who built it?"), this)), (), asked)
    assert section.splitlines()[2:] == [
        "- No statement that was read gives the number that is asked for.",
        "- No statement that was read names Ruth Holt: Who keeps the sluice?",
        "- No sufficient evidence: Who built it?",
        f"- No statement that was read clearly answers this: {asked}",
    ]
