"""Runs of the profile `timed` on a scripted web, for its acceptance tests. Time is virtual."""

from __future__ import annotations

from typing import Any

from tests.fakes import run_virtually
from tests.profiles.research import Mixed
from tests.profiles.scripted import Growing, WebRun, make_web_run

from corrobora.domain.report import Report
from corrobora.domain.thread import Gap, Proposal

QUESTION = "How tall is the lighthouse of Oldby, and which fee does the Marrow museum charge?"
PAGES: dict[str, Any] = {
    "https://coast.gov/oldby": "# Lighthouse of Oldby\n\nThe lighthouse of Oldby is 31 metres tall; it is on a rock.",
    "https://towers.example/oldby": "# Towers of the coast\n\nThe lighthouse of Oldby is 31 metres tall, the tallest.",
    "https://boats.example/boats": "# Boats of Oldby\n\nThe boats of Oldby are painted red every spring.",
}
LIGHTHOUSE = "How tall is the lighthouse of Oldby?"


def never_done(given: Any) -> Proposal:
    """A model that always wishes to go on."""
    return Proposal("More is needed.", (Gap(f"more of {given.round}", "sq-1"),), next_topic="more")


def done(made: WebRun) -> Report:
    return run_virtually(made.research())


def decision(made: WebRun) -> dict[str, Any]:
    return made.json("phase_state.json")["research"]["gap_analysis"]["loop_decision"]


def endless(**more: Any) -> tuple[WebRun, Growing]:
    """A run on a web that never saturates, with an analyst that always wants more."""
    engine = Growing({})
    engine.seconds = more.pop("seconds", 0.0)
    made = make_web_run(
        "timed", engine.pages, question=LIGHTHOUSE, engines=[engine], analysts=[Mixed({"reflect": never_done})], **more
    )
    return made, engine
