"""`corrobora profiles`: presets and own ones."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.mark.covers("profiles show --json")
def test_profiles_are_listed_and_shown_with_own_ones(shell: Any) -> None:
    (shell.folder / "corrobora.toml").write_text('[profiles.short]\nbase = "timed"\nmax_rounds = 1\n')
    listed = shell("profiles").out
    assert all(f" {name} " in listed for name in ("tree", "angles", "timed", "rounds", "triplet", "full", "short"))
    assert json.loads(shell("profiles", "show", "short", "--json").out)["max_rounds"] == 1
    assert "max_rounds = 3" in shell("profiles", "show", "timed").out
    assert "timed" in shell("profiles", "show", "timd").complaint
