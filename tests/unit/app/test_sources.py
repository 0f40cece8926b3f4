"""Stored sources: what a reference names, and the quotes of a source."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plugins.shell import Shell

from corrobora.app import Workspace
from corrobora.app.exports import PassageReference, list_quotes, parse_reference, read_source
from corrobora.app.followups import require_report
from corrobora.config import load_settings
from corrobora.domain.errors import UserError


@pytest.mark.parametrize("given", ["S12:C345", "[S12:C345]", " s12:c345 "])
def test_a_reference_is_read_as_reports_write_it(given: str) -> None:
    assert parse_reference(given) == PassageReference("S12", "C345")
    assert parse_reference("S7") == PassageReference("S7")
    with pytest.raises(UserError, match="names no source"):
        parse_reference("C345")


async def test_the_quotes_of_a_report_are_listed_with_their_source(readable: tuple[Shell, str], tmp_path: Path) -> None:
    async with Workspace.open(load_settings(folder=tmp_path)) as workspace:
        report = await require_report(workspace, readable[1])
        stored = await read_source(workspace, report.citations[0].source)
        taken = {(quote.start, quote.end) for quote in await list_quotes(workspace, stored)}
        assert {(q.start, q.end) for e in report.evidence for q in e.quotes if q.source == stored.source.id} <= taken
