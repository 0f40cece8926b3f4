"""Formats: named by type, ending and first bytes; empty is never a success."""

from __future__ import annotations

import pytest

from corrobora.adapters.readers.worker import format_of, parse_bytes
from corrobora.domain.errors import ReadError


@pytest.mark.parametrize(
    ("name", "data", "type_", "expected"),
    [
        ("a.md", b"# x", "", "markdown"),
        ("a.MD", b"# x", "", "markdown"),
        ("a.html", b"<p>", "", "html"),
        ("a.rst", b"x", "", "rst"),
        ("README", b"x", "", "text"),
        ("a.py", b"x", "", "text"),
        ("a.txt", b"%PDF-1.4", "", "pdf"),
        ("a.pdf", b"<!DOCTYPE html><html>", "", "html"),
        ("page", b"<p>x", "text/html; charset=utf-8", "html"),
        ("a.docx", b"PK", "", "docx"),
    ],
)
def test_the_format_is_found(name, data, type_, expected):
    assert format_of(name, data, type_) == expected


@pytest.mark.parametrize("format_", ["markdown", "html", "rst", "text", "pdf", "docx"])
@pytest.mark.parametrize("data", [b"", b" ", b"\n\n\t"])
def test_nothing_is_empty(format_, data):
    with pytest.raises(ReadError) as caught:
        parse_bytes(format_, data)
    assert caught.value.outcome == "empty"


@pytest.mark.parametrize("format_", ["markdown", "rst", "text"])
def test_a_text_is_read(format_):
    assert parse_bytes(format_, b"Some text.").text == "Some text."
