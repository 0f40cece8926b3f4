"""The question as it enters through any face: checked once, by the policy, before anything is paid or stored.

Knows what a face keeps beside the text. Does not know what the question is about or who asked it.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrobora.policies import intake


@dataclass(frozen=True, slots=True)
class Question:
    """A question that may be researched. `invisible` counts the characters that were removed (bad-input Q12)."""

    text: str
    invisible: int = 0


def parse_question(raw: str) -> Question:
    """Return the question. Raises `UserError` as `policies.question.check_question`."""
    return Question(intake.check_question(raw), intake.count_hidden_characters(raw))
