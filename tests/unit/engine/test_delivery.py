"""Delivery: what belongs to a report, which files a run leaves, and no report where nothing was found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.fakes import FakeClock, MemoryLibrary
from tests.profiles.research import DOCUMENTS, QUESTION, LibraryRun, Mixed, make_run

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.domain.errors import ProviderError
from corrobora.domain.evidence import Hit, Reading, ReadOutcome, SourceId
from corrobora.domain.report import Draft, Outcome
from corrobora.domain.run import EventType
from corrobora.domain.thread import Intent, Round
from corrobora.engine.deliver import count_results, explain_no_report
from corrobora.reporting.report_format import format_report_body
from corrobora.reporting.seal import find_seal

UNKNOWN = "Which composer wrote the anthem of the republic of Zambria?"


async def ran(profile: str, **more: Any) -> tuple[LibraryRun, Any]:
    run = await make_run(profile, wire=False, **more)
    return run, await run.research()


@pytest.mark.parametrize(
    ("profile", "named"),
    [
        ("timed", {"phase_state.json"}),
        ("rounds", {"rounds.json", "research_state.json"}),
        ("angles", {"lead_agent_plan.json", "cost_estimate.json", "verification.json"}),
        ("tree", set[str]()),
    ],
)
async def test_a_run_leaves_the_files_of_its_profile_and_the_report_in_three_forms(profile: str, named: set[str]):
    run, report = await ran(profile)
    always = {"plan.json", "report.md", "report.html", "report.json", "methodology.json"}
    written = {name for name in run.files if not name.startswith("subagents/")}
    assert written == always | named
    assert run.files["report.md"] == report.markdown
    assert json.loads(run.files["report.json"])["outcome"] == report.outcome


@pytest.mark.parametrize("profile", ["timed", "rounds", "angles"])
async def test_a_report_that_is_made_again_from_its_journal_later_is_the_same_to_the_letter(profile: str):
    """As for another target: "Spent: 1 s" became "Spent: 2 s", so that `verify` refused what was delivered first."""
    first, _ = await ran(profile)
    clock = FakeClock()
    again = await make_run(
        profile, wire=False, journal=first.journal.next_attempt(), library=first.library, clock=clock
    )
    await clock.advance(100.0)
    await again.research()
    assert again.files == first.files


async def test_a_run_that_found_nothing_leaves_a_sealed_report_that_says_so():
    run, report = await ran("timed", question=UNKNOWN, documents={"fish.md": DOCUMENTS["fish.md"]})
    assert (report.outcome, report.citations) == (Outcome.NO_EVIDENCE, ())
    assert run.files["report.md"] == report.markdown
    assert find_seal(report.markdown)
    assert find_seal(run.files["report.html"])
    title, status, *said = report.markdown.split("\n\n")
    assert title == f"# {UNKNOWN}"
    assert status.startswith(f"*Status: no sufficient evidence was found ({report.reason}). 0 sources cited of ")
    assert said[0] == "No sufficient evidence was found to answer the question."
    assert "## Methodology" in said
    assert "copied word for word" not in report.markdown


async def test_only_what_was_read_counts_as_a_source_that_was_read():
    readings = (
        Reading(Hit("doc/a", "a"), ReadOutcome.READ, SourceId("S1")),
        Reading(Hit("doc/b", "b"), ReadOutcome.FAILED, SourceId("S2")),
    )
    run = await make_run("timed", wire=False)
    counted = count_results([Round(1, "research", Intent("g", ()), readings=readings)], run.session)
    assert (counted.sources, counted.hits) == ({"S1"}, 0)


async def test_a_run_whose_searches_failed_leaves_no_report_but_the_reason():
    class Down(MemoryLibrary):
        async def search(self, query: Any, limit: int) -> Any:
            raise ProviderError("down", "The library does not answer.")

    run, report = await ran("timed", question=UNKNOWN, search=Down())
    assert (report.outcome, report.markdown) == (Outcome.PROVIDER_DOWN, "")
    assert run.files["report.md"] == explain_no_report(report)
    assert "report.html" not in run.files


async def test_every_number_of_a_report_resolves_to_a_source_with_its_hash_and_quote():
    run, report = await ran("timed")
    numbers = [citation.number for citation in report.citations]
    assert numbers == list(range(1, len(numbers) + 1))
    for citation in report.citations:
        _, text = run.library._sources[citation.source]
        assert citation.snapshot
        assert all(quote in text for quote in citation.quotes)


async def test_both_sides_of_a_contradiction_are_cited_although_the_body_leaves_them_out():
    def thin(given: Any) -> Draft | None:
        if given.purpose != "report":
            return None
        fact = next(fact for part in given.parts for fact in part.facts if "12 months" in fact.quote)
        return Draft("Thin", f"{fact.quote.rstrip('.')} {fact.marker}.")

    _, report = await ran("timed", analysts=(Mixed({"synthesize": thin}),))
    facts = {fact.id: fact for fact in report.findings.facts}
    assert report.findings.contradictions
    cited = {f"[{citation.source}:{citation.passage}]" for citation in report.citations}
    for pair in report.findings.contradictions:
        assert {facts[pair.a].marker, facts[pair.b].marker} <= cited


async def test_timed_the_rules_of_form_hold_where_the_layout_is_ours_to_choose():
    _, report = await ran("timed")
    body = report.markdown.split("\n\n", 2)[2].partition("## Contradictions")[0].partition("## Methodology")[0]
    assert format_report_body(body).split() == body.split()


async def test_the_last_event_of_a_report_counts_what_was_delivered():
    run, report = await ran("timed")
    told = [event for event in run.journal.events if event.type is EventType.COMPLETE and event.path == "root"]
    assert told[-1].data["citations"] == len(report.citations)
    assert told[-1].data["outcome"] == report.outcome
    assert told[-1].round == 1 + max(len(leaf.rounds) for leaf in (report.findings, *report.findings.children))


async def test_what_was_found_is_remembered_for_later_runs():
    run, report = await ran("timed")
    kept = {fact.id for fact in await run.library.recall(QUESTION, limit=500)}
    assert kept
    assert kept <= {fact.id for fact in report.findings.facts}


def uncited(given: Any) -> Draft | None:
    return (
        Draft("Prose", "Cranes are inspected now and then, and they lift a lot.") if given.purpose == "report" else None
    )


async def test_m23_a_draft_of_which_no_citation_holds_is_written_again_by_the_last_analyst():
    writer, last = Mixed({"synthesize": uncited}), ExtractiveAnalyst()
    run, report = await ran("timed", analysts=(writer, last))
    assert report.outcome in (Outcome.COMPLETE, Outcome.PARTIAL)
    assert "now and then" not in report.markdown
    assert report.citations
    assert any("the draft cited nothing that holds" in note for note in report.methodology.notes)
    told = [event.data for event in run.journal.events if event.type is EventType.FALLBACK]
    assert told == [{"role": "synthesize", "why": "nothing_cited"}]


async def test_m23_if_every_writer_cites_nothing_there_is_no_report_although_the_sources_differ():
    _, report = await ran("timed", analysts=(Mixed({"synthesize": uncited}), Mixed({"synthesize": uncited}, "last")))
    assert report.findings.facts
    assert report.findings.contradictions, "their citations do not make a report of uncited prose"
    assert (report.outcome, report.citations) == (Outcome.NO_EVIDENCE, ())
    assert "now and then" not in report.markdown
    assert "## Contradictions" not in report.markdown
    assert (
        report.reason
        == f"{len(report.findings.facts)} statements were found, and no writer cited one of them as an answer"
    )


async def test_a_draft_that_cites_is_not_written_again():
    last = Mixed(name="last")
    await ran("timed", analysts=(Mixed(), last))
    assert not last.given("synthesize")


async def test_where_nothing_was_found_no_writer_no_critic_and_no_judge_is_asked():
    analyst = Mixed()
    _, report = await ran("angles", question=UNKNOWN, documents={}, analysts=(analyst, Mixed(name="last")))
    assert report.outcome is Outcome.NO_EVIDENCE
    purposes = {given.purpose for given in analyst.given("synthesize")}
    assert "report" not in purposes
    assert not [role for role, _ in analyst.played if role in ("critique", "revise", "judge")]
