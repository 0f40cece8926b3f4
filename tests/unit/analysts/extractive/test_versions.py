"""Versions: which edition is older."""

from __future__ import annotations

import pytest

from corrobora.analysts.extractive.contradictions import (
    compare_versions,
    label_version,
    make_version_key,
)


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
    assert compare_versions(older, newer) == -1
    assert compare_versions(newer, older) == 1


def test_an_unknown_order_is_said():
    assert compare_versions(("draft", ""), ("final", "")) == 0
    assert make_version_key("", "") == (0, 0, 0, 0, 0)
    assert compare_versions(("", "2020"), ("version 3", "")) == 0


def test_an_edition_is_named_for_a_reader():
    assert label_version("", "2020-01-02T00:00", "T") == "2020-01-02"
    assert label_version("", "", "T") == "T"
