"""Phrases: every sentence that code itself writes into a report, and the words for what it stores as codes.

Knows fixed wordings about the report and the search, never about the world: a sentence of an extractive report is
either one of these or stands in a source. Knows every code that a report, a line of progress or an error may have to
name: outcomes, reasons to stop, states of runs, fates of documents. Does not know where any of it is shown.
"""

from __future__ import annotations

from corrobora.domain.evidence import ReadOutcome
from corrobora.domain.report import Outcome
from corrobora.domain.run import RunStatus
from corrobora.domain.thread import Escape, StopReason

NO_EVIDENCE = "No sufficient evidence was found"
NEAREST = "The nearest statements that were read follow; they do not answer the question"
NEAR = "Passages near the question"
PARTLY = "Only a part of this is covered by what was read"
ABOVE = "What was found on this stands under the key statements above"
SIDE_BY_SIDE = "The sources differ here; both statements stand side by side"
ELSEWHERE = "What was found on this stands in the other sections"
NO_COVERAGE = "No coverage: this part of the research failed or found nothing"
COUNTED = "This report quotes"
OTHER_GAPS = "Still open"
STATED_IN = "Stated in"
UNCHANGED = "and unchanged in"
GAP = "No sufficient evidence"
UNNAMED = "No statement that was read names"
UNSTATED = "No statement that was read"
OTHER_SIDE = f"{UNSTATED} speaks of the second side of the comparison"
NOTHING_FOUND = f"{UNSTATED} speaks of this"
UNLIKELY = "The documents that were searched hold too little on this to answer it"
NO_ANSWER = f"{UNSTATED} answers this"
UNKNOWN_STANDING = "Only a source of unknown standing states this"
CONFIRMED = "code doubts it, and a model finds it in its sources"
NOT_CONFIRMED = "code doubts it, and a model does not find all of it in its sources"
CLAIMS_UNCITED = "it cites nothing, and a model finds a claim in it"
CLAIMED = "The model counts this as answered, and no single statement that was read gives the answer"
UNCERTAIN = "Statements that were read fit this, and words alone do not tell whether they answer it"
DISPUTED = "Statements that were read contradict each other on this, and nothing that was read settles it"
DOUBTED = "A statement fits this question, and the model does not count it as answered"
FAILED = "Not covered, because it failed"

CONFLICTS = "Contradictions and changes"
ACCOUNT = "Account of checking"
NOTICE = "Notice in this source"
AUTHORS = "Authors of this source"
WITHHELD = "[One sentence withheld"
WITHHELD_CELL = "[One cell withheld"
LABELS = ("partly supported", "unclear", "not supported")  # behind a sentence that code could not confirm

OPENINGS = (
    *(NO_EVIDENCE, NEAREST, PARTLY, ABOVE, ELSEWHERE, SIDE_BY_SIDE, NO_COVERAGE, COUNTED, OTHER_GAPS),
    *(STATED_IN, GAP, FAILED, UNNAMED, UNSTATED, UNLIKELY, NEAR, UNKNOWN_STANDING, CLAIMED, DOUBTED, DISPUTED),
    UNCERTAIN,
    *(WITHHELD, WITHHELD_CELL, NOTICE, AUTHORS),
)


def format_count(n: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    Example:
        >>> format_count(1, "round"), format_count(2, "search", "searches")
        ('1 round', '2 searches')
    """
    return f"{n} {one if n == 1 else many or f'{one}s'}"


def is_written_by_code(sentence: str) -> bool:
    """True if the sentence begins with a fixed wording: it claims nothing about the world."""
    return sentence.lstrip(" -*_>#|").startswith(OPENINGS)


def is_near_miss(gap: str) -> bool:
    """True if a gap says that the evidence is close to the question but does not answer it."""
    return gap.startswith((UNNAMED, UNSTATED, UNLIKELY)) and not gap.startswith(OTHER_SIDE)


_WORDS: dict[str, str] = {
    Outcome.PASSAGES: "passages near the question",
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
    StopReason.UNLIKELY: "what is searched tells no more of what is still open",
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
    "edit_nothing": "nothing was edited",
    "edit_unclear": "feedback not understood",
    # tasks of an analyst, as a note names them
    "clarify": "checking the question",
    "plan": "planning",
    "scope": "choosing what to search for",
    "scout": "choosing sources",
    "extract": "reading statements out of sources",
    "reflect": "judging what is missing",
    "refine": "changing the plan",
    "synthesize": "writing",
    "critique": "reviewing the report",
    "revise": "revising the report",
    "judge": "scoring the report",
    # why another analyst did a task
    "provider_down": "the provider was down",
    "provider_unreachable": "the provider could not be reached",
    "provider_timeout": "the provider did not answer in time",
    "provider_busy": "the provider allowed no more calls",
    "provider_failed": "the provider failed",
    "provider_bad_content": "the provider gave no whole answer",
    "provider_rejected": "the provider rejected the request",
    "provider_refused": "the provider refused the key",
    "provider_quota": "the provider's quota was used up",
    "model_not_found": "the provider does not know the model",
    "model_effort": "the provider refused the effort that is set for its tier",
    "model_context": "the prompt was too long for the model",
    "too_slow": "the model was too slow for the time of the run",
    "nothing_cited": "the draft cited nothing that holds",
    "limit_tokens": "the limit of tokens was reached",
    "limit_time": "too little time was left for a call of the model",
    "no_usable_answer": "there was no usable answer before",
    "process_ended": "it was in flight when its process ended",
    "limit_sends": "a prompt was sent too often without an answer",
    "limit_dollars": "the limit of money was reached",
    "limit_calls": "the limit of calls was reached",
    "refusal": "the model refused",
    "empty_output": "the answer was empty",
    "json_invalid": "the answer was not valid JSON",
    "json_too_deep": "the answer was nested too deeply",
    "output_invalid": "the answer did not have the form that was asked for",
    "output_truncated": "the answer was cut off at its limit of length",
    "output_too_large": "the answer was too long",
}


def describe_code(code: object) -> str:
    """Return a stored code in words; one without words of its own is returned with spaces for underscores.

    Example:
        >>> describe_code("iteration_cap"), describe_code("too_large")
        ('all rounds were used', 'too large')
    """
    text = str(code)
    return _WORDS.get(text, text.replace("_", " "))
