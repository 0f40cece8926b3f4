"""Languages: function words say which language a question is in, and what states something."""

from __future__ import annotations

import pytest

from corrobora.policies.languages import function_share, function_words, language, written_without_spaces
from corrobora.policies.words import words


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
    assert language(text) == expected
    assert bool(function_words(text)) is bool(expected)


def test_a_statement_of_any_known_language_has_function_words_and_a_list_of_names_has_none() -> None:
    assert function_share(words("Der Ausweis kostet fünfzehn Euro im Jahr.")) > 0.2
    assert function_share(words("La carte coûte quinze euros par an.")) > 0.2
    assert function_share(words("Smith J, Doe K, Kiln Review 12")) == 0.0
    assert function_share([]) == 0.0


def test_scripts_without_spaces_are_known() -> None:
    assert written_without_spaces("图书馆九点开门。")
    assert not written_without_spaces("The library (图书馆) opens at nine in the morning.")
    assert not written_without_spaces("")
