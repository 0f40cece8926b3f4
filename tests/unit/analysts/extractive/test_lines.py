"""Lines: sentences with headings; what states nothing weighs little."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.analysts.extractive.samples import OLD_DOCUMENT, document, excerpt, facts_of

from corrobora.analysts.extractive.citations import cite_fact
from corrobora.analysts.extractive.lines import is_command, read_lines, stem_heading
from corrobora.domain.evidence import Fact
from corrobora.text.tokens import stem_text


def test_headings_are_above_sentences_and_no_sentences():
    lines = read_lines(excerpt(OLD_DOCUMENT))
    assert "Kiln Rules" not in [line.text for line in lines]
    assert all("kiln" in line.sentence.above for line in lines)


def test_a_line_stands_where_it_says():
    text = OLD_DOCUMENT.passages[0].text
    for line in read_lines(excerpt(OLD_DOCUMENT)):
        assert text[line.start : line.end].strip() == text[line.start : line.end]


def test_references_state_nothing():
    text = "Kilns are opened by the fitter of the guild.\n\nReferences\n\n[Kiln] Thermal Chambers Review, March 2019."
    sentence, entry = read_lines(excerpt(document(9, "Notes", text)))
    assert entry.sentence.bare
    assert not sentence.sentence.bare


def lines_of(text: str):
    return read_lines(excerpt(document(9, "Notes", text)))


def test_labels_with_their_values_are_statements():
    *_, label, last = lines_of(
        "From: Ann Moe\nSubject: the summer firing\n\nGuarantee: 36 months, stones excepted\n\nThe clay is dry."
    )
    assert not label.sentence.bare
    assert not last.sentence.bare


def test_the_header_lines_of_a_mail_state_nothing_and_its_text_does():
    mail = "From: Ann Moe <ann@kiln.example>\nTo: Bo Lind <bo@kiln.example>\nDate: Thu, 12 Jun 2025 09:14:00 +0200\n"
    read = {line.text: line.sentence.bare for line in lines_of(f"Offer\n\n{mail}\nThe price of the kiln is 400 EUR.")}
    assert [bare for text, bare in read.items() if text.startswith(("From", "To", "Date"))] == [True] * 3
    assert not read["The price of the kiln is 400 EUR."]
    assert not any(line.sentence.bare for line in lines_of("Sent: 14 May 2020 to all members of the guild."))


def test_turns_with_time_stamps_are_statements():
    lines = lines_of(
        "[2025-01-07 09:40] Bo: who has the key?\n[2025-01-07 09:41] Ida: the porter\n[2025-01-07 09:42] Bo: thanks"
    )
    assert [line.turn for line in lines] == [0, 1, 2]
    assert all(line.sentence.spoken and not line.sentence.bare for line in lines)


def test_sentences_of_other_languages_are_statements():
    assert not any(
        line.sentence.bare for line in lines_of("Der Ofen ist am 1. Mai in Betrieb gegangen. 窑厂每天上午十点开门。")
    )


def test_each_sentence_of_an_entry_is_read_with_its_term():
    text = "Plain.\n\nIt has these modes:\n\n- slow: Counts drops. Default: four.\n- rapid: Counts litres.\n\nOther."
    read = {line.text: line.sentence.above for line in lines_of(text)}
    assert "slow" in read["Default: four."]
    assert not {"slow", "rapid"} & read["Other."]
    assert not {"slow", "rapid"} & read["Plain."]


def test_words_inside_an_address_state_nothing():
    sentence, badge = lines_of("The state is shown on the page.\n\nImage pump mill https://a.de/it/in/the.svg.")
    assert badge.sentence.bare
    assert not sentence.sentence.bare


def test_a_bar_of_progress_states_nothing():
    bar, sentence = lines_of("Writing | ########## | 100% of it is done.\n\nThe write is done in a second.")
    assert bar.sentence.bare
    assert not sentence.sentence.bare


def test_an_answer_is_read_with_its_question_which_states_nothing() -> None:
    text = "Q:  The lamp flickers.\n    How can I repair it?\n\nA:  Turn the wick.\n\nCows graze near the church."
    asked, _, answer, other = lines_of(text)
    assert asked.sentence.bare
    assert "repair" in answer.sentence.stems
    assert not answer.sentence.bare
    assert "repair" not in other.sentence.stems


def test_a_command_that_stands_alone_is_no_heading() -> None:
    text = "Wiping a bowl\n\nkiln --wipe /dev/bowl\n\nIt takes an hour.\n\nKiln --wipe explained\n\nIt wipes."
    found = read_lines(excerpt(document(1, "Kiln", text)))
    assert [line.text for line in found] == ["kiln --wipe /dev/bowl", "It takes an hour.", "It wipes."]
    assert not any(map(is_command, ("all in one", "see the guide", "Use -x", "as of today/tomorrow")))
    quoted = replace(facts_of(document(1, "Kiln", text))[0], quote="Do this.\n\nkiln -w <bowl>\n\nIt takes an hour.")
    assert "kiln -w" in cite_fact(quoted)


MINUTES = (
    "1. Prices of the canteen\n\nLunch costs 6.90 euros from May. B. Okafor voted against.\n\n"
    "2. Summer party\n\nIt is on 18 July. Tasks:\n\n1. Order the tent\n\n2. Ask the band"
)


def test_a_numbered_heading_is_no_item_and_stands_above_its_section() -> None:
    lines = lines_of(MINUTES)
    assert [line.text for line in lines if line.item] == ["Order the tent", "Ask the band"]
    voted = next(line for line in lines if "Okafor" in line.text)
    assert {"canteen", "price"} <= voted.sentence.above


def test_a_numbered_heading_in_a_quote_is_not_printed() -> None:
    of = document(9, "Minutes", MINUTES)
    fact = Fact.from_quote(of, of.passages[0], MINUTES[: MINUTES.index(" B.")], claim="", confidence=0.5)
    assert fact is not None
    assert cite_fact(fact) == "Lunch costs 6.90 euros from May [S9:C9]."


def test_a_heading_of_joined_names_is_read_as_its_words():
    assert stem_heading("Rules > KilnDoors") == frozenset(stem_text("kiln doors"))


def test_a_default_in_brackets_states_something():
    line = read_lines(excerpt(document(9, "Notes", "Kilns are opened by the fitter of the guild. (Default: 32)")))[-1]
    assert not line.sentence.bare


def test_a_setting_is_read_with_the_comment_above_it():
    text = "# seconds that the fitter waits\ndelay 40\n\n# trays to fill\ntrays 7"
    comment, setting, *others = read_lines(excerpt(document(9, "kiln.conf", text)))
    assert (comment.text, setting.text) == ("seconds that the fitter waits", "delay 40")
    assert "fitter" in setting.sentence.above
    assert all("fitter" not in other.sentence.above for other in others)


def test_words_that_a_program_handles_state_nothing_and_quoted_words_of_a_sentence_do():
    call, sentence = (
        "kiln.close(1001, 'the kiln is shut for the night') }",
        "It prints 'the kiln is shut' (or 'open'), and the fitter of the guild reads it.",
    )
    lines = read_lines(excerpt(document(9, "Notes", f"{call};\n\n{sentence}")))
    assert {line.text: line.sentence.bare for line in lines} == {f"{call};": True, sentence: False}


def test_a_quoted_mail_is_printed_without_the_signs_of_quotation() -> None:
    text = "> The keys of the kiln lie with the porter of the old mill."
    of = document(9, "Mail", text)
    fact = Fact.from_quote(of, of.passages[0], text, claim="", confidence=0.5)
    assert fact is not None
    assert cite_fact(fact) == "The keys of the kiln lie with the porter of the old mill [S9:C9]."


def test_letterheads_and_entries_of_contents_state_nothing():
    memo = (
        "Harbour Board of the North                       O. Brandt\nNote of the Board: 12                            "
        "The Port\n\nThe crane of the board is old.\n\nWork of the board . . . . . . . . . . . . . . 12"
    )
    assert [(line.text, line.sentence.bare) for line in lines_of(memo) if not line.sentence.bare] == [
        ("The crane of the board is old.", False)
    ]


def test_entries_captions_keywords_and_titles_with_a_stop_state_nothing():
    silent = (
        "Lund G (2002).", "Bells of the North.", "Bell Review, 19(10), 13–18.", "Keywords: bells, ropes, kilns.",
        "Figure 3: Two of the bells, as they hang in the tower.", "Survey of Bell Systems .",
        ", n) of which the bells are rung in the tower.",
    )  # fmt: skip
    told = (
        "Figure 3 shows the bells of the tower.", "Contributed by Greta Lund.",
        "Keyword: Bell; Meaning: It rings in Lund.",
        "Greta Lund is Head of the Bell Guild.",
    )  # fmt: skip
    paragraphs = (" ".join(silent[:3]), *silent[3:], *told)
    lines = lines_of("The bells are old, and nobody rings them.\n\n" + "\n\n".join(paragraphs))
    assert {line.text for line in lines if line.sentence.bare} == set(silent)
    assert {line.text for line in lines if not line.sentence.bare} >= set(told)
