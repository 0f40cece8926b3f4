"""`corrobora completion`: a script for each shell."""

from __future__ import annotations

import os
import shlex
import time
from typing import Any

import pytest


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion(shell: Any, name: str) -> None:
    assert "_CORROBORA_COMPLETE" in shell("completion", name).out
    assert shell("completion", "tcsh").code == 2


def test_fish_shows_a_description_beyond_its_first_comma(shell: Any) -> None:
    assert 'string split --max 1 ","' in shell("completion", "fish").out


ASKED = {
    "lib": {"library"},
    "runs ": {"list", "show", "rm", "compare"},
    "research --pro": {"--profile", "--provider"},
    "research --profile t": {"timed", "tree", "triplet"},
    "chat --profile ro": {"rounds"},
    "investigate --provider fire": {"firecrawl"},
    "schedule add n q --provider e": {"exa"},
    "research --display j": {"jsonl"},
    "research --library de": {"demo", "de"},
    "export last --format html,b": {"html,bib", "html,bundle"},
    "plot last --kind s": {"saturation", "spend"},
    "runs show r_": {"r_new", "r_old"},
    "ask la": {"last"},
    "runs compare last r_o": {"r_old"},
    "verify r_n": {"r_new", "r_n"},  # and files
    '"What is" --libr': {"--library"},
    "reserch ": set(),
}


@pytest.mark.parametrize("line", ASKED)
def test_what_a_shell_is_offered(shell: Any, line: str) -> None:
    for age, name in ((9, "r_old"), (1, "r_new")):
        (shell.home / "runs" / name).mkdir(parents=True)
        os.utime(shell.home / "runs" / name, (time.time() - age, time.time() - age))
    words = f"corrobora {line}"
    shell.setenv(
        _CORROBORA_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(shlex.split(words + "|")) - 1)
    )
    result = shell.process()
    offered = {each.partition(",")[2] for each in result.out.splitlines()}
    assert offered == ASKED[line] or (not ASKED[line] and "Traceback" not in result.err)
    assert result.err == ""


def test_a_line_that_is_to_be_copied_is_not_broken(shell: Any) -> None:
    line = "corrobora completion bash > ~/.local/share/bash-completion/completions/corrobora"
    assert line in shell("completion", "--help").out


def test_a_default_is_shown_as_it_is_written(shell: Any) -> None:
    assert "[default: timed]" in shell("research", "--help").out
