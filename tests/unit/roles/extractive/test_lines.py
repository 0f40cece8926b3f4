"""Lines: sentences with headings; what states nothing weighs little."""

from __future__ import annotations

from tests.unit.roles.extractive.samples import OLD_DOCUMENT, document, excerpt

from corrobora.roles.extractive.lines import read_lines


def test_headings_are_above_sentences_and_no_sentences():
    lines = read_lines(excerpt(OLD_DOCUMENT))
    assert "Kiln Rules" not in [line.text for line in lines]
    assert all("kiln" in line.unit.heading for line in lines)


def test_a_line_stands_where_it_says():
    text = OLD_DOCUMENT.passages[0].text
    for line in read_lines(excerpt(OLD_DOCUMENT)):
        assert text[line.start : line.end].strip() == text[line.start : line.end]


def test_references_weigh_little():
    text = "Kilns are opened by the fitter of the guild.\n\nReferences\n\n[Kiln] Thermal Chambers Review, March 2019."
    sentence, entry = read_lines(excerpt(document(9, "Notes", text)))
    assert entry.weight < sentence.weight == 1.0
