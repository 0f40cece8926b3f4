"""Notices: what a source says about itself."""

from __future__ import annotations

import pytest

from corrobora.text.notices import find_notice


@pytest.mark.parametrize(
    ("title", "text", "notice"),
    [
        ("RETRACTED: Cold jars", "", "RETRACTED: Cold jars"),
        ("Retraction Note to: Cold jars", "", "Retraction Note to: Cold jars"),
        ("Erratum", "x", "Erratum"),
        ("Jars", "# Withdrawn: Jars\n\nIt is cold.", "Withdrawn: Jars"),
        ("Jars", "Title.\nThis article has been retracted by its authors. Read on.",
         "This article has been retracted by its authors."),
        ("SP 1", "This publication was withdrawn on 1 August and superseded.",
         "This publication was withdrawn on 1 August and superseded."),
    ],
)  # fmt: skip
def test_a_notice_is_found_literally(title: str, text: str, notice: str) -> None:
    assert find_notice(title, text) == notice
    assert notice in f"{title}\n{text}"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Retractions in science", "Many papers were retracted last year."),
        ("Withdrawal symptoms", "The troops were withdrawn from Ardal."),
        ("Correction factors of lenses", "The value is corrected for age."),
        ("Jars", f"{'It is long. ' * 400}This article has been retracted."),
    ],
)
def test_a_text_about_retraction_is_no_notice(title: str, text: str) -> None:
    assert find_notice(title, text) == ""
