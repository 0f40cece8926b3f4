"""Gates: whether what was gathered meets the criteria of a plan's phase, and whether another try improved it.

Knows a gate and findings. Does not know how findings are gathered, nor how often: the gate's `max_iterations` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from corrobora.domain.evidence import Fact
from corrobora.domain.plan import Coverage, Criteria, Gate, SubQuestion, SubQuestionStatus
from corrobora.domain.report import Findings
from corrobora.policies.grading import combine_confidence, identify_witness
from corrobora.text.tokens import stem_text


def find_unmet_criteria(gate: Gate, findings: Findings) -> tuple[str, ...]:
    """Return the criteria that the findings do not meet, in words for a planner; empty if the gate is passed.

    A sub-question marked `#RETRY_EXHAUSTED` holds no gate open: nothing more can be tried for it (TREE-18).
    """
    criteria = gate.criteria
    asked = [each for each in findings.sub_questions if each.standing is not SubQuestionStatus.EXHAUSTED]
    said: list[str] = []
    for each in asked:
        evidence = _find_evidence(each, findings)
        found = len({identify_witness(fact) for fact in evidence})
        if found < criteria.corroboration:
            said.append(f"{each.id} has {found} of {criteria.corroboration} independent sources: {each.text}")
        elif combine_confidence(evidence) < criteria.minimum_confidence:
            said.append(
                f"{each.id} is answered with confidence {combine_confidence(evidence):.2f}, "
                f"needed is {criteria.minimum_confidence:.2f}: {each.text}"
            )
    if not findings.sub_questions:
        found = len({identify_witness(fact) for fact in findings.facts})
        if found < criteria.corroboration:
            said.append(f"{found} of {criteria.corroboration} independent sources were found")
    said.extend(f"theme not covered: {theme}" for theme in criteria.themes if not _is_covered(theme, findings))
    if criteria.contradictions_resolved:
        said.extend(f"contradiction is open: {c.claim}" for c in findings.contradictions if not c.resolved)
    return tuple(said)


def add_default_criterion(gate: Gate) -> tuple[Gate, str]:
    """Give a gate that asks for nothing the default criterion, with a note; else return it as it is (bad-input P20)."""
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
    """How far findings are towards a gate; each part is better if larger, but for `unmet`."""

    unmet: int
    covered: float  # share of sub-questions and themes with evidence
    confidence: float  # mean over the sub-questions
    conflicts: int

    @property
    def key(self) -> tuple[int, float, float, int]:
        """Order of what matters: criteria, coverage, confidence, conflicts resolved (TREE-26)."""
        return (-self.unmet, self.covered, self.confidence, -self.conflicts)


def measure_progress(gate: Gate, findings: Findings) -> GateProgress:
    """Measure findings against a gate."""
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
    """True if an iteration came nearer to the gate; one that did not is kept out (TREE-26).

    One that found something that speaks against the findings is taken as well: a contradiction is never left out.
    """
    known = {frozenset((each.a, each.b)) for each in before.contradictions}
    disputed = any(frozenset((each.a, each.b)) not in known for each in after.contradictions if not each.resolved)
    return disputed or measure_progress(gate, after).key > measure_progress(gate, before).key


def describe_delta(gate: Gate, before: Findings, after: Findings) -> str:
    """Say in one line what an iteration changed, for the delta log (TREE-26)."""
    known = {fact.id for fact in before.facts}
    fresh = sum(1 for fact in after.facts if fact.id not in known)
    then, now = measure_progress(gate, before), measure_progress(gate, after)
    return (
        f"{fresh} new facts; criteria not met {then.unmet} -> {now.unmet}; coverage {then.covered:.2f} -> "
        f"{now.covered:.2f}; confidence {then.confidence:.2f} -> {now.confidence:.2f}; "
        f"open contradictions {then.conflicts} -> {now.conflicts}"
    )


def _find_evidence(asked: SubQuestion, findings: Findings) -> list[Fact]:
    return [fact for fact in findings.facts if asked.id in fact.answers or fact.id in asked.evidence]


def _is_covered(theme: str, findings: Findings) -> bool:
    """A theme is covered by a subject of that name, or by a fact that has all of its words."""
    wanted = set(stem_text(theme))
    for subject in findings.subjects:
        if subject.coverage is not Coverage.UNCOVERED and wanted == set(stem_text(subject.name)):
            return True
    return any(wanted <= set(stem_text(f"{fact.heading} {fact.quote}")) for fact in findings.facts)
