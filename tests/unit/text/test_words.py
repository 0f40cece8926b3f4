"""Words: folding, stems and the fingerprint that indexes are stamped with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.tokens import (
    STOP_WORDS,
    WORD,
    find_stems,
    fold_text,
    split_words,
    stem_text,
    stem_word,
    tokenizer_fingerprint,
)


def test_case_accents_and_possessives_are_folded():
    assert split_words("The King’s Müller, O'Brien") == ["the", "king", "muller", "o", "brien"]


def test_stop_words_have_no_stem():
    assert stem_text("the running of the dogs") == ("run", "dog")
    assert stem_word("the") == ""


def test_british_and_american_spellings_have_one_stem():
    british = "The licences of organisations that catalogue coloured paediatric centres, analysed and authorised"
    american = "The licenses of organizations that catalog colored pediatric centers, analyzed and authorized"
    assert stem_text(british) == stem_text(american)
    assert stem_word("advise") != stem_word("advice")
    assert stem_word("prise") != stem_word("prize")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("старый пакет", "старые пакеты"),
        ("πακέτο", "πακέτα"),
        ("الحزمة", "حزمة"),
        ("नई पुस्तक", "नई पुस्तकें"),
    ],
)
def test_words_of_another_script_have_the_stems_of_its_language(one: str, other: str):
    assert stem_text(one) == stem_text(other)
    assert find_stems([other], stem_text(one)) == [set(stem_text(one))], "also where an article begins the word"


def test_scripts_without_spaces_give_pairs():
    assert split_words("北京大学 x") == ["北京", "京大", "大学", "x"]


def test_fingerprint_names_version_and_list():
    assert tokenizer_fingerprint().startswith("porter-6-")
    assert all(fold_text(word) == word for word in STOP_WORDS)


@given(st.text())
def test_words_are_folded_already(text):
    for word in split_words(text):
        assert word
        assert split_words(word)[0:1] == [word] or fold_text(word) != word or len(split_words(word)) != 1


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_case_does_not_matter(text):
    assert split_words(text.upper()) == split_words(text.lower())


_ENDINGS = st.lists(st.sampled_from(["it", "'s", "’s", "'ll", "'", "’", " ", "s", "é", "–", "ß", "ʼ", "x1", "_"])).map(
    "".join
)


@given(st.one_of(st.text(st.characters(max_codepoint=0x17F)), _ENDINGS))
def test_words_of_latin_letters_are_those_of_their_definition(text):
    assert split_words(text) == WORD.findall(fold_text(text))
