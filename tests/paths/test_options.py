"""Every option of every command, and every setting, has a test that sees its effect through the command."""

from __future__ import annotations

import re

import pytest
from tests.paths.catalog import commands_with, list_options, read_marks, setting_names
from tests.paths.starts import STARTS


def covered() -> set[str]:
    """Return what the marks claim; "* --x" stands for the commands in `STARTS`, "every --x" for all that have it."""
    found: set[str] = set()
    for claim in read_marks():
        word, _, option = claim.partition(" ")
        commands = {"*": list(STARTS), "every": commands_with(option)}.get(word)
        found |= {claim} if commands is None else {f"{command} {option}" for command in commands}
    return found


@pytest.mark.parametrize("name", [*list_options(), *setting_names()])
def test_it_has_a_test_that_sees_its_effect(name: str) -> None:
    assert name in covered(), f'mark a test with @pytest.mark.covers("{name}")'


def test_no_mark_names_what_does_not_exist() -> None:
    assert covered() - {*list_options(), *setting_names()} == set()


def test_a_test_that_claims_an_option_writes_it() -> None:
    """A mark that was copied by mistake is found, because the flag is nowhere in the file beside the mark."""
    spellings = {name.split(" ")[-1]: written for name, written in list_options().items()}
    wrong = [
        claim
        for claim, texts in read_marks().items()
        for text in texts
        if (option := claim.split(" ")[-1]).startswith("-")
        and not any(re.search(rf'["\'| ]{re.escape(each)}["\'= ]', _without_marks(text)) for each in spellings[option])
    ]
    assert wrong == []


def _without_marks(text: str) -> str:
    return re.sub(r"@pytest\.mark\.covers\([^)]*\)", "", text)
