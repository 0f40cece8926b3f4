"""Structured answers: typed values with a literal quote each, and gaps where no quote speaks."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field
from tests.unit.faces.conftest import Made

import corrobora
from corrobora.domain.errors import UserError

BRIDGE = (
    "# The bridge at Arnholm\n\nThe bridge at Arnholm was opened on 4 May 1931 and carries two lanes of traffic. "
    "The bridge at Arnholm is 412 metres long. The bridge at Arnholm was built of steel by the Varde company.\n"
)


class Bridge(BaseModel):
    """What is wanted of a bridge."""

    length: float | None = Field(None, description="How long is the bridge at Arnholm in metres?")
    year: int | None = Field(None, description="In which year was the bridge at Arnholm opened?")
    material: Literal["steel", "stone"] | None = Field(None, description="Of what was the bridge at Arnholm built?")
    painter: str | None = Field(None, description="Who paints the lighthouse of Velmora today?")


def test_each_field_has_its_quote_and_what_nothing_speaks_of_is_a_gap(made: Made, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "bridge.md").write_text(BRIDGE)
    found = corrobora.extract_fields(
        "What is known of the bridge at Arnholm?", schema=Bridge, library=tmp_path / "papers", settings=made()
    )
    assert found.values == {"length": 412.0, "year": 1931, "material": "steel", "painter": None}
    assert found.gaps == ("painter",)
    for field in found.fields[:3]:
        assert field.quote in BRIDGE
        assert str(field.value).removesuffix(".0") in field.quote
        assert (field.source[:1], field.passage[:1]) == ("S", "C")
    assert Bridge.model_validate(found.values).year == 1931
    dated = {"type": "object", "properties": {"opened": {"type": "string", "format": "date", "description": "opened"}}}
    assert corrobora.fill_schema(found.report, dated).values == {"opened": "1931-05-04"}
    table = found._repr_markdown_()
    assert "| length | 412.0 |" in table
    assert "| painter | – |" in table


def test_a_question_for_every_thing_has_a_row_for_each_with_its_own_quotes(made: Made, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    for name, metres, year in (("Arnholm", 412, 1931), ("Velmora", 88, 1902), ("Orrin", 1_250, 1987)):
        text = f"# The bridge at {name}\n\nThe bridge at {name} is {metres} metres long. It was opened in {year}.\n"
        (tmp_path / "papers" / f"{name}.md").write_text(text)
    schema = {"properties": {"length": {"type": "number", "description": "How long is the bridge in metres?"}}}
    report = corrobora.research(
        "How long is every bridge in metres?", library=tmp_path / "papers", settings=made(), max_rounds=1
    )
    rows = {row.name: row for row in corrobora.fill_rows(report, schema)}
    assert {name: row.values["length"] for name, row in rows.items()} == {
        "The bridge at Arnholm": 412.0, "The bridge at Velmora": 88.0, "The bridge at Orrin": 1250.0,
    }  # fmt: skip
    for name, row in rows.items():
        assert name.removeprefix("The ") in row.fields[0].quote


def test_each_row_of_a_table_is_a_row_with_the_cells_that_are_asked_for(made: Made, tmp_path: Path) -> None:
    (tmp_path / "flats.csv").write_text("flat,rooms,monthly_fee\nA01,2,403.30\nB12,4,706.70\nC32,5,895.40\n")
    schema = {
        "properties": {
            "rooms": {"type": "integer", "description": "How many rooms does the flat have?"},
            "monthly_fee": {"type": "number", "description": "What is the monthly fee of the flat?"},
            "owner": {"type": "string", "description": "Who owns the flat?"},
        }
    }
    report = corrobora.research(
        "Every flat with its rooms and monthly fee", library=tmp_path / "flats.csv", settings=made(), max_rounds=1
    )
    assert {row.name: tuple(row.values.values()) for row in corrobora.fill_rows(report, schema)} == {
        "A01": (2, 403.3, None), "B12": (4, 706.7, None), "C32": (5, 895.4, None),
    }  # fmt: skip


@pytest.mark.parametrize(
    "schema", [{}, {"properties": {}}, {"properties": {"a": {"type": "array"}}}, {"properties": {"a": {}}}, str]
)
async def test_another_schema_is_refused_before_anything_is_searched(schema: object) -> None:
    with pytest.raises(UserError, match="cannot be filled"):
        await corrobora.aextract_fields("What is known of it?", schema=schema, library="nowhere")  # type: ignore[arg-type]
