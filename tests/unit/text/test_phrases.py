"""Phrases: the sentences that code writes."""

from __future__ import annotations

import pytest

from corrobora.domain.report import Outcome
from corrobora.domain.run import RequestOption
from corrobora.domain.thread import StopReason
from corrobora.text import phrases
from corrobora.text.phrases import describe_code


def test_code_knows_its_own_wordings_and_no_others():
    assert all(phrases.is_written_by_code(f"- {opening} something.") for opening in phrases.OPENINGS)
    assert not phrases.is_written_by_code("Operators SHALL NOT open a chamber.")


@pytest.mark.parametrize("code", [*Outcome, *StopReason, "too_large", RequestOption.ASK_ABOVE_USD])
def test_every_code_has_words(code: str) -> None:
    assert "_" not in describe_code(code)
