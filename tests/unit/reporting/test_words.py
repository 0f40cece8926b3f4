"""Words: no stored code of an outcome or a reason to stop reaches a reader as it is."""

from __future__ import annotations

import pytest

from corrobora.domain.report import Outcome
from corrobora.domain.run import RequestOption
from corrobora.domain.thread import StopReason
from corrobora.reporting.words import describe_code


@pytest.mark.parametrize("code", [*Outcome, *StopReason, "too_large", RequestOption.ASK_ABOVE_USD])
def test_every_code_has_words(code: str) -> None:
    assert "_" not in describe_code(code)
