"""Load: names, files, inheritance, overrides, and what is refused before anything runs."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from dataclasses import fields as dataclass_fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.config import Settings, load_settings
from corrobora.config.profiles import list_fields, list_presets, load_profile, read_fields, resolve_profile
from corrobora.config.values import find_doc, read_value
from corrobora.domain.errors import UserError
from corrobora.domain.thread import Phase
from corrobora.policies import Profile, Review, dump_profile

PROFILE = list_fields(Profile)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def test_every_field_of_a_profile_says_what_it_means() -> None:
    for kind in (Profile, Phase, Review):
        assert all(find_doc(annotation) for annotation in list_fields(kind).values())
    assert {f.name for f in dataclass_fields(Profile)} == {*PROFILE, "phases", "review", "notes"}


@pytest.mark.parametrize("name", list_presets())
def test_presets_hold_only_values_that_their_rules_allow(name: str) -> None:
    profile = load_profile(name)
    for key, annotation in PROFILE.items():
        value = getattr(profile, key)
        assert value is None or read_value(annotation, value) == value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_rounds", 0),
        ("max_rounds", 101),
        ("max_rounds", True),
        ("max_rounds", 3.0),
        ("max_rounds", "3"),
        ("max_depth", 4),
        ("minutes", 0),
        ("minutes", -1),
        ("minutes", float("nan")),
        ("minutes", float("inf")),
        ("minutes", "5m"),
        ("minutes", True),
        ("reserve_minutes", -0.1),
        ("drift", 1),
        ("drift", "true"),
        ("split", "forest"),
        ("advance", "sometimes"),
        ("stop", []),
        ("stop", "max_rounds"),
        ("stop", ["max_rounds", "max_rounds"]),
        ("stop", ["max_round"]),
        ("artifacts", ["everything"]),
        ("artifacts", [1]),
        ("phrase", "x" * 201),
        ("summary", 5),
        ("pause_seconds", 61),
    ],
)
def test_c04_a_wrong_value_is_refused_with_key_value_and_range(key: str, value: object) -> None:
    with pytest.raises(UserError, match=rf"here: {key} is .*allowed: ") as caught:
        read_fields({key: value}, PROFILE, where="here")
    assert caught.value.code == "profile_bad_value"


def test_a_misspelt_word_gets_the_nearest_one() -> None:
    with pytest.raises(UserError, match=r"Did you mean max_rounds\?"):
        read_fields({"stop": ["max_round"]}, PROFILE, where="here")
    with pytest.raises(UserError, match=r"Did you mean angles\?"):
        read_fields({"split": "angels"}, PROFILE, where="here")


def test_c03_an_unknown_key_gets_the_nearest_one_and_its_value_is_never_shown() -> None:
    with pytest.raises(UserError, match=r"Did you mean minutes\?") as caught:
        read_fields({"minuts": "sk-secret"}, PROFILE, where="here")
    assert caught.value.code == "profile_unknown_key"
    assert "sk-secret" not in str(caught.value)


def test_unlimited_is_a_time() -> None:
    assert read_fields({"minutes": "unlimited"}, PROFILE, where="here") == {"minutes": None}
    assert read_fields({"minutes": 5}, PROFILE, where="here") == {"minutes": 5.0}


@given(st.sampled_from(sorted(PROFILE)), ANYTHING)
def test_any_value_is_taken_or_refused_in_one_way(key: str, value: object) -> None:
    try:
        found = read_fields({key: value}, PROFILE, where="here")
    except UserError as error:
        assert (error.code, key in str(error)) == ("profile_bad_value", True)  # noqa: PT017 - either outcome is legal
    else:
        assert list(found) == [key]


def settings(folder: Path, text: str) -> Settings:
    (folder / "corrobora.toml").write_text(text)
    return load_settings(env={}, folder=folder, user_file=folder / "none.toml")


def test_a_preset_is_itself(tmp_path: Path) -> None:
    assert resolve_profile(settings(tmp_path, ""), "tree") == ("tree", ())
    assert resolve_profile(settings(tmp_path, 'profile = "rounds"')) == ("rounds", ())


def test_a_table_is_its_base_and_its_fields_in_toml(tmp_path: Path) -> None:
    own = '[profiles.mine]\nbase = "rounds"\nmax_rounds = 2\nstop = ["max_rounds"]\n'
    own += "[profiles.mine.review]\njudge = true\n"
    changes = (("max_rounds", "2"), ("stop", '["max_rounds"]'), ("review.judge", "true"))
    assert resolve_profile(settings(tmp_path, own), "mine") == ("rounds", changes)


def test_without_a_base_a_table_changes_the_default(tmp_path: Path) -> None:
    assert resolve_profile(settings(tmp_path, "[profiles.mine]\nmax_rounds = 2\n"), "mine") == (
        "timed",
        (("max_rounds", "2"),),
    )


def test_a_table_may_stand_on_another_and_what_is_nearer_wins(tmp_path: Path) -> None:
    text = '[profiles.a]\nbase = "b"\nmax_rounds = 2\n[profiles.b]\nbase = "tree"\nmax_rounds = 5\nattempts = 1\n'
    base, changes = resolve_profile(settings(tmp_path, text), "a")
    assert base == "tree"
    assert dict(changes) == {"max_rounds": "2", "attempts": "1"}


@pytest.mark.parametrize("base", ['base = "tree"\n', ""])
def test_a_table_of_a_presets_name_starts_from_the_preset(tmp_path: Path, base: str) -> None:
    (tmp_path / "user.toml").write_text(f"[profiles.tree]\n{base}max_rounds = 2\n")
    own = load_settings(env={}, folder=tmp_path, user_file=tmp_path / "user.toml")
    assert resolve_profile(own, "tree") == ("tree", (("max_rounds", "2"),))


def test_phases_and_texts_survive_the_way_through_the_request(tmp_path: Path) -> None:
    own = '[profiles.mine]\nsummary = "say \\"so\\" – ü\\u007f"\n'
    own += '[[profiles.mine.phases]]\nname = "only"\nquery_hints = ["a"]\n'
    profile = load_profile(*resolve_profile(settings(tmp_path, own), "mine"))
    assert profile.summary == 'say "so" – ü\x7f'
    assert [(phase.name, phase.query_hints) for phase in profile.phases] == [("only", ("a",))]


def test_a_circle_of_tables_ends(tmp_path: Path) -> None:
    text = '[profiles.a]\nbase = "b"\n[profiles.b]\nbase = "a"\n'
    assert resolve_profile(settings(tmp_path, text), "a") == ("a", ())


def test_a_file_is_named_by_its_absolute_path(tmp_path: Path) -> None:
    name, changes = resolve_profile(settings(tmp_path, ""), "mine.toml")
    assert Path(name) == Path.cwd() / "mine.toml"
    assert changes == ()


def written(folder: Path, text: str, name: str = "mine.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def refused(name: str, overrides=()) -> UserError:
    with pytest.raises(UserError) as caught:
        load_profile(name, overrides)
    return caught.value


def test_a_user_file_changes_single_fields_of_its_base(tmp_path: Path) -> None:
    mine = load_profile(written(tmp_path, 'base = "timed"\nminutes = 8\n[review]\ncritique = true\n'))
    timed = load_profile("timed")
    changed = {f.name for f in fields(Profile) if getattr(mine, f.name) != getattr(timed, f.name)}
    assert changed == {"name", "minutes", "review"}
    assert (mine.name, mine.minutes, mine.review.critique, mine.review.min_score) == ("mine", 8.0, True, 0.70)


def test_review_of_the_base_is_kept_field_by_field_and_phases_are_replaced_whole(tmp_path: Path) -> None:
    text = 'base = "angles"\n[review]\nmin_score = 0.9\n[[phases]]\nname = "only"\n'
    mine = load_profile(written(tmp_path, text))
    assert (mine.review.judge, mine.review.min_score) == (True, 0.9)
    assert [phase.name for phase in mine.phases] == ["only"]


def test_a_file_may_be_based_on_a_file_beside_it(tmp_path: Path) -> None:
    written(tmp_path, 'base = "rounds"\nmax_rounds = 2\n', "first.toml")
    mine = load_profile(written(tmp_path, 'base = "first.toml"\nminutes = "unlimited"\n', "second.toml"))
    assert (mine.max_rounds, mine.minutes, mine.split, mine.name) == (2, None, "leaf", "second")


@pytest.mark.parametrize("base", ["../outside.toml", "~/outside.toml", "/etc/hostname.toml", "link.toml"])
def test_a_file_of_a_stranger_cannot_be_based_on_a_file_elsewhere(
    tmp_path: Path, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    outside = written(tmp_path, 'secret_key_name = "x"\n', "outside.toml")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "link.toml").symlink_to(outside)
    with pytest.raises(UserError, match="lies in the folder of its file") as caught:
        load_profile(written(tmp_path / "theirs", f'base = "{base}"\n', "own.toml"))
    assert "secret_key_name" not in str(caught.value)


def test_a_profile_needs_no_base(tmp_path: Path) -> None:
    mine = load_profile(written(tmp_path, 'split = "leaf"\n'))
    assert (mine.split, mine.stop) == ("leaf", Profile("x").stop)


def test_bases_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    written(tmp_path, 'base = "b.toml"\n', "a.toml")
    written(tmp_path, 'base = "a.toml"\n', "b.toml")
    assert refused(str(tmp_path / "a.toml")).code == "profile_conflict"


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("minutes", "10", 10.0),
        ("minutes", "0.5", 0.5),
        ("minutes", "unlimited", None),
        ("minutes", '"unlimited"', None),
        ("max_rounds", "9", 9),
        ("drift", "false", False),
        ("stop", '["max_rounds"]', ("max_rounds",)),
        ("layout", "words", "words"),
        ("authorize", "auto", "auto"),
    ],
)
def test_overrides_change_fields_one_by_one(field: str, text: str, value: object) -> None:
    assert getattr(load_profile("timed", [(field, text)]), field) == value


def test_a_field_of_the_review_is_overridden_by_its_dotted_name() -> None:
    assert load_profile("timed", [("review.judge", "true")]).review.judge
    assert refused("timed", [("review.jugde", "true")]).code == "profile_unknown_key"


def test_later_overrides_win() -> None:
    assert load_profile("timed", [("minutes", "3"), ("minutes", "4")]).minutes == 4


def test_timed_deep_takes_seven_rounds() -> None:
    assert load_profile("timed", [("deep", "true")]).max_rounds == 7
    assert load_profile("timed", [("deep", "false")]).max_rounds == 3
    assert load_profile("timed", [("deep", "true"), ("max_rounds", "5")]).max_rounds == 5


def test_c11_deep_with_99_rounds_is_capped_with_a_note() -> None:
    profile = load_profile("timed", [("deep", "true"), ("max_rounds", "99")])
    assert profile.max_rounds == 7
    assert profile.notes == ("max_rounds 99 was lowered to 7, the cap of a deep run",)
    assert load_profile("timed").notes == ()


def test_a_new_time_limit_brings_the_formula_of_the_reserve_back() -> None:
    assert load_profile("rounds").reserve_seconds == 150
    assert load_profile("rounds", [("minutes", "2")]).reserve_seconds == pytest.approx(36)
    kept = load_profile("rounds", [("minutes", "20"), ("reserve_minutes", "4")])
    assert kept.reserve_seconds == 240


@pytest.mark.parametrize("text", ["1\ndrift = true", "1\n[review]\njudge = true", "1 # x\nmax_rounds = 3"])
def test_an_override_cannot_smuggle_in_a_second_field(text: str) -> None:
    assert refused("timed", [("max_rounds", text)]).code == "profile_bad_value"


@pytest.mark.parametrize("key", ["base", "review", "notes", "minuts", "", "review."])
def test_only_fields_can_be_overridden(key: str) -> None:
    assert refused("timed", [(key, "1")]).code == "profile_unknown_key"


@pytest.mark.parametrize("value", ["0", "-5", "abc", "1e9", "5m", "nan", "inf", "true", ""])
def test_c08_wrong_times_say_what_is_accepted(value: str) -> None:
    said = str(refused("timed", [("minutes", value)]))
    assert "minutes as a number above 0 and at most 10,080 (5, or 0.5), or unlimited" in said


def test_an_unknown_name_gets_the_nearest_preset() -> None:
    error = refused("timmed")
    assert error.code == "unknown_profile"
    assert "Did you mean timed?" in str(error)


def test_c01_paths_that_are_no_readable_file(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.toml"
    os.mkfifo(fifo)
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * 1_000_001)
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'summary = "caf\xe9"')
    for path in (tmp_path / "none.toml", tmp_path, fifo, loop, large, latin):
        error = refused(f"{path}/" if path == tmp_path else str(path))
        assert error.code == "profile_file"
        assert str(path) in str(error)
    assert refused("a\0b.toml").code == "profile_file"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("minutes = ", "profile_syntax"),
        ("minutes = 5\nminutes = 6", "profile_syntax"),  # duplicate keys
        ("x = " + "[" * 5_000, "profile_syntax"),
        ("x = " + "9" * 5_000, "profile_syntax"),
        ("budgt = 5", "profile_unknown_key"),
        ("api_key = 'sk-secret'", "profile_unknown_key"),
        ("minutes = nan", "profile_bad_value"),
        ("base = 3", "profile_bad_value"),
        ("base = 'nobody'", "unknown_profile"),
        ("review = 3", "profile_bad_value"),
        ("phases = 3", "profile_bad_value"),
        ("phases = []", "profile_bad_value"),
        ("phases = [3]", "profile_bad_value"),
        ("[[phases]]\ngoal = 'x'", "profile_bad_value"),
        ("[[phases]]\nname = 'x'\nqueries = 3", "profile_unknown_key"),
        ("[[phases]]\nname = 'x'\nmin_queries = 0", "profile_bad_value"),
        ("notes = ['x']", "profile_unknown_key"),
    ],
)
def test_c02_and_c03_damaged_files(tmp_path: Path, text: str, code: str) -> None:
    error = refused(written(tmp_path, text))
    assert error.code == code
    assert "sk-secret" not in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    "text",
    [
        'stop = ["no_gaps"]',  # might never end
        "words_min = 900\nwords_max = 800",
        'authorize = "human"',  # without a phrase nobody could
        "[review]\nrevise = true",
        "minutes = 1\nreserve_minutes = 1",
        "[[phases]]\nname = 'a'\n[[phases]]\nname = 'a'",
        "[[phases]]\nname = 'a'\nmin_queries = 4\nmax_queries = 3",
        "[[phases]]\nname = 'a'\nmin_rounds = 4\nmax_rounds = 3",
    ],
)
def test_fields_that_contradict_each_other_are_refused(tmp_path: Path, text: str) -> None:
    assert refused(written(tmp_path, text)).code == "profile_conflict"


@pytest.mark.parametrize("name", list_presets())
def test_the_first_event_of_a_run_holds_every_field_as_plain_json(name: str) -> None:
    profile = load_profile(name)
    table = dump_profile(profile)
    assert set(table) == {f.name for f in fields(Profile)}
    assert json.loads(json.dumps(table, allow_nan=False)) == table


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_override_is_taken_or_refused_as_a_user_error(key: str, value: str) -> None:
    try:
        load_profile("timed", [(key, value)])
    except UserError as error:
        assert error.code.startswith("profile_")  # noqa: PT017 - either outcome is legal


@given(st.text(max_size=40).filter(lambda name: name not in list_presets()))
def test_any_name_is_a_preset_or_refused(name: str) -> None:
    with pytest.raises(UserError):
        load_profile(name.replace("/", "").replace("\\", ""))
