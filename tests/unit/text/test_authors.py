"""Names of authors: persons as reference managers split them, other names whole, and nothing that is no name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.text.authors import (
    MOST_AUTHORS,
    clean_authors,
    join_authors,
    name_group,
    name_person,
    read_byline,
    split_name,
)


@pytest.mark.parametrize(("name", "told"), [
    ("Greta Lund", "Lund, Greta"),
    ("Greta A. van der Lund", "van der Lund, Greta A."),
    ("Lund, Greta", "Lund, Greta"),
    ("Greta Lund Jr.", "Lund, Greta"),
    ("Lund, Greta, PhD", "Lund, Greta"),
    ("Plato", "Plato"),
    ("北京太郎", "北京太郎"),
])  # fmt: skip
def test_a_person_is_family_and_given_name(name: str, told: str) -> None:
    assert name_person(name) == told
    assert name_person(told) == told


@pytest.mark.parametrize(("name", "parts"), [
    ("Solveig Amundsen", ("Amundsen", "Solveig")),
    ("Mark J. Brown", ("Brown", "Mark J.")),
    ("Ludwig van Beethoven", ("van Beethoven", "Ludwig")),
    ("World Bank", ("World Bank", "")),
    ("U.S. Government", ("U.S. Government", "")),
    ("Debian Documentation Project", ("Debian Documentation Project", "")),
    ("NASA Ames", ("NASA Ames", "")),
    ("Mark Brown", ("Mark Brown", "")),  # words of the dictionary, as "Red Hat": left whole
])  # fmt: skip
def test_a_name_without_a_comma_is_parted_if_it_reads_like_a_persons(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize(("text", "names"), [
    ("By Greta Lund", ["Greta Lund"]),
    ("Lund, Greta", ["Lund, Greta"]),
    ("Greta Lund, Ole Brandt", ["Greta Lund", "Ole Brandt"]),
    ("Lund, Greta; The Tide Group", ["Lund, Greta", "The Tide Group"]),
    (" ; ", []),
])  # fmt: skip
def test_a_field_may_hold_several_names(text: str, names: list[str]) -> None:
    assert read_byline(text) == names


def test_what_is_no_name_is_left_out_and_of_many_the_first_are_kept() -> None:
    odd = [
        "admin",
        "https://social.example/greta",
        "greta@a.example",
        "@greta",
        "7",
        "",
        "Lund\n\x1b[31m, Greta",
        "Lund , Greta",
    ]
    assert clean_authors(odd) == ("Lund, Greta",)
    assert clean_authors(["x" * 9_000]) == ("x" * 120,)
    assert len(clean_authors(f"Author {n}" for n in range(9_999))) == MOST_AUTHORS
    many = join_authors([f"A{n}" for n in range(14)])
    assert many.startswith("A0; A1; ")
    assert many.endswith("A11; … (14)")


@given(st.text())
def test_every_text_gives_names_on_one_line_and_only_persons_have_a_comma(text: str) -> None:
    for name in clean_authors([name_group(text)]):
        assert "," not in name
    for name in clean_authors([name_person(text), *read_byline(text)]):
        assert "\n" not in name
        assert len(name) <= 120


def test_names_that_and_joins_are_several_persons_but_an_organisation_stays_one():
    assert read_byline("Greta Lund and Ole Brandt and Mia Holm") == ["Greta Lund", "Ole Brandt", "Mia Holm"]
    assert read_byline("Greta Lund, Ole Brandt, and Jan van de Wiel") == ["Greta Lund", "Ole Brandt", "Jan van de Wiel"]
    assert read_byline("Ministry of Bells and Ropes") == ["Ministry of Bells and Ropes"]
