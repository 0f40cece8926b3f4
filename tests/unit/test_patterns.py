"""Patterns are compiled when they are first used, behave as those of `re`, and none of the program is broken."""

from __future__ import annotations

import gc
import pkgutil
import re
from importlib import import_module

import pytest

import corrobora
from corrobora import patterns


def test_a_pattern_finds_what_one_of_re_finds() -> None:
    text, ours = "One 12, two 345.", patterns.compile(r"(?P<word>[a-z]+) (\d+)", patterns.IGNORECASE)
    theirs = re.compile(ours.pattern, re.IGNORECASE)
    assert [each.span() for each in ours.finditer(text)] == [each.span() for each in theirs.finditer(text)]
    assert (ours.flags, ours.groups, ours.groupindex) == (theirs.flags, theirs.groups, theirs.groupindex)
    for name in ("findall", "fullmatch", "match", "search", "split"):
        assert str(getattr(ours, name)(text)) == str(getattr(theirs, name)(text))
    for name in ("sub", "subn"):
        assert getattr(ours, name)(r"\2", text) == getattr(theirs, name)(r"\2", text)


def test_a_pattern_is_compiled_with_its_first_use_and_not_before() -> None:
    broken = patterns.compile("(")
    assert broken.pattern == "("
    with pytest.raises(re.error):
        broken.search("")


def test_all_patterns_of_the_program_compile() -> None:
    for each in pkgutil.walk_packages(corrobora.__path__, "corrobora."):
        if each.name != "corrobora.__main__":
            import_module(each.name)
    found = [each for each in gc.get_objects() if isinstance(each, type(patterns.compile("")))]
    assert len(found) > 400
    assert all(each.groups >= 0 for each in found if each.pattern != "(")
