"""`corrobora investigate THREAD.toml`: one given thread, to its convergence, without asking anybody.

Knows the flags and where the artifacts go. The file's fields are the engine's; `delivery` conducts the run.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Unpack

import click

from corrobora.config import Settings, override_profile, read_small_file
from corrobora.domain.errors import UserError
from corrobora.domain.run import Request
from corrobora.faces.cli.arguments import parse_fields
from corrobora.faces.cli.delivery import Wanted, research_here
from corrobora.faces.cli.options import fields_option, model_option, open_settings, setting_options
from corrobora.faces.cli.research import Shown, metadata_of, run_flags, shown_options, wanted_of
from corrobora.faces.question import Question

_FILE = click.Path(path_type=Path)
_MAX_BYTES = 1_000_000


class Given(Shown):
    """The flags of `investigate`."""

    thread: Path
    profile: str
    model: tuple[str, ...]
    fields: tuple[str, ...]


@click.command()
@click.argument("thread", type=_FILE, metavar="THREAD.toml")
@setting_options("libraries", "providers", profile="triplet")
@model_option
@fields_option
@shown_options
def investigate(**flags: Unpack[Given]) -> int:
    """Investigate one given thread: its sub-questions, subjects, brief, round budget and artifact folder.

    One micro-report per round and the thread completion report go to `artifact_dir` of the file as they come. Nobody is
    asked anything.
    """
    settings = open_settings(flags["config_file"], run_flags(flags))
    wanted: Wanted = replace(wanted_of(flags, settings), may_ask=False)
    return research_here(settings, request_of(flags, settings), wanted)


def request_of(flags: Given, settings: Settings) -> Request:
    """Return the request of a thread file: its text is stored with the run, so that any worker can take it up."""
    from corrobora.engine.given import read_thread  # noqa: PLC0415 - the engine, only where a thread is given

    text = read_small_file(flags["thread"], limit=_MAX_BYTES, what="The thread file")
    given = read_thread(text)
    pages = tuple(source for source in given.sources if "://" in source)
    if not settings.libraries and not settings.providers and not pages:
        raise UserError(
            "sources_missing",
            "There is nothing to search: no library and no web provider is named.",
            next_step="Name one: --library FOLDER, --provider tavily, or sources in the thread file.",
        )
    for name in settings.providers:
        settings.key(name).reveal()  # a missing key is said before a run is made
    metadata = metadata_of(settings, Question(given.brief.question))
    if given.artifact_dir:
        folder = (flags["thread"].parent / Path(given.artifact_dir).expanduser()).absolute()
        metadata = (*metadata, ("artifact_dir", str(folder)))
    return Request(
        question=given.brief.question,
        profile=flags["profile"],
        overrides=override_profile(settings, parse_fields(flags["fields"])),
        libraries=settings.libraries,
        providers=settings.providers,
        sources=pages,
        models=tuple(sorted(settings.models.items())),
        authorized="policy",
        thread_file=text,
        strict=settings.strict,
        metadata=metadata,
    )
