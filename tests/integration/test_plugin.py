"""The example package is installed, and its provider, profile, stop rule and analyst do a run, through the command."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from corrobora.domain.thread import StopReason
from corrobora.testing.web import LoopbackWeb, WebPage

PACKAGE = Path(__file__).resolve().parents[1] / "fixtures" / "plugin"
QUESTION = "How long is the bridge at Arnholm?"
PAGES = {
    "/bridge.html": "The bridge at Arnholm was opened in 1931. The bridge at Arnholm is 412 metres long and was "
    "built of riveted steel by the Varde company, which had built three bridges of the same kind before.",
    "/ferry.html": "The ferry of Arnholm made its last crossing in 1931, after ninety years of service on the sound.",
}
KEY = "a-key-of-the-example"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the package is installed in."""
    target = tmp_path_factory.mktemp("installed")
    copy = tmp_path_factory.mktemp("copy") / "plugin"
    subprocess.run(["cp", "-r", str(PACKAGE), str(copy)], check=True)  # a build may write into its folder
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-index", "--no-build-isolation", "--no-deps", "--target", str(target)]
    subprocess.run([*pip, *options, str(copy)], check=True, timeout=300)
    return target


def environment(installed: Path, tmp_path: Path, **more: str) -> dict[str, str]:
    """Return the environment of a command that finds the package, with a home of its own."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("CORROBORA_")}
    own |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "PYTHONPATH": str(installed)}
    return own | {"CORROBORA_HOME": str(tmp_path / "data"), "PYTHONSAFEPATH": "1"} | more


async def command(*words: str, env: dict[str, str], folder: Path) -> tuple[int, str, str]:
    """Run `corrobora` and return its exit code and what it wrote."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "corrobora", *words, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, errors = await asyncio.wait_for(process.communicate(), 300)
    assert process.returncode is not None
    return process.returncode, out.decode(), errors.decode()


@pytest.mark.covers("setting analysts")
async def test_a_run_uses_the_parts_of_the_package(installed: Path, tmp_path: Path) -> None:
    pages = [WebPage.of_html(path, f"<title>Arnholm</title><p>{text}</p>") for path, text in PAGES.items()]
    async with LoopbackWeb(pages, key=KEY) as web:
        env = environment(
            installed,
            tmp_path,
            EXAMPLE_API_KEY=KEY,
            CORROBORA_SOURCES_EXAMPLE_URL=web.url,
            CORROBORA_SOURCES_ALLOWED_ENDPOINTS=f"127.0.0.1:{web.port}",
            CORROBORA_ANALYSTS="example",
        )
        words = ("research", QUESTION, "--provider", "example", "--profile", "brisk", "--json")
        code, out, errors = await command(*words, env=env, folder=tmp_path)
    assert code == 0, errors
    assert web.searches[0] == QUESTION  # as the analyst of the package asks
    assert "412 metres" in json.dumps(json.loads(out))
    assert KEY not in out + errors


def test_the_rule_stops_after_rounds_without_a_new_fact(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(installed)
    rule = importlib.import_module("corrobora_example.rules").QUIET_ROUNDS
    thread = SimpleNamespace(rounds=[SimpleNamespace(new_facts=3), SimpleNamespace(new_facts=0)])
    assert rule.check(thread, None, 1) is StopReason.PLATEAU
    assert rule.check(thread, None, 2) is None
    assert rule.check(thread, None, 3) is None


async def test_a_missing_key_and_unknown_names_are_told_before_a_run(installed: Path, tmp_path: Path) -> None:
    env = environment(installed, tmp_path)
    missing = await command("research", QUESTION, "--provider", "example", env=env, folder=tmp_path)
    assert missing[0] == 2
    assert "EXAMPLE_API_KEY" in missing[2]
    unknown = await command("research", QUESTION, "--provider", "exampel", env=env, folder=tmp_path)
    assert unknown[0] == 2
    assert "example" in unknown[2]
    wrong = ("-s", 'stop=["quiet_rounds:99","max_rounds"]', "--library", "demo")
    refused = await command("research", QUESTION, *wrong, env=env, folder=tmp_path)
    assert refused[0] == 2
    assert "quiet_rounds:99" in refused[2]


async def test_a_project_file_may_not_move_the_key_of_the_package(installed: Path, tmp_path: Path) -> None:
    env = environment(installed, tmp_path, EXAMPLE_API_KEY=KEY)
    (tmp_path / "corrobora.toml").write_text('[sources]\nexample_url = "http://127.0.0.1:9/"\n', "utf-8")
    told = await command("research", QUESTION, "--provider", "example", env=env, folder=tmp_path)
    assert told[0] == 2
    assert "sources.example_url may not be set by a project file" in told[2]
    assert (await command("trust", ".", "--yes", env=env, folder=tmp_path))[0] == 0
    told = await command("research", QUESTION, "--provider", "example", env=env, folder=tmp_path)
    assert "sources.example_url would send EXAMPLE_API_KEY to another server" in told[2]
