"""How what is read is taken up, as a policy that goes with the analysts of a run.

Where a language model judges quotes, each passage is read once and its judgement stands; where words alone do, answers
are checked again. Does not know how anything is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrobora.domain.evidence import Fact, Hit, Reading, ReadOutcome
from corrobora.domain.plan import SubQuestion
from corrobora.domain.thread import ThreadState
from corrobora.policies.outcome import explain_refusal
from corrobora.ports import Analyst


@dataclass(frozen=True, slots=True)
class EvidencePolicy:
    """The policy of a run with a language model: its judgement of a quote stands, and no passage is paid for twice."""

    def claims_in_order(self, hit: Hit) -> bool:  # noqa: ARG002 - one signature for all policies
        """True if this hit may claim its passages only after the hits before it."""
        return False

    def has_model(self) -> bool:
        """True if a model says what a quote answers (also a sibling's question) and can repair what it wrote."""
        return True

    def list_rereadings(self, thread: ThreadState) -> Sequence[Reading]:  # noqa: ARG002
        """Return the readings of earlier rounds whose sources are read again in this round."""
        return ()

    def explain_refusal(self, question: str, sub_questions: Sequence[SubQuestion], facts: Sequence[Fact]) -> str:  # noqa: ARG002
        """Say why the facts of a run are no report, "" if they are one."""
        return ""


@dataclass(frozen=True, slots=True)
class UnjudgedEvidence(EvidencePolicy):
    """The policy of a run without a language model: quotes are chosen by their words, and nothing is paid."""

    def claims_in_order(self, hit: Hit) -> bool:
        """True for stored documents: what is found must not depend on which loads first. Pages are not waited for."""
        return hit.source is not None

    def has_model(self) -> bool:
        """False: each thread compares the words of all that it reads with its own questions."""
        return False

    def list_rereadings(self, thread: ThreadState) -> Sequence[Reading]:
        """All that was read, once terms were learned: what a document calls a thing is often learned from another."""
        last = thread.last
        if last is None or not _has_new_terms(thread):
            return ()
        return [r for done in thread.rounds for r in done.readings if r.outcome is ReadOutcome.READ and not r.again]

    def explain_refusal(self, question: str, sub_questions: Sequence[SubQuestion], facts: Sequence[Fact]) -> str:
        """Measure what was found against the question: statements that do not answer it are no report."""
        return explain_refusal(question, sub_questions, facts)


def choose_evidence_policy(analysts: Sequence[Analyst]) -> EvidencePolicy:
    """Return the policy for a chain of analysts, whose last one always answers and needs no model."""
    return EvidencePolicy() if len(analysts) > 1 else UnjudgedEvidence()


def _has_new_terms(thread: ThreadState) -> bool:
    last = thread.rounds[-1]
    proposed = last.decision.proposal.terms if last.decision else ()
    return bool(proposed) or any(reading.terms for reading in last.readings)
