"""`--refresh`: a named library whose folder changed is read again before it is searched."""

from __future__ import annotations

import json
from typing import Any

import pytest

QUESTION = "What do the ponds of the south hold?"
PONDS = "# Ponds\n\nThe ponds of the south hold {}.\n"


@pytest.mark.covers("research --refresh", "setting sources.refresh")
def test_changed_files_are_read_before_the_question(served: Any) -> None:
    shell = served
    (shell.folder / "ponds").mkdir()
    (shell.folder / "ponds" / "one.md").write_text(PONDS.format("carp"))
    assert shell("library", "add", "ponds", "ponds").code == 0
    (shell.folder / "ponds" / "one.md").write_text(PONDS.format("tench and loach"))
    stale = shell("research", QUESTION, "-l", "ponds", "--display", "plain")
    assert "library  ponds: 1 changed; read them with" in stale.err
    assert ("carp" in stale.out, "tench" in stale.out) == (True, False)
    fresh = shell("research", QUESTION, "-l", "ponds", "--refresh", "-q")
    assert ("carp" in fresh.out, "tench" in fresh.out) == (False, True)
    (shell.folder / "ponds" / "two.md").write_text(PONDS.format("pike"))
    shell.setenv(CORROBORA_SOURCES_REFRESH="yes")
    quiet = json.loads(shell("research", QUESTION, "-l", "ponds", "-q", "--json").out)
    assert "pike" in quiet["markdown"]
