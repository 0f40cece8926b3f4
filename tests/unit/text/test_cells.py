"""Cells: of the labelled values of a row or list, the one that a sentence names is meant."""

from __future__ import annotations

import pytest

from corrobora.domain.report import Support
from corrobora.text.support import Evidence, check_support
from corrobora.text.tokens import stem_text
from corrobora.text.typed import select_cells, split_by_cells

ROW = "Control: Sealed lids; LV1: Optional; LV2: Recommended; LV3: Required."
LIST = "Sealed lids:\n- LV1: optional\n- LV2: recommended\n- LV3: required"


@pytest.mark.parametrize("quote", [ROW, LIST])
@pytest.mark.parametrize(
    ("sentence", "supported"),
    [
        ("Sealed lids are recommended at LV2.", True),
        ("Sealed lids are required at LV3.", True),
        ("Sealed lids are optional at LV1 and required at LV3.", True),
        ("Sealed lids are required at LV2.", False),
        ("At LV3, sealed lids are recommended.", False),
        ("Sealed lids are required at LV1 and optional at LV3.", False),
    ],
)
def test_the_cell_that_a_sentence_names_is_meant(quote: str, sentence: str, supported: bool) -> None:
    assert (check_support(sentence, [Evidence(quote)]).support is Support.SUPPORTED) is supported


def test_what_another_cell_says_is_named() -> None:
    found = check_support("Sealed lids are required at LV2.", [Evidence(ROW)])
    assert found.failing == ("are required",)
    assert found.reasons == ("it says “are required”, its sources “Recommended”",)


def test_heads_of_columns_are_no_alternatives_of_each_other() -> None:
    row = Evidence("Plan: Basic; Price: 5 EUR; Users: 3.")
    assert check_support("The Basic plan has a price of 5 EUR for 3 users.", [row]).support is Support.SUPPORTED
    assert select_cells([row.quote], frozenset(stem_text("The Basic plan has 3 users"))) is None
    assert split_by_cells("The price is 5 and users are 3", [row.quote]) == ["The price is 5 and users are 3"]


@pytest.mark.parametrize(
    ("sentence", "heading", "withheld"),
    [
        ("Revision 3 says that lids are sealed at night.", "", False),
        ("Revision 3 says that lids are sealed at night.", "Revision 4", True),
        ("The 3 lids are sealed at night.", "", True),
    ],
)
def test_the_number_of_an_edition_that_a_source_does_not_name_is_unclear(
    sentence: str, heading: str, withheld: bool
) -> None:
    quote = Evidence("The 12 lids are sealed at night by the warden.", heading=heading)
    assert check_support(sentence, [quote]).withholds is withheld


TABLE = (
    "Property: Weight; AX-10: 142 g; AX-20: 144 g; AX-30: 230 g.\n"
    "Property: Enclosure rating; AX-10: IP65; AX-20: IP67; AX-30: IP68."
)


@pytest.mark.parametrize(
    ("sentence", "supported"),
    [
        ("The AX-10 has a rating of IP65, while the AX-20 reaches IP67.", True),
        ("The AX-10 has a rating of IP67, while the AX-20 reaches IP65.", False),
        ("The AX-20 has a rating of IP68.", False),
    ],
)
def test_each_row_of_a_table_is_compared_alone(sentence: str, supported: bool) -> None:
    assert (check_support(sentence, [Evidence(TABLE)]).support is Support.SUPPORTED) is supported


@pytest.mark.parametrize(
    ("sentence", "unclear"),
    [
        ("Grain sales were £88.5 million in 2022.", False),
        ("Grain sales were £80.1 million in 2022.", True),
        ("Grain sales were £88.5 billion in 2022.", True),
    ],
)
def test_the_head_of_a_table_gives_the_scale_of_its_amounts(sentence: str, unclear: bool) -> None:
    table = "£ million: Grain sales; 2021: 71.2; 2022: 88.5.\n£ million: Wood sales; 2021: 78.9; 2022: 80.1."
    found = check_support(sentence, [Evidence(table)])
    assert any("stands in none" in reason or "something else" in reason for reason in found.reasons) is unclear
