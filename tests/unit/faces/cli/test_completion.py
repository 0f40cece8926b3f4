"""`corrobora completion`: a script for each shell."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion(shell: Any, name: str) -> None:
    assert "_CORROBORA_COMPLETE" in shell("completion", name).out
    assert shell("completion", "tcsh").code == 2
