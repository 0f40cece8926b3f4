"""Without a model: what a heading, a path or a column says, and sources that disagree."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.plugins.reading import ingest_here, load_settings_of

from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.runs import submit_run
from corrobora.domain.report import Outcome, Report
from corrobora.domain.run import Request
from corrobora.engine.session.journal import decode
from corrobora.storage.index import PostgresLibrary
from corrobora.text import phrases

NEWS = """Changelog
=========

**2.4.0** (2021-03-09)

- Grain is weighed before it is ground
- Dropped the wooden hopper

**2.3.1**

- Dropped the copper hopper
- Fixed a squeaking gear

**2.2.0**

- The gear is oiled by itself
"""
LOG = """Changes of the sieve

Release 1.9 (4 May 2020)
---
The mesh is made of brass.

Release 1.8 (7 April 2019)
---
The frame is made of oak.

Release 1.7 (2 March 2018)
---
A shaker was added; it can be switched off.
"""
SIEVE = "# Sieve\n\nThe sieve stands below the hopper. The copper hopper is dropped onto the frame of the sieve.\n"
OPTIONS = """Options of the winnow

      -f, --fan               turns on the fan
      -s, --second-sieve      passes all grain through a second sieve
      -q, --quiet             prints no count of the sacks
"""
COLUMNS = """
Changes with flail 3.9.6                                      19 Oct 2022

    *) Bugfix: the handle was unevenly worn among threshers.


Changes with flail 3.9.5                                      28 Dec 2021

    *) Change: now the thong is made of eel skin.

    *) Feature: the swivel ring.


Changes with flail 3.9.4                                      02 Nov 2021

    *) Change: the number of grains in a sheaf was changed to 1000.

    *) Feature: the ash handle.
"""
TERMS = """The terms of the weir

     2.1. Any board which you add must be kept where everybody may look at it, and if it lies at the
     weir it must remain there for at least six
     (6) months after it was added.
"""
RULES = {
    "Rules-of-the-weir-1.1": "The miller of Ashford keeps the sluice of the weir.\n",
    "Rules-of-the-weir-2.0": "The fisher of Brook keeps the sluice of the weir.\n",
}
FOUNDING = "# Founding\n\nThe Mill House was started by Greta Lund on February 1st, 2000.\n"
KILNS = {
    "kiln-north.md": "# Kiln in the north\n\nThe malt kiln is fired at 70 degrees.\n",
    "kiln-south.md": "# Kiln in the south\n\nThe malt kiln is fired at 95 degrees.\n",
}
FILES = (
    {
        "mill-news.rst": NEWS,
        "log.txt": LOG,
        "sieve.md": SIEVE,
        "winnow.txt": OPTIONS,
        "flail.txt": COLUMNS,
        "founding.md": FOUNDING,
        "weir": TERMS,
    }
    | KILNS
    | RULES
    | {
        f"part-{n}.md": f"# Part {n}\n\nPart {n} of the mill house has {n + 3} windows and a door to the yard.\n"
        for n in range(12)
    }
)
DROPPED = "Which release of the mill dropped the copper hopper?"
FIRED = "At how many degrees is the malt kiln fired?"
OPTION = "Which option of the winnow passes the grain through a second sieve?"
NEW = "What is new in 3.9.5?"
KEPT = "How long must a board that lies at the weir remain there?"
KEEPERS = "Who keeps the sluice, in 1.1 and in 2.0?"
CHANGED = "When was the number of grains in a sheaf changed?"
BEGAN = "Who began the Mill House and when?"
PAINTED = "Can I paint the windows of the mill house yellow?"
DATED = "When was Release 1.8 of the sieve made?"


async def research(home: Path, url: str) -> dict[str, Report]:
    """Store the files as a library and ask the questions."""
    documents = home / "documents"
    documents.mkdir()
    for name, text in FILES.items():
        (documents / name).write_text(text, encoding="utf-8")
    found: dict[str, Report] = {}
    async with Workspace.open(load_settings_of(home / "home", url)) as workspace:
        await ingest_here(workspace.database, "mill", documents)
        for question in (DROPPED, DATED, FIRED, OPTION, NEW, KEPT, PAINTED, KEEPERS, BEGAN, CHANGED):
            request = Request(question, "timed", libraries=("mill",), authorized="policy")
            run = await submit_run(workspace, request, deferred=False)
            epoch = await workspace.runs.claim(run, "test")
            assert epoch is not None
            await execute_run(workspace, run, epoch)
            stored = await workspace.runs.read_artifact(run, "report.json")
            assert stored is not None
            found[question] = decode(Report, stored.content.decode(), key=run)
    return found


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> dict[str, Report]:
    return asyncio.run(research(tmp_path_factory.mktemp("releases"), module_database_url))


def opening(report: Report) -> str:
    return report.markdown.split("*Status:", 1)[1].split("\n\n", 1)[1].split("\n## ", 1)[0]


def test_a_release_that_only_a_heading_names_stands_above_what_it_brought(reports: dict[str, Report]) -> None:
    said = opening(reports[DROPPED])
    assert said.startswith(f"{phrases.STATED_IN} 2.3.1:")
    assert "Dropped the copper hopper" in said.split(f"{phrases.STATED_IN} 2.4.0")[0]


def test_the_date_of_a_release_is_told_by_its_heading(reports: dict[str, Report]) -> None:
    said = opening(reports[DATED])
    assert said.startswith(f"{phrases.STATED_IN} Release 1.8 (7 April 2019):")
    assert "oak" in said


def test_a_number_that_may_be_a_year_does_not_hide_the_date_above_it(reports: dict[str, Report]) -> None:
    assert opening(reports[CHANGED]).startswith(f"{phrases.STATED_IN} Changes with flail 3.9.4 02 Nov 2021:")


def test_each_statement_of_a_change_log_names_the_release_it_stands_below(reports: dict[str, Report]) -> None:
    cited = {fact.quote: fact.heading for report in reports.values() for fact in report.findings.facts}
    assert any("1.8" in heading for quote, heading in cited.items() if "oak" in quote)
    assert not any("1.8" in heading for quote, heading in cited.items() if "brass" in quote or "shaker" in quote)


def test_a_question_on_which_the_sources_disagree_is_not_told_as_answered(reports: dict[str, Report]) -> None:
    report = reports[FIRED]
    assert "70 degrees" in opening(report)
    assert "95 degrees" in report.markdown
    assert any(not each.resolved for each in report.findings.contradictions)
    assert report.outcome is Outcome.PARTIAL
    assert phrases.DISPUTED in report.markdown


def test_an_option_stands_alone_with_its_meaning(reports: dict[str, Report]) -> None:
    assert opening(reports[OPTION]).startswith("-s, --second-sieve passes all grain through a second sieve. [1]")


def test_a_release_whose_heading_has_columns_is_told_by_what_stands_below_it(reports: dict[str, Report]) -> None:
    said = opening(reports[NEW])
    assert "Change: now the thong is made of eel skin." in said
    assert "Feature: the swivel ring." in said
    assert "handle" not in said


def test_a_number_at_the_start_of_a_wrapped_line_is_no_item_of_a_list(reports: dict[str, Report]) -> None:
    assert "at least six (6) months after it was added." in " ".join(opening(reports[KEPT]).split())


def test_a_question_of_which_the_library_holds_a_part_of_the_words_is_at_most_perhaps_answered(
    reports: dict[str, Report],
) -> None:
    assert "windows" in opening(reports[PAINTED])
    assert (reports[PAINTED].outcome, "perhaps" in reports[PAINTED].reason) == (Outcome.PARTIAL, True)


def test_a_name_and_the_kind_of_answer_that_is_asked_for_are_perhaps_an_answer(reports: dict[str, Report]) -> None:
    assert (reports[BEGAN].outcome, "perhaps" in reports[BEGAN].reason) == (Outcome.PARTIAL, True)
    assert "Greta Lund on February 1st, 2000" in opening(reports[BEGAN])


def test_two_releases_that_a_question_names_are_told_side_by_side(reports: dict[str, Report]) -> None:
    first, second = opening(reports[KEEPERS]).split(f"{phrases.STATED_IN} version 2.0:")
    assert first.startswith(f"{phrases.STATED_IN} version 1.1:")
    assert "Ashford" in first
    assert "Brook" in second


async def find_first(home: Path, url: str, question: str) -> str:
    """Store two change logs of one title and return the file that a search finds first."""
    documents = home / "documents"
    documents.mkdir()
    for name, part in (("anvil", "hammer"), ("loom", "shuttle")):
        (documents / f"{name}-changes.md").write_text(f"# Changelog\n\n## Fixed\n\nThe {part} no longer squeaks.\n")
    async with Workspace.open(load_settings_of(home / "home", url)) as workspace:
        await ingest_here(workspace.database, "changes", documents)
        return (await PostgresLibrary(workspace.database, ["changes"]).hybrid_search(question, limit=5))[0].url


@pytest.mark.parametrize("name", ["anvil", "loom"])
def test_a_file_is_found_by_the_name_that_only_its_path_holds(tmp_path: Path, database_url: str, name: str) -> None:
    assert asyncio.run(find_first(tmp_path, database_url, f"What was fixed in {name}?")) == f"{name}-changes.md"
