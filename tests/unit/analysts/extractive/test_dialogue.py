"""Dialogue: turns, labels and joined names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corrobora.analysts.extractive.lines import find_speaker_turns, read_labels
from corrobora.analysts.extractive.ranker import split_joined_names

CHAT = "Date: 3 May\n\n[10:02] Ann Miller: Shall we meet?\n[10:03] Bo: At six.\n[10:04] Ann Miller: Fine.\n"


def test_turns_of_a_chat_have_their_speakers():
    assert [turn.speaker for turn in find_speaker_turns(CHAT)] == ["Ann Miller", "Bo", "Ann Miller"]


def test_a_text_with_a_note_is_no_conversation():
    assert (
        find_speaker_turns("Note: the lid must stay shut.\nWarning: hot.\nNote: wear gloves.\nIt is made of steel.")
        != ()
    )
    assert find_speaker_turns("The lid must stay shut.\nNote: it is hot.\nIt is made of steel.\nIt weighs a ton.") == ()


def test_labels_at_the_top_are_read_and_sentences_are_not():
    assert read_labels(CHAT) == "3 May"
    assert read_labels("Note: the lid must stay shut.\nMore text.") == ""


def test_joined_names_are_written_apart():
    assert split_joined_names("AnnMiller met Bo") == "Ann Miller met Bo"


@given(st.text(max_size=400))
def test_any_text_is_read_and_turns_rise(text):
    starts = [turn.start for turn in find_speaker_turns(text)]
    assert starts == sorted(starts)
    read_labels(text)
