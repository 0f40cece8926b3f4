"""`corrobora demo`: the main job on the documents that ship with the package; no key, no network.

Knows the question. Does nothing that `research` would not do.
"""

from __future__ import annotations

from typing import Unpack

import click

from corrobora.config import override_profile, resolve_profile
from corrobora.domain.run import Request
from corrobora.faces.cli.delivery import research_here
from corrobora.faces.cli.options import open_settings
from corrobora.faces.cli.research import (
    Shown,
    metadata_of,
    run_flags,
    shown_options,
    wanted_of,
)
from corrobora.faces.cli.sources import DEMO
from corrobora.faces.cli.terminal import tell
from corrobora.faces.question import check_question

QUESTION = (
    "How did NIST guidance on password rotation, composition rules and length change "
    "between SP 800-63-3 and the draft of SP 800-63-4?"
)


@click.command()
@shown_options
def demo(**flags: Unpack[Shown]) -> int:
    """Research a question over the documents that ship with the package."""
    settings = open_settings(flags["config_file"], run_flags(flags))
    question = check_question(QUESTION)
    profile, own = resolve_profile(settings)
    request = Request(
        question=question.text,
        profile=profile,
        overrides=(*own, *override_profile(settings, ())),
        libraries=(DEMO,),
        models=tuple(sorted(settings.models.items())),
        strict=settings.strict,
        metadata=metadata_of(settings, question),
    )
    tell(f"corrobora: {QUESTION}")
    return research_here(settings, request, wanted_of(flags, settings))
