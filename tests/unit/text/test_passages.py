"""Passages: spans are exact, sizes bounded, headings kept, time linear."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.ports import Heading
from corrobora.text.passages import PASSAGE_BYTES, segment_passages
from corrobora.text.tokens import CODE_GAP, TERM_GAP

_TEXTS = st.text() | st.lists(st.sampled_from(["Word ", "end. ", "\n\n", "é" * 40, "北京大学。", "x" * 300, " "])).map(
    "".join
)


@st.composite
def documents(draw):
    text = draw(_TEXTS)
    starts = sorted(set(draw(st.lists(st.integers(0, max(0, len(text) - 1)), max_size=6))))
    return text, [Heading(start, draw(st.integers(1, 4)), f"h{start}") for start in starts if start < len(text)]


@given(documents(), st.integers(40, 400))
def test_spans_are_exact_in_order_and_lose_no_letter(document, size):
    text, headings = document
    at = 0
    for piece in segment_passages(text, headings, size=size):
        assert text[at : piece.start].strip() == ""
        body = text[piece.start : piece.end]
        assert body == body.strip() != ""
        assert len(body.encode()) <= 2 * size + 500
        at = piece.end
    assert text[at:].strip() == ""


def test_a_passage_begins_at_its_heading_and_carries_the_path():
    body = "A sentence of the section that says something of use. " * 12
    text = f"Guide\n\n{body}\n\nLength\n\n{body}"
    second = text.index("Length")
    found = segment_passages(text, [Heading(0, 1, "Guide"), Heading(second, 2, "Length")])
    assert [piece.heading for piece in found] == ["Guide", "Guide > Length"]
    assert text[found[1].start :].startswith("Length")


def test_long_text_gives_passages_of_about_the_size():
    text = "This is a sentence of some words that goes on for a while. " * 500
    sizes = [piece.end - piece.start for piece in segment_passages(text)]
    assert all(PASSAGE_BYTES * 0.7 < size <= PASSAGE_BYTES * 1.25 for size in sizes[:-1])


@pytest.mark.parametrize("unit", ["x", " ", "\n", ". ", "é", "a ", "Aa\n"])
def test_k08_one_huge_line_is_cut_in_linear_time(unit):
    def cut(size: int) -> None:
        assert all(piece.end > piece.start for piece in segment_passages(unit * (size // len(unit))))

    assert measure_growth(cut, 30_000) < LINEAR


def test_a_passage_over_several_pages_is_cited_by_all_of_them() -> None:
    """A short page goes on with the next one; without its numbers nobody finds the quote in the document."""
    text = "".join(f"Page {number} says one thing. " for number in range(1, 5)) + "x " * 500
    made = [Heading(text.index(f"Page {number}"), 1, f"p. {number + 8}") for number in range(1, 5)]
    assert next(each.heading for each in segment_passages(text, made)) == "pp. 9–12"
    assert next(each.heading for each in segment_passages(text, made[:1])) == "p. 9"


def test_many_headings_are_linear():
    def cut(count: int) -> None:
        headings = [Heading(2 * at, 1 + at % 6, "x") for at in range(count)]
        assert len(segment_passages("x\n" * count, headings)) > count / 500

    assert measure_growth(cut, 5_000) < LINEAR


def test_a_question_stands_in_the_passage_of_what_answers_it():
    before = ("A sentence of the section that says something of use. " * 19).strip()
    text = f"{before}\n\nQ: Who may moor at the pier?\n\nA:{' Boats of the village may, for two nights.' * 7}"
    first, second = segment_passages(text)
    assert text[first.start : first.end] == before
    assert text[second.start :].startswith("Q: Who may moor")


def test_the_term_of_an_entry_stands_in_the_passage_of_what_goes_on_below_it():
    entry = f"-c FILE{TERM_GAP}Read FILE. " + " ".join(f"It is read {n} times a day by all." for n in range(9))
    text = "\n\n".join(f"Rule {n} of the tool is told here and nowhere else." for n in range(4)) + f"\n\n{entry}\n"
    spans = segment_passages(text, size=220)
    texts = [text[span.start : span.end] for span in spans]
    [first] = [each for each in texts if "read 0 times" in each]
    assert first.startswith(f"-c FILE{TERM_GAP}Read FILE. It is read 0 times")


def test_a_passage_begins_at_the_term_that_an_entry_defines() -> None:
    entries = [
        f"-{name} FILE{TERM_GAP}Reads the file {name} and says {'what it holds ' * 12}at last." for name in "abcdefghij"
    ]
    found = segment_passages("\n\n".join(("All of them:", *entries)))
    assert len(found) > len(entries) // 2
    assert all(TERM_GAP in "\n\n".join(("All of them:", *entries))[each.start : each.start + 12] for each in found[1:])
    whole = segment_passages("\n\n".join(f"-{name}{TERM_GAP}Short." for name in "abcdefghij"))
    assert len(whole) == 1


def test_a_passage_over_several_short_sections_has_the_headings_above_all_of_them() -> None:
    """A quote of the second section is not cited by the heading of the first."""
    text = "Minutes\n\nPrices\n\nLunch costs more.\n\nParty\n\nIt is on 18 July."
    made = [Heading(text.index(title), level, title) for title, level in (("Minutes", 1), ("Prices", 2), ("Party", 2))]
    assert [each.heading for each in segment_passages(text, made)] == ["Minutes"]
    assert [each.heading for each in segment_passages(text, made, size=20)][-1] == "Minutes > Party"


def _cut_list(entries: list[str], between: str = "\n") -> list[tuple[str, str]]:
    text = f"Options\n\n{between.join(entries)}"
    found = segment_passages(text, [Heading(0, 1, "Options")])
    return [(each.heading, text[each.start : each.end]) for each in found]


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_an_entry_that_fits_is_not_cut(between: str) -> None:
    """The default of one option is never read as that of the option before it."""
    further = f"\n\n{CODE_GAP}  wait = {'x' * 90}\n\n  It is told in seconds."
    entries = [f"- wait_{name}: Seconds to wait. {'It waits. ' * 30}Default is {name}.{further}" for name in "abcdefgh"]
    passages = [passage for _, passage in _cut_list(entries, between)]
    assert len(passages) > 2
    assert all(any(entry in passage for passage in passages) for entry in entries)


def test_the_term_of_an_entry_that_is_cut_is_a_heading_above_the_rest_of_it() -> None:
    long = "- wait: Seconds to wait." + "".join(f" It waits {n} times for each of the pumps." for n in range(60))
    found = _cut_list(["- size: Litres. Default is 4.", long, "- turn: Turns a second. Default is 7."])
    inner = [passage for heading, passage in found if heading == "Options > wait"]
    assert len(inner) > 1
    assert all(passage.startswith("It waits") and "turn" not in passage for passage in inner)
    assert [heading for heading, passage in found if "Default is" in passage] == ["Options", "Options"]
