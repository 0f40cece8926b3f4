"""Sentences: exact spans, the usual traps of English, linear time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.text.segmentation import is_entry, list_sentences, split_sentences
from corrobora.text.tokens import is_code_block

_PIECES = st.lists(
    st.sampled_from(
        ["Mr. ", "a", "B", ". ", "? ", "!\n", "\n\n", "\n", " | ", "- ", "1. ", '"', "…", "é", "。", "\u2028"]
    )
)


def split(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. No left. Why?", ["Dr. No left.", "Why?"]),
        ("This\nGuard Rule applies to the\nKiln Hall.", ["This\nGuard Rule applies to the\nKiln Hall."]),
        ("Kiln Hall\nThe hall is closed.", ["Kiln Hall", "The hall is closed."]),
        ("It was 3.5 m. long.", ["It was 3.5 m. long."]),
        ("He left at 5 p.m. He came back.", ["He left at 5 p.m.", "He came back."]),
        ("Apple Inc. is big. The end.", ["Apple Inc. is big.", "The end."]),
        ("J. R. R. Tolkien wrote it. See Fig. 3.", ["J. R. R. Tolkien wrote it.", "See Fig. 3."]),
        ('"Really?" she said. "Yes!" He left.', ['"Really?" she said.', '"Yes!"', "He left."]),
        ("The U.S. Senate met. It voted.", ["The U.S. Senate met.", "It voted."]),
        ("Wait... what?", ["Wait... what?"]),
        ("It reveals covariances. corner was made.", ["It reveals covariances.", "corner was made."]),
        ("All needs are met. momepy is used.", ["All needs are met.", "momepy is used."]),
        (
            "Its temp. sensor takes arguments, e.g. one, or none. e.g. one.",
            ["Its temp. sensor takes arguments, e.g. one, or none. e.g. one."],
        ),
        ("List the names (esp. Kiln), incl. Hall.", ["List the names (esp. Kiln), incl. Hall."]),
        ("1. First\n2. Second", ["1. First", "2. Second"]),
        (
            "# Wait for the kiln before the\n#  Tarnholm guild is called\n#\n# Use 0. The hall\n#\tis closed.\ndelay 5",
            [
                "# Wait for the kiln before the\n#  Tarnholm guild is called",
                "#",
                "# Use 0.",
                "The hall\n#\tis closed.",
                "delay 5",
            ],
        ),
        (
            "It waits for all kilns that are nearest to\n# the hall.",
            ["It waits for all kilns that are nearest to\n# the hall."],
        ),
        ("name | value\nlength | 8", ["name | value", "length | 8"]),
        (
            "Licence: MPL-2.0 and MIT\nProject page: https://example.org/a-long-address/of-it\nKeywords: bar",
            ["Licence: MPL-2.0 and MIT", "Project page: https://example.org/a-long-address/of-it", "Keywords: bar"],
        ),
        ("The harbour keeps cranes of one size and of one\nKind: the old one.", 1),
        ("A line that is wrapped by its author in the middle of\nthe sentence. Next.", 2),
        ("你好。再见！", ["你好。", "再见！"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_english_traps(text, expected):
    if isinstance(expected, int):
        assert len(split(text)) == expected
    else:
        assert split(text) == expected


@given(_PIECES.map("".join) | st.text())
def test_spans_are_in_order_and_leave_out_white_space_only(text):
    at = 0
    for span in split_sentences(text):
        assert text[at : span.start].strip() == ""
        assert text[span.start : span.end].strip() == text[span.start : span.end] != ""
        at = span.end
    assert text[at:].strip() == ""


@pytest.mark.parametrize("unit", [".", "\n", " ", "a. ", "\n ", "!)))", "| ", "\n| | ", "a", "(\n", "1. ", "x.y."])
def test_k08_hostile_text_is_split_in_linear_time(unit):
    assert measure_growth(lambda size: split_sentences(unit * (size // len(unit))), 15_000) < LINEAR


def test_a_release_number_may_end_a_sentence():
    text = "It names Keeper 1.2.1. Passages near it follow. 1.2. Scope of this"
    assert [text[span.start : span.end] for span in split_sentences(text)] == [
        "It names Keeper 1.2.1.",
        "Passages near it follow.",
        "1.2. Scope of this",
    ]


SPACES = """Options of the mill:
      -f, --fine            grinds the grain to flour as fine as
                            the sieve lets through
      -c, --coarse          leaves half of the hull
      --oil-the-main-gear   oils the gear before work
"""
TABS = "Options of the mill:\n  -f, --fine\t\tgrinds the grain\n  --oil-the-main-gear\toils the gear\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            SPACES,
            [
                "Options of the mill:",
                "-f, --fine grinds the grain to flour as fine as the sieve lets through",
                "-c, --coarse leaves half of the hull",
                "--oil-the-main-gear oils the gear before work",
            ],
        ),
        (TABS, ["Options of the mill:", "-f, --fine grinds the grain", "--oil-the-main-gear oils the gear"]),
        (TABS[TABS.index("-f") :], ["-f, --fine grinds the grain", "--oil-the-main-gear oils the gear"]),
        ("The  mill  grinds\nall of   the  grain", ["The mill grinds all of the grain"]),  # set to a width
    ],
    ids=["spaces", "tabs", "cut out of its text", "set to a width"],
)
def test_entries_of_a_list_in_two_columns_are_sentences(text, expected):
    assert [" ".join(each.split()) for each in split(text)] == expected
    entries = [is_entry(text, span.start) for span in split_sentences(text)]
    assert entries == [each.startswith("-") for each in expected]


CODE = "\u2002if open(3):\n\u2002    close().\n\u2002\n\u2002- Stop. Go\n\u2002..."


def test_a_block_of_code_is_one_sentence_wherever_its_text_was_cut():
    text = f"Close the doors:\n\n{CODE}\n\nIt is done. All is well."
    spans = split_sentences(text)
    assert split(text) == ["Close the doors:", CODE.strip(), "It is done.", "All is well."]
    assert [is_code_block(text, *span) for span in spans] == [False, True, False, False]
    cut = text[text.index("open") :]
    assert split(cut)[0] == CODE.strip()[3:]
    assert is_code_block(cut, *split_sentences(cut)[0])
    indented = text[: text.index("\u2002if")] + "\u2002    close()\n\nDone."
    assert [is_code_block(indented, *span) for span in split_sentences(indented)] == [False, True, False]


def test_a_long_block_of_code_is_cut_at_its_empty_lines_else_between_lines():
    part = "\n".join(f"\u2002step_{n}(). Then." for n in range(30))
    assert split(f"{part}\n\u2002\n{part}") == [part.strip()] * 2
    lines = [line for each in split("\n".join([part] * 9)) for line in each.split("\n")]
    assert [line.strip() for line in lines] == [line.strip() for line in [part] * 9 for line in line.split("\n")]
    assert split("\u2002" + "x" * 5_000) == ["x" * 5_000]


@pytest.mark.parametrize(
    "text",
    [
        "They met at 7:30p.m. Friday, June 4th.|Then they ate.",
        "Ring (01) 223 ext. 41 or write.|It costs approx. 5 EUR.",
        "The kiln was cold.|12 pots broke.|See below.|3 did not.",
        "Of pots y1, . . . , yn all are sold .|We go.",
        "It sets a mark (only the sender reads it. It may be a count) there.|Done.",
        "(It is cold.)|The next day it is warm (a bit).",
        "Compare Bell++ and B.700.|B.700 has more bells.",
    ],
)
def test_a_stop_of_an_abbreviation_a_number_or_a_bracket_ends_no_sentence(text: str):
    assert split(text.replace("|", " ")) == text.split("|")


def test_a_list_that_runs_inside_a_paragraph_is_cut_between_its_items_only():
    steps = "The steps of the work are 1. Fill the kiln. 2. Heat the clay to c. 3. Wait. Then it ends."
    assert split(steps) == [
        "The steps of the work are 1. Fill the kiln.", "2. Heat the clay to c.", "3. Wait.", "Then it ends."
    ]  # fmt: skip
    assert split("Its steps are 1. Fill the kiln.") == ["Its steps are 1. Fill the kiln."], "a quote has no other items"
    figures = "It stands in Figure 1. We show more in Figure 2. The end."
    assert split(figures) == ["It stands in Figure 1.", "We show more in Figure 2.", "The end."]


def test_a_line_that_ends_with_an_abbreviation_goes_on_and_the_number_of_a_page_is_no_item():
    work = "The work on the language of the kilns is led by J.\nMadden of the north and by others, see p. 7."
    assert split(work) == [work]
    page = "They say that the rule of the guild for bells stands on\np. 13  Message 6 is not used any more."
    assert split(page) == [page]
    number = "The rule of the guild in number\n#80 has problems that must be\nsolved."
    assert split(number) == [number]


@pytest.mark.parametrize("mark", [":", ";", "++"])
def test_a_long_line_goes_on_in_small_letters_whatever_it_ends_with(mark: str):
    text = f"There are two functions that the kilns must provide{mark}\nfiring and cooling of what was made."
    assert split(text) == [text]
    shorter = f"The two functions{mark}\nfiring and cooling."
    assert split(shorter) == shorter.split("\n")


def test_signs_that_are_listed_end_no_sentence() -> None:
    text = "It takes some signs, like @ ! \u201c # & . : ; < > ? and others. More follows! It does."
    assert list_sentences(text) == [text[: text.index(" More")], "More follows!", "It does."]
