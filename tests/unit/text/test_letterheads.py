"""Letterheads: title and date of a memo in plain text, and that what stands in one states nothing."""

from __future__ import annotations

from corrobora.text.letterheads import find_letterhead, read_letterhead

MEMO = """
Harbour Board Working Group                              O. Brandt
Note of the Board: 1588                             Port Authority
Category: Users                                       9 March 1984

                  Minutes of the Crane Meeting
                       of the North Quay

   The cranes were tested on the second day of May 1983.
"""


def test_title_and_date_stand_below_and_in_the_letterhead():
    assert read_letterhead(MEMO) == ("Minutes of the Crane Meeting of the North Quay", "1984-03-09")
    assert MEMO[find_letterhead(MEMO) :].lstrip().startswith("Minutes")
    undated = MEMO.replace("9 March 1984", "           B")
    assert read_letterhead(undated)[1] == "", "1588 is a number, and May 1983 is no date of the note"


def test_prose_and_tables_of_one_line_are_no_letterhead():
    for text in ("The crane has two arms.\nIt lifts.\n", "Crane          Load\n\nNorth", "", "\n\n"):
        assert find_letterhead(text) == 0
        assert read_letterhead(text) == ("", "")
    asks = MEMO.replace("Minutes of the Crane Meeting", "At the quay there was a meeting.")
    assert read_letterhead(asks.replace("of the North Quay", "It was cold."))[0] == ""
