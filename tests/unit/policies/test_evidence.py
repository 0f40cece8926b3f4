"""How evidence is taken up: with a language model its judgement stands, without one words are checked again."""

from __future__ import annotations

from tests.unit.policies.threads import fact

from corrobora.analysts.extractive import ExtractiveAnalyst
from corrobora.domain.evidence import Hit
from corrobora.domain.plan import SubQuestion
from corrobora.policies.outcome import EvidencePolicy, UnjudgedEvidence, choose_evidence_policy

QUESTION = "When was the harbour of Ardal opened?"
PARTS = (SubQuestion("sq-1", QUESTION),)


def test_a_chain_with_a_model_leaves_judgement_to_the_model() -> None:
    model, last = ExtractiveAnalyst(), ExtractiveAnalyst()
    assert type(choose_evidence_policy((model, last))) is EvidencePolicy
    assert type(choose_evidence_policy((last,))) is UnjudgedEvidence


def test_only_stored_documents_claim_their_passages_in_order() -> None:
    page = Hit("https://example.org/a", "A page", "")
    assert not UnjudgedEvidence().claims_in_order(page)
    assert not EvidencePolicy().claims_in_order(page)


def test_statements_that_do_not_answer_are_no_report_without_a_model() -> None:
    stray = (fact("The mill has two wheels of oak."),)
    assert UnjudgedEvidence().explain_refusal(QUESTION, PARTS, stray)
    assert EvidencePolicy().explain_refusal(QUESTION, PARTS, stray) == ""
