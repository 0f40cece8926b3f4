"""Every piece of evidence behind a report, over HTTP: what the report says and what is stored agree."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from tests.plugins.serving import Site


def read(site: Site, part: str) -> Any:
    answer = httpx2.get(f"{site.url}/api/v1/runs/{site.run}/{part}", timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_every_quote_of_the_report_stands_in_the_stored_text_at_its_place(site: Site) -> None:
    facts = read(site, "facts")
    assert facts
    texts: dict[str, str] = {}
    for fact in facts:
        if fact["source"] not in texts:
            texts[fact["source"]] = read(site, f"sources/{fact['source']}")["text"]
        stored = texts[fact["source"]][fact["start"] : fact["end"]]
        assert " ".join(stored.split()) == " ".join(fact["quote"].split())


def test_a_citation_leads_to_its_source_and_its_passage_with_neighbours(site: Site) -> None:
    for cited in read(site, "citations"):
        source = read(site, f"sources/{cited['source']}")
        assert cited["number"] in source["cited_as"]
        assert source["source"]["snapshot"] == cited["snapshot"]
        assert source["characters"] == len(source["text"])
        passage = read(site, f"sources/{cited['source']}/passages/{cited['passage']}")
        assert passage["passage"]["id"] == cited["passage"]
        assert passage["quotes"]
        places = [each["start"] for each in source["passages"]]
        assert places == sorted(places)
        assert all(each["id"] != cited["passage"] for each in passage["neighbours"])


def test_sources_are_listed_with_what_was_taken_from_them(site: Site) -> None:
    sources = read(site, "sources")
    taken = sorted(fact["id"] for each in sources for fact in each["facts"])
    assert taken == sorted(fact["id"] for fact in read(site, "facts"))
    assert {n for each in sources for n in each["cited_as"]} == {each["number"] for each in read(site, "citations")}


def test_checks_conflicts_gaps_decisions_and_rounds_are_those_of_the_report(site: Site) -> None:
    report = read(site, "report")
    assert read(site, "claims") == report["checks"]
    assert {check["support"] for check in read(site, "claims")} & {"supported", "partly"}
    for each in read(site, "contradictions"):
        assert each["a"]["id"] == each["contradiction"]["a"]
        assert each["b"]["id"] == each["contradiction"]["b"]
    assert read(site, "gaps")["exhausted"] == report["methodology"]["exhausted"]
    assert len(read(site, "decisions")) == len(read(site, "rounds")) == report["methodology"]["rounds"]
    spend = read(site, "spend")
    assert (spend["total_dollars"], sum(part["searches"] for part in spend["parts"])) == (
        0.0,
        report["methodology"]["searches"],
    )


@pytest.mark.parametrize(
    ("accept", "form", "begins"),
    [
        ("text/markdown", "md", "# "),
        ("text/html", "html", "<!doctype html>"),
        ("*/*", "json", "{"),
        ("text/html;q=0.1, application/json;q=0.9", "json", "{"),
        ("text/html;q=0, text/markdown;q=nan, text/markdown;level=1;q=0.2", "json", "{"),
        ("text/html;q=.5, text/markdown", "md", "# "),
    ],
)
def test_a_report_is_sent_in_the_form_that_is_asked_for_and_not_twice(
    site: Site, accept: str, form: str, begins: str
) -> None:
    path = f"{site.url}/api/v1/runs/{site.run}/report"
    negotiated = httpx2.get(path, headers={"Accept": accept})
    named = httpx2.get(f"{path}.{form}")
    assert negotiated.content == named.content
    assert named.text.lower().startswith(begins)
    again = httpx2.get(f"{path}.{form}", headers={"If-None-Match": named.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert httpx2.get(f"{path}.{form}", headers={"If-None-Match": "*"}).status_code == 304


def test_a_report_is_exported_for_other_programs(site: Site) -> None:
    base = f"{site.url}/api/v1/runs/{site.run}/report"
    for form, begins in (("csl", "["), ("bib", "@"), ("ris", "TY  - "), ("bundle", "PK")):
        answer = httpx2.get(f"{base}.{form}", timeout=120)
        assert answer.status_code == 200
        assert answer.text.startswith(begins)
        assert "attachment" in answer.headers["content-disposition"]


def test_files_of_the_run_are_listed_and_sent_and_no_other(site: Site) -> None:
    names = read(site, "files")
    assert {"report.md", "report.html", "report.json", "plan.json"} <= set(names)
    for name in names:
        assert httpx2.get(f"{site.url}/api/v1/runs/{site.run}/files/{name}").status_code == 200
    for name in ("../../etc/passwd", "%2e%2e/secret", "nothing.md", "a%00b"):
        assert httpx2.get(f"{site.url}/api/v1/runs/{site.run}/files/{name}").status_code == 404


def test_unknown_evidence_is_not_found(site: Site) -> None:
    base = f"{site.url}/api/v1/runs/{site.run}"
    source = read(site, "citations")[0]["source"]
    for path, status, code in (
        ("sources/S999999999", 404, "source_unknown"),
        (f"sources/{source}/passages/C999999999", 404, "passage_unknown"),
        ("report.xyz", 422, "export_format"),
    ):
        answer = httpx2.get(f"{base}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_word_file_is_called_one(site: Site) -> None:
    answer = httpx2.get(f"{site.url}/api/v1/runs/{site.run}/report.docx", timeout=120)
    assert answer.headers["content-type"].endswith("wordprocessingml.document")
