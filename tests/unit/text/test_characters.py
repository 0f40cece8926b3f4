"""Characters that a terminal obeys reach no text, and no JSON as an escape."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.characters import sanitize_json, sanitize_text

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
TEXTS = st.text(
    st.sampled_from([*'ab é日\u200d\n\t"\\\x1b[3m]\x07\x9b\x85\r\u202e\u2066\u200f\ufeff\x00\x7f']), max_size=30
)


@given(TEXTS)
def test_no_control_or_direction_character_is_left(text: str) -> None:
    clean = sanitize_text(text)
    assert not OBEYED.search(clean)
    assert sanitize_text(clean) == clean
    if not OBEYED.search(text):
        assert clean == text


@given(TEXTS)
def test_a_json_document_keeps_everything_else(text: str) -> None:
    for ascii_only in (True, False):
        value = json.loads(sanitize_json(json.dumps({"text": text}, ensure_ascii=ascii_only)))["text"]
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", value)
    if not OBEYED.search(text):
        assert value == text
