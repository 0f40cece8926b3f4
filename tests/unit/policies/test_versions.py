"""Versions: which edition is older."""

from __future__ import annotations

import pytest

from corrobora.policies.versions import UNKNOWN, in_order, label, order


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("Revision 3 (June 2017)", ""), ("Revision 4 draft (Dec 2022)", "")),
        (("", "2019-05-01"), ("", "2019-05-02")),
        (("version 1.2", ""), ("version 1.10", "")),
        (("Edition (March 2020)", ""), ("Edition (April 2020)", "")),
    ],
)
def test_dates_come_before_numbers(older, newer):
    assert in_order(older, newer) == -1
    assert in_order(newer, older) == 1


def test_an_unknown_order_is_said():
    assert in_order(("draft", ""), ("final", "")) == 0
    assert order("", "") == UNKNOWN
    assert in_order(("", "2020"), ("version 3", "")) == 0


def test_an_edition_is_named_for_a_reader():
    assert label("", "2020-01-02T00:00", "T") == "2020-01-02"
    assert label("", "", "T") == "T"
