"""Crossings: two things that have changed places against the evidence leave a sentence open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.report import Support
from corrobora.text.crossings import find_crossings
from corrobora.text.support import Evidence, check_support

LED = "Edda Holm leads the mill in Varn, while her brother Tore runs the forge in Lysk."
FERRY = "The ferry from Varn to Lysk sails at noon."
CHECKS = "The porter opens the gate only after its lock has been checked by the warden."


@pytest.mark.parametrize(
    ("sentence", "unit"),
    [
        ("The mill in Varn is led by Tore, the forge in Lysk by Edda Holm.", LED),
        ("At noon the ferry sails from Lysk to Varn.", FERRY),
        ("The warden opens the gate after the porter checked its lock; the lock is checked by the porter.", CHECKS),
    ],
)
def test_what_has_changed_places_is_found(sentence: str, unit: str) -> None:
    assert [*find_crossings(sentence, [unit])]
    assert check_support(sentence, [Evidence(unit)]).support is not Support.SUPPORTED


@pytest.mark.parametrize(
    ("sentence", "unit"),
    [
        ("The mill in Varn is led by Edda Holm, the forge in Lysk by Tore.", LED),
        ("At noon the ferry sails to Lysk from Varn.", FERRY),
        ("Tore, the brother of Edda Holm, runs a forge.", LED),
        ("The warden checks the lock before the porter opens the gate.", CHECKS),
    ],
)
def test_another_order_of_the_same_things_is_no_crossing(sentence: str, unit: str) -> None:
    assert [*find_crossings(sentence, [unit])] == []


@given(st.text(max_size=80))
def test_a_text_does_not_cross_itself(text: str) -> None:
    assert [*find_crossings(text, [text])] == []
