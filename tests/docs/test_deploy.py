"""The files of `deploy/`: each command in them is one that this version has, and what they name is there."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from corrobora.config.layers import read_environment_layers
from corrobora.faces.cli import cli

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def _documents(path: Path) -> list[Any]:
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each]


def _containers() -> Iterator[dict[str, Any]]:
    for each in _documents(DEPLOY / "kubernetes" / "corrobora.yaml"):
        if each["kind"] == "Deployment":
            yield each["spec"]["template"]["spec"] | {"main": each["spec"]["template"]["spec"]["containers"][0]}


def list_command_lines() -> Iterator[tuple[str, list[str]]]:
    """Yield every command line of `corrobora` that these files start, with where it stands."""
    docker = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    (command,) = re.findall(r"^CMD (\[.*\])$", docker, re.MULTILINE)
    yield "Dockerfile", json.loads(command)
    (compose,) = _documents(DEPLOY / "compose.yaml")
    for name, service in compose["services"].items():
        if "command" in service:
            yield f"compose.yaml, {name}", service["command"]
    for pod in _containers():
        yield f"corrobora.yaml, {pod['main']['name']}", pod["main"]["args"]
    for unit in sorted((DEPLOY / "systemd").iterdir()):
        (line,) = re.findall(r"^ExecStart=\S*/corrobora (.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
        yield unit.name, shlex.split(line)


@pytest.mark.parametrize(("place", "arguments"), list(list_command_lines()), ids=lambda value: str(value)[:40])
def test_the_command_parses(place: str, arguments: list[str]) -> None:
    command = cli.get_command(click.Context(cli), arguments[0])
    assert command is not None, place
    command.make_context(arguments[0], list(arguments[1:]))


def test_nothing_runs_as_root_and_nothing_is_published_to_other_machines() -> None:
    assert re.search(r"^USER 10001$", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    for pod in _containers():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["main"]["securityContext"]["allowPrivilegeEscalation"] is False
    (compose,) = _documents(DEPLOY / "compose.yaml")
    assert all(port.startswith("127.0.0.1:") for each in compose["services"].values() for port in each.get("ports", ()))


def test_what_the_image_is_built_from_is_there_and_not_ignored() -> None:
    docker = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    copied = [name for line in re.findall(r"^COPY (?!--from)(.*)$", docker, re.MULTILINE) for name in line.split()[:-1]]
    assert "src" in copied
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for name in copied:
        assert (ROOT / name).exists(), name
        assert name not in ignored


def test_the_health_checks_ask_under_a_name_that_is_allowed() -> None:
    lines = {place: arguments for place, arguments in list_command_lines() if arguments[0] == "serve"}
    docker = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    (address,) = re.findall(r"http://([\w.:]+)/healthz", docker)
    assert address in _allowed(lines["Dockerfile"])
    (page,) = [pod["main"] for pod in _containers() if pod["main"]["args"][0] == "serve"]
    for probe in ("livenessProbe", "readinessProbe"):
        (header,) = page[probe]["httpGet"]["httpHeaders"]
        assert header["name"] == "Host"
        assert header["value"] in _allowed(lines["corrobora.yaml, page"])


def _allowed(arguments: list[str]) -> list[str]:
    return [value for flag, value in itertools.pairwise(arguments) if flag == "--allow-host"]


def test_no_variable_that_deploy_files_and_guides_name_is_said_to_be_ignored() -> None:
    files = [each for folder in (DEPLOY, ROOT / "docs" / "guides") for each in folder.rglob("*") if each.is_file()]
    named = {name for each in files for name in re.findall(r"\bCORROBORA_[A-Z_]*[A-Z]\b", each.read_text("utf-8"))}
    assert {"CORROBORA_SERVER_TOKEN", "CORROBORA_DATABASE_URL"} <= named
    layer, _ = read_environment_layers(dict.fromkeys(named, "x"))
    assert layer.notes == ()


def test_systemd_accepts_its_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not on this machine")
    for unit in (DEPLOY / "systemd").iterdir():
        text = unit.read_text(encoding="utf-8").replace("/opt/corrobora/bin/corrobora", "/bin/true")
        (tmp_path / unit.name.replace("@", "@1")).write_text(text)
    units = [str(each) for each in sorted(tmp_path.iterdir())]
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_units_share_a_database_that_belongs_to_none_of_them() -> None:
    for unit in ("corrobora.service", "corrobora-worker@.service"):
        text = (DEPLOY / "systemd" / unit).read_text(encoding="utf-8")
        for order in ("After", "Wants"):
            (names,) = re.findall(rf"^{order}=(.*)$", text, re.MULTILINE)
            assert "corrobora-database.service" in names.split(), unit
    own = (DEPLOY / "systemd" / "corrobora-database.service").read_text(encoding="utf-8")
    assert re.search(r"^ExecStop=-\S*/corrobora db stop$", own, re.MULTILINE)
    assert re.search(r"^RemainAfterExit=yes$", own, re.MULTILINE), "else it ends as soon as the server runs"
