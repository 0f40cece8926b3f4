"""Writing: blocks, tight lines and the places of headings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.adapters.readers import TextWriter, fold_spaces


@given(st.lists(st.tuples(st.sampled_from(["block", "tight", "heading", "verbatim"]), st.text(max_size=20))))
def test_every_heading_stands_at_its_start(parts):
    writer = TextWriter()
    for kind, text in parts:
        match kind:
            case "block":
                writer.add_block(text)
            case "tight":
                writer.add_block(text, tight=True)
            case "heading":
                writer.add_heading(text, 2)
            case _:
                writer.add_verbatim(text)
    parsed = writer.build_parsed()
    for heading in parsed.headings:
        assert parsed.text.startswith(heading.title, heading.start)


def test_tight_blocks_stay_close():
    writer = TextWriter()
    for text in ("- a", "- b"):
        writer.add_block(text, tight=True)
    writer.add_block("c")
    assert writer.build_parsed().text == "- a\n- b\n\nc"


def test_spaces_are_folded():
    assert fold_spaces(" a \t b \n\n  c ") == "a b\nc"


def test_the_head_of_a_table_is_never_lost():
    writer = TextWriter()
    writer.add_rows([["1"], ["1", "2", "3"]], ["year", "share"])
    assert writer.build_parsed().text == "year | share\n1\n1 | 2 | 3"
    writer.add_rows([], ["alone"])
    assert writer.build_parsed().text.endswith("alone")
