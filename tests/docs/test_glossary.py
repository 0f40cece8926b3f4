"""The glossary names only words that the source uses, each once; and a class has a name of its own."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from bench.structure import read_modules

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "code" / "glossary.md"
ROW = re.compile(r"^\| ([^|]+) \|", re.MULTILINE)
CODE = re.compile(r"`(\w+)`")


def find_words(page: str) -> list[str]:
    """Return every code word of the first column."""
    return [word for cell in ROW.findall(page) for word in CODE.findall(cell)]


def test_every_code_word_of_the_glossary_occurs_in_the_source() -> None:
    source = {
        word
        for path in (ROOT / "src" / "corrobora").rglob("*.py")
        for word in re.findall(r"\w+", f"{path.stem} {path.read_text(encoding='utf-8')}")
    }
    words = find_words(PAGE.read_text(encoding="utf-8"))
    assert len(words) > 60
    assert [word for word in words if word not in source] == []


def test_no_word_of_the_glossary_has_two_rows() -> None:
    counted = Counter(find_words(PAGE.read_text(encoding="utf-8")))
    assert [word for word, times in counted.items() if times > 1] == []


# Class names that two modules use, each for its own form of one thing (of the domain and of a face, of a text and of a
# report) or for a word of its own field. A new class takes a name that no other one has.
MAY_BE_TWO_CLASSES = frozenset(
    "Candidate Change CheckResult Comparison Conflict Document FollowUp Form Line Price Problem Rating Reading "
    "Reference Request Segment Sentence Statement".split()
)


def test_a_class_has_a_name_of_its_own() -> None:
    classes = [node.name for tree in read_modules().values() for node in tree.body if isinstance(node, ast.ClassDef)]
    twice = {name for name in classes if not name.startswith("_") and classes.count(name) > 1}
    assert twice <= MAY_BE_TWO_CLASSES, sorted(twice - MAY_BE_TWO_CLASSES)
