"""Options that commands share: where settings come from, notes said once."""

from __future__ import annotations

from typing import Any

import pytest


def test_config_names_a_file_in_place_of_the_project_s(shell: Any) -> None:
    (shell.folder / "corrobora.toml").write_text('profile = "rounds"\n')
    (shell.folder / "other.toml").write_text('profile = "full"\n')
    assert "profile = full" in shell("config", "show", "--config", "other.toml").out


def test_notes_are_said_on_stderr(shell: Any) -> None:
    shell.setenv(CORROBORA_PROFIL="rounds")
    result = shell("config", "show")
    assert result.err.startswith("corrobora: Note: The environment variable CORROBORA_PROFIL is not known")
    assert result.err.endswith("did you mean CORROBORA_PROFILE?\n")


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("DATA_DIR", "; did you mean CORROBORA_HOME?"),  # as it is described
        ("TOKEN", "; did you mean CORROBORA_SERVER_TOKEN?"),
        ("SMTP_SERVER", "; did you mean CORROBORA_DELIVERY_SMTP_SERVER?"),
        ("PROVIDER", "; did you mean CORROBORA_SOURCES_PROVIDERS?"),
        ("RETENTION_DAYS", "."),  # like nothing but what all names have in common
    ],
)
def test_the_variable_that_was_meant_is_like_it_in_its_own_words(shell: Any, variable: str, meant: str) -> None:
    shell.setenv(**{f"CORROBORA_{variable}": "x"})
    assert (
        shell("config", "show")
        .err.splitlines()[0]
        .endswith(f"CORROBORA_{variable} is not known and was ignored{meant}")
    )


def test_what_is_printed_is_stripped_of_escape_sequences(served: Any) -> None:
    text = "# Towers\n\nThe tower of Lunde\x1b[31m is 90 metres\u202e high and stands by the sea.\n"
    (served.folder / "towers.md").write_text(text)
    result = served("How high is the tower of Lunde?", "-l", "./towers.md")
    assert "90 metres" in result.out
    assert not set("\x1b\u202e") & set(result.out + result.err)
