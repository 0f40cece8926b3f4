"""Lists of references: entries of several forms are found, prose with years and names is none."""

from __future__ import annotations

import pytest

from corrobora.text.reference_lists import find_references, is_reference


@pytest.mark.parametrize(
    "entry",
    [
        "Lund G, van den Brandt OA (2002). Bells of the North. 2nd edition. Lund Press, Oslo.",
        "Lund, G., & Brandt, O. (2002). “The bells.” Ropes.",
        "R Bell Team (2010). Rings: A Language for Bells.",
        "G. Lund, O. A. Brandt and P. Holm. Bells and their ropes. Bell Review, 61:821-856, 1993.",
        '[Bell] Lund, G., "The Bells", Note 12, May 1984.',
        "Northern Bell Review, 19(10), 1319–1328. doi:10.1000/bell.12",
        "- Lund G (2002). Bells.",
    ],
)  # fmt: skip
def test_an_entry_of_a_list_of_references_is_known_by_its_form(entry: str):
    assert is_reference(entry)


@pytest.mark.parametrize(
    "prose",
    [
        "Lund and Brandt (2002) showed that bells ring in the north.",
        "G. Lund opened the meeting of 9 May 1984 and asked for the bells.",
        "The bells were rung in Lund by the group A (2002), as was said.",
        "Bells are rung in vol. 3 of the series that the guild of the north has printed in 1993.",
        "[1] The bells were rung for the first time in 1984, and not before.",
        "[2025-01-07 09:40] Bo: who has the key?",
        "",
    ],
)
def test_prose_with_names_and_years_is_no_entry(prose: str):
    assert not is_reference(prose)


def test_under_their_heading_entries_of_any_form_are_found_until_the_next_heading():
    text = "References\n\nBell Guild. Rules, 1984.\n\nThe guild is old.\n\nA. Notes\n\nIt was made in 1984."
    assert [text[a:b] for a, b in find_references(text)] == ["Bell Guild. Rules, 1984."]
    assert find_references("Bell Guild. Rules, 1984.", "8 References") == [(0, 24)]
    assert find_references("Bell Guild. Rules, 1984.", "References and borrowing") == []
