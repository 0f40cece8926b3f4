"""Ingest: every file ends in exactly one way (groups K and D)."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from corrobora.adapters.embedders import OpenAICompatibleEmbedder
from corrobora.adapters.readers.parser import ParserProcess
from corrobora.app.ingest import MAX_DEPTH, Ingest, escape_unprintable, looks_secret
from corrobora.app.libraries import ingest_files, open_embedder, unknown_library_error
from corrobora.app.library_changes import FolderChanges, count_older, read_changes
from corrobora.domain.errors import UserError
from corrobora.ports import ParsedDocument
from corrobora.storage.index import PostgresLibrary
from corrobora.storage.index.catalog import Catalog
from corrobora.storage.postgres import Database


@pytest.fixture
async def ingest(database):
    async with ParserProcess() as child:

        async def parse(data, name):
            return await child.parse_document(data, name=name)

        yield Ingest(Catalog(database), parse)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_md", ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def write_bytes_name(folder: Path, name: bytes) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("Text of " + escape_unprintable(os.fsdecode(name)))


async def test_unchanged_files_are_skipped_changed_ones_replaced_vanished_ones_removed(database, ingest, tmp_path):
    write(tmp_path, a_md="# A\n\nThe king.", b_md="# B\n\nThe queen.", sub__c_md="# C\n\nThe river.")
    first = await ingest.add_path("lib", tmp_path)
    assert first.stored == ["a.md", "b.md", "sub/c.md"]
    second = await ingest.add_path("lib", tmp_path)
    assert (second.stored, second.unchanged) == ([], ["a.md", "b.md", "sub/c.md"])
    write(tmp_path, a_md="# A\n\nThe emperor.")
    (tmp_path / "b.md").unlink()
    third = await ingest.add_path("lib", tmp_path)
    assert (third.stored, third.unchanged, third.removed) == (["a.md"], ["sub/c.md"], ["b.md"])
    library = PostgresLibrary(database, ["lib"])
    assert await library.hybrid_search("king queen") == []
    assert [hit.url for hit in await library.hybrid_search("emperor")] == ["a.md"]


async def test_the_name_of_a_file_without_a_title_gives_its_title_and_its_date(database, ingest, tmp_path):
    for name in ("2024-05-14-board_meeting.txt", "pages-12-14-b.txt", "2024-13-45.txt"):
        (tmp_path / name).write_text("The boiler must be replaced.\n")
    await ingest.add_path("lib", tmp_path)
    found = await PostgresLibrary(database, ["lib"]).hybrid_search("boiler")
    assert {(hit.title, hit.published) for hit in found} == {
        ("2024-05-14 board meeting", "2024-05-14"), ("pages 12-14 b", ""), ("2024-13-45", ""),
    }  # fmt: skip


async def test_k01_k03_k06_k14_what_is_not_read_is_listed_with_its_reason(ingest, tmp_path):
    write(tmp_path, good_md="Text.")
    (tmp_path / "outside.md").symlink_to("/etc/hostname")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "id_rsa").write_text("KEY")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 no")
    (tmp_path / "image.md").write_bytes(b"\x89PNG\r\n")
    (tmp_path / "empty.txt").write_bytes(b"")
    report = await ingest.add_path("lib", tmp_path)
    assert report.stored == ["good.md"]
    assert {each.path: each.outcome.value for each in report.skipped} == {
        "outside.md": "refused",
        "loop": "refused",
        "pipe.md": "refused",
        ".env": "skipped",
        "id_rsa": "skipped",
        "broken.pdf": "broken",
        "image.md": "unsupported",
        "empty.txt": "empty",
    }
    assert all(each.reason for each in report.skipped)


async def test_a_maildir_is_read_and_an_unread_format_is_listed_with_what_to_do(database, ingest, tmp_path):
    mail = b"From: a@b.example\nSubject: Valve\nMIME-Version: 1.0\nContent-Transfer-Encoding: quoted-printable\n\n"
    (tmp_path / "cur").mkdir()
    (tmp_path / "cur" / "1700000000.M1P2.host:2,S").write_bytes(mail + b"The valve is gel=C3=B6scht.\n")
    (tmp_path / "book.rtf").write_bytes(b"{\\rtf1 The valve.}")
    report = await ingest.add_path("s", tmp_path)
    assert report.stored == ["cur/1700000000.M1P2.host:2,S"]
    reason = "It is an RTF file, not text. Save it as PDF, DOCX, HTML or text."
    assert [each.reason for each in report.skipped] == [reason]
    found = await PostgresLibrary(database, ["s"]).hybrid_search("gelöscht")
    assert [hit.title for hit in found] == ["Valve"]


async def test_k14_what_is_hidden_is_not_read_and_is_listed(ingest, tmp_path):
    write(
        tmp_path, good_md="Text.", **{".notes_md": "Text.", ".git__config_md": "Text.", "node_modules__a_md": "Text."}
    )
    (tmp_path / "~$good.docx").write_bytes(b"Ann")  # beside a document that is open
    report = await ingest.add_path("lib", tmp_path)
    assert report.stored == ["good.md"]
    assert {each.path: each.reason for each in report.skipped} == {
        ".git": "Hidden folders are not read.",
        ".notes.md": "Hidden files are not read.",
        "~$good.docx": "Hidden files are not read.",
        "node_modules": "Folders of this name hold no documents.",
    }


async def test_scripts_and_styles_are_left_out_beside_web_pages_only(ingest, tmp_path):
    for name in ("site/index.html", "site/book.js", "site/look.css", "code/main.js"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<p>The king of the river.</p>")
    report = await ingest.add_path("site", tmp_path / "site")
    assert report.stored == ["index.html"]
    assert [each.path for each in report.skipped] == ["book.js", "look.css"]
    assert (await ingest.add_path("code", tmp_path / "code")).stored == ["main.js"]
    assert (await ingest.add_path("one", tmp_path / "site" / "book.js")).stored == ["book.js"]


async def test_what_was_read_before_an_interruption_stays(database, tmp_path):
    write(tmp_path, a_md="The king.", b_md="The queen.", c_md="The river.")
    async with ParserProcess() as child:

        async def parse(data, name):
            if name == "c.md":
                task.cancel()  # as Ctrl-C does
                await asyncio.sleep(60)
            return await child.parse_document(data, name=name)

        task = asyncio.ensure_future(Ingest(Catalog(database), parse).add_path("lib", tmp_path))
        with pytest.raises(asyncio.CancelledError):
            await task
        again = await Ingest(Catalog(database), lambda data, name: child.parse_document(data, name=name)).add_path(
            "lib", tmp_path
        )
    assert (again.stored, again.unchanged) == (["c.md"], ["a.md", "b.md"])


async def test_a_library_knows_how_its_folders_have_changed(database, tmp_path):
    write(tmp_path, papers__a_md="The king.", papers__b_md="The queen.", more__c_md="The river.")
    roots = [tmp_path / "papers", tmp_path / "more"]
    await ingest_files(database, "lib", roots, lambda *_: None)
    assert str(await read_changes(database, "lib", roots)) == ""
    write(
        tmp_path, papers__a_md="The emperor.", papers__new_md="The knight.", papers__photo_jpg="", more__d_md="A sea."
    )
    (roots[0] / "b.md").unlink()
    (roots[0] / "photo_jpg").rename(roots[0] / "photo.jpg")
    assert str(await read_changes(database, "lib", roots)) == "2 new, 1 changed, 1 removed"
    (space,) = await Catalog(database).list_spaces()
    assert space.root.split("\n") == [str(root) for root in roots], "every folder that it was read from is remembered"
    assert str(await read_changes(database, "lib", [tmp_path / "elsewhere"])) == "", "as on another machine"


async def test_what_an_earlier_version_read_is_told_and_read_again_only_on_demand(database, tmp_path):
    write(tmp_path, a_md="The king.", b_md="The queen.")
    await ingest_files(database, "lib", [tmp_path], lambda *_: None)
    await database.execute("update source set digest = split_part(digest, '+', 1) where path like '%%a.md'")
    known = await read_changes(database, "lib", [tmp_path])
    assert (known.count, str(known)) == (0, "1 read by an earlier version")
    assert await count_older(database) == {"lib": FolderChanges(older=1)}
    plain = await ingest_files(database, "lib", [tmp_path], lambda *_: None)
    assert (plain.stored, len(plain.unchanged), plain.older) == ([], 2, ["a.md"]), "no forced work"
    again = await ingest_files(database, "lib", [tmp_path], lambda *_: None, again=True)
    assert (again.stored, again.unchanged, again.older) == (["a.md"], ["b.md"], [])
    assert not str(await read_changes(database, "lib", [tmp_path]))
    assert await count_older(database) == {}


async def test_the_manifest_says_what_a_file_does_not_and_a_broken_line_is_reported(database, ingest, tmp_path):
    write(tmp_path, a_md="# Rules\n\nThe king rules.", b_md="The queen rules.")
    rows = [
        json.dumps({"path": "a.md", "doc": "SP 1", "version": "Rev 3", "url": "http://x/a", "publisher": "NIST"}),
        "{broken",
        json.dumps(
            {"path": "b.md", "title": "Queens", "published": "2020-01-02", "primary": True, "authors": ["Lund, Greta"]}
        ),
    ]
    (tmp_path / "manifest.jsonl").write_text("\n".join(rows))
    report = await ingest.add_path("lib", tmp_path)
    assert [(each.path, each.outcome.value) for each in report.skipped] == [("manifest.jsonl:2", "broken")]
    library = PostgresLibrary(database, ["lib"])
    (king,) = await library.hybrid_search("king")
    assert king.source is not None
    source, _ = await library.document(king.source)
    assert (source.title, source.version, source.url, source.publisher) == (
        "SP 1: Rules",
        "Rev 3",
        "http://x/a",
        "NIST",
    )
    (queen,) = await library.hybrid_search("queen")
    assert queen.source is not None
    source, _ = await library.document(queen.source)
    assert (source.title, source.published, source.primary) == ("Queens", "2020-01-02", True)
    assert source.authors == ("Lund, Greta",)


async def test_k04_strange_names_work_or_are_escaped(ingest, tmp_path):
    for name in (b"new\nline.md", b"-dash.md", "emoji😀.md".encode(), b"bad\xff.md", b"x" * 250 + b".md"):
        write_bytes_name(tmp_path, name)
    report = await ingest.add_path("lib", tmp_path)
    assert len(report.stored) == 5
    assert "new\\nline.md" in report.stored
    assert "bad\\xff.md" in report.stored
    assert len((await ingest.add_path("lib", tmp_path)).unchanged) == 5


async def test_k05_folders_too_deep_are_listed(ingest, tmp_path):
    write(tmp_path, a_md="Text.")
    deep = tmp_path
    for _ in range(MAX_DEPTH + 1):
        deep /= "d"
        deep.mkdir()
    (deep / "b.md").write_text("Deep.")
    report = await ingest.add_path("lib", tmp_path)
    assert report.stored == ["a.md"]
    assert "Deeper than" in report.skipped[0].reason


async def test_k05_a_file_of_ten_gigabytes_is_listed_and_not_read(ingest, tmp_path):
    write(tmp_path, a_md="Text.")
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(10_000_000_000)  # sparse: it takes no room
    report = await ingest.add_path("lib", tmp_path)
    assert report.stored == ["a.md"]
    (huge,) = report.skipped
    assert (huge.path, huge.outcome) == ("huge.txt", "too_large")
    assert "10000000000 bytes" in huge.reason


async def test_k05_of_too_many_files_the_first_ones_are_read_and_the_cut_is_told(database, tmp_path):
    write(tmp_path, **{f"f{at:02}_md": f"Text {at}." for at in range(9)})
    async with ParserProcess() as child:
        few = Ingest(Catalog(database), lambda data, name: child.parse_document(data, name=name), max_files=3)
        report = await few.add_path("lib", tmp_path)
    assert report.stored == ["f00.md", "f01.md", "f02.md"]
    assert [(each.path, each.outcome) for each in report.skipped] == [("f03.md", "skipped")]
    assert "limit of 3 files; this and all later ones" in report.skipped[0].reason


async def test_k02_a_file_that_vanishes_or_changes_while_its_folder_is_read(database, tmp_path):
    """One that vanishes is listed; one that changes is stored as it was read, and read again the next time."""
    write(tmp_path, a_md="The king.", b_md="The queen.", c_md="The river.")

    def meddle(_done: int, _total: int, path: str) -> None:
        if path == "a.md":
            (tmp_path / "b.md").unlink()
            write(tmp_path, a_md="The emperor.", c_md="The bridge.")

    async with ParserProcess() as child:

        async def parse(data: bytes, name: str) -> ParsedDocument:
            return await child.parse_document(data, name=name)

        report = await Ingest(Catalog(database), parse, on_progress=meddle).add_path("lib", tmp_path)
        assert report.stored == ["a.md", "c.md"]
        assert [(each.path, each.outcome) for each in report.skipped] == [("b.md", "not_found")]
        library = PostgresLibrary(database, ["lib"])
        (king,) = await library.hybrid_search("king")
        assert king.source is not None
        assert [hit.url for hit in await library.hybrid_search("river bridge")] == ["c.md"]
        again = await Ingest(Catalog(database), parse).add_path("lib", tmp_path)
        assert (again.stored, again.unchanged) == (["a.md"], ["c.md"])
    assert "The king." in (await library.document(king.source))[1], "what was cited stays as it was read"


@pytest.mark.parametrize("files", [{}, {"x": ""}])
async def test_k01_nothing_readable_is_a_user_error(ingest, tmp_path, files):
    write(tmp_path, **files)
    with pytest.raises(UserError, match="Nothing readable"):
        await ingest.add_path("lib", tmp_path)


async def test_a_library_is_not_left_empty_where_nothing_was_readable_and_an_older_one_stays(
    ingest, database, tmp_path
):
    catalog = Catalog(database)
    await catalog.open("old")
    for name in ("old", "new"):
        with pytest.raises(UserError, match="Nothing readable"):
            await ingest.add_path(name, tmp_path)
    assert [each.name for each in await catalog.list_spaces()] == ["old"]


async def test_a_path_that_does_not_exist_is_a_user_error(ingest, tmp_path):
    with pytest.raises(UserError, match="no file or folder"):
        await ingest.add_path("lib", tmp_path / "none")


async def test_two_folders_in_one_library_do_not_remove_each_other(ingest, tmp_path):
    write(tmp_path, one__a_md="The king.", two__a_md="The queen.", file_md="The river.")
    await ingest.add_path("lib", tmp_path / "one")
    report = await ingest.add_path("lib", tmp_path / "two")
    single = await ingest.add_path("lib", tmp_path / "file.md")
    assert (report.removed, single.stored, single.removed) == ([], ["file.md"], [])


async def test_progress_is_told_for_every_file(database, tmp_path):
    write(tmp_path, a_md="One.", b_md="Two.")
    told = []
    async with ParserProcess() as child:
        await Ingest(
            Catalog(database),
            lambda data, name: child.parse_document(data, name=name),
            on_progress=lambda *step: told.append(step),
        ).add_path("lib", tmp_path)
    assert told == [(1, 2, "a.md"), (2, 2, "b.md")]


SECRETS = (
    ".env.local",
    "prod.env",
    "prod.env.gz",
    "server.PEM",
    "kubeconfig",
    "terraform.tfstate",
    "bash_history",
    "login.ppk",
)


@pytest.mark.parametrize(("name", "secret"), [*((name, True) for name in SECRETS), ("environment.md", False)])
def test_k14_secret_names(name, secret):
    assert looks_secret(name) is secret


async def test_files_are_added_once_followed_when_they_change_and_removed(database: Database, documents: Path) -> None:
    steps: list[tuple[int, int]] = []

    def told(done: int, total: int, _: str) -> None:
        steps.append((done, total))

    first = await ingest_files(database, "mill", (documents,), told)
    assert (len(first.stored), first.unchanged, first.removed, first.skipped) == (3, [], [], [])
    assert steps[-1] == (3, 3)
    again = await ingest_files(database, "mill", (documents,), told)
    assert (again.stored, len(again.unchanged), again.removed) == ([], 3, [])
    (documents / "bread.md").unlink()
    (documents / "grease.md").write_text("# Grease\n\nGraphite is dry and needs no fat at all on wooden gates.\n")
    changed = await ingest_files(database, "mill", (documents,), told)
    assert (changed.stored, len(changed.unchanged), changed.removed) == (["grease.md"], 1, ["bread.md"])


async def test_what_cannot_be_read_is_listed_with_the_reason(database: Database, documents: Path) -> None:
    (documents / "broken.pdf").write_bytes(b"\x00\x01" * 900)
    found = await ingest_files(database, "mill", (documents,), lambda *_: None)
    (skipped,) = found.skipped
    assert skipped.path.endswith("broken.pdf")
    assert skipped.reason
    assert len(found.stored) == 3


async def test_ingesting_a_path_that_does_not_exist_is_refused(database: Database, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        await ingest_files(database, "mill", (tmp_path / "none",), lambda *_: None)


def test_the_shipped_library_that_was_not_read_yet_is_no_spelling_mistake() -> None:
    assert unknown_library_error("demo", ()).next_step.endswith("corrobora demo")
    assert unknown_library_error("demos", ()).next_step == "Did you mean demo?"


def test_a_model_at_an_address(settings_of: Any) -> None:
    found = open_embedder(settings_of(CORROBORA_EMBEDDER_URL="http://127.0.0.1:9/v1", CORROBORA_EMBEDDER_MODEL="small"))
    assert isinstance(found, OpenAICompatibleEmbedder)
    assert "small" in found.name


def test_an_address_without_a_model_is_refused(settings_of: Any) -> None:
    with pytest.raises(UserError, match=r"embedder\.model") as caught:
        open_embedder(settings_of(CORROBORA_EMBEDDER_URL="http://127.0.0.1:9/v1"))
    assert caught.value.code == "embedder_model"


def test_a_model_that_is_no_folder_is_refused(settings_of: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder") as caught:
        open_embedder(settings_of(CORROBORA_EMBEDDER_MODEL=str(tmp_path / "none")))
    assert caught.value.code == "embedder_folder"
