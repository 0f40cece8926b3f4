"""Accounts of a run: every result of its searches in exactly one outcome, whatever became of the part that found it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.profiles.research import make_run

from corrobora.domain.evidence import Hit, ReadOutcome
from corrobora.domain.report import iter_threads
from corrobora.engine.deliver import count_results
from corrobora.engine.session.journal import decode


def _found(journal) -> set[tuple[str, str | None]]:
    keys = [key for key in journal.keys("search/") if not key.endswith("!failed")]
    hits = [hit for key in keys for hit in decode(tuple[Hit, ...], journal.get(key).out, key=key)]
    return {(hit.url, hit.passage) for hit in hits}


@pytest.mark.parametrize("profile", ["timed", "angles", "tree"])
async def test_parts_that_found_the_same_pages_count_them_once(profile: str):
    made = await make_run(profile)
    report = await made.research()
    found = _found(made.journal)
    assert report.methodology.hits == len(found)
    assert sum(count for _, count in report.methodology.outcomes) == len(found)


async def test_what_a_lost_part_found_is_counted_from_the_journal():
    made = await make_run("timed")
    report = await made.research()
    rounds = [done for leaf in iter_threads(report.findings) for done in leaf.rounds]
    kept, lost = count_results(rounds, made.session), count_results((), made.session)
    assert kept.hits == lost.hits == len(_found(made.journal))
    assert kept.sources == lost.sources
    assert sum(count for _, count in lost.outcomes) == lost.hits
    unopened = dict(kept.outcomes).get("skipped", 0)
    assert dict(lost.outcomes).get("cut", 0) == unopened, "before any round ended nothing was left aside by choice"


async def test_a_page_that_one_round_drifted_from_and_another_read_was_read():
    made = await make_run("timed")
    report = await made.research()
    rounds = [done for leaf in iter_threads(report.findings) for done in leaf.rounds]
    reading = next(each for done in rounds for each in done.readings if each.outcome == "read")
    name = (reading.hit.url, reading.hit.passage)
    others = tuple(replace(each, outcome=ReadOutcome.DRIFTED) for each in rounds[0].readings)
    mixed = [*rounds, replace(rounds[0], readings=others)]
    assert name in _found(made.journal)
    assert count_results(mixed, made.session).outcomes == count_results(rounds, made.session).outcomes
