"""Words for what the program stores as codes: outcomes, reasons to stop, states of runs, fates of documents.

Knows every code that a report, a line of progress or an error may have to name. Does not know where it is shown.
"""

from __future__ import annotations

from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.report import Outcome
from corrobora.domain.run import RunStatus
from corrobora.domain.thread import Escape, StopReason

_WORDS: dict[str, str] = {
    Outcome.NO_EVIDENCE: "no sufficient evidence was found",
    Outcome.INACCESSIBLE: "evidence was found but could not be read",
    Outcome.LIMIT_REACHED: "a limit was reached before the question was answered",
    Outcome.PROVIDER_DOWN: "the search providers could not be reached",
    StopReason.CRITERIA_MET: "everything that was asked for was found",
    StopReason.GAPS_EMPTY: "no gaps were left",
    StopReason.MODEL_DONE: "nothing more was worth looking for",
    StopReason.ITERATION_CAP: "all rounds were used",
    StopReason.TIME_RESERVE: "only the time for writing was left",
    StopReason.ALL_EXHAUSTED: "every open question had been tried as often as allowed",
    StopReason.PLATEAU: "further rounds brought nothing new",
    StopReason.LIMIT: "a limit of tokens, money, calls or searches was reached",
    StopReason.ERROR: "an error occurred",
    ReadOutcome.DRIFTED: "off the subject",
    ReadOutcome.REFUSED: "not allowed",
    ReadOutcome.ROBOTS: "refused by robots.txt",
    ReadOutcome.UNSUPPORTED: "of an unknown format",
    ReadOutcome.TIMEOUT: "timed out",
    ReadOutcome.NOT_CONTENT: "without content",
    ReadOutcome.CUT: "cut off by the time limit",
    Escape.REFORMULATE: "other words",
    Escape.SHIFT_SOURCES: "other kinds of sources",
    Escape.LATERAL: "neighbouring subjects",
    Escape.NEGATIVE: "a search for the opposite",
    Escape.COMMUNITY: "communities",
    Escape.FRACTAL: "a closer look at one part",
    RunStatus.AWAITING: "waiting for authorization",  # also an outcome
    "plan_not_authorized": "waiting for authorization",
    "stage_reached": "paused after a stage",
}


def describe_code(code: object) -> str:
    """Return a stored code in words; one without words of its own is returned with spaces for underscores.

    Example:
        >>> describe_code("iteration_cap"), describe_code("too_large")
        ('all rounds were used', 'too large')
    """
    text = str(code)
    return _WORDS.get(text, text.replace("_", " "))
