"""Tables of contents of paged text are no text; rows of values are."""

from __future__ import annotations

import pytest
from tests.unit.adapters.readers.test_pdf import made

from corrobora.adapters.readers import read_text
from corrobora.adapters.readers.contents import drop_contents
from corrobora.adapters.readers.pdf import read_pdf

PARTS = ("Opening the valve", "Draining the pump", "What to do when it leaks", "Spare parts", "Guarantee")
PROSE = "The pump was rebuilt in the spring, and its valves were tested in the weeks that followed it."


def write_entries(leader: str, *, numbered: bool = False) -> list[str]:
    return [f"{f'{at}. ' if numbered else ''}{part}{leader}{2 * at}" for at, part in enumerate(PARTS, start=1)]


def write_chapters(*, numbered: bool = False) -> list[str]:
    return [f"{f'{at} ' if numbered else ''}{part}\n\n{PROSE}\n" for at, part in enumerate(PARTS, start=1)]


def write_pages(chapters: list[str]) -> list[str]:
    """Each chapter on the page that its entry names, the contents on the page before the first."""
    return [page for chapter in chapters for page in ("", chapter)]


@pytest.mark.parametrize("leader", [" . . . . . . . . . ", "..............", " ……… ", "\t", "  "])
@pytest.mark.parametrize("numbered", [False, True])
def test_lines_that_name_headings_and_their_pages_are_no_text(leader: str, *, numbered: bool) -> None:
    entries = write_entries(leader, numbered=numbered)
    pages = write_pages(write_chapters(numbered=numbered))
    first, *others = drop_contents(["\n".join(["The pump", "", *entries, ""]), *pages])
    assert first.split() == ["The", "pump"]
    assert others == pages


def test_a_title_over_two_lines_goes_with_its_entry_and_prose_stays() -> None:
    entries = ["Preface ..... iv", *write_entries(" ..... ")[:3], "Spare parts and where they are", "sold ..... 9"]
    text = "\n".join([PROSE, *entries, PROSE, "", *write_chapters()])
    assert drop_contents([text]) == ["\n".join([PROSE, PROSE, "", *write_chapters()])]


@pytest.mark.parametrize("leader", [" ........ ", "  "])
def test_rows_of_values_stay(leader: str) -> None:
    prices = "\n".join(f"{part}{leader}{at}" for at, part in enumerate(("Coffee", "Tea", "Cake", "Soup", "Bread"), 2))
    assert drop_contents([f"{prices}\n\n{PROSE}"]) == [f"{prices}\n\n{PROSE}"]
    falling = "\n".join(f"{part}{leader}{9 - at}" for at, part in enumerate(PARTS))
    pages = [falling, *write_pages(write_chapters())]
    assert drop_contents(pages) == pages


def test_rows_whose_names_are_headings_of_other_pages_than_they_say_stay() -> None:
    rows = "\n".join(f"{part}  {number}" for part, number in zip(PARTS, (3, 11, 12, 40, 41), strict=True))
    pages = [rows, *write_pages(write_chapters())]
    assert drop_contents(pages) == pages
    same = ["\n".join(f"{part}  7" for part in PARTS), "\n".join(write_chapters())]
    assert drop_contents(same) == same, "one number of all tells no place"
    text = ["\n".join([*write_entries("  "), "", *write_chapters()])]
    assert drop_contents(text) == text, "a text without pages has no numbers of pages"


def test_a_sentence_between_entries_stays() -> None:
    text = "\n".join(
        [*write_entries(" ..... "), PROSE, *(f"{part} of the mill ..... 20" for part in PARTS), *write_chapters()]
    )
    assert PROSE in drop_contents([text])[0].split("Opening")[0]


def test_contents_of_a_text_and_of_a_pdf_are_not_read() -> None:
    entries, chapters = write_entries(" . . . . . "), write_chapters()
    text = read_text("\n".join(["The pump", "", *entries, "", "", *chapters]).encode()).text
    assert [text.count(part) for part in PARTS] == [1] * len(PARTS)
    body = "".join(chapters).replace("\n\n", "\n").strip()
    parsed = read_pdf(made("The pump\n" + "\n".join(entries), body))
    assert [parsed.text.count(part) for part in PARTS] == [1] * len(PARTS)
    assert PROSE in " ".join(parsed.text.split())
