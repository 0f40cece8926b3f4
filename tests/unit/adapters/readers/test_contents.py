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
    return [
        line
        for at, part in enumerate(PARTS, start=1)
        for line in (f"{f'{at} ' if numbered else ''}{part}", "", PROSE, "")
    ]


@pytest.mark.parametrize("leader", [" . . . . . . . . . ", "..............", " ……… ", "\t", "  "])
@pytest.mark.parametrize("numbered", [False, True])
def test_lines_that_name_headings_and_their_pages_are_no_text(leader: str, *, numbered: bool) -> None:
    entries = write_entries(leader, numbered=numbered)
    chapters = write_chapters(numbered=numbered)
    first, second = drop_contents(["\n".join(["The pump", "", *entries, ""]), "\n".join(chapters)])
    assert first.split() == ["The", "pump"]
    assert second == "\n".join(chapters)


def test_a_title_over_two_lines_goes_with_its_entry_and_prose_stays() -> None:
    entries = ["Preface ..... iv", *write_entries(" ..... ")[:3], "Spare parts and where they are", "sold ..... 9"]
    text = "\n".join([PROSE, *entries, PROSE, "", *write_chapters()])
    assert drop_contents([text]) == ["\n".join([PROSE, PROSE, "", *write_chapters()])]


@pytest.mark.parametrize("leader", [" ........ ", "  "])
def test_rows_of_values_stay(leader: str) -> None:
    prices = "\n".join(f"{part}{leader}{at}" for at, part in enumerate(("Coffee", "Tea", "Cake", "Soup", "Bread"), 2))
    assert drop_contents([f"{prices}\n\n{PROSE}"]) == [f"{prices}\n\n{PROSE}"]
    falling = "\n".join(f"{part}{leader}{9 - at}" for at, part in enumerate(PARTS))
    text = "\n".join([falling, *write_chapters()])
    assert drop_contents([text]) == [text]


def test_contents_of_a_text_and_of_a_pdf_are_not_read() -> None:
    entries, chapters = write_entries(" . . . . . "), write_chapters()
    text = read_text("\n".join(["The pump", "", *entries, "", "", *chapters]).encode()).text
    assert [text.count(part) for part in PARTS] == [1] * len(PARTS)
    pages = ["The pump\n" + "\n".join(entries), "\n".join(line for line in chapters if line)]
    parsed = read_pdf(made(*pages))
    assert [parsed.text.count(part) for part in PARTS] == [1] * len(PARTS)
    assert PROSE in " ".join(parsed.text.split())
