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
