"""Panels of a live run: what is sent of one that changed."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from corrobora.faces.web.pages.live import describe_change

TEXTS = st.lists(st.sampled_from(["", "a", "b", " c", "d"]), max_size=12).map("\n".join)


def restore(before: str, parts: list[str | list[int]]) -> str:
    """Do what the script of the page does."""
    old = before.split("\n")
    return "\n".join(line for part in parts for line in ([part] if isinstance(part, str) else old[slice(*part)]))


@given(before=TEXTS, after=TEXTS)
def test_a_changed_panel_is_put_together_from_what_stood_there_and_what_is_new(before: str, after: str) -> None:
    assert restore(before, describe_change(before, after)) == after
    assert "\n".join(map(str, describe_change("", after))) == after, "the first one is whole"


def test_of_hundreds_of_sources_only_what_changed_is_sent() -> None:
    rows = [f"<li>Source {number} with a long title of many words, 3 facts</li>" for number in range(400)]
    before = "\n".join(["<ul>", *rows, "</ul>"])
    after = "\n".join(
        ["<ul>", rows[377].replace("3 facts", "4 facts"), *rows[7:377], *rows[378:], "<li>New</li>", "</ul>"]
    )
    assert restore(before, describe_change(before, after)) == after
    assert len(json.dumps(describe_change(before, after))) < 200 < len(after) // 100
