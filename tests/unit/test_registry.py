"""The registry: built-in and added parts by name, and errors that say which package to repair."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corrobora import registry
from corrobora.adapters.search import KeyedProvider
from corrobora.domain.errors import UserError

ENTRIES = {
    "another": ("search", "tavily", "another:Tavily"),
    "fine": ("search", "brisk", "corrobora.adapters.search.keyed:Exa"),
    "sorry": ("search", "sad", "no_such_module:Sad"),
    "vague": ("profiles", "lost", "no_such_package"),
}


def forget_entries() -> None:
    for cache in (registry._read_entries, registry.find_entries, registry.load_part):
        cache.cache_clear()


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a few packages that consist of their metadata only."""
    for name, (group, part, value) in ENTRIES.items():
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
        (folder / "entry_points.txt").write_text(f"[corrobora.{group}]\n{part} = {value}\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    forget_entries()
    yield
    monkeypatch.undo()
    forget_entries()


@pytest.mark.parametrize("group", ["analysts", "delivery", "embedders", "profiles", "readers", "search"])
def test_built_in_parts_come_through_the_same_door(group: registry.Group) -> None:
    assert registry.list_parts(group)
    assert not registry.list_added(group)
    if group != "profiles":
        assert all(registry.load_part(group, name) for name in registry.list_parts(group))


BUILT_IN = ("arxiv", "brave", "crossref", "exa", "firecrawl", "mcp", "pubmed", "searxng", "tavily", "wikipedia")


@pytest.mark.parametrize("name", registry.list_parts("search"))
def test_a_provider_has_the_name_of_its_entry(name: str) -> None:
    kind = registry.load_part("search", name)
    assert issubclass(kind, KeyedProvider)
    assert kind.name == name
    assert kind.base_url.startswith("https://") or name in ("mcp", "searxng")  # a server of one's own
    assert kind.calls_per_second > 0


@pytest.mark.usefixtures("packages")
def test_an_added_part_is_found_and_never_replaces_a_built_in_one() -> None:
    assert registry.list_parts("search") == (*BUILT_IN, "brisk", "sad")
    assert registry.list_added("search") == ("brisk", "sad")
    assert registry.load_part("search", "tavily").name == "tavily"
    assert registry.load_part("search", "brisk").name == "exa"


@pytest.mark.usefixtures("packages")
def test_a_broken_part_names_its_package() -> None:
    with pytest.raises(UserError) as caught:
        registry.load_part("search", "sad")
    assert caught.value.code == "part_broken"
    assert "sorry 1.0" in caught.value.message
    assert "pip uninstall sorry" in caught.value.next_step
    with pytest.raises(UserError) as caught:
        registry.read_part("profiles", "lost", ".toml")
    assert "vague 1.0" in caught.value.message


@pytest.mark.usefixtures("packages")
def test_an_unknown_part_names_what_is_installed() -> None:
    with pytest.raises(UserError) as caught:
        registry.load_part("search", "google")
    assert caught.value.code == "provider_unknown"
    assert "wikipedia, brisk, sad" in caught.value.next_step
    with pytest.raises(UserError, match="no stop rule") as caught:
        registry.load_part("rules", "latex")
    assert "Install corrobora again" in caught.value.next_step


def test_the_key_of_a_part_follows_from_its_name() -> None:
    assert registry.key_variable("my-engine") == "MY_ENGINE_API_KEY"
