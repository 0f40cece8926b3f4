"""A page of ours reads back as the Markdown that it was made of."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tests.unit.domain.test_report import REPORT

from corrobora.domain.limits import Usage
from corrobora.domain.report import Citation, RoleSpend
from corrobora.reporting.html_page import render_html
from corrobora.reporting.html_reader import html_to_markdown, is_html
from corrobora.reporting.render import render_sources
from corrobora.reporting.report_parser import find_statements, parse_report
from corrobora.reporting.seal import SealStatus, check_seal, fold_layout, seal_files

HASH = "ab" * 32
BODY = """# Ardal & <its> port

*Status: complete. 1 source.*

The port of *Ardal* is old. [1] It has **two** cranes. [1][2]

## Size

1. It is 412 metres long. [2]
2. It is red. [1]

| What | One side |
|---|---|
| Length | 412 metres [2] |
"""
CITED = (
    Citation(1, "S1", "C1", "Ardal", "https://ardal.example/a?b=1", HASH, ("The port is old.", "It is red."), "v2"),
    Citation(2, "S2", "C3", "Bridge", "docs/bridge.md", HASH, ("It is 412 metres long.",), heading="Size", notice="W"),
)


def test_a_page_reads_back_as_its_markdown() -> None:
    markdown = f"{BODY}\n{render_sources(CITED)}\n"
    page = render_html(replace(REPORT, title="Ardal", markdown=markdown, citations=CITED))
    again = html_to_markdown(page)
    assert is_html(page)
    assert not is_html(markdown)
    ours, theirs = parse_report(markdown), parse_report(again)
    assert [(s.numbers, fold_layout(s.text)) for s in find_statements(theirs)] == [
        (s.numbers, fold_layout(s.text)) for s in find_statements(ours)
    ]
    assert theirs.references.keys() == ours.references.keys()
    for number, reference in ours.references.items():
        read = theirs.references[number]
        assert fold_layout(read.label) == fold_layout(reference.label)
        assert (read.url, read.snapshot, read.quotes, read.source, read.passage) == (
            *(reference.url, reference.snapshot, reference.quotes, reference.source, reference.passage),
        )


def test_a_page_that_code_has_written_reads_as_any_other() -> None:
    pages = [each.read_text() for each in sorted(Path("docs/examples").glob("*/report.html"))]
    assert len(pages) > 5
    for page in (*pages, pages[0].replace("<main", "1 < 2 &lt;b&gt; <!-- gone --><main")):  # the last has a bare "<"
        assert html_to_markdown(page, normal=True) == html_to_markdown(page)


def test_a_number_in_brackets_of_a_source_is_no_citation_of_the_page() -> None:
    body = BODY.replace("is old. [1]", "is old, see \\[1\\] and \\[^2\\]. [1]")
    page = render_html(replace(REPORT, title="Ardal", markdown=f"{body}\n{render_sources(CITED)}\n", citations=CITED))
    shown = page.partition("<p>The port of")[2].partition("</p>")[0]
    assert "see [1] and [^2].&nbsp;<" in shown, "the source's own are text"
    assert re.findall(r">\[(\d)\]</(?:a|button)>", shown) == ["1", "1", "2"]
    assert "is old, see \\[1\\] and \\[^2\\]. [1] It has" in html_to_markdown(page).replace("\u00a0", " ")


def test_an_escaped_number_cites_nothing_unless_a_formatter_escaped_all() -> None:
    quoting = BODY.replace("is old. [1]", "is old, see \\[2\\] on it. [1]")
    sources = render_sources(CITED)
    cited = {said.text: said.numbers for said in find_statements(parse_report(f"{quoting}\n{sources}\n"))}
    assert cited["The port of *Ardal* is old, see \\[2\\] on it."] == (1,)
    escaped = re.sub(r"\[(\d)\]", r"\\[\1\\]", BODY)
    found = find_statements(parse_report(f"{escaped}\n{sources}\n"))
    assert [said.numbers for said in found] == [(1,), (1, 2), (2,), (1,), (2,)]


def test_a_page_has_plots_that_are_sealed_closed_and_no_statements_of_the_report() -> None:
    markdown = f"{BODY}\n{render_sources(CITED)}\n"
    plain = replace(REPORT, title="Ardal", markdown=markdown, citations=())
    spent = (RoleSpend("write", 3, Usage(calls=3, input_tokens=70, output_tokens=5)),)
    report = replace(plain, citations=CITED, methodology=replace(plain.methodology, spend=spent))
    page = render_html(report)
    assert '<details id="plots">\n<summary><h2>Plots of the run</h2></summary>' in page
    assert {"publishers", "spend"} <= set(
        re.findall(r'class="plot" tabindex="0" role="group" aria-labelledby="plot-(\w+)-title"', page)
    )
    assert '<li><a href="#plots">Plots of the run</a></li>' in page
    assert "style=" not in page.partition("<body>")[2]
    said = [fold_layout(each.text) for each in find_statements(parse_report(html_to_markdown(page)))]
    assert said == [fold_layout(each.text) for each in find_statements(parse_report(markdown))]
    files, _ = seal_files({"report.md": markdown, "report.html": page, "report.json": '{"language": "en"}'}, "r_1")
    for wrong, status in (("3 calls", SealStatus.UNKNOWN), ("9 calls", SealStatus.BROKEN)):
        shown = html_to_markdown(files["report.html"].replace("3 calls", wrong))
        assert check_seal(shown, None)[0] is status
    german = render_html(replace(report, language="de"))
    assert "Diagramme des Laufs" in german
    assert "Verbrauch: Token jeder Rolle" in german
    assert 'id="plots"' not in render_html(plain)


def test_dashes_that_a_page_has_inside_a_line_may_begin_one_of_the_stored_report() -> None:
    stored = "# Ardal\n\nRain water goes to Ardal.\n---> tank on the left. [1]\n\n- 5 cranes [1]\n"
    for shown, status in (
        ("# Ardal\n\nRain water goes to Ardal. \\---> tank on the left. [1]\n\n- 5 cranes [1]\n", SealStatus.DELIVERED),
        ("# Ardal\n\nRain water goes to Ardal. \\---> tank on the left. [1]\n\n\\- 5 cranes [1]\n", SealStatus.CHANGED),
    ):
        assert check_seal(shown, stored)[0] is status
