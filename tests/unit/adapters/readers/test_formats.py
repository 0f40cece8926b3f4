"""Formats: named by type, ending and first bytes; empty is never a success."""

from __future__ import annotations

import pytest

from corrobora.adapters.readers.parser import CSV, DOCX, HTML, MARKDOWN, PDF, RST, TEXT, find_reader
from corrobora.adapters.readers.worker import parse_bytes
from corrobora.domain.errors import ReadError
from corrobora.registry import load_part
from corrobora.text.segmentation import list_sentences


@pytest.mark.parametrize(
    ("name", "data", "type_", "expected"),
    [
        ("a.md", b"# x", "", "markdown"),
        ("a.MD", b"# x", "", "markdown"),
        ("a.html", b"<p>", "", "html"),
        ("a.rst", b"x", "", "rst"),
        ("guide.rst.txt", b"x", "", "rst"),
        ("guide.md.txt", b"x", "text/plain; charset=utf-8", "markdown"),
        ("paper.pdf.txt", b"x", "", "text"),
        ("README", b"x", "", "text"),
        ("a.tex", b"x", "", "text"),
        ("a.txt", b"%PDF-1.4", "", "pdf"),
        ("a.pdf", b"<!DOCTYPE html><html>", "", "html"),
        ("page", b"<p>x", "text/html; charset=utf-8", "html"),
        ("a.docx", b"PK", "", "docx"),
    ],
)
def test_the_format_is_found(name, data, type_, expected):
    assert find_reader(name, data, type_) is load_part("readers", expected)


@pytest.mark.parametrize("data", [b",,\n,,\n", b"||\n||\n", b'","'])
def test_a_table_of_empty_cells_is_read_as_text(data):
    assert parse_bytes(CSV.read, data).text.strip()


@pytest.mark.parametrize("reader", [MARKDOWN, HTML, RST, TEXT, PDF, DOCX])
@pytest.mark.parametrize("data", [b"", b" ", b"\n\n\t"])
def test_nothing_is_empty(reader, data):
    with pytest.raises(ReadError) as caught:
        parse_bytes(reader.read, data)
    assert caught.value.outcome == "empty"


@pytest.mark.parametrize("reader", [MARKDOWN, RST, TEXT])
def test_a_text_is_read(reader):
    assert parse_bytes(reader.read, b"Some text.").text == "Some text."


@pytest.mark.parametrize("reader", [MARKDOWN, HTML, RST, TEXT])
def test_places_where_a_word_might_be_broken_are_no_text(reader):
    raw = "<p>Das Pump&shy;werk, das Wehr\xad</p>" if reader is HTML else "Das Pump\xadwerk, das Wehr\xad"
    assert parse_bytes(reader.read, raw.encode()).text == "Das Pumpwerk, das Wehr"


@pytest.mark.parametrize("name", ["kiln.txt", "kiln.html", "kiln.md"])
def test_a_text_that_is_set_with_the_mark_of_code_is_no_code(name: str) -> None:
    """En spaces begin the paragraphs of many texts."""
    lines = "\u2002The kiln is hot at noon.\n\u2002It cools by night.\n"
    text = f"<pre>{lines}</pre>" if name.endswith("html") else lines
    found = parse_bytes(find_reader(name, text.encode()).read, text.encode())
    assert list_sentences(found.text) == ["The kiln is hot at noon.", "It cools by night."]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            'Name,Note\nA,"<p class=""x"">B, c</p>"\nD,"two\nlines"\n',
            'Name: A; Note: <p class="x">B, c</p>.\nName: D; Note: two lines.',
        ),
        ("Plot\tFee, EUR\nA\t1,5\nB\t2,5\n", "Plot: A; Fee, EUR: 1,5.\nPlot: B; Fee, EUR: 2,5."),
        ("sep=;\nPlot;Fee\nA;1\n", "Plot: A; Fee: 1."),
        ("Who,Said\nA,it's fine\nB,'x', y\nC,no\n", "Who: A; Said: it's fine.\nB | 'x' | y\nWho: C; Said: no."),
        (
            "Plot,Fee,Since\nA,1\nB,2,2019\nC,3,2020,\n",
            "Plot: A; Fee: 1.\nPlot: B; Fee: 2; Since: 2019.\nPlot: C; Fee: 3; Since: 2020.",
        ),
        (
            "Account;12\nFrom;May\n\nDay;Sum;For\n1.2.;-5,00;Bread\n2.2.;-7;Tea\n",
            "Account | 12\nFrom | May\nDay: 1.2.; Sum: -5,00; For: Bread.\nDay: 2.2.; Sum: -7; For: Tea.",
        ),
        (
            "Text\nThe cat sat, and the dog ran.\nThe bird flew, and sang.\n",
            "Text\nThe cat sat, and the dog ran.\nThe bird flew, and sang.",
        ),
        (f'Name,Note\nA,"{"word, " * 30_000}end"\n', f"Name: A; Note: {'word, ' * 30_000}end."),
    ],
    ids=["quotes", "decimal commas", "sep", "apostrophe", "ragged", "rows above the head", "prose", "long cell"],
)
def test_a_table_of_values_is_read_by_the_delimiter_that_makes_its_rows_alike(data, expected):
    assert parse_bytes(CSV.read, data.encode()).text == expected


def test_a_saved_page_is_read_as_a_page_and_not_dated_by_the_day_it_was_saved():
    page = (
        b"From: <Saved by Blink>\r\nSubject: The lamp\r\nDate: Sat, 2 Mar 2024 10:00:00 -0000\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/related; type="text/html"; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html\r\n'
        b"Content-Transfer-Encoding: quoted-printable\r\n\r\n<html><body><h1>The lamp</h1><p>It burns 900 hours=C2=A0a "
        b"yea=\r\nr.</p></body></html>\r\n--b\r\nContent-Type: image/png\r\n\r\nx\r\n--b--\r\n"
    )
    parsed = parse_bytes(find_reader("lamp.mhtml", page).read, page)
    assert (parsed.title, parsed.published) == ("The lamp", "")
    assert "It burns 900 hours a year." in parsed.text
    assert "Saved by" not in parsed.text
    assert "image/png" not in parsed.text
