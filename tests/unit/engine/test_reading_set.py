"""The reading set of a run: every document that was found is read, failed or left unread, once."""

from __future__ import annotations

from dataclasses import replace

from tests.profiles.research import make_run

from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.report import Draft, Findings, iter_threads
from corrobora.engine.reading_set import load_reading_set
from corrobora.reporting.verify import check_draft

ABSENT = "None of the {n} documents read mentions zeppelins"


def change_outcome(findings: Findings, outcome: ReadOutcome) -> Findings:
    """Let the first page that was read end otherwise, wherever it was read."""
    url = next(each.hit.url for leaf in iter_threads(findings) for done in leaf.rounds for each in done.readings)

    def change(leaf: Findings) -> Findings:
        rounds = tuple(
            replace(
                done,
                readings=tuple(
                    replace(each, outcome=outcome) if each.hit.url == url else each for each in done.readings
                ),
            )
            for done in leaf.rounds
        )
        return replace(leaf, rounds=rounds, children=tuple(change(child) for child in leaf.children))

    return change(findings)


async def test_an_absence_is_checked_against_all_that_was_read_and_what_was_not():
    made = await make_run("timed")
    findings = (await made.research()).findings
    draft = Draft("t", ABSENT.format(n=0) + ".")
    reading = await load_reading_set(draft, findings, made.session)
    assert reading is not None
    hits = {hit.url for leaf in iter_threads(findings) for done in leaf.rounds for hit in done.hits}
    assert len(reading.documents) + reading.failed + reading.unread == len(hits)
    said = ABSENT.format(n=len(reading.documents))
    rest = [f"{reading.failed} more could not be read"] if reading.failed else []
    rest += [f"{reading.unread} were not opened"] if reading.unread else []
    whole = "; ".join((said, *([" and ".join(rest)] if rest else []))) + "."
    found = check_draft(Draft("t", whole), findings.facts, reading=reading)
    assert [(check.support, check.follows) for check in found.checks] == [("supported", "absence")]
    for outcome in (ReadOutcome.TIMEOUT, ReadOutcome.CUT):
        hidden = await load_reading_set(draft, change_outcome(findings, outcome), made.session)
        assert check_draft(Draft("t", whole), findings.facts, reading=hidden).checks[0].support == "contradicted"


async def test_a_draft_that_counts_nothing_loads_no_texts():
    made = await make_run("timed")
    assert await load_reading_set(Draft("t", "It grew by 3 %."), (await made.research()).findings, made.session) is None
