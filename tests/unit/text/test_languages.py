"""Languages: function words say which language a question is in, and what states something."""

from __future__ import annotations

import pytest

from corrobora.domain.report import Support
from corrobora.text.support import Evidence, check_support
from corrobora.text.tokens import (
    detect_language,
    find_function_words,
    function_word_share,
    lacks_word_spaces,
    split_words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wie lange ist die Leihfrist für Bücher?", "de"),
        ("Quand le jardin a-t-il été fondé et par qui ?", "fr"),
        ("¿Cuánto cuesta la entrada para los niños?", "es"),
        ("Quando è stato costruito il ponte della città?", "it"),
        ("Wanneer wordt het hek van de tuin geopend?", "nl"),
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


def test_a_statement_of_any_known_language_has_function_words_and_a_list_of_names_has_none() -> None:
    assert function_word_share(split_words("Der Ausweis kostet fünfzehn Euro im Jahr.")) > 0.2
    assert function_word_share(split_words("La carte coûte quinze euros par an.")) > 0.2
    assert function_word_share(split_words("Smith J, Doe K, Kiln Review 12")) == 0.0
    assert function_word_share([]) == 0.0


def test_scripts_without_spaces_are_known() -> None:
    assert lacks_word_spaces("图书馆九点开门。")
    assert not lacks_word_spaces("The library (图书馆) opens at nine in the morning.")
    assert not lacks_word_spaces("")


def test_no_function_word_of_another_language_is_a_foreign_word() -> None:
    moss = [Evidence("Das Grüne Koboldmoos wurde an keiner Stelle mehr nachgewiesen.")]
    found = check_support("Für das Grüne Koboldmoos wurde keine Stelle nachgewiesen.", moss)
    assert not any("für" in each.lower() for each in found.reasons)
    assert check_support("Es ist für die Wälder am Fluss.", moss).support is Support.UNCLEAR  # its score knows English
