"""The glossary names only words that the source uses, and each word once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

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
