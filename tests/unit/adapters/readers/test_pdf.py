"""PDF: text, and the reasons for none (group D)."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from corrobora.adapters.readers import TextWriter
from corrobora.adapters.readers.paging import drop_running_lines
from corrobora.adapters.readers.pdf import (
    find_work_date,
    join_accents,
    join_cut_words,
    join_paragraphs,
    read_pdf,
    write_pages,
)
from corrobora.domain.errors import ReadError


def made(*pages: str, fonts: str = "", more: Sequence[str] = ()) -> bytes:
    """A PDF with one line of Helvetica for each line of each page, written by hand; `more` objects from 4 + 2 n on."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, page in enumerate(pages):
        lines = " ".join(f"({line}) Tj T*" for line in page.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 50 700 Td {lines} ET" if page else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * at} 0 R"
            f" /Resources << /Font << /F1 3 0 R {fonts} >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects += more
    out = io.BytesIO(b"")
    out.write(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode())
    start = out.tell()
    rows = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    out.write(f"xref\n0 {size}\n0000000000 65535 f \n{rows}trailer\n<< /Size {size} /Root 1 0 R >>\n".encode())
    out.write(f"startxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def encrypted(user: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(made("Secret text."))))
    writer.encrypt(user_password=user, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_the_authors_are_those_that_the_file_states():
    for author, authors in {"Lund, Greta; Ole Brandt": ("Lund, Greta", "Ole Brandt"), "admin": ()}.items():
        writer = PdfWriter(clone_from=PdfReader(io.BytesIO(made("The crane stands on the quay."))))
        writer.add_metadata({"/Author": author})
        out = io.BytesIO()
        writer.write(out)
        assert read_pdf(out.getvalue()).authors == authors


def outcome(data):
    with pytest.raises(ReadError) as caught:
        read_pdf(data)
    return caught.value.outcome


def test_d08_words_cut_at_line_ends_are_joined():
    parsed = read_pdf(made("The rule forbids pass-\nwords that are known, as the\ncommittee said.", "Second page."))
    assert "forbids passwords that are known, as the committee said." in parsed.text
    assert "Second page." in parsed.text


@pytest.mark.parametrize(
    ("cut", "joined"),
    [
        ("a LINK-\nAGE map by LINKAGE", "a LINKAGE map by LINKAGE"),
        ("a loop-\nbreaker is a loop-breaker", "a loop-breaker is a loop-breaker"),
        ("a LOD-\nSCORE", "a LOD-SCORE"),
        ("from point-to-\npoint", "from point-to-point"),
        ("both pre-\nand postwar", "both pre- and postwar"),
        ("the thou-\nsand and com\ufffe\x01puters", "the thousand and com\x01puters"),
        ("known pass-\nwords", "known passwords"),
        ("1990-\n1995", "1990-\n1995"),
    ],
)
def test_a_word_that_a_line_cuts_is_written_as_elsewhere_in_the_text(cut: str, joined: str) -> None:
    assert join_cut_words(cut) == joined


_TALL = "bdfhklt"


def drawn_font(first: int) -> tuple[str, ...]:
    """A font whose letters are drawn and have no name: of two shapes, tall and low."""
    letters = [*"ACDM", *"abcdefghiklmnoprstuvwxyz"]
    shapes = {letter: first + (1 if letter.isupper() or letter in _TALL else 2) for letter in letters}
    codes = " ".join(f"{ord(letter)} /{letter}" for letter in letters)
    drawn = " ".join(f"/{letter} {number} 0 R" for letter, number in shapes.items())
    widths = " ".join(["600"] * 91)
    font = (
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 32 "
        f"/LastChar 122 /Widths [{widths}] /Encoding << /Type /Encoding /Differences [{codes}] >> "
        f"/CharProcs << {drawn} >> /Resources << >> >>"
    )
    streams = [f"600 0 0 0 600 {height} d1 0 0 600 {height} re f" for height in (700, 350)]
    return (font, *(f"<< /Length {len(each)} >>\nstream\n{each}\nendstream" for each in streams))


def test_a_title_in_two_lines_of_drawn_letters_is_read_whole() -> None:
    title = ("Automatic choices of breakers", "kept that hold kilns")
    body = "The valve opens at three bar and closes again at two bar."
    drawn = [f") Tj /F2 18 Tf ({line}) Tj /F1 12 Tf (" for line in title]
    page = "\n".join((*drawn, "Ann Lund", body, body))
    assert read_pdf(made(page, fonts="/F2 6 0 R", more=drawn_font(6))).title == " ".join(title)


def test_a_drawn_line_with_one_letter_among_its_signs_is_read() -> None:
    """Which letters of a line are measured depends on how many: the finer draw may miss all of them."""
    lines = [f"{'1' * at}a{'1' * (length - at - 1)}" for length in range(3, 40) for at in range(0, length, length // 3)]
    page = "\n".join(("Said.", *(f") Tj /F2 18 Tf ({line}) Tj /F1 12 Tf (" for line in lines)))
    assert read_pdf(made(page, fonts="/F2 6 0 R", more=drawn_font(6))).text.count("a") == len(lines) + 1


def test_each_page_is_a_heading_at_the_first_sentence_that_begins_on_it():
    first, second = "It begins on the first page and", "goes on here. The second page says more."
    parsed = read_pdf(made(first, second, "", "A third."))
    assert [(each.title, parsed.text[each.start :].split(".")[0]) for each in parsed.headings] == [
        ("p. 1", "It begins on the first page and goes on here"),
        ("p. 2", "The second page says more"),
        ("p. 4", "A third"),
    ]


def test_lines_that_run_along_the_edges_of_pages_are_no_text():
    body = ["A rule has no end and", "goes on here.", "It is kept.", "A row of 8.", "No. 9."]
    pages = [f"{n + 11} The Guide\nSynopsis\n{text}\nTotal {5 * n}\n{n + 1}\n" for n, text in enumerate(body)]
    assert drop_running_lines(pages) == [f"{text}\nTotal {5 * n}" for n, text in enumerate(body)]
    assert drop_running_lines(pages[:2]) == [page.rstrip() for page in pages[:2]]
    apart = ["A note.\nIt says one thing.", *(f"Page {n * n} of it\n{n} words {n}." for n in range(4))]
    assert drop_running_lines(apart * 2) == apart * 2
    assert "no end and goes on here." in read_pdf(made(*pages)).text.replace("Synopsis ", "").replace("Total 0 ", "")


@given(st.lists(st.text(st.sampled_from([*"aB. \n,x•-1"]), max_size=60), max_size=5))
def test_pages_lose_and_gain_only_white_space_and_hyphens(pages: list[str]):
    writer = TextWriter()
    write_pages(pages, writer)
    parsed = writer.build_parsed()
    assert re.sub(r"[\s-]", "", parsed.text) == re.sub(r"[\s-]", "", "".join(pages))
    starts = [each.start for each in parsed.headings]
    assert starts == sorted(starts)
    assert not any(parsed.text[start].isspace() for start in starts)


def sized(line: str, size: int) -> str:
    """A line of `made` in letters of another size."""
    return f") Tj /F1 {size} Tf ({line}) Tj /F1 12 Tf ("


def test_a_heading_in_larger_letters_is_no_part_of_the_paragraphs_around_it():
    body = "The valve opens at three bar and closes again at two bar."
    lines = ("Journal 7", sized("Valves under pressure", 18), body, sized("Seals", 15), body, sized("Kept dry", 9))
    page = "\n".join(lines)
    parsed = read_pdf(made(page))
    assert parsed.text == f"Journal 7\n\nValves under pressure\n\n{body}\n\nSeals\n\n{body}\n\nKept dry"
    assert parsed.title == "Valves under pressure"
    assert read_pdf(made(f"{body}\n{body}\nSeals")).text == f"{body} {body} Seals"


def test_a_first_paragraph_is_no_title_and_neither_is_the_number_of_a_page():
    body = "The valve opens at three bar and closes again at two bar."
    assert read_pdf(made(f"{body}\n{body}\n{body}")).title == ""
    assert read_pdf(made(f"ii\n\n{body}")).title == ""
    assert read_pdf(made(f"Valves under pressure\n\n{body}")).title == "Valves under pressure"


@pytest.mark.parametrize("stated", ["CMR10", "kiln-final.doc", "untitled", "The Malt Kiln, second edition"])
def test_a_title_that_its_pages_do_not_show_names_a_font_or_a_file(stated: str):
    """The one font of the file is also what it states of itself."""
    file = made("The Malt Kiln\n\nThe valve opens at three bar and closes again at two bar.")
    file = file.replace(b"/BaseFont /Helvetica", f"/BaseFont /Helvetica /Title ({stated})".encode(), 1)
    shown = read_pdf(file.replace(b"/Root 1 0 R", b"/Root 1 0 R /Info 3 0 R")).title
    assert shown == (stated if "second" in stated else "The Malt Kiln")


def test_a_bold_heading_of_the_size_of_the_text_is_no_part_of_the_paragraph_below_it():
    bold = ") Tj /F2 12 Tf (Seals of every valve in the hall of pumps) Tj /F1 12 Tf ("
    body = "The valve opens at three bar and closes again at two bar."
    page = made(f"{body}\n{bold}\n{body}", fonts="/F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>")
    assert read_pdf(page).text == f"{body}\n\nSeals of every valve in the hall of pumps\n\n{body}"


def test_a_sentence_that_goes_on_in_other_letters_stays_one():
    page = f"It is opened by the command\n{sized('valve open in small letters', 9)}\nand by hand."
    assert read_pdf(made(page)).text == "It is opened by the command valve open in small letters and by hand."


def test_text_without_spaces_is_listed_as_poor():
    with pytest.raises(ReadError, match=r"Its text is poor: \d+% of the letters") as caught:
        read_pdf(made("tohavegenerallynoknownreleasecriticalbugs isdaszuinstallierendepaketauflisten"))
    assert caught.value.outcome == "not_content"


def drawn(text: str) -> bytes:
    """A PDF of one line in letters outside Latin, with a map of its codes to them."""
    codes = {letter: code for code, letter in enumerate(sorted(set(text)), start=1)}
    rows = "".join(f"<{code:02X}> <{ord(letter):04X}>\n" for letter, code in codes.items())
    space = "1 begincodespacerange\n<00> <FF>\nendcodespacerange"
    cmap = f"begincmap\n{space}\n{len(codes)} beginbfchar\n{rows}endbfchar\nendcmap"
    shown = "".join(f"{codes[letter]:02X}" for letter in text)
    plain = made("PLACE").replace(b"(PLACE)", f"<{shown}>".encode())
    stream = f"<< /Length {len(cmap)} >>\nstream\n{cmap}\nendstream"
    font = f"/BaseFont /Helvetica /ToUnicode 6 0 R >>\nendobj\n6 0 obj\n{stream}"
    return plain.replace(b"/BaseFont /Helvetica >>", font.encode())


def test_words_whose_letters_stand_in_reverse_order_are_listed_as_poor():
    said = "שלום ימים גדולים וקטנים הן כאן"
    assert read_pdf(drawn(said[::-1])).text == said  # letters stand on a page from right to left
    with pytest.raises(ReadError, match="in reverse order") as caught:
        read_pdf(drawn(said))
    assert caught.value.outcome == "not_content"


def test_long_names_of_programs_are_no_poor_text():
    names = "IsMultiplicativeGeneralizedRowVector and GetMeasurementBoundSizeOfContour are names."
    assert "GeneralizedRowVector" in read_pdf(made(names)).text


def test_d02_an_empty_password_is_tried_another_is_told():
    assert "Secret text." in read_pdf(encrypted("")).text
    assert outcome(encrypted("unknown")) == "encrypted"


@pytest.mark.parametrize(
    "data",
    [b"", b"<html>no</html>", b"%PDF-1.4\n", b"%PDF-1.4\ngarbage" * 9, b"x" * 2048 + b"%PDF-1.4", made("Text.")[:300]],
)
def test_d03_damaged_files_are_broken_or_empty(data):
    assert outcome(data) in {"broken", "empty"}


def test_d04_pages_over_the_limit_are_said():
    parsed = read_pdf(made("One.", "Two.", "Three."), max_pages=2)
    assert parsed.truncated
    assert "2 of 3" in parsed.note
    assert "Three" not in parsed.text
    assert not read_pdf(made("One.", "Two."), max_pages=2).truncated


def test_d05_a_scan_is_empty_never_a_success():
    assert outcome(made("", "")) == "empty"


def test_paragraphs_are_rebuilt():
    text = (
        "Heading\nThis is the first line of a paragraph that is long\n"
        "and goes on here to a length like this one\nto end.\n• item"
    )
    assert join_paragraphs(text) == [
        "Heading",
        "This is the first line of a paragraph that is long and goes on here to a length like this one to end.",
        "• item",
    ]


def test_rows_of_numbers_and_tables_without_stops_are_paragraphs_of_their_own():
    prose = "The mice of the first group were exposed to light of one kind for some weeks\nand lived"
    axis = "0 10 20 30 40"
    assert join_paragraphs(f"{prose}\n{axis}\nLonger than others.") == [
        prose.replace("\n", " "),
        axis,
        "Longer than others.",
    ]
    card = [f"bell.{name} rings the bell of the tower that is named {name}" for name in "abcdef"]
    assert join_paragraphs("\n".join(card)) == card
    told = [*card[:3], "This is a sentence. It ends, and another one goes on below it for a", *card[3:]]
    assert join_paragraphs("\n".join(told)) == [" ".join(told)]


def test_accents_stand_on_their_letters_but_apostrophes_and_hats_of_formulas_stay():
    assert join_accents("Sch\u00a8olm and B\u00b4eda, in \u00a8Oland") == "Sch\u00f6lm and B\u00e9da, in \u00d6land"
    for text in ("don\u00b4t", "it\u00b4s so", "y\u02c6i and \u02c6\u03b8", "a\u00a8 o", "\u00a8\u03a9"):
        assert join_accents(text) == text


def test_a_raised_number_parts_no_sentence():
    lines = (
        "The tests of the bells that are rung in the tower of the north use statistics",
        "or X",
        "2 sums of rings.",
    )
    assert join_paragraphs("\n".join(lines)) == [" ".join(lines)]
    assert join_paragraphs("\n".join((lines[0], "or X.", "2 sums of rings."))) == [f"{lines[0]} or X.", lines[2]]


def test_the_first_page_dates_a_paper():
    said = "This is a preprint of an article published in Bell Review, 50.\nCopyright \u00a9 2008 Bells.\nMay 10, 2023"
    assert find_work_date(said) == "2008"
    assert find_work_date("A paper of bells.\nPublished: 3 May 2004\nIt rang.") == "2004-05-03"
    assert find_work_date("It was published in 2004 as a book.\n") == ""
    page = "A paper of bells.\nFebruary 10, 2023\nIt rang in May 1984, and it was then as cold."
    assert read_pdf(made(page)).published == "2023-02-10"
    assert read_pdf(made("A paper of bells.\nIt rang in May 1984, and it was then as cold as now.")).published == ""


def test_letters_that_old_fonts_of_tex_keep_in_place_of_control_characters_are_read():
    parsed = read_pdf(
        made(
            "We \\014rst compare di\\013erent and e\\016cient ways of an o\\017ine check.\n"
            "\\017 They re\\015ect pages 12{17 of the \\\\marked text\\042 in the \\014le that was read."
        )
    )
    text = " ".join(parsed.text.split())
    assert "We first compare different and efficient ways of an offline check." in text
    assert "• They reflect pages 12–17 of the “marked text” in the file that was read." in text


def test_a_page_without_such_letters_keeps_its_braces_and_backslashes():
    text = read_pdf(made("Write \\\\begin and x{3 or \\042so\\042 as it stands here in the line.")).text
    assert '\\begin and x{3 or "so" as it stands' in " ".join(text.split())
