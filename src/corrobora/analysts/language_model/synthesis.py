"""The prompt of the synthesis for programs of others: its two texts, and a builder (ANGLES-28).

Knows the prompt file of the role, and that a fact of several parts is shown once. Calls no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corrobora.analysts.language_model.rendering import BRIEF, COMMON, Prompt, read_prompt_file, render_prompt
from corrobora.roles.synthesize import Material, Part, synthesize

_SYSTEM, _, _USER = read_prompt_file(synthesize.prompt).partition(BRIEF)
SYNTHESIS_SYSTEM = f"{read_prompt_file(COMMON).strip()}\n\n{_SYSTEM.strip()}"
SYNTHESIS_USER_TEMPLATE = _USER.strip()


def build_synthesis_prompt(topic: str, parts: Sequence[Part], *, uncovered: Sequence[str] = ()) -> Prompt:
    """Return the prompt that merges the parts (sub-agents' summaries and facts) into one report (ANGLES-28).

    A fact that several parts found is shown once, with the first of them.
    """
    seen: set[str] = set()
    merged: list[Part] = []
    for part in parts:
        fresh = tuple(fact for fact in part.facts if fact.id not in seen)
        seen |= {fact.id for fact in fresh}
        merged.append(replace(part, facts=fresh))
    given = Material("root", "report", topic, topic, tuple(merged), (), (), (), "angles", uncovered=tuple(uncovered))
    return render_prompt(synthesize, given)
