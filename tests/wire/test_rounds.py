"""Three rounds over the wire: a report that cannot be as long as its method wants says so and is not padded."""

from __future__ import annotations

from tests.wire.methods import run_over_wire


async def test_rounds_30_a_report_that_misses_its_length_says_so():
    done = await run_over_wire("rounds")
    [note] = [each for each in done.report.methodology.notes if "2000 or more were wanted" in each]
    assert f"cites {done.report.methodology.sources_cited} of" in note
    assert note in done.report.markdown


async def test_rounds_30_a_method_without_a_length_has_no_such_note():
    done = await run_over_wire("timed")
    assert not [each for each in done.report.methodology.notes if "were wanted" in each]
