"""Confirm: rulings in the order of the doubts, and none where a model contradicts itself or rules on nothing shown."""

from __future__ import annotations

import pytest

from corrobora.roles.review import Confirming, Doubt, WireRuling, WireRulings, convert_rulings

GIVEN = Confirming("root/confirm", (Doubt("It is red.", (("Manual", "", "It is red."),)), Doubt("It is old.", ())))


def test_rulings_stand_in_the_order_of_the_doubts() -> None:
    filled = WireRulings([WireRuling("D2", "its  age", carried=False), WireRuling("D1", "", carried=True)])
    assert convert_rulings(GIVEN, filled).reasons == ("", "its age")


@pytest.mark.parametrize(
    "ruling",
    [
        WireRuling("D1", "its colour", carried=True),
        WireRuling("D1", " ", carried=False),
        WireRuling("D7", "", carried=True),
    ],
)
def test_a_ruling_that_contradicts_itself_or_names_no_sentence_is_none(ruling: WireRuling) -> None:
    assert convert_rulings(GIVEN, WireRulings([ruling])).reasons == (None, None)
