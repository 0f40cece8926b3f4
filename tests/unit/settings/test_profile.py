"""Profiles of the user's own: a base, and what the table changes in it."""

from __future__ import annotations

from pathlib import Path

from corrobora.profiles import load_profile
from corrobora.settings import Settings, load_settings
from corrobora.settings.profile import profile_of


def settings(folder: Path, text: str) -> Settings:
    (folder / "corrobora.toml").write_text(text)
    return load_settings(env={}, folder=folder, user_file=folder / "none.toml")


def test_a_preset_is_itself(tmp_path: Path) -> None:
    assert profile_of(settings(tmp_path, ""), "tree") == ("tree", ())
    assert profile_of(settings(tmp_path, 'profile = "rounds"')) == ("rounds", ())


def test_a_table_is_its_base_and_its_fields_in_toml(tmp_path: Path) -> None:
    own = '[profiles.mine]\nbase = "rounds"\nmax_rounds = 2\nstop = ["max_rounds"]\n'
    own += "[profiles.mine.review]\njudge = true\n"
    changes = (("max_rounds", "2"), ("stop", '["max_rounds"]'), ("review.judge", "true"))
    assert profile_of(settings(tmp_path, own), "mine") == ("rounds", changes)


def test_without_a_base_a_table_changes_the_default(tmp_path: Path) -> None:
    assert profile_of(settings(tmp_path, "[profiles.mine]\nmax_rounds = 2\n"), "mine") == (
        "timed",
        (("max_rounds", "2"),),
    )


def test_a_table_may_stand_on_another_and_what_is_nearer_wins(tmp_path: Path) -> None:
    text = '[profiles.a]\nbase = "b"\nmax_rounds = 2\n[profiles.b]\nbase = "tree"\nmax_rounds = 5\nattempts = 1\n'
    base, changes = profile_of(settings(tmp_path, text), "a")
    assert base == "tree"
    assert dict(changes) == {"max_rounds": "2", "attempts": "1"}


def test_a_table_of_a_presets_name_starts_from_the_preset(tmp_path: Path) -> None:
    own = settings(tmp_path, '[profiles.tree]\nbase = "tree"\nmax_rounds = 2\n')
    assert profile_of(own, "tree") == ("tree", (("max_rounds", "2"),))


def test_phases_and_texts_survive_the_way_through_the_request(tmp_path: Path) -> None:
    own = '[profiles.mine]\nsummary = "say \\"so\\" – ü\\u007f"\n'
    own += '[[profiles.mine.phases]]\nname = "only"\nquery_hints = ["a"]\n'
    profile = load_profile(*profile_of(settings(tmp_path, own), "mine"))
    assert profile.summary == 'say "so" – ü\x7f'
    assert [(phase.name, phase.query_hints) for phase in profile.phases] == [("only", ("a",))]


def test_a_circle_of_tables_ends(tmp_path: Path) -> None:
    text = '[profiles.a]\nbase = "b"\n[profiles.b]\nbase = "a"\n'
    assert profile_of(settings(tmp_path, text), "a") == ("a", ())


def test_a_file_is_named_by_its_absolute_path(tmp_path: Path) -> None:
    name, changes = profile_of(settings(tmp_path, ""), "mine.toml")
    assert Path(name) == Path.cwd() / "mine.toml"
    assert changes == ()
