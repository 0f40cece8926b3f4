"""`corrobora demo`: the main job on the documents that ship with the package; no key, no network.

Knows the question. Does nothing that `research` would not do.
"""

from __future__ import annotations

from typing import Unpack

import click

from corrobora.domain.run import Request
from corrobora.faces.cli.delivery import start_run
from corrobora.faces.cli.options import open_settings
from corrobora.faces.cli.research import (
    OutputFlags,
    add_output_options,
    output_options,
    output_settings,
    profile_overrides,
    request_metadata,
)
from corrobora.faces.cli.sources import DEMO
from corrobora.faces.cli.terminal import write_stderr
from corrobora.faces.question import parse_question
from corrobora.settings.profile import profile_of

DEMO_QUESTION = (
    "How did NIST guidance on password rotation, composition rules and length change "
    "between SP 800-63-3 and the draft of SP 800-63-4?"
)


@click.command()
@add_output_options
def demo(**flags: Unpack[OutputFlags]) -> int:
    """Research a question over the documents that ship with the package."""
    settings = open_settings(flags["config_file"], output_settings(flags))
    question = parse_question(DEMO_QUESTION)
    profile, own = profile_of(settings)
    request = Request(
        question=question.text,
        profile=profile,
        overrides=(*own, *profile_overrides(settings, ())),
        libraries=(DEMO,),
        models=tuple(sorted(settings.models.items())),
        strict=settings.strict,
        metadata=request_metadata(settings, question),
    )
    write_stderr(f"corrobora: {DEMO_QUESTION}")
    return start_run(settings, request, output_options(flags, settings))
