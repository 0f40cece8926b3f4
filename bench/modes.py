"""The two modes of RESEARCH_MODE beside each other: `rounds` (iterative) and `angles` (parallel), on the same goals.

Runs over the library that ships, without a model: what differs is the method alone. Prints for each goal and mode the
searches, sources found, read and cited, the words of the body, the share of supported sentences, and the seconds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import corrobora
from corrobora.domain.report import Report, iter_threads

GOALS: Sequence[str] = (
    "Analyze how the requirements on memorized secrets changed between SP 800-63B and its draft revision 4",
    "What do NIST guidelines say about multi-factor authentication, authenticators and session management?",
)
MODES = {"iterative": "rounds", "parallel": "angles"}


def measure(goal: str, profile: str) -> str:
    """Run one goal and return its figures as a line."""
    began = time.perf_counter()
    report = corrobora.research(goal, library="demo", profile=profile)
    return f"{describe(report)}  {time.perf_counter() - began:6.1f} s"


def describe(report: Report) -> str:
    """Return the figures of a report as a line."""
    rounds = [done for leaf in iter_threads(report.findings) for done in leaf.rounds]
    found = len({hit.source or hit.url for done in rounds for hit in done.hits})
    words = len(report.markdown.partition("## Methodology")[0].split())
    done = report.methodology
    searches = f"{done.searches:>3} searches in {len(rounds):>2} rounds"
    sources = f"{found:>3} sources found, {done.sources_read:>3} read, {done.sources_cited:>3} cited"
    return f"{searches}  {sources}  {words:>5} words  {report.supported_share:.2f} supported"


def main() -> None:
    """Print one line for each goal and mode."""
    for goal in GOALS:
        print(goal)
        for mode, profile in MODES.items():
            print(f"  {mode:<10} {measure(goal, profile)}", flush=True)


if __name__ == "__main__":
    main()
