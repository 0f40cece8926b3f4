"""Phrases: the sentences that code writes."""

from __future__ import annotations

from corrobora.text import phrases


def test_code_knows_its_own_wordings_and_no_others():
    assert all(phrases.is_written_by_code(f"- {opening} something.") for opening in phrases.OPENINGS)
    assert not phrases.is_written_by_code("Operators SHALL NOT open a chamber.")
