"""`corrobora source`: a stored passage with its quotes marked, from what a report names."""

from __future__ import annotations

import json

import pytest
from tests.plugins.shell import QUESTION, Shell


@pytest.mark.covers("source --json")
def test_a_marker_of_a_report_is_printed_with_its_quotes(readable: tuple[Shell, str]) -> None:
    shell, run = readable
    report = json.loads(shell("export", run, "-f", "json", "-o", "-").out)
    quote = report["evidence"][0]["quotes"][0]
    named = f"{quote['source']}:{quote['passage']}"
    assert shell(QUESTION, "-l", "docs", "-q").code == 0  # other tests have runs of their own after this one
    for words in ([named], ["last", f"[{named}]"], [run[:12], named]):
        printed = shell("source", *words)
        assert printed.code == 0
        assert f"»{quote['text']}«" in printed.out
        assert f"sha256:{quote['snapshot']}" in printed.out
        assert f"== {named}, characters" in printed.out
    found = json.loads(shell("source", run, named, "--json").out)
    place = {"fact": quote["fact"], "start": quote["start"], "end": quote["end"]}
    assert place in found["quotes"]
    passage = next(each for each in found["passages"] if each["passage"] == quote["passage"])
    assert passage["text"][quote["start"] - passage["start"] : quote["end"] - passage["start"]] == quote["text"]
    assert found["source"]["url"] == passage["url"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bridge"], "names no source"),
        (["S99999999"], "No source S99999999"),
        (["S1:C99999999"], "no passage C99999999"),
        (["r_nothing", "S1"], "r_nothing"),
        (["a", "b", "S1"], "one run and one source"),
    ],
)
def test_what_is_not_stored_is_said(readable: tuple[Shell, str], words: list[str], said: str) -> None:
    result = readable[0]("source", *words)
    assert (result.code, said in result.complaint) == (2, True), result.complaint


def test_a_source_that_the_report_does_not_cite_is_no_evidence_of_it(readable: tuple[Shell, str]) -> None:
    shell, run = readable
    cited = {each["source"] for each in json.loads(shell("export", run, "-f", "json", "-o", "-").out)["citations"]}
    others = {"S1", "S2"} - cited
    for each in others:
        assert "does not cite" in shell("source", run, each).complaint
    assert {shell("source", run, each).code for each in cited} == {0}


def test_a_cited_passage_is_printed_after_its_document_was_read_again(folder: Shell) -> None:
    """The index forgets the passages of a document that changed; reports of earlier runs still name them."""
    report = json.loads(folder("When do the lakes freeze over?", "-l", "papers", "--json", "-q").out)
    [cited] = report["citations"]
    (folder.folder / "papers" / "lakes.md").write_text("# Lakes\n\nThe lakes freeze over in January.\n")
    assert folder("update", "last", "-q").code == 0
    named = f"{cited['source']}:{cited['passage']}"
    for words in ([named], [report["run_id"], named], [cited["source"]]):
        printed = folder("source", *words)
        marked = printed.out.partition("»")[2].partition("«")[0]  # the whole passage is a quote, too
        assert (printed.code, bool(marked) and marked in cited["quotes"][0]) == (0, True), printed
    assert f"== {named}, characters 0-" in folder("source", named).out
