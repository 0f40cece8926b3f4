"""What was asked: files, plans, models, fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrobora.domain.errors import UserError
from corrobora.domain.run import Stage, parse_stage
from corrobora.faces.cli.options import (
    parse_deliveries,
    parse_fields,
    parse_models,
    read_plan,
    read_question,
)


def test_q15_a_question_that_is_a_path_stays_a_question(tmp_path: Path) -> None:
    file = tmp_path / "question.txt"
    file.write_text("\ufeffWhy is the sky blue?\n")
    assert read_question(str(file), None).text == str(file)
    assert read_question(f"@{file}", None).text == "Why is the sky blue?"
    assert read_question(None, file).text == "Why is the sky blue?"


def test_q04_q05_q06_files(tmp_path: Path) -> None:
    file = tmp_path / "q"
    file.write_text("é" * 20_000)
    assert len(read_question(None, file).text) == 20_000
    file.write_text("x" * 20_001)
    with pytest.raises(UserError, match="20,001"):
        read_question(None, file)
    file.write_text("x" * 5_000_000)
    with pytest.raises(UserError, match="limit"):
        read_question(None, file)


@pytest.mark.parametrize("text", ["", "{", "[1]", "{'a': 1}", "[" * 100_000, '{"a": ' + "9" * 5_000 + "}", "nan"])
def test_a_plan_that_is_no_json_object_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(UserError) as caught:
        read_plan(tmp_path / "plan.json")
    assert (caught.value.code, "\n" in str(caught.value)) == ("plan_syntax", False)


def test_models_of_tiers() -> None:
    every = [f"models.{tier}" for tier in ("lead", "worker", "fast", "judge")]
    assert parse_models(["a:b"]) == dict.fromkeys(every, ("a:b", "--model"))
    assert parse_models(["lead=c:d", "a:b"])["models.lead"] == ("c:d", "--model")
    assert parse_models(["a:b", "lead=c:d"])["models.worker"] == ("a:b", "--model")


def test_fields() -> None:
    assert parse_fields(["minutes = 5", "phrase=a=b"]) == (("minutes", "5"), ("phrase", "a=b"))


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("init", Stage.CLARIFY),
        ("generation", Stage.INVESTIGATE),
        ("verification", Stage.VERIFY),
        ("delivery", Stage.DELIVER),
    ],
)
def test_angles_stage_names_are_aliases(name: str, stage: Stage) -> None:
    assert parse_stage(name) is stage
    assert parse_stage(stage.value) is stage


def test_a_delivery_folder_without_a_name_is_refused() -> None:
    assert parse_deliveries(["folder:out", "webhook"]) == (("folder", str(Path("out").absolute())), ("webhook", ""))
    with pytest.raises(UserError, match="names no folder"):
        parse_deliveries(["folder:"])


@pytest.mark.parametrize("command", ["ask", "edit"])
def test_words_in_the_place_of_a_run_are_told_what_comes_first(shell: Any, command: str) -> None:
    result = shell(command, "Who says so?", "x")
    assert result.code == 2
    assert f'takes a run first, its id or `last`. Such as: corrobora {command} last "..."' in result.complaint
