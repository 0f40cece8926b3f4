"""The script that writes the generated parts of the pages."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "generate.py"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["commands", "settings", "profiles", "limits", "errors"])
def test_every_part_tells_something(generate: ModuleType, name: str) -> None:
    assert len(generate.section(name, "").splitlines()) > 5


def test_a_part_is_replaced_and_the_rest_is_kept(generate: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "before\n\n<!-- generated: modules domain -->\nstale text\n<!-- end -->\n\nafter\n", encoding="utf-8"
    )
    complaints: list[str] = []
    text = generate.renew_page(page, complaints)
    assert complaints == []
    assert text.startswith("before\n\n<!-- generated: modules domain -->\n")
    assert text.endswith("<!-- end -->\n\nafter\n")
    assert "`domain.thread`" in text
    assert "stale text" not in text
    page.write_text(text, encoding="utf-8")
    assert generate.renew_page(page, complaints) == text


def test_an_unknown_part_is_a_complaint_and_changes_nothing(generate: ModuleType) -> None:
    page = SCRIPT.parent / "index.md"
    with pytest.raises(generate.CannotTell, match="unknown part"):
        generate.section("nonsense", "")
    with pytest.raises(generate.CannotTell, match="no nowhere"):
        generate.section("modules", "nowhere")
    assert generate.renew_page(page, []) == page.read_text(encoding="utf-8")


def test_help_and_what_is_unknown_write_nothing(generate: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    before = {page: page.stat().st_mtime_ns for page in SCRIPT.parent.rglob("*.md")}
    for arguments, code in ((["--help"], 0), (["--chekc"], 2)):
        with pytest.raises(SystemExit) as left:
            generate.main(arguments)
        assert left.value.code == code
    assert "--check" in capsys.readouterr().out
    assert {page: page.stat().st_mtime_ns for page in SCRIPT.parent.rglob("*.md")} == before


def test_cells_keep_their_pipes(generate: ModuleType) -> None:
    assert generate.format_table(("a",), [("x|y",)]).splitlines()[-1] == r"| x\|y |"
