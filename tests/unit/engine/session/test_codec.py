"""Codec: values survive the journal, damage is named, digests differ where inputs do."""

from __future__ import annotations

import pytest

from corrobora.domain.errors import JournalError
from corrobora.domain.evidence import Hit
from corrobora.domain.limits import Usage
from corrobora.domain.plan import Node, Plan
from corrobora.engine.session.journal import CallMeta, decode, decode_meta, encode, hash_parts
from corrobora.ports import Entry


def test_values_come_back_equal() -> None:
    plan = Plan(Node("root", "t", "o", (Node("root/1", "a", "b"),)), tier="moderate")
    assert decode(Plan, encode(Plan, plan), key="k") == plan
    hits = (Hit("u", "t", score=0.5),)
    assert decode(tuple[Hit, ...], encode(tuple[Hit, ...], hits), key="k") == hits


@pytest.mark.parametrize("text", ["", "[", '{"root": 1}', '{"py/object": "os.system"}', "null"])
def test_r05_r18_damaged_or_planted_state_is_an_error_that_names_the_key(text: str) -> None:
    with pytest.raises(JournalError, match="root/2/extract") as caught:
        decode(Plan, text, key="root/2/extract")
    assert caught.value.code == "journal_damaged"


def test_digests_tell_inputs_apart_and_are_stable() -> None:
    assert hash_parts("a", "b") == hash_parts("a", "b")
    assert hash_parts("a", "b") != hash_parts("ab", "")
    assert len(hash_parts("\ud800")) == 16


def test_meta_of_an_entry() -> None:
    meta = CallMeta(elapsed=1.5, usage=Usage(input_tokens=3), role="extract", model="m")
    assert decode_meta(Entry("k", "out", encode(CallMeta, meta))) == meta
    assert decode_meta(Entry("k", "out")) == CallMeta()
    with pytest.raises(JournalError):
        decode_meta(Entry("k", "out", "{"))
