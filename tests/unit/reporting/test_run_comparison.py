"""Comparison of two runs: statements by what they say, and what is news apart from what only the search changed."""

from __future__ import annotations

from dataclasses import replace
from time import process_time
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.domain.test_report import REPORT
from tests.unit.policies.threads import fact

from corrobora.domain.evidence import Contradiction, Fact
from corrobora.domain.plan import SubQuestion, SubQuestionStatus
from corrobora.domain.report import CitedQuote, Findings, MarkerEvidence, Report, Support, Verdict
from corrobora.domain.thread import Gap
from corrobora.reporting.run_comparison import ChangeKind, compare_reports, render_comparison

OPENED = "The harbour of Ardal was opened to steamers in 1874."
WHEELS = "The mill of Ardal has two wheels of oak."
HEAD = "The harbour master of Ardal is Greta Lund."
DEPTH = "The harbour basin is 9 metres deep at low water."


def said(quote: str, page: str, text: str = "1") -> Fact:
    """Return a fact of a page whose text is told apart by `text`; each reading of a page is a source of its own."""
    return fact(quote, source=f"S{crc32(f'{page} {text}'.encode()) % 10_000}", origin=f"{page} {text}", url=page)


def report(*facts: Fact, **findings: object) -> Report:
    return replace(REPORT, findings=replace(Findings("root", "t", facts=facts), **findings))


def kinds(before: Report, after: Report) -> dict[str, tuple[str, bool]]:
    return {each.text: (each.kind.value, each.news) for each in compare_reports(before, after).statements}


def test_wording_order_copies_and_dates_of_access_are_no_change() -> None:
    before = report(said(OPENED, "a.example"), said(WHEELS, "b.example"))
    page = "b.example"
    after = report(
        said("The mill of Ardal has two  wheels of oak.", page, "accessed today"),
        said("In 1874 the harbour of Ardal was opened to steamers.", "a.example", "2"),
        said(OPENED, "copy.example"),
    )
    found = compare_reports(before, after)
    assert {each.kind for each in found.statements} == {ChangeKind.SAME}
    assert not found.has_news


def test_a_changed_number_or_name_is_news_with_both_wordings() -> None:
    before = report(said(OPENED, "a.example"), said(HEAD, "b.example"), said(DEPTH, "b.example"))
    now = said("The harbour master of Ardal is Ole Brandt.", "b.example", "2")
    deep = said("The harbour basin is 11 metres deep at low water.", "b.example", "2")
    found = compare_reports(before, report(said(OPENED, "a.example"), now, deep))
    changed = {each.text: each for each in found.statements if each.kind is ChangeKind.CHANGED}
    assert changed[now.quote].before == HEAD
    assert changed[deep.quote].before == DEPTH
    assert "9 metres" in changed[deep.quote].note
    assert "11 metres" in changed[deep.quote].note
    assert found.has_news


def test_what_only_the_search_found_or_missed_is_told_and_is_no_news() -> None:
    """The later run chose other sentences of the same texts: nothing in the world changed."""
    before = report(said(OPENED, "a.example"), said(DEPTH, "a.example"))
    after = report(said(OPENED, "a.example"), said(WHEELS, "a.example"))
    assert kinds(before, after) == {OPENED: ("same", True), WHEELS: ("new", False), DEPTH: ("gone", False)}
    assert not compare_reports(before, after).has_news


def test_a_statement_that_its_source_dropped_is_gone_and_a_new_source_is_news() -> None:
    before = report(said(OPENED, "a.example"), said(DEPTH, "a.example"))
    after = report(said(OPENED, "a.example", "2"), said(WHEELS, "new.example"))
    assert kinds(before, after) == {OPENED: ("same", True), WHEELS: ("new", True), DEPTH: ("gone", True)}
    found = compare_reports(before, after)
    assert {each.sources[0]: each.kind.value for each in found.sources} == {
        "a.example": "changed",
        "new.example": "new",
    }


def test_a_sentence_of_a_passage_that_is_printed_whole_may_change_alone() -> None:
    """A report that is not sure prints the passages that were found first; what speaks of the question counts."""

    def print_passage(second: str, text: str) -> Report:
        passage = said(f"{OPENED}\n\n{second}", "a.example", text)
        whole = CitedQuote(passage.id, passage.source, passage.passage, "", 0, 9, passage.quote)
        markers = [
            MarkerEvidence(number, 1, sentence, Support.SUPPORTED, "", (whole,))
            for number, sentence in enumerate((OPENED, second, f"Accessed on {text} May."), 1)
        ]
        markers += [MarkerEvidence(4, 1, f"Follows the harbour run {text}.", Support.NOT_CHECKABLE, "", (whole,))]
        fact_of_both = said(OPENED, "a.example", text)
        asked = "How deep is the harbour?"
        return replace(report(fact_of_both, nearest=(passage,)), question=asked, asked="", evidence=tuple(markers))

    deep = DEPTH.replace("9", "11")
    assert kinds(print_passage(DEPTH, "1"), print_passage(DEPTH, "2")) == {
        OPENED: ("same", True), DEPTH: ("same", True)
    }  # fmt: skip
    changed = compare_reports(print_passage(DEPTH, "1"), print_passage(deep, "2"))
    assert [(each.text, each.before) for each in changed.statements if each.kind is ChangeKind.CHANGED] == [
        (deep, DEPTH)
    ]
    assert changed.has_news
    assert not compare_reports(print_passage(DEPTH, "1"), print_passage(WHEELS, "1")).has_news, "one text, read twice"


def test_chapters_that_share_an_address_are_told_apart() -> None:
    one, two = (replace(said(quote, "a.example", text), title=text) for quote, text in ((OPENED, "1"), (DEPTH, "2")))
    after = replace(said(DEPTH, "a.example", "3"), title="2")
    kept, other = compare_reports(report(one, two), report(one)), compare_reports(report(one, two), report(one, after))
    assert sorted((each.text, each.kind.value) for each in kept.sources) == [("1", "same"), ("2", "gone")]
    assert sorted((each.text, each.kind.value) for each in other.sources) == [("1", "same"), ("2", "changed")]


def test_answers_gaps_contradictions_and_scores_are_compared() -> None:
    asked = SubQuestion("sq-1", "When was it opened?", SubQuestionStatus.ANSWERED, finding=OPENED)
    one, two = said(OPENED, "a.example"), said("The harbour of Ardal was opened to steamers in 1880.", "b.example")
    before = replace(
        report(one, two, sub_questions=(asked,), gaps=(Gap("its depth"),)), verdict=Verdict(0.5, 0.5, 0.5, 0.5, 0.5)
    )
    open_now = replace(asked, id="sq-9", standing=SubQuestionStatus.PARTIAL)
    pair = Contradiction("opened", one.id, two.id, difference="1874 -> 1880")
    after = report(one, two, sub_questions=(open_now,), gaps=(Gap("its cost"),), contradictions=(pair,))
    found = compare_reports(before, after, ("r_a", "r_b"))
    assert [each.kind.value for each in found.answers] == ["changed"]
    assert sorted((each.kind.value, each.text) for each in found.gaps) == [("gone", "its depth"), ("new", "its cost")]
    assert [each.kind.value for each in found.contradictions] == ["new"]
    scores = {each.name: (each.before, each.after) for each in found.scores}
    assert scores["overall"] == (0.5, None)
    page = render_comparison(found)
    assert "`r_a`" in page
    assert "new: its cost" in page
    assert "1 changed" in page


FACTS = st.lists(
    st.sampled_from((OPENED, WHEELS, HEAD, DEPTH)).flatmap(
        lambda quote: st.sampled_from(("a.example", "b.example")).map(lambda page: said(quote, page))
    ),
    max_size=6,
    unique_by=lambda each: each.id,
)


@given(FACTS, FACTS)
def test_every_statement_of_both_runs_is_told_once_and_a_run_equals_itself(one: list[Fact], two: list[Fact]) -> None:
    before, after = report(*one), report(*two)
    found = compare_reports(before, after)
    told = [each.text for each in found.statements] + [each.before for each in found.statements if each.before]
    assert {each.quote for each in (*one, *two)} == set(told)
    assert not compare_reports(before, report(*reversed(one))).has_news
    assert compare_reports(before, after) == compare_reports(report(*reversed(one)), report(*reversed(two)))


def cite(found: Report, *facts: Fact) -> Report:
    quotes = tuple(CitedQuote(each.id, each.source, each.passage, each.origin, 0, 1, each.quote) for each in facts)
    return replace(found, evidence=(MarkerEvidence(1, 1, "", Support.SUPPORTED, "quote", quotes),))


def test_statements_that_no_report_cites_are_not_counted() -> None:
    opened, depth, wheels = said(OPENED, "a.example"), said(DEPTH, "b.example"), said(WHEELS, "c.example")
    before = cite(report(opened, depth, wheels), opened)
    found = compare_reports(before, cite(report(opened, depth, wheels), opened, depth))
    assert {each.text: each.kind.value for each in found.statements} == {OPENED: "same", DEPTH: "same"}
    assert {each.sources for each in found.sources} == {("a.example",), ("b.example",)}
    deep = said("The harbour basin is 11 metres deep at low water.", "b.example", "2")
    changed = compare_reports(cite(report(opened, depth), depth), cite(report(opened, deep), opened))
    assert {each.kind.value for each in changed.statements} == {"same", "changed"}, "what replaced a cited statement"


def test_two_reports_of_many_like_statements_are_compared_in_seconds() -> None:
    """Of 120 sentences that differ in names and years alone every pair was checked: 11 CPU-seconds."""
    before = [f"The bridge at Ardal {n} was opened in {1800 + n} after {n % 9 + 2} years of work." for n in range(120)]
    after = [text.replace("bridge", "ferry") if n % 10 == 0 else text for n, text in enumerate(before)]
    start = process_time()
    found = kinds(
        report(*(said(text, f"{n}.example") for n, text in enumerate(before))),
        report(*(said(text, f"{n}.example") for n, text in enumerate(after))),
    )
    assert process_time() - start < 4
    assert [kind for kind, _ in found.values()].count("same") == 108


def test_of_many_near_statements_the_one_in_other_words_is_found() -> None:
    others = [f"The harbour of Ardal {n} was opened to steamers in {1900 + n}." for n in range(30)]
    before = report(*(said(text, f"{n}.example") for n, text in enumerate([*others, OPENED])))
    after = report(said("In 1874 the harbour of Ardal was opened to steamers.", "a.example", "2"))
    assert kinds(before, after)["In 1874 the harbour of Ardal was opened to steamers."][0] == "same"
