"""Languages: function words say which language a question is in, and what states something."""

from __future__ import annotations

import pytest

from corrobora.domain.report import Support
from corrobora.text.support import Evidence, check_support
from corrobora.text.tokens import split_words
from corrobora.text.vocabulary import detect_language, find_function_words, function_word_share, is_in_other_script


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wie lange ist die Leihfrist für Bücher?", "de"),
        ("Quand le jardin a-t-il été fondé et par qui ?", "fr"),
        ("¿Cuánto cuesta la entrada para los niños?", "es"),
        ("Quando è stato costruito il ponte della città?", "it"),
        ("Wanneer wordt het hek van de tuin geopend?", "nl"),
        ("Jak długo można wypożyczyć książki?", "pl"),
        ("Hur länge kan man låna en bok?", "sv"),
        ("Как долго можно держать книгу?", "ru"),
        ("Скільки днів можна тримати книжку?", "uk"),
        ("Πόσο διαρκεί ο δανεισμός;", "el"),
        ("كم يوما تستمر الإعارة؟", "ar"),
        ("पुस्तक कितने दिन रखी जा सकती है?", "hi"),
        ("How long is the loan period for books?", ""),
        ("Who is the director of Die Hard?", ""),
        ("What is the role of La Paz in de jure law?", ""),
        ("phishing resistance AAL2", ""),
        ("", ""),
    ],
)
def test_a_question_is_of_the_language_of_its_function_words(text: str, expected: str) -> None:
    assert detect_language(text) == expected
    assert bool(find_function_words(text)) is bool(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("図書館の開館時間は?", "ja"),
        ("图书馆几点开门？", "zh"),
        ("도서관은 몇 시에 여나요?", "ko"),
        ("ספרייה עירונית", "he"),
        ("The name of the city is 北京市 in Chinese.", ""),
        ("α and β", ""),
        ("Beijing (北京) Treaty Organisation", ""),
    ],
)
def test_a_text_in_another_script_is_of_the_language_that_most_people_write_in_it(text: str, expected: str) -> None:
    assert detect_language(text) == expected


def test_a_statement_of_any_known_language_has_function_words_and_a_list_of_names_has_none() -> None:
    assert function_word_share(split_words("Der Ausweis kostet fünfzehn Euro im Jahr.")) > 0.2
    assert function_word_share(split_words("La carte coûte quinze euros par an.")) > 0.2
    assert function_word_share(split_words("Smith J, Doe K, Kiln Review 12")) == 0.0
    assert function_word_share([]) == 0.0


def test_what_stands_in_another_script_than_latin_is_known() -> None:
    assert is_in_other_script("图书馆九点开门。")
    assert is_in_other_script("Билеты выдаёт дежурный.")
    assert not is_in_other_script("Thẻ thư viện được cấp miễn phí.")
    assert not is_in_other_script("The library (图书馆) opens at nine in the morning.")
    assert not is_in_other_script("")


def test_no_function_word_of_another_language_is_a_foreign_word() -> None:
    moss = [Evidence("Das Grüne Koboldmoos wurde an keiner Stelle mehr nachgewiesen.")]
    found = check_support("Für das Grüne Koboldmoos wurde keine Stelle nachgewiesen.", moss)
    assert not any("für" in each.lower() for each in found.reasons)
    assert check_support("Es ist für die Wälder am Fluss.", moss).support is Support.UNCLEAR  # its score knows English
