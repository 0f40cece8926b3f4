"""The registry: built-in and added parts by name, and errors that say which package to repair."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from types import SimpleNamespace

import pytest

from corrobora import registry
from corrobora.adapters.search.provider import KeyedProvider
from corrobora.domain.errors import UserError

ENTRIES = {
    "corrobora": ("search", "tavily", "corrobora.adapters.search.tavily:Tavily"),
    "another": ("search", "tavily", "another:Tavily"),
    "fine": ("search", "brave", "corrobora.adapters.search.exa:Exa"),
    "broken": ("search", "sad", "no_such_module:Sad"),
    "data": ("profiles", "lost", "no_such_package"),
}


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace the installed packages by a few of ours."""

    def build_package(name: str, group: str, part: str, value: str) -> SimpleNamespace:
        package = SimpleNamespace(name=name, version="1.0", read_text=lambda _: f"[corrobora.{group}]")
        entry = metadata.EntryPoint(part, value, f"corrobora.{group}")
        vars(entry)["dist"] = package
        package.entry_points = [entry]
        return package

    found = [build_package(name, *entry) for name, entry in ENTRIES.items()]
    caches = (registry._read_entries, registry.find_entries, registry.load_part)
    for cache in caches:
        cache.cache_clear()
    monkeypatch.setattr(metadata, "distributions", lambda: found[::-1])
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("group", ["analysts", "delivery", "embedders", "profiles", "readers", "search"])
def test_built_in_parts_come_through_the_same_door(group: registry.Group) -> None:
    assert registry.list_parts(group)
    assert not registry.list_added(group)
    if group != "profiles":
        assert all(registry.load_part(group, name) for name in registry.list_parts(group))


@pytest.mark.parametrize("name", registry.list_parts("search"))
def test_a_provider_has_the_name_of_its_entry(name: str) -> None:
    kind = registry.load_part("search", name)
    assert issubclass(kind, KeyedProvider)
    assert kind.name == name
    assert kind.base_url.startswith("https://")
    assert kind.calls_per_second > 0


@pytest.mark.usefixtures("packages")
def test_an_added_part_is_found_and_never_replaces_a_built_in_one() -> None:
    assert registry.list_parts("search") == ("tavily", "sad", "brave")
    assert registry.list_added("search") == ("sad", "brave")
    assert registry.load_part("search", "tavily").name == "tavily"
    assert registry.load_part("search", "brave").name == "exa"


@pytest.mark.usefixtures("packages")
def test_a_broken_part_names_its_package() -> None:
    with pytest.raises(UserError) as caught:
        registry.load_part("search", "sad")
    assert caught.value.code == "part_broken"
    assert "broken 1.0" in caught.value.message
    assert "pip uninstall broken" in caught.value.next_step
    with pytest.raises(UserError) as caught:
        registry.read_part("profiles", "lost", ".toml")
    assert "data 1.0" in caught.value.message


@pytest.mark.usefixtures("packages")
def test_an_unknown_part_names_what_is_installed() -> None:
    with pytest.raises(UserError) as caught:
        registry.load_part("search", "google")
    assert caught.value.code == "provider_unknown"
    assert "tavily, sad, brave" in caught.value.next_step
    with pytest.raises(UserError, match="no reader") as caught:
        registry.load_part("readers", "latex")
    assert "Install corrobora again" in caught.value.next_step


def test_the_key_of_a_part_follows_from_its_name() -> None:
    assert registry.key_variable("my-engine") == "MY_ENGINE_API_KEY"
