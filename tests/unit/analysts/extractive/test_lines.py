"""Lines: sentences with headings; what states nothing weighs little."""

from __future__ import annotations

from tests.unit.analysts.extractive.samples import OLD_DOCUMENT, document, excerpt

from corrobora.analysts.extractive.lines import read_lines


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


def lines_of(text: str):
    return read_lines(excerpt(document(9, "Notes", text)))


def test_a_heading_right_above_a_list_leads_it_in():
    lines = lines_of("The kiln is new and red.\n\nIn the box\n\n- two shelves\n- six stones")
    assert [line.text for line in lines] == ["The kiln is new and red.", "In the box:", "two shelves", "six stones"]
    assert all(line.weight == 1.0 for line in lines), "items state what they are led in as"


def test_rows_know_the_heads_of_their_table_and_rows_without_heads_state_nothing():
    text = "Faults are rare.\n\nFault | Remedy\nSmoke | Open the door\nNoise | Call us"
    _, heads, smoke, noise = lines_of(text)
    assert heads.table == smoke.table == noise.table == text.index("Fault |")
    assert "remedi" in smoke.unit.heading
    alone = lines_of("Faults are rare.\n\nSmoke | Open the door")[-1]
    assert alone.table == -1
    assert alone.weight < 0.7


def test_lines_of_contents_and_of_mail_heads_state_nothing_but_labels_do():
    listed = lines_of("Contents\n\n1. Firing of clay\n2. Faults of the kiln\n\nFiring\n\nThe clay is fired twice.")
    assert [line.weight for line in listed if line.item] == [0.3, 0.3]
    *heads, label, last = lines_of(
        "From: Ann Moe\nSubject: the summer firing\n\nGuarantee: 36 months, stones excepted\n\nThe clay is dry."
    )
    assert [line.weight for line in heads] == [0.3, 0.3]
    assert label.weight == last.weight == 1.0


def test_turns_with_time_stamps_are_statements():
    lines = lines_of(
        "[2025-01-07 09:40] Bo: who has the key?\n[2025-01-07 09:41] Ida: the porter\n[2025-01-07 09:42] Bo: thanks"
    )
    assert [line.turn for line in lines] == [0, 1, 2]
    assert lines[1].weight == 1.0


def test_sentences_of_other_languages_are_statements():
    assert [line.weight for line in lines_of("Der Ofen ist am 1. Mai in Betrieb gegangen. 窑厂每天上午十点开门。")] == [
        1.0,
        1.0,
    ]
