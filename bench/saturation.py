"""How soon a thread sees that a web is exhausted: `triplet` against the same thread with a fixed number of rounds.

Requirement: TRIPLET-9.

On a scripted web with a known saturation point (`tests/profiles/saturation.py`), with planned queries and without any
model. Prints searches, covered subjects and the round after which nothing new was found. In memory, in a second.
"""

from __future__ import annotations

from tests.fakes import run_virtually
from tests.profiles.saturation import BUDGET, SUBJECTS, Outcome, baseline, outcome

from corrobora.config.profiles import load_profile


def measured(*, planned: bool) -> dict[str, Outcome]:
    """Run both strategies, and `triplet` with half of the baseline's searches."""
    return {
        f"fixed, {BUDGET} rounds": run_virtually(outcome(baseline(), planned=planned)),
        "triplet": run_virtually(outcome(load_profile("triplet"), planned=planned)),
        f"triplet, at most {BUDGET // 2}": run_virtually(
            outcome(load_profile("triplet"), BUDGET // 2, planned=planned)
        ),
    }


def main() -> None:
    """Print one line for each strategy."""
    for planned in (True, False):
        print("queries by subject:" if planned else "queries without a model:")
        for name, found in measured(planned=planned).items():
            print(
                f"  {name:<22} {found.searches:>3} searches  {found.covered:>2} of {len(SUBJECTS)} subjects  "
                f"last new fact in round {found.saturated_at:>2}  stopped after {found.rounds:>2}: {found.stop}"
            )


if __name__ == "__main__":
    main()
