"""What an edit loses is listed: statements, references, details and words that are cut off."""

from __future__ import annotations

import pytest
from tests.unit.domain.test_report import REPORT

from corrobora.reporting.edits import apply_edit, split_document
from corrobora.reporting.versions import list_breaks, list_cited, list_losses
from corrobora.roles.edit import Edit, EditAction, Loss

GIVEN = split_document(
    "# Ardal\n\nThe basin is 9 metres deep at low water. [1] It is of stone. [2]\n\n## Pilots\n\nOle. [2]\n"
)
DEEP = "The basin is 9 metres deep at low water."


def lose(edit: Edit) -> list[Loss]:
    return list(list_losses(GIVEN, apply_edit(GIVEN, edit), REPORT.citations))


@pytest.mark.parametrize(("text", "told"), [
    ("At low water the basin is 9 metres deep. [1]", []),
    ("The basin is deep at low water. [1]", ["9 metres (of 0.1)", "9 metres (of 0.1)"]),
    ("The basin is not 9 metres deep at low water. [1]", ["negation"]),
    ("Told in brief and short, the basin is 9 metres deep. [1]", ["at low water (of 0.1)"]),
])  # fmt: skip
def test_new_words_list_what_the_old_ones_said(text: str, told: list[str]) -> None:
    found = lose(Edit(EditAction.REWORD, "0.1", text))
    assert len(found) == len(told)
    assert all(part in loss.text for part, loss in zip(told, found, strict=True))


def test_a_dropped_section_lists_its_statements_and_its_title() -> None:
    assert [loss.text for loss in lose(Edit(EditAction.DROP, "1"))] == ["Ole.", "the section 'Pilots'"]
    assert list_cited(GIVEN) == {1, 2}


def test_code_that_goes_with_its_sentence_is_listed_also_where_another_copy_stays() -> None:
    code = "\n\n```\nharbour --depth 77\n```\n\n"
    given = split_document(f"# Ardal\n\nSet the depth: [1]{code}[1]\n\n## Pilots\n\nThey set it: [2]{code}[2]\n")
    gone = apply_edit(given, Edit(EditAction.DROP, "1"))
    assert gone.code == ("harbour --depth 77",)
    assert "harbour --depth 77" in [loss.text for loss in list_losses(given, gone, REPORT.citations)]


@pytest.mark.parametrize(("said", "quotes", "told"), [
    (DEEP, [DEEP], []),
    ("The basin is 9 metres deep.", [DEEP], ["at low water (of the sentence of its source)"]),
    ("In short, a basin fills.", ["A basin fills below its sill; a basin."], ["below its sill a basin (of"]),
    ("The basin is 9 metres deep.", [DEEP, "The basin is 9 metres deep."], []),
    ("Nine metres of water stand there.", [DEEP], []),
])  # fmt: skip
def test_a_copy_that_breaks_off_lists_with_what_its_source_goes_on(
    said: str, quotes: list[str], told: list[str]
) -> None:
    found = [loss.text for loss in list_breaks(said, quotes)]
    assert len(found) == len(told)
    assert all(text.startswith(begin) for text, begin in zip(found, told, strict=True))
