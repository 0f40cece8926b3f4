"""Claims: what of a sentence claims something."""

from __future__ import annotations

from corrobora.text.claims import CitedEvidence, hide_titles
from corrobora.text.support import Evidence


def test_the_numbers_of_titles_and_of_words_in_quotation_marks_claim_nothing():
    cited = [CitedEvidence(Evidence("Cranes rest.", "Crane rules 2019"), "S1")]
    assert hide_titles("By the Crane rules 2019, “12 cranes” rest.", cited) == f"By the {'x' * 16}, {'x' * 11} rest."
