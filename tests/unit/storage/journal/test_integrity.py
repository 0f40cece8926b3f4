"""Digests: every flipped bit is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.errors import JournalError
from corrobora.ports import Entry
from corrobora.storage.journal.commits import entry_digest, verify_entry

texts = st.text(st.characters(codec="utf-8"), max_size=200)


@given(texts, texts, texts)
def test_an_untouched_entry_passes(key: str, out: str, meta: str) -> None:
    entry = Entry(key, out, meta)
    assert verify_entry("r", entry, entry_digest(entry)) is entry


@given(texts.filter(bool), st.data())
def test_any_flipped_bit_is_found(out: str, data: st.DataObject) -> None:
    raw = bytearray(out.encode())
    place = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[place // 8] ^= 1 << (place % 8)
    flipped = Entry("k", raw.decode("latin-1"))
    original = Entry("k", out.encode().decode("latin-1"))
    with pytest.raises(JournalError, match="'k'"):
        verify_entry("r", flipped, entry_digest(original))


def test_the_parts_of_an_entry_cannot_be_shifted() -> None:
    assert entry_digest(Entry("a", "b", "c")) != entry_digest(Entry("a", "c", "b"))
