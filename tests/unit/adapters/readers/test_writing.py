"""Writing: blocks, tight lines and the places of headings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.readers.writing import Writer, folded


@given(st.lists(st.tuples(st.sampled_from(["block", "tight", "heading", "verbatim"]), st.text(max_size=20))))
def test_every_heading_stands_at_its_start(parts):
    writer = Writer()
    for kind, text in parts:
        match kind:
            case "block":
                writer.block(text)
            case "tight":
                writer.block(text, tight=True)
            case "heading":
                writer.heading(text, 2)
            case _:
                writer.verbatim(text)
    parsed = writer.parsed()
    for heading in parsed.headings:
        assert parsed.text.startswith(heading.title, heading.start)


def test_tight_blocks_stay_close():
    writer = Writer()
    for text in ("- a", "- b"):
        writer.block(text, tight=True)
    writer.block("c")
    assert writer.parsed().text == "- a\n- b\n\nc"


def test_spaces_are_folded():
    assert folded(" a \t b \n\n  c ") == "a b\nc"
