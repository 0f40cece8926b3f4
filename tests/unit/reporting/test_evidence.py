"""Every `[n]` of a report leads to its own quote, literal in its stored passage, in the page and in the JSON."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles.research import make_run
from tests.unit.domain.test_report import REPORT

from corrobora.domain.evidence import Document, Fact, FactId, Passage, PassageId, Source, SourceId
from corrobora.domain.report import Citation, Report, SentenceCheck, Support
from corrobora.engine.session.journal import decode, encode
from corrobora.reporting.cards import build_cards, find_passage, mark_spans
from corrobora.reporting.evidence import (
    build_evidence,
    list_occurrences,
    make_parser,
    read_page,
    select_quotes,
    split_sources,
)
from corrobora.reporting.html_page import render_html
from corrobora.reporting.html_reader import html_to_markdown
from corrobora.reporting.render import render_sources
from corrobora.reporting.seal import compute_digest, strip_seal
from corrobora.reporting.verify import is_copied
from corrobora.text.markdown import strip_source_label
from corrobora.text.phrases import find_frame

TEXT = (
    "The sluice gates of Orrin are greased every 14 days. Oil is used.\n\nThe pond may stand at most 210 centimetres "
    "above the sill. Geese leave in April."
)
SOURCE = Source(
    SourceId("S1"), "Rules <b>of</b> Orrin", "https://orrin.example/rules?a=1", "ab" * 32, publisher="Orrin"
)
PASSAGE = Passage(PassageId("C7"), SourceId("S1"), TEXT, 0, len(TEXT), heading="p. 12")
STORED = {"S1": Document(SOURCE, TEXT, (PASSAGE,))}
CITED = (Citation(1, "S1", "C7", SOURCE.title, SOURCE.url, SOURCE.snapshot, ()),)


def make_fact(quote: str) -> Fact:
    fact = Fact.from_quote(Document(SOURCE, TEXT, (PASSAGE,)), PASSAGE, quote)
    assert fact is not None
    return fact


GREASE = make_fact("The sluice gates of Orrin are greased every 14 days.")
POND = make_fact("The pond may stand at most 210 centimetres above the sill.")
GEESE = make_fact("Geese leave in April.")


def write(body: str, *checks: SentenceCheck) -> Report:
    findings = replace(REPORT.findings, facts=(GREASE, POND, GEESE))
    report = replace(REPORT, markdown=f"# T\n\n{body}\n", citations=CITED, findings=findings, checks=checks)
    evidence, passages = build_evidence(report, STORED)
    return replace(report, evidence=evidence, passages=passages)


@pytest.mark.parametrize("profile", ["timed", "rounds", "tree", "angles", "full"])
async def test_every_marker_of_a_run_opens_a_quote_that_is_literal_in_its_stored_passage(profile: str) -> None:
    run = await make_run(profile)
    report = await run.research()
    body, _ = split_sources(strip_seal(report.markdown).rstrip(), report.citations)
    markers = list_occurrences(make_parser().parse(body), {each.number for each in report.citations})
    assert [each.number for each in markers] == [each.number for each in report.evidence] != []
    shown = render_html(report)
    assert decode(Report, run.files["report.json"], key="").evidence == report.evidence
    facts = {fact.id: fact for fact in report.findings.facts}
    cited = {each.number: each for each in report.citations}
    for each in report.evidence:
        assert each.quotes
        assert f'popovertarget="e{each.marker}" popovertargetaction="show"' in shown
        card = re.search(rf'<div class="ev" popover id="e{each.marker}".*?</div>', shown, re.DOTALL)
        assert card is not None
        for quote in each.quotes:
            source, text = await run.library.document(SourceId(quote.source))
            place = find_passage(quote, report.passages)
            assert place is not None
            passage = report.passages[place]
            assert text[quote.start : quote.end] == quote.text == facts[FactId(quote.fact)].quote
            assert text[passage.start : passage.end] == passage.text
            assert (quote.snapshot, quote.source) == (source.snapshot, cited[each.number].source)
            assert f"<mark>{quote.text}</mark>" in unescape(card.group())
        if each.follows == "quote":
            held = facts[FactId(each.quotes[0].fact)]
            said = strip_source_label(each.sentence, [held.title, held.version, held.published])
            assert is_copied(said, [quote.text for quote in each.quotes])


def test_two_sentences_on_one_passage_lead_to_two_quotes() -> None:
    report = write("The sluice gates of Orrin are greased every 14 days. [1] Geese leave in April. [1]")
    assert [each.quotes[0].text for each in report.evidence] == [GREASE.quote, GEESE.quote]
    assert [each.sentence for each in report.evidence] == [GREASE.quote, GEESE.quote]
    assert [(each.support, each.follows) for each in report.evidence] == [(Support.SUPPORTED, "quote")] * 2
    assert len(report.passages) == 1
    assert (report.passages[0].page, report.passages[0].publisher) == (12, "Orrin")


def test_a_sentence_of_two_quotes_leads_to_both() -> None:
    report = write("Orrin gates are greased every 14 days, and geese leave in April. [1]")
    assert {each.text for each in report.evidence[0].quotes} == {GREASE.quote, GEESE.quote}
    assert select_quotes("The pond of Orrin may stand at 210 centimetres.", (GREASE, POND, GEESE))[0] == POND


def test_a_marker_takes_the_verdict_of_its_sentence() -> None:
    said = "The gates are oiled now and then."
    check = SentenceCheck(said, (GREASE.id,), Support.UNCLEAR, 0.4, (), "restatement")
    report = write(f"{said} [1] *(unclear)* Geese leave in April. [1]", check)
    assert [each.support for each in report.evidence] == [Support.UNCLEAR, Support.SUPPORTED]
    assert build_cards(report)[1].tone == "warn"


def test_cells_and_numbers_alone_have_their_own_statement() -> None:
    table = (
        "| What | Says | Where |\n|---|---|---|\n| Geese | leave in April | [1] |\n| Pond | 210 centimetres [1] | x |"
    )
    report = write(f"**Bold** `[1]` [link [1]](https://a.example) x [1]\n\n{table}")
    said = ["Bold [1] link [1] x", "Geese leave in April", "210 centimetres"]
    assert [each.sentence for each in report.evidence] == said
    assert [each.quotes[0].text for each in report.evidence[1:]] == [GEESE.quote, POND.quote]


def test_a_quote_that_no_longer_stands_in_its_text_is_left_out() -> None:
    report = write("Geese leave in April. [1]")
    gone = {"S1": Document(SOURCE, "Another text.", ())}
    assert build_evidence(report, gone)[0][0].quotes == ()
    assert build_cards(replace(report, evidence=build_evidence(report, gone)[0])) == {}


def test_the_evidence_of_a_page_is_sealed_and_is_no_statement_of_the_report() -> None:
    report = write("Geese leave in April. [1]")
    page = render_html(report)
    assert "<mark>Geese leave in April.</mark>" in page
    assert "Rules &lt;b&gt;of&lt;/b&gt; Orrin" in page
    forged = page.replace("<mark>Geese leave in April.</mark>", "<mark>Geese leave in May.</mark>")
    assert compute_digest(html_to_markdown(forged)) != compute_digest(html_to_markdown(page))


@given(st.text(max_size=800), st.lists(st.tuples(st.integers(0, 800), st.integers(0, 90)), max_size=5))
def test_marking_changes_no_character(text: str, places: list[tuple[int, int]]) -> None:
    spans = [(start, min(len(text), start + size)) for start, size in places if start <= len(text)]
    segments = mark_spans(text, spans)
    assert "".join(each.text for each in segments) == text
    marked = {at for start, end in spans for at in range(start, end)}
    at = 0
    for each in segments:
        assert {place in marked for place in range(at, at + len(each.text))} <= {bool(each.quote)}
        at += len(each.text)


def test_reports_of_earlier_versions_have_no_evidence_and_are_read() -> None:
    fields = encode(Report, REPORT).replace(',"evidence":[],"passages":[]', "")
    assert "evidence" not in fields
    assert decode(Report, fields, key="") == REPORT
    assert read_page("p. 12 of 30") is None


@pytest.mark.parametrize("tag", ["en", "de"])
def test_a_list_of_sources_with_authors_and_notices_is_written_from_the_citations(tag: str) -> None:
    """It was taken for a part of the body, where its numbers were statements without evidence."""
    frame = find_frame(tag)
    cited = (
        replace(CITED[0], authors=("Doe, Jane", "Mill Office"), notice="Retracted in 2024.", quotes=(GREASE.quote,)),
    )
    markdown = f"# T\n\n{GREASE.quote} [1]\n\n{render_sources(cited, frame)}\n"
    assert split_sources(markdown, cited, frame)[1]
    page = render_html(replace(REPORT, markdown=markdown, citations=cited, language=tag))
    assert page.count("Doe, Jane; Mill Office") == 1
    body, _, rest = page.partition('<section id="s1">')
    assert "sha256:" not in body.partition("<body>")[2]
    assert f"<strong>{frame.translate('Authors of this source')}:</strong> Doe, Jane; Mill Office" in rest


def test_a_mark_below_code_cites_the_code_and_a_number_in_it_cites_nothing():
    tokens = make_parser().parse("Take the last one:\n\n```\nx = all[1]\n  y = x\n```\n\n[2]\n\nIt is done [1].")
    found = list_occurrences(tokens, {1, 2})
    assert [(each.number, each.sentence) for each in found] == [(2, "x = all[1] y = x"), (1, "It is done.")]
