"""The workflow `report.yml`, executed: the scripts of its jobs in order, each on a clean folder, artifacts between."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from corrobora.storage.postgres.embedded import stop_server

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "report.yml").read_text("utf-8"))
ORDER = ("init", "generation", "verification", "delivery")
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
QUESTION = "How long is the bridge at Arnholm, and when did the ferry of Arnholm make its last crossing?"
DOCUMENTS = {
    "bridge.md": "# The bridge at Arnholm\n\nThe bridge at Arnholm was opened in 1931. The bridge at Arnholm is "
    "412 metres long and was built of riveted steel by the Varde company.\n",
    "ferry.md": "# The ferry of Arnholm\n\nThe ferry of Arnholm made its last crossing in 1931, after ninety years.\n",
}


class Names(dict[str, Any]):
    """A context of expressions: what is not there is empty, as at GitHub."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name, "")


@dataclass
class Hub:
    """Runs of the workflow here. `artifacts` holds what each run uploaded, `after` what was there after each job."""

    base: Path
    artifacts: dict[tuple[str, str], Path] = field(default_factory=dict)
    after: dict[str, dict[tuple[str, str], Path]] = field(default_factory=dict)
    runs: int = 0
    last: str = ""
    variables: Names = field(default_factory=Names)  # of the repository
    event: str = "workflow_dispatch"

    def run(self, until: str = ORDER[-1], **inputs: str) -> dict[str, str]:
        """Run the jobs whose condition holds, those after `until` left out; return the result of each."""
        self.runs += 1
        number = str(self.runs)
        given = (
            WORKFLOW[True]["workflow_call"]["inputs"].items() if self.event != "schedule" else ()
        )  # else none at all
        whole = Names({name: row.get("default", "") for name, row in given})
        whole.update(inputs)
        results = Names({name: Names(result="skipped") for name in ORDER})
        names = ORDER[: ORDER.index(until) + 1]
        for name in names:
            job = WORKFLOW["jobs"][name]
            place = self.base / number / name
            context = {"inputs": whole, "needs": results, "secrets": Names(), "job": Names(), "env": Names()}
            context |= {"vars": self.variables}
            context["github"] = Names(run_id=number, workspace=str(place), token="none", event_name=self.event)
            if evaluated(job["if"], context):
                results[name] = Names(result=self._job(job, place, context))
            self.after[name] = dict(self.artifacts)
        return {name: results[name].result for name in names}

    def _job(self, job: Mapping[str, Any], place: Path, context: dict[str, Any]) -> str:
        place.mkdir(parents=True)
        for file, text in DOCUMENTS.items():  # what a checkout brings
            (place / "notes").mkdir(exist_ok=True)
            (place / "notes" / file).write_text(text, "utf-8")
        good = True
        for step in job["steps"]:
            always = "always()" in str(step.get("if", ""))
            if (good or always) and step.get("name") != "install":  # the package under test is installed already
                env = {**WORKFLOW["env"], **job.get("env", {}), **step.get("env", {})}
                done = self._step(step, place, {k: filled(v, context) for k, v in env.items()}, context)
                good = good and done
        return "success" if good else "failure"

    def _step(self, step: Mapping[str, Any], place: Path, env: dict[str, str], context: dict[str, Any]) -> bool:
        if "run" in step:
            return self._script(step["run"], place, env)
        given = {name: filled(value, context) for name, value in step.get("with", {}).items()}
        match step["uses"].partition("@")[0]:
            case "actions/upload-artifact":
                if (place / given["path"]).exists():
                    self.artifacts[context["github"].run_id, given["name"]] = place / given["path"]
                return True
            case "actions/download-artifact":
                source = self.artifacts.get((given["run-id"], given["name"]))
                if source is not None:
                    shutil.copy(source, place / source.name)
                return source is not None
            case "actions/checkout" | "actions/setup-python":
                return True
            case other:
                raise AssertionError(other)

    def _script(self, text: str, place: Path, env: dict[str, str]) -> bool:
        scratch = place / "tmp"
        scratch.mkdir(exist_ok=True)
        base = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(place),
            "GITHUB_WORKSPACE": str(place),
            "RUNNER_TEMP": str(scratch),
            "LANG": "C.UTF-8",
        }
        done = subprocess.run(
            ["bash", "-c", text], cwd=place, env=base | env, capture_output=True, text=True, timeout=1_800, check=False
        )
        self.last += done.stdout + done.stderr
        return done.returncode == 0

    def file(self, run: str, name: str) -> str:
        """Text of a file that a run uploaded below `report-files`."""
        found = list(self.artifacts[run, "report-files"].rglob("*.*"))
        assert [p for p in found if p.name == name], (found, self.last)
        return next(p for p in found if p.name == name).read_text("utf-8")


def evaluated(text: str, context: Mapping[str, Any]) -> Any:
    """Evaluate one expression: the few operators that the workflow uses."""
    inner = EXPRESSION.sub(lambda m: m.group(1), str(text)).strip()
    inner = re.sub(r"!(?!=)", " not ", inner).replace("&&", " and ").replace("||", " or ")
    return eval(inner, {"cancelled": lambda: False, "always": lambda: True}, dict(context))


def filled(value: object, context: Mapping[str, Any]) -> str:
    return EXPRESSION.sub(lambda m: str(evaluated(m.group(1), context)), str(value))


@pytest.fixture(scope="module")
def base(scratch: Path) -> Iterator[Path]:
    """A short folder for hubs; every server that a job left is stopped with it."""
    base = Path(tempfile.mkdtemp(prefix="hub-", dir=scratch))
    base.chmod(0o755)  # where a job runs as root, the database belongs to an account that must reach it
    yield base
    for home in base.glob("*/*/*/.corrobora/database"):
        stop_server(home)
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="module")
def whole(base: Path) -> tuple[Hub, dict[str, str]]:
    """A hub on which the workflow was run once, and the results of its jobs."""
    hub = Hub(base / "whole")
    return hub, hub.run(question=QUESTION, library="notes")


def test_angles_1_the_four_jobs_run_in_order_on_clean_folders(whole: tuple[Hub, dict[str, str]]) -> None:
    hub, results = whole
    assert results == dict.fromkeys(ORDER, "success"), hub.last
    report = (hub.artifacts["1", "report"] / "report.md").read_text("utf-8")
    assert "412 metres" in report
    assert json.loads(hub.file("1", "verification.json"))["passed"] is True
    assert json.loads(hub.file("1", "lead_agent_plan.json"))["tier"]
    assert json.loads(hub.file("1", "cost_estimate.json"))["subagents"]
    folder = hub.artifacts["1", "report-files"]
    assert list(folder.glob("*/subagents/*.json")), "the sub-agents' results are kept where ANGLES-21 says"


def test_angles_1_a_later_run_resumes_from_any_stage_of_an_earlier_one(
    whole: tuple[Hub, dict[str, str]], base: Path
) -> None:
    """The first run got no further than generation; others go on from its artifact, without a plan or a search anew."""
    first, _ = whole
    hub = Hub(base / "later", artifacts=dict(first.after["generation"]), runs=1)
    assert set(hub.artifacts) == {("1", "report-home"), ("1", "report-files")}
    for number, stage in enumerate(("verification", "delivery", "generation"), 2):
        results = hub.run(until=stage, from_stage=stage, run_id=str(number - 1))
        at = ORDER.index(stage)
        assert results == dict(zip(ORDER[: at + 1], ["skipped"] * at + ["success"], strict=True)), hub.last
        assert (str(number), "report-home") in hub.artifacts
    assert json.loads(hub.file("2", "verification.json"))["passed"] is True
    assert "412 metres" in (hub.artifacts["3", "report"] / "report.md").read_text("utf-8")
    assert hub.file("4", "lead_agent_plan.json") == hub.file("3", "lead_agent_plan.json")


def test_angles_1_a_stage_that_cannot_run_fails_its_job_and_the_ones_after_it_wait(base: Path) -> None:
    hub = Hub(base / "failing")
    results = hub.run(question=QUESTION, library="nowhere/at/all")
    assert results == {"init": "failure", **dict.fromkeys(ORDER[1:], "skipped")}
    assert hub.run(from_stage="delivery", run_id="77")["delivery"] == "failure"


def test_angles_1_stage_names_triggers_and_resume() -> None:
    assert tuple(WORKFLOW["jobs"]) == ORDER
    assert set(WORKFLOW[True]) == {"schedule", "workflow_dispatch", "workflow_call"}
    dispatched, called = (WORKFLOW[True][name]["inputs"] for name in ("workflow_dispatch", "workflow_call"))
    assert dispatched == called
    assert {"from_stage", "run_id"} <= set(called)
    assert WORKFLOW["permissions"] == {"contents": "read", "actions": "read"}


def test_no_expression_stands_inside_a_script() -> None:
    """What a caller writes reaches scripts through the environment only, or it could be code."""
    scripts = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]
    assert scripts
    assert not [text for text in scripts if "${{" in text]


def test_angles_a_workflow_with_a_schedule_starts_it_without_a_person() -> None:
    """The one that the guide shows: its trigger, and the inputs that it passes to this workflow."""
    guide = (ROOT / "docs" / "guides" / "schedules.md").read_text("utf-8")
    shown: dict[Any, Any] = yaml.safe_load(guide.split("```yaml\n", 1)[1].split("```", 1)[0])
    call = WORKFLOW[True]["workflow_call"]
    (job,) = shown["jobs"].values()
    assert re.fullmatch(r"[\d*]+( [\d*]+){4}", shown[True]["schedule"][0]["cron"])
    assert job["uses"].endswith("/.github/workflows/report.yml@main")
    assert set(job["with"]) <= set(call["inputs"])
    assert not any(each.get("required") for each in (*call["inputs"].values(), *call["secrets"].values()))


def test_angles_40_the_workflow_itself_runs_by_its_schedule_with_the_variables_of_the_repository(base: Path) -> None:
    (row,) = WORKFLOW[True]["schedule"]
    assert re.fullmatch(r"[\d*]+( [\d*]+){4}", row["cron"])
    hub = Hub(base / "scheduled", event="schedule")
    assert hub.run() == dict.fromkeys(ORDER, "skipped"), "without a question it does nothing"
    hub.variables.update(REPORT_QUESTION=QUESTION, REPORT_LIBRARY="notes")
    assert hub.run(until="init") == {"init": "success"}, hub.last
    (plan,) = (hub.base / "2" / "init" / ".corrobora" / "runs").glob("*/plan.json")
    assert "How long is the bridge at Arnholm" in plan.read_text("utf-8")
    context = {"inputs": Names(), "needs": Names({name: Names(result="success") for name in ORDER})}
    assert all(evaluated(WORKFLOW["jobs"][name]["if"], context) for name in ORDER[1:])


def test_angles_40_from_another_repository_it_installs_what_it_is_told(base: Path) -> None:
    """The step `install` of each job, in a folder that is not this repository: nothing is guessed."""
    place, target = base / "foreign", base / "installed"
    place.mkdir()
    wheel = place / "elsewhere-1.0-py3-none-any.whl"
    info = "elsewhere-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("elsewhere.py", "HERE = True\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")
    steps = [step for job in WORKFLOW["jobs"].values() for step in job["steps"] if step.get("name") == "install"]
    assert len(steps) == len(ORDER)
    assert len({step["run"] for step in steps}) == 1
    hub = Hub(base / "installing")
    env = {"PIP_TARGET": str(target), "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for given, good in (("", False), (str(wheel), True)):
        context = {"inputs": Names(package=given), "vars": Names()}
        filled_in = {name: filled(value, context) for name, value in steps[0]["env"].items()}
        assert hub._script(steps[0]["run"], place, env | filled_in) is good, hub.last
    assert "REPORT_PACKAGE" in hub.last
    assert (target / "elsewhere.py").exists()
