"""The two modes of RESEARCH_MODE beside each other: `rounds` (iterative) and `angles` (parallel), on the same question.

Over the library that ships without a model, and with `--web` over a loopback web of its documents with the scripted
model. Prints for each mode the calls of models, searches, sources found, read and cited, the words of the body, the
share of supported sentences, and the seconds. 20 to 30 sources cited and 2,000 to 4,000 words are the goal of `rounds`:
one that is missed is told in the report and never filled up.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import corrobora
from bench.engine_calls import COMMAND, environment
from bench.prompts import open_places, research_place
from corrobora.domain.report import Report, iter_threads

GOALS: Sequence[str] = (
    "Analyze how the requirements on memorized secrets changed between SP 800-63B and its draft revision 4",
    "What do NIST guidelines say about multi-factor authentication, authenticators and session management?",
)
MODES = {"iterative": "rounds", "parallel": "angles"}


def describe(mode: str, report: Report, seconds: float) -> str:
    """Return the figures of a report as a line."""
    rounds = [done for leaf in iter_threads(report.findings) for done in leaf.rounds]
    found = len({hit.source or hit.url for done in rounds for hit in done.hits})
    words = len(report.markdown.partition("## Methodology")[0].split())
    done = report.methodology
    searches = f"{done.usage.calls:>3} calls {done.searches:>3} searches in {len(rounds):>2} rounds"
    sources = f"{found:>3} sources found, {done.sources_read:>3} read, {done.sources_cited:>3} cited"
    figures = f"{words:>5} words  {report.supported_share:.2f} supported  {seconds:6.1f} s"
    told = [f"    told: {note}" for note in done.notes if "were wanted" in note]
    return "\n".join([f"  {mode:<10} {searches}  {sources}  {figures}", *told])


async def measure_web(home: Path) -> None:
    """Run both modes over a loopback web, with the scripted model."""
    async with open_places(home) as (workspace, server):
        for mode, profile in MODES.items():
            began = time.perf_counter()
            report = await research_place(workspace, server, profile, "web")
            print(describe(mode, report, time.perf_counter() - began), flush=True)


def main() -> None:
    """Print one line for each goal and mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--web", action="store_true", help="over a loopback web, with the scripted model")
    if parser.parse_args().web:
        with tempfile.TemporaryDirectory(prefix="corrobora-modes-") as folder:
            try:
                asyncio.run(measure_web(Path(folder)))
            finally:
                subprocess.run([*COMMAND, "db", "stop"], env=environment(Path(folder)), check=False)
        return
    for goal in GOALS:
        print(goal)
        for mode, profile in MODES.items():
            began = time.perf_counter()
            report = corrobora.research(goal, library="demo", profile=profile)
            print(describe(mode, report, time.perf_counter() - began), flush=True)


if __name__ == "__main__":
    main()
