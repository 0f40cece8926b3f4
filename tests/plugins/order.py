"""A plugin that runs long tests first, so that no process works alone at the end, and those in a browser together."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the folder `browser` first and `unit` last; within a folder the order stays random."""
    items.sort(key=lambda item: (item.nodeid.startswith("tests/unit/"), not item.nodeid.startswith("tests/browser/")))
