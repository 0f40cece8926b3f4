"""Pages of plain text: heads and feet are no text, what a page cut goes on, other form feeds part sections."""

from __future__ import annotations

from corrobora.adapters.readers import read_text
from corrobora.adapters.readers.paging import join_pages
from corrobora.text.segmentation import list_sentences

FIRST = """Harbour Board                                        O. Brandt
Note 12                                               Quay 3


                    Minutes of the Crane Meeting

   The cranes were tested, and the master of the port said that they
   will"""
BODIES = (
    FIRST,
    "   need more light at night.\n\nLoads\n\n   Two loads were lifted.",
    "   A crane has four parts:\n\n      an arm\n      a hook",
    "      a seat\n      an engine\n\n   All of them are of steel.",
)


def page_text(number: int, body: str) -> str:
    head = "" if number == 1 else "Note 12            Crane Meeting            November 1984\n\n\n"
    return f"{head}{body}\n\n\n\nBrandt                                                  [Page {number}]\n"


PAPER = "\f\n".join(page_text(number, body) for number, body in enumerate(BODIES, start=1))


def test_heads_and_feet_of_pages_are_no_text_and_no_headings():
    parsed = read_text(PAPER.encode())
    assert "Brandt  " not in parsed.text.split("Minutes")[1]
    assert "Page" not in parsed.text
    assert "November" not in parsed.text
    assert [each.title for each in parsed.headings] == ["Loads"]
    assert (parsed.title, parsed.published) == ("Minutes of the Crane Meeting", "1984-11")


def test_what_a_page_cut_goes_on_on_the_next_one():
    text = read_text(PAPER.encode()).text
    said = [" ".join(each.split()) for each in list_sentences(text)]
    whole = "The cranes were tested, and the master of the port said that they will need more light at night."
    assert whole in said
    assert "a hook\n      a seat" in text, "a list is one list"
    assert "steel." in text.rstrip()[-7:]


def test_a_form_feed_without_heads_only_parts_sections():
    text = "Bells\n\nA bell rings.\f\nRopes\n\nA rope hangs.\f\nLofts\n\nA loft is high."
    assert join_pages(text.split("\f")) == (text.replace("\f", "\n"), "")
    assert join_pages(["", "\n", ""]) == ("\n\n\n", "")
