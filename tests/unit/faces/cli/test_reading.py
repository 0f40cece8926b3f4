"""Reading documents, shown: counts, and every unread file with its reason."""

from __future__ import annotations

import json
from typing import Any


def test_k14_secret_files_are_skipped_and_listed(folder: Any) -> None:
    result = json.loads(folder("library", "add", "lakes", "papers", "--json", "-q").out)
    assert {row["path"] for row in result["skipped"]} == {".env", "broken.pdf"}
    assert all(row["reason"] for row in result["skipped"])
