"""Gates: whether the findings meet the criteria of a phase of the plan, and whether an iteration came closer to them.

Knows gates and findings as values. Does not know how findings are gathered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from corrobora.domain.evidence import Fact
from corrobora.domain.plan import Coverage, Criteria, Gate, SubQuestion, SubQuestionStatus
from corrobora.domain.report import Findings
from corrobora.policies.grading import combine_confidence, group_witnesses
from corrobora.policies.outcome import list_denied
from corrobora.text.phrases import format_count
from corrobora.text.tokens import stem_text


def find_unmet_criteria(gate: Gate, findings: Findings) -> tuple[str, ...]:
    """Return the criteria that the findings do not meet, in words for a planner; empty if the gate is passed.

    A sub-question marked `#RETRY_EXHAUSTED` does not hold a gate open: nothing more can be tried for it (TREE-18). One
    that a model does not count as answered does, however many sources speak of it.
    """
    criteria = gate.criteria
    asked = [each for each in findings.sub_questions if each.standing is not SubQuestionStatus.EXHAUSTED]
    denied = list_denied(findings)
    said: list[str] = []
    for each in asked:
        evidence = _find_evidence(each, findings)
        found = len(group_witnesses(evidence))
        if found < criteria.corroboration:
            said.append(f"{found} of {criteria.corroboration} independent sources were found for: {each.text}")
        elif combine_confidence(evidence) < criteria.minimum_confidence:
            said.append(
                f"confidence {combine_confidence(evidence):.2f} is below the {criteria.minimum_confidence:.2f} that is "
                f"needed for: {each.text}"
            )
        elif each.id in denied:
            said.append(f"not answered yet: {each.text} Still missing: {'; '.join(denied[each.id])}")
    if not findings.sub_questions:
        found = len(group_witnesses(findings.facts))
        if found < criteria.corroboration:
            said.append(f"{found} of {criteria.corroboration} independent sources were found")
    said.extend(f"theme not covered: {theme}" for theme in list_uncovered_themes(gate, findings))
    if criteria.contradictions_resolved:
        said.extend(f"contradiction is open: {c.claim}" for c in findings.contradictions if not c.resolved)
    return tuple(said)


def list_uncovered_themes(gate: Gate, findings: Findings) -> list[str]:
    """Return the themes of a gate of which no quote holds all words."""
    return [theme for theme in gate.criteria.themes if not _is_covered(theme, findings)]


def list_open_themes(gates: Sequence[Gate], findings: Findings) -> Sequence[str]:
    """Return the uncovered themes, without those that are words of a question: where it stands says the same."""
    asked = [{*stem_text(each.text), *each.text.split()} for each in findings.sub_questions]
    themes = dict.fromkeys(theme for gate in gates for theme in list_uncovered_themes(gate, findings))
    return [theme for theme in themes if not any(words.issuperset(theme.split()) for words in asked)]


def add_default_criterion(gate: Gate) -> tuple[Gate, str]:
    """Give a gate without criteria the default one, with a note; return any other unchanged (bad-input P20)."""
    criteria = gate.criteria
    asks = (
        criteria.corroboration > 0
        or bool(criteria.themes)
        or criteria.contradictions_resolved
        or criteria.minimum_confidence > 0
    )
    if asks:
        return gate, ""
    default = Criteria()
    note = f"gate {gate.name} had no success criterion: {default.corroboration} source for each sub-question was set"
    return replace(gate, criteria=default), note


@dataclass(frozen=True, slots=True)
class GateProgress:
    """Progress towards a gate; each part is better if larger, except `unmet` and `conflicts`."""

    unmet: int
    covered: float  # share of sub-questions and themes with evidence
    confidence: float  # mean over the sub-questions
    conflicts: int

    @property
    def key(self) -> tuple[int, float, float, int]:
        """What to compare, most important first: criteria, coverage, confidence, resolved conflicts (TREE-26)."""
        return (-self.unmet, self.covered, self.confidence, -self.conflicts)


def measure_progress(gate: Gate, findings: Findings) -> GateProgress:
    """Measure the progress of findings towards a gate."""
    evidence = [_find_evidence(each, findings) for each in findings.sub_questions]
    themes = [_is_covered(theme, findings) for theme in gate.criteria.themes]
    parts = [bool(each) for each in evidence] + themes
    sure = [combine_confidence(each) for each in evidence]
    return GateProgress(
        unmet=len(find_unmet_criteria(gate, findings)),
        covered=sum(parts) / len(parts) if parts else 0.0,
        confidence=math.fsum(sure) / len(sure) if sure else combine_confidence(findings.facts),
        conflicts=sum(1 for each in findings.contradictions if not each.resolved),
    )


def has_improved(gate: Gate, before: Findings, after: Findings) -> bool:
    """True if an iteration came closer to the gate; the findings of any other are discarded (TREE-26).

    An iteration that found a new open contradiction is kept as well: contradicting evidence is never left out. So is
    one with evidence for a sub-question that it asked first; without evidence that question does not count against it.
    """
    known = {frozenset((each.a, each.b)) for each in before.contradictions}
    disputed = any(frozenset((each.a, each.b)) not in known for each in after.contradictions if not each.resolved)
    asked = {each.id for each in before.sub_questions}
    if disputed or any(_find_evidence(each, after) for each in after.sub_questions if each.id not in asked):
        return True
    same = replace(after, sub_questions=tuple(each for each in after.sub_questions if each.id in asked))
    return measure_progress(gate, same).key > measure_progress(gate, before).key


def describe_delta(gate: Gate, before: Findings, after: Findings) -> str:
    """Describe on one line what an iteration changed, for the delta log (TREE-26)."""
    known = {fact.id for fact in before.facts}
    fresh = sum(1 for fact in after.facts if fact.id not in known)
    then, now = measure_progress(gate, before), measure_progress(gate, after)
    return (
        f"{format_count(fresh, 'new fact')}; criteria not met {then.unmet} -> {now.unmet}; "
        f"coverage {then.covered:.2f} -> {now.covered:.2f}; confidence {then.confidence:.2f} -> {now.confidence:.2f}; "
        f"open contradictions {then.conflicts} -> {now.conflicts}"
    )


def _find_evidence(asked: SubQuestion, findings: Findings) -> list[Fact]:
    return [fact for fact in findings.facts if asked.id in fact.answers or fact.id in asked.evidence]


def _is_covered(theme: str, findings: Findings) -> bool:
    """True if a theme is the name of a covered subject, or if one fact contains all of its words."""
    wanted = set(stem_text(theme))
    for subject in findings.subjects:
        if subject.coverage is not Coverage.UNCOVERED and wanted == set(stem_text(subject.name)):
            return True
    return any(wanted <= set(stem_text(f"{fact.heading} {fact.quote}")) for fact in findings.facts)
