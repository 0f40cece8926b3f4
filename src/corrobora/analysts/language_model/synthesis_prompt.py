"""The synthesis prompt under its public names: SYNTHESIS_SYSTEM, SYNTHESIS_USER_TEMPLATE, build_synthesis_prompt().

For programs that write the report with a client of their own (ANGLES-28). Knows nothing of its own: the texts are those
of `roles/prompts/synthesize.md`. Does not know models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrobora.analysts.language_model.model import Prompt
from corrobora.analysts.language_model.rendering import BRIEF, COMMON, read_prompt_file, render_prompt
from corrobora.domain.evidence import Contradiction
from corrobora.domain.plan import SubQuestion
from corrobora.domain.thread import Gap
from corrobora.roles.synthesize import Material, Part, synthesize

__all__ = ["SYNTHESIS_SYSTEM", "SYNTHESIS_USER_TEMPLATE", "build_synthesis_prompt"]

_SYSTEM, _, _USER = read_prompt_file(synthesize.prompt).partition(BRIEF)
SYNTHESIS_SYSTEM = f"{read_prompt_file(COMMON).strip()}\n\n{_SYSTEM.strip()}"
SYNTHESIS_USER_TEMPLATE = _USER.strip()


def build_synthesis_prompt(  # noqa: PLR0913 - what ANGLES-28 lists, by name
    topic: str,
    parts: Sequence[Part],
    *,
    layout: str = "angles",
    sub_questions: Sequence[SubQuestion] = (),
    contradictions: Sequence[Contradiction] = (),
    gaps: Sequence[Gap] = (),
    uncovered: Sequence[str] = (),
    words_max: int = 1_500,
) -> Prompt:
    """Return the prompt that merges the parts (sub-agents' summaries and facts) into one report (ANGLES-28).

    A fact that several parts found is shown once, with the first of them.
    """
    seen: set[str] = set()
    merged: list[Part] = []
    for part in parts:
        fresh = tuple(fact for fact in part.facts if fact.id not in seen)
        seen |= {fact.id for fact in fresh}
        merged.append(replace(part, facts=fresh))
    given = Material(
        path="root",
        purpose="report",
        question=topic,
        title=topic,
        parts=tuple(merged),
        sub_questions=tuple(sub_questions),
        contradictions=tuple(contradictions),
        gaps=tuple(gaps),
        layout=layout,
        words_max=words_max,
        uncovered=tuple(uncovered),
    )
    return render_prompt(synthesize, given)
