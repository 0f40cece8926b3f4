"""Quotes stand literally in what was read, whatever the shape of quotation marks; no fact exists without its quote."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from corrobora.domain.evidence import (
    Contradiction,
    Document,
    Fact,
    FactId,
    Passage,
    PassageId,
    Severity,
    Source,
    SourceId,
    fact_id,
    locate_quote,
)

TEXT = "Above.\n\nThe lakes hold perch\n    and pike. They freeze at 10² metres.\n\nThe lakes hold perch and pike."
SOURCE = Source(SourceId("S1"), "Lakes", "lakes.md", "a" * 64, version="2nd", published="2020", primary=True)

WORDS = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=6)
SPACES = st.text(" \t\n\r\u00a0\u2003", min_size=1, max_size=3)


def document(text: str = TEXT, *, start: int = 0, end: int | None = None) -> tuple[Document, Passage]:
    stop = len(text) if end is None else end
    passage = Passage(PassageId("C1"), SOURCE.id, text[start:stop], start, stop, heading="North")
    return Document(SOURCE, text, (passage,)), passage


@given(st.text(), st.text(min_size=1), st.text())
def test_a_literal_quote_is_found_as_it_stands(before: str, quote: str, after: str) -> None:
    assume(quote.strip())
    text = before + quote + after
    found = locate_quote(quote, text)
    assert found is not None
    assert text[found[0] : found[1]] == quote.strip()


@given(st.lists(WORDS, min_size=1, max_size=6), st.data())
def test_white_space_of_every_kind_and_length_is_one(words: list[str], data: st.DataObject) -> None:
    assume(all(word.split() == [word] for word in words))
    gaps = [data.draw(SPACES) for _ in words]
    text = "…" + "".join(gap + word for gap, word in zip(gaps, words, strict=True)) + " …"
    found = locate_quote(" ".join(words), text)
    assert found is not None
    assert text[found[0] : found[1]].split() == words


@given(st.text(), st.text())
@example("102", "about 10² metres")
@example("ﬁsh", "a fish")
@example("Å", "the A\u030a")
def test_what_is_found_has_the_same_words_and_never_more(quote: str, text: str) -> None:
    found = locate_quote(quote, text)
    if found is not None:
        start, end = found
        assert 0 <= start < end <= len(text)
        assert typed(text[start:end]).split() == typed(quote).split()


def typed(text: str) -> str:
    """The text with straight quotation marks, plain dashes and nothing unseen."""
    for shapes, plain in (("‘’‚‛ʼ′", "'"), ("“”„‟″«»", '"'), ("‐‑‒–—―−", "-"), ("\u00ad\u200b\u2060\ufeff", "")):
        for shape in shapes:
            text = text.replace(shape, plain)
    return text


@pytest.mark.parametrize(
    ("quote", "text", "stands"),
    [
        ('the keeper\'s "log"', "It is the keeper’s “log” of 1874.", "the keeper’s “log”"),
        ("8-12 characters", "Use 8–12 characters.", "8–12 characters"),
        ("a memorized secret", "It is a memo\u00adrized secret.", "a memo\u00adrized secret"),
        ("a memo\u00adrized secret", "It is a memorized secret.", "a memorized secret"),
        ("the pond's sill", "Above\u200b the  pond’s\nsill.", "the  pond’s\nsill"),
        ("−5 degrees", "It fell to -5 degrees.", "-5 degrees"),
    ],
)
def test_m20_quotation_marks_dashes_and_unseen_characters_may_differ_and_the_stored_words_are_quoted(
    quote: str, text: str, stands: str
) -> None:
    found = locate_quote(quote, text)
    assert found is not None
    assert text[found[0] : found[1]] == stands


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("the keeper’s log of 1875", "the keeper's log of 1874"),
        ("the keepers log", "the keeper’s log"),
        ("8 12 characters", "8–12 characters"),
        ("102 metres", "10² metres"),
        ("10² metres", "102 metres"),
        ("ﬁsh", "fish"),
        ("½ litre", "1/2 litre"),
        ("Perch", "perch"),
        ("perch and pike", "perchand pike"),
        ("perch", ""),
        ("", "perch"),
        (" \n\u00a0", "perch and \n pike"),
        ("\u00c5", "A\u030a"),
    ],
)
def test_neither_case_nor_compatibility_forms_are_folded(quote: str, text: str) -> None:
    assert locate_quote(quote, text) is None


def test_the_first_word_alone_is_no_match_but_a_later_place_is() -> None:
    quote = "The lakes hold perch and pike."
    again = TEXT.rindex("The lakes")
    assert locate_quote(quote, TEXT) == (again, again + len(quote)), (
        "a place that is the same letter by letter comes first"
    )
    assert locate_quote(quote.replace(" and", "\tand"), TEXT.replace("perch\n", "eels\n")) == (
        again - 1,
        again - 1 + len(quote),
    )
    assert locate_quote("The lakes hold eels", TEXT) is None


def test_a_fact_has_the_quote_as_it_stands_and_where() -> None:
    whole, passage = document()
    fact = Fact.from_quote(
        whole, passage, "hold perch and pike. They freeze at 10² metres.", answers=("sq-1",), score=2.0
    )
    assert fact is not None
    assert fact.quote == TEXT[fact.start : fact.end] == "hold perch\n    and pike. They freeze at 10² metres."
    assert fact.claim == "hold perch and pike. They freeze at 10² metres."
    assert (fact.title, fact.url, fact.version, fact.published, fact.heading) == (
        "Lakes",
        "lakes.md",
        "2nd",
        "2020",
        "North",
    )
    assert (fact.primary, fact.answers, fact.score, fact.origin) == (True, ("sq-1",), 2.0, SOURCE.snapshot)
    assert fact.marker == "[S1:C1]"


def test_the_passage_that_was_read_is_searched_before_the_rest_of_the_document() -> None:
    second = TEXT.rindex("The lakes")
    whole, passage = document(start=second)
    fact = Fact.from_quote(whole, passage, "The lakes hold perch and pike.")
    assert fact is not None
    assert fact.start == second


def test_a_quote_outside_its_passage_is_still_literal_in_the_document() -> None:
    whole, passage = document(end=6)
    fact = Fact.from_quote(whole, passage, "They freeze")
    assert fact is not None
    assert TEXT[fact.start : fact.end] == "They freeze"


@pytest.mark.parametrize(
    "quote", ["", " \n", "The lakes hold perch and eels.", "They freeze at 102 metres.", "THEY FREEZE"]
)
def test_a_quote_that_does_not_stand_in_the_source_makes_no_fact(quote: str) -> None:
    assert Fact.from_quote(*document(), quote, claim="Something true") is None


@pytest.mark.parametrize(("given_", "kept"), [(-1.0, 0.0), (0.3, 0.3), (7.0, 1.0)])
def test_confidence_stays_between_0_and_1(given_: float, kept: float) -> None:
    fact = Fact.from_quote(*document(), "They freeze", confidence=given_)
    assert fact is not None
    assert fact.confidence == kept


@given(st.lists(WORDS, min_size=1, max_size=5), SPACES, SPACES)
def test_equal_quotes_of_one_source_are_one_fact_however_they_are_broken(
    words: list[str], first: str, second: str
) -> None:
    here = SourceId("S1")
    assert fact_id(here, first.join(words)) == fact_id(here, second.join(words))
    assert fact_id(here, " ".join(words)) != fact_id(SourceId("S2"), " ".join(words))
    assert fact_id(here, " ".join(words)) != fact_id(here, " ".join([*words, "not"]))


@pytest.mark.parametrize("severity", list(Severity))
@pytest.mark.parametrize("resolved", [True, False])
def test_triplet_only_an_open_contradiction_above_medium_blocks(severity: Severity, resolved: bool) -> None:
    contradiction = Contradiction("depth", FactId("F1"), FactId("F2"), severity=severity, resolved=resolved)
    assert contradiction.blocking == (severity is Severity.HIGH and not resolved)


def test_evidence_cannot_be_changed_afterwards() -> None:
    fact = Fact.from_quote(*document(), "They freeze")
    assert fact is not None
    with pytest.raises(FrozenInstanceError):
        fact.quote = "They melt"  # type: ignore[misc]


def test_a_quote_with_typographic_signs_is_found_in_plain_text_also_beside_code() -> None:
    text = 'The "= none" default; call `new()` ... without any.'
    typographic = "The \u201c= none\u201d default; call `new()` \u2026 without any."
    assert locate_quote(typographic, text) == (0, len(text))
    assert locate_quote(text, typographic) == (0, len(typographic))
