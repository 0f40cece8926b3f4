"""Phrases: every sentence that code itself writes into a report.

Knows fixed wordings about the report and the search, never about the world. Does not know any source: a sentence of an
extractive report is either one of these or stands in a source.
"""

from __future__ import annotations

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
CONFIRMED = "code could not decide, a model confirms it"
NOT_CONFIRMED = "code could not decide, a model does not confirm it"
CLAIMED = "The model counts this as answered, and no single statement that was read gives the answer"
DOUBTED = "A statement fits this question, and the model does not count it as answered"
FAILED = "Not covered, because it failed"

CONFLICTS = "Contradictions and changes"
ACCOUNT = "Account of checking"
NOTICE = "Notice in this source"
WITHHELD = "[One sentence withheld"
WITHHELD_CELL = "[One cell withheld"
LABELS = ("partly supported", "unclear", "not supported")  # behind a sentence that code could not confirm

OPENINGS = (
    *(NO_EVIDENCE, NEAREST, PARTLY, ABOVE, ELSEWHERE, SIDE_BY_SIDE, NO_COVERAGE, COUNTED, OTHER_GAPS),
    *(STATED_IN, GAP, FAILED, UNNAMED, UNSTATED, UNLIKELY, NEAR, UNKNOWN_STANDING, CLAIMED, DOUBTED),
    *(WITHHELD, WITHHELD_CELL, NOTICE),
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
