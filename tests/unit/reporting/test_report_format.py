"""Form: the format rules hold for every body, and no sentence is changed."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles.research import make_run

from corrobora.domain.report import Citation, Report
from corrobora.reporting.html_page import render_html
from corrobora.reporting.report_format import format_report_body

LINES = st.sampled_from(
    ["# A", "## B", "### C", "#### D", "- one", "  - two", "text.", "", "## References", "## Sources:"]
)


@given(st.lists(LINES, max_size=12))
def test_timed_33_a_body_in_form_stays_as_it_is(lines: list[str]) -> None:
    body = format_report_body("\n".join(lines))
    assert format_report_body(body).split() == body.split()
    assert not any(head in body for head in ("#### ", "References", "Sources", "  - "))
    assert not body.startswith("#")


def test_the_body_opens_with_its_statements() -> None:
    assert (
        format_report_body("## Key\n\n- One [1].\n- Two [2].\n\n## Rest\n\nThree.")
        == "One [1]. Two [2].\n\n## Rest\n\nThree."
    )


def test_lists_of_sources_and_methods_of_a_writer_go_with_their_parts() -> None:
    assert (
        format_report_body("Text.\n\n## References\n\n### Web\n\n- x\n\n## End\n\nLast.") == "Text.\n\n## End\n\nLast."
    )


def test_a_list_of_one_is_a_sentence_and_lists_are_flat() -> None:
    assert format_report_body("Text.\n\n- alone\n\n- a\n  - b") == "Text.\n\nalone\n\n- a\n- b"


TABLE = "| What | Now |\n| --- | --- |\n| Bridge | 412 metres [2] |\n"
ONE = Citation(
    1, "S1", "C1", "Ardal, a <b>port", "https://ardal.example/a?b=1&c=2", "ab" * 32, ("The port of Ardal is old-ish.",)
)
TWO = Citation(
    2, "S2", "C2", "The bridge", "docs/bridge.md", "cd" * 32, ("It is 412 metres long.",), "v2", "1931", "Size"
)


@pytest.fixture
async def report() -> Report:
    return await (await make_run("timed")).research()


def _with(report: Report, body: str, *cited: Citation) -> Report:
    listed = "".join(f"\n[{c.number}] **{c.title}**\n\n> {c.quotes[0]}\n" for c in cited)
    return replace(
        report, markdown=f"# T\n\n*Status: complete.*\n\n{body}\n## Sources\n{listed}", citations=cited, evidence=()
    )


async def test_safe_4_q16_the_page_runs_nothing_and_loads_nothing(report: Report) -> None:
    bad = "<script>alert(1)</script>\n\n[a](javascript:alert(1)) ![x](https://evil.example/p.png)\n"
    page = render_html(replace(report, title="<b>A & B", markdown=report.markdown + bad))
    assert "<script" not in page
    assert "<img" not in page
    assert 'href="javascript:' not in page
    assert "<title>&lt;b&gt;A &amp; B</title>" in page
    assert "default-src 'none'" in page


async def test_every_number_of_a_real_report_leads_to_its_source(report: Report) -> None:
    page = render_html(report)
    targets = set(re.findall(r'<section id="(s\d+)">', page))
    assert targets == {f"s{each.number}" for each in report.citations}
    assert set(re.findall(r'href="#(s\d+)"', page)) == targets
    assert len(re.findall(r'<button type="button" class="n', page)) == len(report.evidence) > 0
    assert [each for each in report.citations if each.quotes[0].split()[0] not in page] == []


def test_a_number_without_evidence_is_a_link_to_its_source_and_only_known_ones_are(report: Report) -> None:
    page = render_html(
        _with(report, "It is long. [2] It is not. [7] `[1]` [old [1]](https://a.example)\n\n" + TABLE, ONE, TWO)
    )
    assert page.count('<a href="#s2" class="n" rel=') == 2
    assert "<button" not in page  # nothing is known of what this text cites
    assert "It is not. [7]" in page
    assert "<code>[1]</code>" in page
    assert ">old [1]</a>" in page


def test_a_cell_keeps_the_name_of_its_column_for_narrow_screens(report: Report) -> None:
    page = render_html(_with(report, TABLE, ONE, TWO))
    assert '<td data-label="What">Bridge</td>' in page
    assert '<td data-label="Now">412 metres&nbsp;<a href="#s2"' in page


def test_a_source_is_laid_out_with_all_that_finds_it_again(report: Report) -> None:
    page = render_html(_with(report, "Old. [1] Long. [2]", ONE, TWO))
    assert "<h3>[1] Ardal, a &lt;b&gt;port</h3>" in page
    assert 'href="https://ardal.example/a?b=1&amp;c=2#:~:text=The%20port%20of%20Ardal%20is%20old%2Dish."' in page
    assert "(v2, 1931), Size" in page
    assert "<p>docs/bridge.md</p>" in page
    assert f"S2:C2 sha256:{'cd' * 32}" in page
    assert page.count("It is 412 metres long.") == 1  # the list is not printed twice


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://[", "data:text/html,x", "file:///etc/passwd", "//a.example"]
)
def test_safe_4_an_address_that_is_not_of_the_web_is_text(report: Report, url: str) -> None:
    assert "<a href" not in render_html(_with(report, "Old.", replace(ONE, url=url)))


def test_contents_are_listed_where_there_is_more_than_a_screen(report: Report) -> None:
    page = render_html(_with(report, "## A <i>\n\nx\n\n## B\n\ny [1]", ONE))
    assert '<a href="#part-1">A &lt;i&gt;</a>' in page
    assert '<h2 id="part-2">' in page
    assert '<a href="#sources">Sources</a>' in page
    assert "<nav" not in render_html(_with(report, "x [1]", ONE))


def test_a_list_of_sources_that_is_not_ours_is_printed_as_it_stands(report: Report) -> None:
    page = render_html(replace(report, markdown="# T\n\nx\n\n## Sources\n\nA sentence of a writer.\n", citations=()))
    assert "A sentence of a writer." in page


def test_the_policy_allows_exactly_the_style_that_is_there(report: Report) -> None:
    page = render_html(report)
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert f"sha256-{b64encode(sha256(style.encode()).digest()).decode()}" in page
    assert "url(" not in style
    assert "@import" not in style
