"""Insights: when an extractor's optional output counts, and what it is told where the planner gave no spec.

Knows S0's four triggers, S4's prompt templates and the minimal rubric. Does not read documents itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from corrobora.domain.brief import SubQuestionStatus
from corrobora.domain.evidence import Passage
from corrobora.domain.thread import ThreadState
from corrobora.policies.conflict import SAME_SUBJECT_SHARE, Aspect, compare_topics, find_difference, parse_statement
from corrobora.policies.markup import strip_markup
from corrobora.roles.extract import Extraction

LOW_CONFIDENCE = 0.5
LIMITATION_HEADINGS = ("limitation", "future work", "future research", "open question", "further research")


def has_insight_trigger(
    extraction: Extraction, passages: Sequence[Passage], *, discovery_intense: bool, disputed: bool = False
) -> bool:
    """Say whether one of S0's four triggers holds, so that follow-ups, gaps and linked sources count.

    Low confidence on key claims; explicit limitations or future work; a contradiction within the source or with what
    was given as known (`disputed`: code found one); a discovery-intense leaf.
    """
    if discovery_intense or disputed or extraction.contradicts_known or contradicts_itself(extraction):
        return True
    if any(quote.confidence < LOW_CONFIDENCE for quote in extraction.quotes):
        return True
    return any(word in f"{p.heading}\n{p.text}".lower() for p in passages for word in LIMITATION_HEADINGS)


def contradicts_itself(extraction: Extraction) -> bool:
    """True if two quotes of one source differ about the same thing, in more than wording (S0, third trigger)."""
    quotes = extraction.quotes
    said = [parse_statement(strip_markup(quote.quote)) for quote in quotes] if len(quotes) > 1 else []
    return any(
        compare_topics(one, other) >= SAME_SUBJECT_SHARE
        and (found := find_difference(one, other)) is not None
        and found.aspect is not Aspect.WORDING
        for one, other in combinations(said, 2)
    )


def fill_prompt(template: str, thread: ThreadState) -> str:
    """Fill the blanks of a phase's reading prompt (S4, WebFetch prompt templates)."""
    if not template:
        return ""
    criteria = "; ".join(q.text for q in thread.sub_questions if q.standing is not SubQuestionStatus.ANSWERED)
    claims = "; ".join(q.finding for q in thread.sub_questions if q.finding)
    topic = thread.objective or thread.brief.question
    for blank, value in (
        ("${TOPIC}", topic),
        ("${CRITERIA}", criteria or topic),
        ("${SPECIFIC_CLAIM}", claims or topic),
    ):
        template = template.replace(blank, value)
    return template


def build_rubric(thread: ThreadState, passages: Sequence[Passage] = ()) -> str:
    """Compose the minimal rubric of an extraction from the objective and prior findings (S0, question delivery).

    It names the scope, the sections of this source to consider, and the target confidence.
    """
    sections = tuple(dict.fromkeys(p.heading.rsplit(" > ", 1)[-1] for p in passages if p.heading))
    known = [q for q in thread.sub_questions if q.finding]
    missing = [q.text for q in thread.sub_questions if q.standing is not SubQuestionStatus.ANSWERED]
    lines = [
        f"Scope: {thread.objective or thread.brief.question}",
        f"Look for: {'; '.join(missing) or 'confirmation of what is known'}",
        f"Sections to consider: {'; '.join(sections)[:400]}" if sections else "",
        f"Leave out: {thread.out_of_scope}" if thread.out_of_scope else "",
        f"Known already: {'; '.join(q.finding for q in known)[:600]}" if known else "",
        "Target confidence: 0.7 or more for each key claim.",
    ]
    return "\n".join(line for line in lines if line)
