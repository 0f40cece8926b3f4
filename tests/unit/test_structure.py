"""The habits of the tree, checked: what lies where, how long it is, what it may not say.

Knows the files that git knows. A rule with exceptions lists each of them with its reason.
"""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import tomllib
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
from bench.structure import LOOP, is_participle, is_property, parse_file, reach_modules, read_modules, walk_functions
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "corrobora"
UNIT = ROOT / "tests" / "unit"

MAX_LINES = 400
MAX_LOOP_MODULES = 45  # what one reads, at most, to follow the loop of a thread
MAX_FUNCTION_LINES = 50  # 40 is the habit; a table of cases may be longer

# Source modules without a test file of the same name, and the file below tests/ that tests them, with the reason.
TESTED_ELSEWHERE: dict[str, str] = {
    "__init__.py": "unit/faces/test_python.py",  # the public names
    "faces/web/api/runs.py": "web/test_api_runs.py",
    "faces/web/api/evidence.py": "web/test_api_evidence.py",  # over HTTP, as all parts of the server
    "faces/web/api/__init__.py": "web/test_server.py",
    "faces/web/api/models.py": "web/test_openapi.py",
    "faces/web/context.py": "web/test_server.py",
    "faces/web/pages/libraries.py": "browser/test_page.py",
    "faces/web/pages/settings.py": "browser/test_page.py",
    "faces/web/stored_runs.py": "web/test_api_evidence.py",
    "faces/web/libraries.py": "web/test_api_libraries.py",
    "faces/web/pages/__init__.py": "browser/test_every_screen.py",  # the working screens, in Chromium
    "faces/web/pages/start.py": "browser/test_page.py",
    "faces/web/pages/live.py": "browser/test_page.py",
    "faces/web/pages/plan.py": "browser/test_page.py",
    "faces/web/reader/__init__.py": "browser/test_reading.py",  # the reading screens, in Chromium
    "faces/web/reader/views.py": "browser/test_reading.py",
    "faces/web/service.py": "web/test_server.py",
}

# The places that may catch everything. Anything else hides bugs as "no evidence".
MAY_CATCH_EVERYTHING = {
    "engine/investigate.py": "the leaf boundary: a bug in one leaf is recorded and its siblings go on (ANGLES-24)",
    "storage/index/vectors.py": "an embedder may raise anything; it costs the vectors, not the run",
    "adapters/web/network.py": "what a thread raises is handed to whoever waits for it",
    "app/telemetry.py": "what a telemetry library raises costs a line in the log, not the run",
    "registry.py": "a package from outside may raise anything while it is imported; the error names the package",
}

# Tests that may be skipped, because the machine can not do what they are about.
MAY_BE_SKIPPED = {
    "tests/browser/conftest.py": "tests in a browser need Chromium",
    "tests/docs/test_deploy.py": "systemd checks its own units",
    "tests/unit/storage/postgres/test_embedded.py": "only root can become somebody else",
    "tests/unit/adapters/test_qdrant.py": "the client of Qdrant is an extra",
    "tests/unit/faces/cli/test_vectors.py": "the ONNX runtime is an extra",
    "tests/unit/storage/postgres/test_cluster.py": "only root owns what root has copied",
}

# Tests that replace a value of the program, with what they replace.
MAY_PATCH = {
    "tests/unit/faces/cli/test_vectors.py": "the time an embedder has for a question",
    "tests/unit/storage/index/test_vectors.py": "the same, and the size of a batch",
    "tests/unit/storage/postgres/test_cluster.py": "the shared folder of the machine and what an account may enter",
    "tests/unit/storage/postgres/test_embedded.py": "where the programs of the other account lie",
    "tests/unit/storage/postgres/test_processes.py": "a folder that refuses to be looked at",
}

BINARY = {".gz", ".pdf", ".docx", ".png", ".ico", ".bin", ".npy", ".onnx", ".zip"}


@cache
def tracked() -> tuple[Path, ...]:
    """Return every file of the project: those git tracks or would, and that exist now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        found = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    else:  # an unpacked archive without its history
        made_here = {
            ".venv",
            "site",
            "dist",
            "build",
            "__pycache__",
            ".pytest_cache",
            ".ruff_cache",
            ".hypothesis",
            ".git",
        }
        found = [path for path in ROOT.rglob("*") if not made_here & set(path.relative_to(ROOT).parts)]
    return tuple(sorted(path for path in found if path.is_file()))


def python_files(*folders: str) -> list[Path]:
    """Return the Python files below some folders of the project."""
    roots = [ROOT / folder for folder in folders]
    return [path for path in tracked() if path.suffix == ".py" and any(path.is_relative_to(root) for root in roots)]


def text_files() -> list[Path]:
    return [path for path in tracked() if path.suffix not in BINARY and "recorded" not in path.parts]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def has_something_to_run(path: Path) -> bool:
    """Tell whether a module has a function with a body: values and protocols alone have nothing to test."""
    for node in ast.walk(parse_file(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not all(
            isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) for line in node.body
        ):
            return True
    return False


@cache
def imported_by_tests() -> frozenset[str]:
    """Return the dotted names that tests import, as written."""
    names: set[str] = set()
    for path in python_files("tests"):
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def test_every_source_module_that_does_something_is_tested() -> None:
    """By a unit test file of its name in the folder of its package, or by any test that imports it."""
    missing = []
    for path in python_files("src/corrobora"):
        inside = path.relative_to(SRC)
        if not has_something_to_run(path) or str(inside) in TESTED_ELSEWHERE:
            continue
        home = inside.parent.parent if path.name == "__init__.py" else inside.parent
        stem = inside.parent.name if path.name == "__init__.py" else inside.stem.strip("_")
        dotted = ".".join(("corrobora", *inside.with_suffix("").parts)).removesuffix(".__init__")
        if not (UNIT / home / f"test_{stem}.py").exists() and dotted not in imported_by_tests():
            missing.append(f"{inside}: expected {named(UNIT / home / f'test_{stem}.py')}")
    assert not missing, "\n".join(missing)


def test_every_unit_test_lies_in_the_folder_of_a_package() -> None:
    folders = {path.relative_to(UNIT).parent for path in python_files("tests/unit")}
    assert [
        str(folder) for folder in sorted(folders) if not (SRC / folder).is_dir() and folder.parts != ("plugins",)
    ] == []


def test_the_loop_of_a_thread_reaches_few_modules() -> None:
    reached = reach_modules(LOOP, read_modules())
    assert len(reached) <= MAX_LOOP_MODULES, "\n".join(sorted(reached))


# A bare participle does not say what happens to what: `merge_findings`, not `merged`. Each exception has its reason.
MAY_BE_PARTICIPLES = {
    "converged": "a stop rule; stored profiles and journals name it",
}


def test_no_function_is_named_by_a_bare_participle() -> None:
    found = {
        f"{named(path)}:{function.lineno} {function.name}"
        for path in python_files("src")
        for function in walk_functions(parse_file(path))
        if is_participle(function.name) and not is_property(function) and function.name not in MAY_BE_PARTICIPLES
    }
    assert not found, "\n".join(sorted(found))
    assert len(MAY_BE_PARTICIPLES) <= 10


def test_exceptions_from_the_mirror_still_exist() -> None:
    assert [name for name in TESTED_ELSEWHERE if not (SRC / name).exists()] == []
    assert [test for test in TESTED_ELSEWHERE.values() if not (ROOT / "tests" / test).exists()] == []
    assert [name for name in MAY_PATCH if not (ROOT / name).exists()] == []
    assert [name for name in MAY_BE_SKIPPED if not (ROOT / name).exists()] == []
    assert [name for name in MAY_CATCH_EVERYTHING if not (SRC / name).exists()] == []


def test_no_file_is_longer_than_its_limit() -> None:
    long = {
        named(path): lines
        for path in python_files("src", "tests", "bench", "docs")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert not long


def test_no_function_is_longer_than_its_limit() -> None:
    long = {}
    for path in python_files("src"):
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    long[f"{named(path)}:{node.name}"] = lines
    assert not long


def test_every_module_says_what_it_is() -> None:
    silent = [
        named(path)
        for path in python_files("src", "tests", "bench", "docs")
        if path.read_text(encoding="utf-8").strip() and not ast.get_docstring(parse_file(path))
    ]
    assert not silent


def test_every_error_that_a_docstring_names_exists() -> None:
    """A section `Raises:` is a promise: each name in it is a class of the package or of Python."""
    trees = {path: parse_file(path) for path in python_files("src")}
    known = {node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    unknown = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            section = (ast.get_docstring(node) or "").partition("Raises:\n")[2].partition("\n\n")[0]
            for names in re.findall(r"(?m)^    ([A-Z][\w.]*(?:, [A-Z][\w.]*)*):", section):
                unknown += [
                    f"{named(path)}:{node.lineno} {name}"
                    for name in names.split(", ")
                    if name not in known and not hasattr(builtins, name)
                ]
    assert not unknown, "\n".join(unknown)


def test_no_module_is_a_drawer() -> None:
    drawers = re.compile(r"^(utils?|helpers?|common|misc|base_.*|shared|core)$")
    assert [named(path) for path in python_files("src", "tests", "bench") if drawers.match(path.stem)] == []


def test_everything_is_caught_only_where_the_list_says_so() -> None:
    broad = []
    for path in python_files("src"):
        for node in ast.walk(parse_file(path)):
            if not isinstance(node, ast.ExceptHandler):
                continue
            names = (
                {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)} if node.type else {"Exception"}
            )
            reraises = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
            if names & {"Exception", "BaseException"} and not reraises:
                broad.append((str(path.relative_to(SRC)), f"{named(path)}:{node.lineno}"))
    assert [where for file, where in broad if file not in MAY_CATCH_EVERYTHING] == []


def test_values_and_policies_never_ask_what_time_it_is() -> None:
    asks = re.compile(r"\b(?:datetime\.now|datetime\.utcnow|datetime\.today|date\.today)\b")
    asking = [
        named(path)
        for path in python_files("src/corrobora/domain", "src/corrobora/policies", "src/corrobora/text")
        if asks.search(path.read_text(encoding="utf-8"))
    ]
    assert not asking


# Built by concatenation, so that this file does not contain what it looks for.
BANNED = {
    "to-do mark": re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "HA" + "CK", "XX" + "X")) + r")\b"),
    "stub": re.compile("raise NotImplemented" + "Error"),
    "registry host": re.compile(
        "|".join(("pypi" + r"\.org", "python" + "hosted", "npm" + r"js\.(?:org|com)", "/opt/" + "pypi"))
    ),
    "path of one machine": re.compile(
        "|".join((r"(?<![\w/.])/wo" + r"rk/", r"(?<![\w/.])/ro" + r"ot/", r"/ho" + r"me/\w+/", r"/Us" + r"ers/\w+/"))
    ),
    "secret": re.compile(
        r"sk-(?:ant-|proj-)?[A-Za-z0-9]{24,}|tvly-[A-Za-z0-9]{24,}|gh[pousr]_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16}"
    ),
    "private key": re.compile("-----BEGIN [A-Z ]*PRIV" + "ATE KEY-----"),
}
BANNED_IN_TESTS = {
    "skipped test": re.compile(r"pytest\.(?:mark\.)?" + "skip" + r"(?:if)?\b|importor" + "skip"),
    "mock": re.compile(
        r"unittest\." + r"mock|from un" + r"ittest import mock|\bMagic" + r"Mock\b|monkey" + r"patch\.setattr"
    ),
}


@pytest.mark.parametrize("what", BANNED)
def test_no_file_contains(what: str) -> None:
    found = [
        f"{named(path)}:{number}"
        for path in text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if BANNED[what].search(line)
    ]
    assert not found


@pytest.mark.parametrize("what", BANNED_IN_TESTS)
def test_no_test_contains(what: str) -> None:
    allowed = MAY_BE_SKIPPED if what == "skipped test" else MAY_PATCH
    found = [
        named(path) for path in python_files("tests") if BANNED_IN_TESTS[what].search(path.read_text(encoding="utf-8"))
    ]
    assert [name for name in found if name not in allowed] == []


PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def pins(name: str) -> dict[str, set[Version]]:
    """Return the versions a lock file pins, by canonical name; markers may pin several."""
    found: dict[str, set[Version]] = {}
    for package, version in PIN.findall((ROOT / name).read_text(encoding="utf-8")):
        found.setdefault(canonicalize_name(package), set()).add(Version(version))
    return found


def declared() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [Requirement(line) for line in chain(project["dependencies"], *extras.values())]


def test_the_locks_pin_what_the_project_declares() -> None:
    runtime, serve, dev = (
        pins(name) for name in ("requirements.txt", "requirements-serve.txt", "requirements-dev.txt")
    )
    for requirement in declared():
        versions = dev.get(canonicalize_name(requirement.name))
        assert versions, f"{requirement.name} is declared, but not locked; run: make lock"
        assert all(version in requirement.specifier for version in versions), f"{requirement}: locked at {versions}"
    assert {name: serve.get(name) for name in runtime} == runtime, "the locks disagree; run: make lock"
    assert {name: dev.get(name) for name in serve} == serve, "the locks disagree; run: make lock"


def test_the_locks_name_no_place_to_download_from() -> None:
    for name in ("requirements.txt", "requirements-serve.txt", "requirements-dev.txt", "requirements-build.txt"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in text
        assert not re.search(r"^\s*--(?:index-url|extra-index-url|find-links|trusted-host)", text, re.MULTILINE)
        blocks = re.split(r"\n(?=\S)", text.strip())
        assert [block.split(" ")[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_this_environment_is_the_locked_one() -> None:
    locked = pins("requirements-dev.txt")
    other = {
        name: f"{found.version}, locked {sorted(map(str, locked[name]))}"
        for found in metadata.distributions()
        if (name := canonicalize_name(found.metadata["Name"])) in locked and Version(found.version) not in locked[name]
    }
    assert not other, "run: make test"


def test_no_package_comes_by_an_extra_alone_whose_name_older_pips_do_not_find() -> None:
    """pip before 23.3 looks for an extra as it is spelled: `lxml[html_clean]` finds no `html-clean`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = {canonicalize_name(each.name) for each in map(Requirement, project["dependencies"])}
    todo, seen, lost = [*own], set[str](), set[str]()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for each in map(Requirement, metadata.requires(name) or ()):
            if each.marker is not None and not each.marker.evaluate({"extra": ""}):
                continue
            todo.append(canonicalize_name(each.name))
            declared = metadata.metadata(each.name).get_all("Provides-Extra") or []
            for extra in each.extras - set(declared):
                behind = map(Requirement, metadata.requires(each.name) or ())
                found = [it for it in behind if it.marker and it.marker.evaluate({"extra": canonicalize_name(extra)})]
                lost |= {canonicalize_name(it.name) for it in found} - own
    assert not lost, f"name in pyproject.toml, too: {lost}"
