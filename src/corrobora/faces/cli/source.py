"""`corrobora source`: a stored passage with its quotes marked, between its neighbours.

Knows how a passage is printed. Does not know where it is stored: `app.sources` does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corrobora.domain.errors import UserError
from corrobora.faces.cli.options import (
    config_option,
    json_option,
    open_settings,
    print_json,
    print_text,
    with_workspace,
)
from corrobora.faces.cli.screen import one_line

if TYPE_CHECKING:
    from corrobora.app import Workspace
    from corrobora.app.sources import Quote, Reference
    from corrobora.domain.evidence import Source
    from corrobora.domain.report import CitedPassage

_MARKS = ("»", "«")


@dataclass(frozen=True, slots=True)
class _Found:
    source: Source
    passages: Sequence[CitedPassage]
    quotes: Sequence[Quote]


@click.command(name="source")
@click.argument("names", nargs=-1, required=True, metavar="[RUN] SOURCE")
@json_option
@config_option
def source(*, names: tuple[str, ...], as_json: bool, config_file: Path | None) -> None:
    """Print a stored passage between its neighbours, with its quotes marked.

    SOURCE is what stands behind a reference of a report: S186:C4575, or S186 for its first passages. With a RUN, its id
    or `last`, the quotes of this run's report are marked, else those of all runs.
    """
    from corrobora.app.sources import parse_reference  # noqa: PLC0415 - `--help` must not load the engine

    if len(names) > 2:  # noqa: PLR2004 - a run and a source
        raise click.UsageError("Name one run and one source, such as: corrobora source last S186:C4575")
    wanted = parse_reference(names[len(names) - 1])

    async def read_stored(workspace: Workspace) -> _Found:
        return await _read(workspace, names[0] if len(names) > 1 else "", wanted)

    found = with_workspace(open_settings(config_file), read_stored)
    if as_json:
        print_json(
            {
                "source": dataclasses.asdict(found.source),
                "passages": [dataclasses.asdict(each) for each in found.passages],
                "quotes": [dataclasses.asdict(each) for each in found.quotes],
            }
        )
        return
    print_text(_render(found, wanted))


async def _read(workspace: Workspace, run: str, wanted: Reference) -> _Found:
    from corrobora.app.followups import find_reported, require_report  # noqa: PLC0415 - `--help` must not load the engine
    from corrobora.app.sources import (  # noqa: PLC0415 - as above
        Quote,
        complete_evidence,
        list_quotes,
        read_source,
        select_passages,
    )

    stored = await read_source(workspace, wanted.source)
    passages = select_passages(stored, wanted)
    if not run:
        return _Found(stored.source, passages, await list_quotes(workspace, stored))
    report = await complete_evidence(workspace, await require_report(workspace, await find_reported(workspace, run)))
    taken = {
        Quote(each.fact, each.start, each.end)
        for marker in report.evidence
        for each in marker.quotes
        if each.source == wanted.source
    }
    if not any(each.source == wanted.source for each in report.citations):
        raise UserError(
            "source_not_cited",
            f"The report of this run does not cite {wanted.source}.",
            next_step=f"Without a run: corrobora source {names_of(wanted)}",
        )
    return _Found(stored.source, passages, sorted(taken, key=lambda each: each.start))


def names_of(wanted: Reference) -> str:
    """Return a reference as a person writes it."""
    return f"{wanted.source}:{wanted.passage}" if wanted.passage else wanted.source


def _render(found: _Found, wanted: Reference) -> str:
    """Return the passages as plain text; quotes stand between » and «."""
    from corrobora.reporting.cards import mark_spans  # noqa: PLC0415 - `--help` must not load the engine

    held = found.source
    said = ", ".join(each for each in (held.version, held.published, held.publisher) if each)
    lines = [one_line(held.title, 300), *([one_line(said, 300)] if said else []), held.url, f"sha256:{held.snapshot}"]
    for each in found.passages:
        place = f"page {each.page}" if each.page is not None else each.heading
        name = f"{each.source}:{each.passage}, characters {each.start}-{each.end}"
        head = f"{name}, {one_line(place, 200)}" if place else name
        spans = [
            (max(0, quote.start - each.start), min(len(each.text), quote.end - each.start))
            for quote in found.quotes
            if quote.start < each.end and quote.end > each.start
        ]
        text = "".join(
            f"{_MARKS[0]}{part.text}{_MARKS[1]}" if part.quote else part.text for part in mark_spans(each.text, spans)
        )
        lines += ["", f"{'==' if each.passage == wanted.passage else '--'} {head}", "", text.strip("\n")]
    return "\n".join(lines)
