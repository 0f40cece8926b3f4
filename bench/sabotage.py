"""The sabotage of the methods: for each numbered requirement one line of the source is broken, and its tests must fail.

Run it as `nice python -m bench.sabotage [ID...]`, such as `TREE-19`. `sabotage.toml` names for each requirement what is
broken; its tests are those of `docs/methods/requirements.md` that go through the wire, a command, the API or a run.
`--table bench/sabotage_page.toml` breaks the main task of each screen instead.
The source is broken in a copy, in which all these tests must first pass unbroken. `--results FILE` keeps what was
noticed, so that a stopped run goes on; `--check` breaks nothing and says which rows of all tables are stale or missing.
Exits 1 if a fault was not noticed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.mutations import fault_is_noticed, find_failing

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".toml")
SCREENS = TABLE.with_name("sabotage_page.toml")
METHODS = ROOT / "docs" / "methods"
# tests that use the program as others do; tests of single parts may name a requirement, but do not accept it
ACCEPTANCE = (
    "wire/",
    "integration/",
    "profiles/",
    "workflows/",
    "journal/",
    "unit/faces/",
    "unit/app/",
    "unit/adapters/",
)
COPIED = ("src", "tests", "docs", "bench", ".github", "conftest.py", "pyproject.toml", "README.md", "Makefile")
MAX_SECONDS = 600.0  # a test that hangs has noticed nothing


@dataclass(frozen=True, slots=True)
class Fault:
    """One broken line: in `file`, below the package, `find` becomes `put`."""

    id: str
    file: str
    find: str
    put: str
    tests: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The file, from the root of the repository."""
        return Path(self.file) if self.file.startswith((".", "docs")) else Path("src/corrobora") / self.file


def read_requirements() -> list[str]:
    """Return the ids of all numbered requirements, in the order of the pages."""
    pages = ("tree", "angles", "timed", "rounds", "triplet")
    return [
        found for name in pages for found in re.findall(r"(?m)^### ([A-Z]+-\d+)$", (METHODS / f"{name}.md").read_text())
    ]


def read_tests() -> dict[str, tuple[str, ...]]:
    """Return the acceptance tests that the page of requirements names for each id."""
    rows = re.findall(
        r"(?m)^\| \[([A-Z]+-\d+)\][^|]*\|[^|]*\|[^|]*\| (.*) \|$", (METHODS / "requirements.md").read_text()
    )
    named = {found: re.findall(r"`([^`]+)`", tests) for found, tests in rows}
    return {
        found: tuple(f"tests/{test}" for test in tests if test.startswith(ACCEPTANCE)) for found, tests in named.items()
    }


def read_faults(table_file: Path) -> dict[str, Fault]:
    """Return the faults of a table by the requirement, or the task of a screen, that they break."""
    tests = read_tests()
    table = tomllib.loads(table_file.read_text(encoding="utf-8"))
    return {
        found: Fault(found, row["file"], row["find"], row["put"], tuple(row.get("tests", ())) or tests.get(found, ()))
        for found, row in table.items()
    }


def explain_unusable(fault: Fault) -> str:
    """Return why a fault cannot be made: "" if it can."""
    if not (ROOT / fault.path).is_file():
        return f"{fault.path} does not exist"
    times = (ROOT / fault.path).read_text(encoding="utf-8").count(fault.find)
    if times != 1:
        return f"what it breaks stands {times} times in {fault.path}"
    return "" if fault.tests else "no acceptance test is named"


def make_digest(fault: Fault, folder: Path) -> str:
    """Return what a stored result depends on: the fault, the broken file and the files of the tests."""
    files = [fault.path, *(Path(test.partition("::")[0]) for test in fault.tests)]
    parts = [str(fault), *((folder / each).read_text(encoding="utf-8") for each in files)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def copy_repository(folder: Path) -> None:
    """Copy what the tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        elif source.exists():
            shutil.copy2(source, folder / name)


def commit_fault(fault: Fault, folder: Path) -> bool:
    """Break the copy, run the tests of the requirement, mend the copy; say whether a test failed."""
    broken = folder / fault.path
    text = broken.read_text(encoding="utf-8")
    broken.write_text(text.replace(fault.find, fault.put), encoding="utf-8")
    try:
        return fault_is_noticed(fault.tests, folder=folder, env=name_paths(folder), seconds=MAX_SECONDS)
    finally:
        broken.write_text(text, encoding="utf-8")


def name_paths(folder: Path) -> dict[str, str]:
    """Return the environment in which tests import the copy."""
    return {"PYTHONPATH": f"{folder / 'src'}:{folder}", "PYTHONDONTWRITEBYTECODE": "1"}


def read_results(path: Path) -> dict[str, Mapping[str, object]]:
    """Return the stored results by id; the last one of an id counts."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {row["id"]: row for row in map(json.loads, lines)}


def report_table(faults: Mapping[str, Fault], every: Sequence[str]) -> int:
    """Print what of `every` has no fault or test, and which faults are stale; return how many faults are usable."""
    for found in every:
        if found not in faults:
            print(f"NO FAULT {found}")
    stale = {found: why for found, fault in faults.items() if (why := explain_unusable(fault))}
    for found, why in stale.items():
        print(f"STALE    {found}: {why}")
    print(f"{len(every)} requirements or tasks, {len(faults)} with a fault, {len(faults) - len(stale)} usable")
    return len(faults) - len(stale)


def sabotage(faults: Sequence[Fault], results: Path) -> tuple[int, list[str]]:
    """Make the faults one after another; return how many were noticed, and the ids of those that were not."""
    known, missed, noticed = read_results(results), list[str](), 0
    with tempfile.TemporaryDirectory(prefix="corrobora-sabotage-") as name, results.open("a", encoding="utf-8") as out:
        folder = Path(name)
        copy_repository(folder)
        digests = {fault.id: make_digest(fault, folder) for fault in faults}
        stored = {found: bool(row["noticed"]) for found, row in known.items() if row["digest"] == digests.get(found)}
        tests = {test for fault in faults if fault.id not in stored for test in fault.tests}
        if failing := find_failing(sorted(tests), folder=folder, env=name_paths(folder), workers=2) if tests else ():
            print(f"These fail while nothing is broken: {', '.join(failing)}")
            return 0, [fault.id for fault in faults]
        for fault in faults:
            digest = digests[fault.id]
            try:
                seen = stored[fault.id] if fault.id in stored else commit_fault(fault, folder)
            except RuntimeError as error:
                print(f"BROKEN {fault.id}: {error}")
                missed.append(fault.id)
                continue
            print(json.dumps({"id": fault.id, "digest": digest, "noticed": seen}), file=out, flush=True)
            print(f"{'ok    ' if seen else 'MISSED'} {fault.id:<12} {fault.path}", flush=True)
            noticed += seen
            missed += [] if seen else [fault.id]
    return noticed, missed


def check_table(table: Path) -> bool:
    """Print what is stale or missing in a table; true if every fault in it can be made."""
    faults = read_faults(table)
    return report_table(faults, read_requirements() if table == TABLE else list(faults)) == len(faults)


def main(arguments: Sequence[str]) -> int:
    """Check the table, then make all faults or the named ones."""
    parser = argparse.ArgumentParser(prog="python -m bench.sabotage", description="Break each requirement once.")
    parser.add_argument("ids", nargs="*", metavar="ID", help="requirements; none: all")
    parser.add_argument(
        "--table", type=Path, default=TABLE, help="the table of faults; sabotage_page.toml: the screens"
    )
    parser.add_argument("--check", action="store_true", help="only say which faults of all tables are stale or missing")
    parser.add_argument("--results", type=Path, default=Path("sabotage.jsonl"), help="what was noticed so far")
    options = parser.parse_args(arguments)
    if options.check:
        return 0 if all(check_table(each) for each in {options.table, TABLE, SCREENS}) else 1
    faults = read_faults(options.table)
    report_table(faults, read_requirements() if options.table == TABLE else list(faults))
    chosen = [
        each for each in faults.values() if not explain_unusable(each) and (not options.ids or each.id in options.ids)
    ]
    noticed, missed = sabotage(chosen, options.results)
    print(f"{noticed} of {len(chosen)} noticed{': not ' + ', '.join(missed) if missed else ''}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
