"""The demo documents that ship with the package: complete, with their terms, unpacked whole or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from corrobora.data import demo_documents
from corrobora.domain.errors import UserError


def manifest(documents: Path) -> list[dict[str, object]]:
    lines = (documents / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def found(documents: Path) -> dict[str, int]:
    return {
        path.relative_to(documents).as_posix(): path.stat().st_size
        for path in documents.rglob("*.md")
        if path.is_file()
    }


def test_every_document_of_the_manifest_is_there_and_no_other(tmp_path: Path) -> None:
    documents = demo_documents(tmp_path)
    rows = {str(row["path"]): row["bytes"] for row in manifest(documents)}
    assert found(documents) == rows
    assert len(rows) == 118
    assert not [name for name in rows if name.endswith(".pdf")]


def test_the_terms_of_the_documents_travel_with_them(tmp_path: Path) -> None:
    notice = (demo_documents(tmp_path).parent / "NOTICE").read_text(encoding="utf-8")
    assert "Republished courtesy of the National Institute of Standards and Technology" in notice
    assert "CC0-1.0" in notice


def test_the_questions_name_passages_that_stand_in_the_documents(tmp_path: Path) -> None:
    documents = demo_documents(tmp_path)
    questions = json.loads((documents.parent / "demo_questions.json").read_text(encoding="utf-8"))
    anchors = [anchor for question in questions for anchor in question["must_cover"]]
    assert len(anchors) == 10
    for anchor in anchors:
        text = " ".join((documents / anchor["path"]).read_text(encoding="utf-8").split())
        assert " ".join(anchor["anchor"].split()) in text


def test_a_whole_copy_is_left_alone(tmp_path: Path) -> None:
    first = demo_documents(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in first.rglob("*")}
    assert demo_documents(tmp_path) == first
    assert {path: path.stat().st_mtime_ns for path in first.rglob("*")} == before


@pytest.mark.parametrize("harm", ["lost", "shortened", "other version", "no stamp"])
def test_a_harmed_copy_is_replaced(tmp_path: Path, harm: str) -> None:
    documents = demo_documents(tmp_path)
    victim = documents / "https-cio-gov" / "faq.md"
    match harm:
        case "lost":
            victim.unlink()
        case "shortened":
            victim.write_text("#", encoding="utf-8")
        case "other version":
            (documents.parent / ".archive").write_text("0" * 64, encoding="ascii")
        case _:
            (documents.parent / ".archive").unlink()
    again = demo_documents(tmp_path)
    assert again == documents
    assert found(again) == {str(row["path"]): row["bytes"] for row in manifest(again)}
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]  # no scratch folder stays behind


def test_a_place_that_can_not_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be unpacked") as caught:
        demo_documents(tmp_path / "file")
    assert caught.value.code == "demo_not_unpacked"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("before", ["nothing", "a harmed copy"])
def test_several_processes_at_once_all_get_a_whole_copy(tmp_path: Path, before: str) -> None:
    if before == "a harmed copy":
        (demo_documents(tmp_path) / "https-cio-gov" / "faq.md").unlink()
    script = (
        "import sys; from pathlib import Path; from corrobora.data import demo_documents; "
        "print(sum(1 for p in demo_documents(Path(sys.argv[1])).rglob('*.md')))"
    )
    starting = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate()[0].strip() for process in starting] == ["118"] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]
