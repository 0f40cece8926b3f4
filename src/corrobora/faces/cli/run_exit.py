"""The end of a run as an exit code: what its status and its stored report mean to the shell.

Knows outcomes, thresholds and `--strict`. Does not know errors of a command, or how a report is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corrobora.domain.report import Outcome
from corrobora.domain.run import RunRow, RunStatus
from corrobora.domain.thread import StopReason
from corrobora.faces.cli.exit_codes import Exit
from corrobora.faces.cli.screen import object_field, object_list
from corrobora.reporting.words import describe_code

_FAILURE_CODES = (  # start of the error code that a failed run has stored: the exit code
    ("question_", Exit.USAGE),
    ("profile_", Exit.USAGE),
    ("unknown_profile", Exit.USAGE),
    ("plan_", Exit.USAGE),
    ("model_", Exit.USAGE),
    ("embedder_", Exit.USAGE),
    ("secret_", Exit.USAGE),
    ("library_", Exit.USAGE),
    ("delivery_", Exit.USAGE),
    ("provider_", Exit.PROVIDER),
    ("search_", Exit.PROVIDER),
    ("role_", Exit.PROVIDER),
    ("no_analyst", Exit.PROVIDER),
    ("limit_", Exit.BUDGET),
    ("read_", Exit.NO_EVIDENCE),
)


@dataclass(frozen=True, slots=True)
class RunExit:
    """An exit code with its reason in words, which is "" for a complete run."""

    code: Exit
    why: str = ""


def run_exit(row: RunRow, report: Mapping[str, object], *, min_score: float | None, strict: bool) -> RunExit:
    """Return the exit code of a run (docs/reference/errors.md).

    A run that reached its time limit still exits with 0; the Methodology names the limit. `min_score` is compared with
    the judge's overall score or, without a judge, with the share of cited sentences that are supported.
    """
    waiting = _unfinished_exit(row)
    if waiting is not None:
        return waiting
    if not has_body(report):
        return _exit_without_report(row, report)
    if row.status is RunStatus.FAILED:  # the report exists, but a delivery failed
        code = Exit.PROVIDER if row.outcome.startswith("delivery_") else Exit.BUG
        return RunExit(code, _insert_run_id(row.reason, row))
    if (low := low_score_exit(report_score(report), min_score)) is not None:
        return low
    if strict and report.get("outcome") != Outcome.COMPLETE:
        nothing = report.get("outcome") == Outcome.PASSAGES  # what is printed does not answer the question
        why = f"--strict: the report is {describe_code(report.get('outcome'))}: {report.get('reason')}."
        return RunExit(Exit.NO_EVIDENCE if nothing else Exit.INCOMPLETE, why)
    return RunExit(Exit.DONE)


def low_score_exit(score: float | None, min_score: float | None) -> RunExit | None:
    """Return the exit of a score below the threshold, None if it is not, or if one of them is missing."""
    if score is None or min_score is None or score >= min_score:
        return None
    return RunExit(Exit.BELOW_THRESHOLD, f"The score {score:.2f} is below {min_score:.2f}.")


def _unfinished_exit(row: RunRow) -> RunExit | None:
    """Return the exit of a run that waits, is paused or was stopped; None if it ended by itself."""
    if row.status is RunStatus.AWAITING:
        return RunExit(Exit.NEEDS_HUMAN, row.reason or f"The plan waits. Continue: corrobora authorize {row.id}")
    if row.status is RunStatus.PAUSED and row.outcome == "stage_reached":
        return RunExit(Exit.DONE, row.reason)  # as asked: --until-stage
    if row.status is RunStatus.PAUSED:
        return RunExit(Exit.NEEDS_HUMAN, row.reason)
    if row.status is RunStatus.CANCELLED:
        return RunExit(Exit.INTERRUPTED, f"The run {row.id} was cancelled.")
    if not row.status.final:
        by_store = row.status is RunStatus.INTERRUPTED  # the database failed; Ctrl-C has a code of its own
        code = Exit.BUG if by_store else Exit.INTERRUPTED
        return RunExit(code, f"The run is {describe_code(row.status)}. Continue: corrobora resume {row.id}")
    return None


def _insert_run_id(why: str, row: RunRow) -> str:
    """Insert the id of the run into the next step of an error, so that the line can be copied."""
    return why.replace("corrobora resume RUN", f"corrobora resume {row.id}")


def has_body(report: Mapping[str, object]) -> bool:
    """True if there is a report to print, not only the reason why there is none."""
    usable = (Outcome.COMPLETE, Outcome.PARTIAL, Outcome.PASSAGES, Outcome.LIMIT_REACHED, Outcome.CANCELLED)
    return bool(report.get("markdown")) and report.get("outcome") in usable


def _exit_without_report(row: RunRow, report: Mapping[str, object]) -> RunExit:
    outcome = str(report.get("outcome") or row.outcome)
    why = _insert_run_id(str(report.get("reason") or row.reason or describe_code(outcome) or "the run failed"), row)
    message = f"No report: {why.rstrip('.')}. Details: corrobora runs show {row.id}"
    if report.get("stop") == StopReason.ERROR:  # every thread failed, so no limit was the cause
        return RunExit(Exit.NO_EVIDENCE, message)
    match outcome:
        case Outcome.NO_EVIDENCE | Outcome.INACCESSIBLE:
            return RunExit(Exit.NO_EVIDENCE, message)
        case Outcome.PROVIDER_DOWN:
            return RunExit(Exit.PROVIDER, message)
        case Outcome.LIMIT_REACHED:
            return RunExit(Exit.BUDGET, message)
        case Outcome.CANCELLED:
            return RunExit(Exit.INTERRUPTED, message)
        case Outcome.AWAITING:
            return RunExit(Exit.NEEDS_HUMAN, message)
        case _:
            return RunExit(
                next((code for start, code in _FAILURE_CODES if outcome.startswith(start)), Exit.BUG), message
            )


def report_score(report: Mapping[str, object]) -> float | None:
    """Return the judge's overall score; without one, the share of cited sentences that are supported."""
    scores = [float(value) for value in object_field(report, "verdict").values() if isinstance(value, (int, float))]
    return sum(scores) / len(scores) if scores else _supported_share(report)


def _supported_share(report: Mapping[str, object]) -> float | None:
    found = [str(check.get("support")) for check in object_list(report, "checks")]
    cited = [support for support in found if support != "uncited"]
    return sum(support in ("supported", "partly") for support in cited) / len(cited) if cited else None
