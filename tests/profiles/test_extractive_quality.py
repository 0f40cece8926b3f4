"""The extractive analyst on documents of many kinds: what answers is cited first, what is absent is refused.

Minutes, a manual in two versions, abstracts, a chat, clauses with an amendment and news: all written for this test.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from tests.plugins.reading import ingest_here, load_settings_of

from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.runs import submit_run
from corrobora.data import demo_documents
from corrobora.domain.evidence import Source, SourceId
from corrobora.domain.report import Outcome, Report
from corrobora.domain.run import Request
from corrobora.engine.session.journal import decode
from corrobora.ports import IngestItem
from corrobora.storage.index.catalog import Catalog
from corrobora.text import phrases

MINUTES = (
    IngestItem(
        Source(SourceId(""), "Minutes of the garden committee, 4 March", "minutes-1", "", published="2024-03-04"),
        "Date: 4 March 2024\nPresent: Ruth Hale, Tomas Berg, Ines Coelho\n\n"
        "Ruth Hale opened the meeting at 18:30. The committee discussed the old greenhouse.\n\n"
        "The committee approved a budget of 2,400 euros for the repair of the greenhouse roof. "
        "Tomas Berg will ask three firms for offers until 20 March.\n\n"
        "The compost bins were moved to the north gate because neighbours had complained about the smell.\n\n"
        "Any other business: a seed exchange was proposed.",
    ),
    IngestItem(
        Source(SourceId(""), "Minutes of the garden committee, 8 April", "minutes-2", "", published="2024-04-08"),
        "Date: 8 April 2024\n\nTomas Berg reported on the offers. The committee chose the firm Lindqvist Glass.\n\n"
        "The seed exchange takes place on 11 May in the village hall. Ines Coelho is responsible for the posters.",
    ),
)
MANUAL = (
    IngestItem(
        Source(SourceId(""), "Pump P20 manual", "manual-1", "", version="Version 1 (2019)", published="2019-02-01"),
        "# Pump P20 manual\n\n## Contents\n\nOil change 4\nFilter 6\n\n## Oil change\n\nThe oil of the pump must be "
        "changed every 500 hours of operation. Use mineral oil only.\n\n## Filter\n\nThe filter should be cleaned once "
        "a month. However, in dusty rooms it must be cleaned every week.",
    ),
    IngestItem(
        Source(SourceId(""), "Pump P20 manual", "manual-2", "", version="Version 2 (2023)", published="2023-05-01"),
        "# Pump P20 manual\n\n## Change log\n\nVersion 2: the interval of the oil change was revised.\n\n## Oil change"
        "\n\nThe oil of the pump must be changed every 800 hours of operation. Synthetic oil may be used.\n\n"
        "## Noise\n\nThe pump reaches a noise level of 62 decibels at full load.",
    ),
)
ABSTRACTS = (
    IngestItem(
        Source(SourceId(""), "Sleep of shift workers in bakeries", "abstract-1", "", published="2021"),
        "Background: bakers work at night. We followed 214 bakers in nine towns for two years. Bakers on rotating "
        "shifts slept 5.4 hours per day on average. Sleep quality improved by 18 percent after fixed shifts were "
        "introduced.",
    ),
    IngestItem(
        Source(SourceId(""), "Light and mood in winter", "abstract-2", "", published="2022"),
        "We tested bright light in the morning. Mood improved in 37 of 60 participants. A limitation is the small "
        "sample.",
    ),
)
CHAT = (
    IngestItem(
        Source(SourceId(""), "Chat of the hiking group", "chat", ""),
        "Time: 2024-06-02 19:40\nMiraStone: Shall we go up the Falken ridge on Saturday?\nOle: Yes! Where do we meet?\n"
        "MiraStone: At the old mill, next to the bridge.\nOle: And what time?\nMiraStone: 6:45, the bus leaves at 7.\n"
        "Ole: What should I bring?\nMiraStone: A rain jacket and two litres of water.\nOle: My dog comes along.",
    ),
)
CLAUSES = (
    IngestItem(
        Source(SourceId(""), "Lease of workshop 7", "lease", "", version="2020", published="2020-01-15"),
        "§ 1 The workshop is let to the cooperative.\n\n§ 2 The tenant shall pay a rent of 900 euros per month.\n\n"
        "§ 3 The tenant may keep animals in the workshop. This does not apply to poultry.\n\n"
        "§ 4 Either party may terminate the lease with a notice of three months.",
    ),
    IngestItem(
        Source(
            SourceId(""),
            "Lease of workshop 7, first amendment",
            "amendment",
            "",
            version="2022",
            published="2022-07-01",
        ),
        "§ 2 is replaced: The tenant shall pay a rent of 980 euros per month.\n\n§ 5 is added: The tenant must not "
        "sublet the workshop without the written consent of the owner.",
    ),
)
NEWS = (
    IngestItem(
        Source(SourceId(""), "Ferry line reopens", "news-1", "", published="2023-09-03", publisher="Coast Courier"),
        "The ferry between Tarnholm and Vess island sails again since 1 September 2023. The line had been closed for "
        "eleven months after a fire in the engine room. Captain Lena Ostrow said the crew was relieved.",
    ),
    IngestItem(
        Source(SourceId(""), "Mayor of Vess resigns", "news-2", "", published="2023-11-20", publisher="Island Post"),
        "The mayor of Vess, Piet Harmsen, resigned on 19 November 2023 because of a dispute over the harbour fees. "
        "His deputy takes over until the election in March.",
    ),
)
FAQ = (
    IngestItem(
        Source(SourceId(""), "Questions on the signal lamp", "faq", ""),
        "Questions on the signal lamp\n\nQ: I have a lamp that flickers at night.\n   How can I repair it?\n\n"
        "A: Give the burner a new wick, and clean the glass with vinegar.\n\nQ: The glass is black. Who cleans it?\n\n"
        "A: The keeper of the harbour does, on Mondays. Bring it to the old office before noon.\n\n"
        "The lamp stands at night on the roof of the office, from where the boats of the village see it.",
    ),
)
SETS = {
    "faq": FAQ,
    "minutes": MINUTES, "manual": MANUAL, "abstracts": ABSTRACTS, "chat": CHAT, "clauses": CLAUSES, "news": NEWS,
}  # fmt: skip
ANSWERED = (
    ("faq", "How do I repair a lamp that flickers at night?", "Give the burner a new wick"),
    ("minutes", "How much money was approved for the repair of the greenhouse roof?", "2,400 euros"),
    ("minutes", "Why were the compost bins moved?", "because neighbours had complained"),
    ("minutes", "When does the seed exchange take place?", "11 May"),
    ("minutes", "Who is responsible for the posters?", "Ines Coelho"),
    ("manual", "How often must the oil of the pump be changed?", "hours of operation"),
    ("manual", "How often must the filter be cleaned in dusty rooms?", "every week"),
    ("manual", "How loud is the noise of the pump at full load?", "62 decibels"),
    ("abstracts", "How many hours did bakers on rotating shifts sleep per day?", "5.4 hours"),
    ("abstracts", "In how many participants did mood improve?", "37 of 60"),
    ("chat", "Where does the hiking group meet?", "old mill"),
    ("chat", "What should Ole bring?", "rain jacket"),
    ("clauses", "May the tenant keep animals in the workshop?", "This does not apply to poultry"),
    ("clauses", "What notice is needed to terminate the lease?", "three months"),
    ("clauses", "May the tenant sublet the workshop?", "must not sublet"),
    ("news", "When did the mayor of Vess resign?", "19 November 2023"),
    ("news", "Who is the captain of the ferry between Tarnholm and Vess?", "Lena Ostrow"),
)
ABSENT = (
    ("minutes", "Which bank financed the airport of Lisbon?"),
    ("manual", "What is the boiling point of ethanol?"),
    ("abstracts", "Who discovered penicillin?"),
    ("news", "How many goals did Brenhaven United score in 2019?"),
)


async def researched(home: Path, url: str) -> dict[tuple[str, str], Report]:
    """Ask every question of its own library, in one workspace."""
    asked = [*((name, question) for name, question, _ in ANSWERED), *ABSENT]
    found: dict[tuple[str, str], Report] = {}
    async with Workspace.open(load_settings_of(home, url)) as workspace:
        catalog = Catalog(workspace.database)
        for name, items in SETS.items():
            await catalog.store(await catalog.open(name), list(items))
        for name, question in asked:
            found[name, question] = await ask(workspace, question, name)
    return found


async def ask(workspace: Workspace, question: str, library: str) -> Report:
    """Research one question and return its report."""
    request = Request(question, "timed", libraries=(library,), authorized="policy")
    run = await submit_run(workspace, request, deferred=False)
    epoch = await workspace.runs.claim(run, "test")
    assert epoch is not None
    await execute_run(workspace, run, epoch)
    stored = await workspace.runs.read_artifact(run, "report.json")
    assert stored is not None
    return decode(Report, stored.content.decode(), key=run)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> dict[tuple[str, str], Report]:
    """The reports on all questions."""
    return asyncio.run(researched(tmp_path_factory.mktemp("quality"), module_database_url))


def opening(report: Report) -> str:
    """The statement that opens the report, with all its sentences; an edition's name may stand above it."""
    body = report.markdown.split("*Status:", 1)[1].split("\n\n", 1)[1]
    lines = [line for line in body.splitlines() if line.strip() and not line.startswith(("#", "**"))]
    return lines[lines[0].startswith(phrases.STATED_IN)]


@pytest.mark.parametrize(("name", "question", "answer"), ANSWERED)
def test_what_answers_is_said_first(
    reports: dict[tuple[str, str], Report], name: str, question: str, answer: str
) -> None:
    report = reports[name, question]
    assert report.markdown, report.reason
    assert answer in opening(report)
    assert any(answer in " ".join(quote.split()) for cited in report.citations for quote in cited.quotes)


@pytest.mark.parametrize(("name", "question"), ABSENT)
def test_what_is_absent_is_refused(reports: dict[tuple[str, str], Report], name: str, question: str) -> None:
    report = reports[name, question]
    assert report.outcome is Outcome.NO_EVIDENCE
    assert report.reason
    assert report.citations == ()
    assert "No sufficient evidence was found to answer the question." in report.markdown


def test_editions_that_differ_are_both_told(reports: dict[tuple[str, str], Report]) -> None:
    report = reports["manual", "How often must the oil of the pump be changed?"]
    assert "500 hours" in report.markdown
    assert "800 hours" in report.markdown
    assert any("500" in one.difference and "800" in one.difference for one in report.findings.contradictions)


def test_no_report_says_a_sentence_twice_in_its_body(reports: dict[tuple[str, str], Report]) -> None:
    for report in reports.values():
        body = report.markdown.split("\n## Contradictions")[0].split("\n## Methodology")[0]
        lines = [line for line in body.splitlines() if line.startswith("- ")]
        assert len(lines) == len(set(lines))
        assert not any(line.startswith("- -") for line in lines)


def test_the_change_that_the_demo_asks_for_opens_its_report_and_stands_in_the_table(
    tmp_path: Path, database_url: str
) -> None:
    documents = demo_documents(tmp_path / "unpacked")
    question = json.loads((documents.parent / "demo_questions.json").read_text())[0]["question"]

    async def research() -> Report:
        async with Workspace.open(load_settings_of(tmp_path / "home", database_url)) as workspace:
            await ingest_here(workspace.database, "demo", documents)
            return await ask(workspace, question, "demo")

    report = asyncio.run(research())
    first = report.markdown.partition("\n## ")[0]
    assert report.outcome is Outcome.COMPLETE
    for said in (
        *("SHOULD NOT require memorized secrets to be changed", "SHALL NOT require users to periodically change"),
        *("Verifiers SHOULD NOT impose", "Verifiers SHALL NOT impose", "at least 8 characters", "force a change if"),
    ):
        assert said in first
    row = next(
        line for line in report.markdown.splitlines() if "| SHOULD NOT -> SHALL NOT |" in line and "period" in line
    )
    assert "SHOULD NOT require memorized secrets to be changed" in row
    assert "SHALL NOT require users to periodically change" in row


def test_news_of_the_release_that_is_asked_about_open_a_report_and_those_of_no_other(
    tmp_path: Path, database_url: str
) -> None:
    """Among many releases, of which the newest stands first, and numbered sections."""
    releases = [f"{a}.{b}.{c}" for a in (5, 4, 3) for b in range(7) for c in range(8)]
    news = "".join(
        f"New in version {each}\n====================\n\nChanges\n-------\n"
        f"* The mill of version {each} has a changed wheel number {at * 37 + 11} and tells the version by its policy.\n"
        f"* What changed in the mill is told by wheel {at * 37 + 12}.\n\n"
        for at, each in enumerate(releases)
    )
    manual = "".join(
        f"4.6.{n}. What changed version of the mill policy is kept?\n\nThe policy of the mill says which version "
        f"changed what, and how, in {n} ways.\n\n"
        for n in range(1, 9)
    )
    (tmp_path / "NEWS.txt").write_text(news)
    (tmp_path / "manual.txt").write_text(manual)

    async def research() -> str:
        async with Workspace.open(load_settings_of(tmp_path / "home", database_url)) as workspace:
            paths = (tmp_path / "NEWS.txt", tmp_path / "manual.txt")
            await ingest_here(workspace.database, "mill", *paths)
            return (await ask(workspace, "What changed in version 4.6.1 of the mill policy?", "mill")).markdown

    markdown = asyncio.run(research())
    body = markdown.partition("\n## ")[0]
    at = releases.index("4.6.1")
    assert f"wheel number {at * 37 + 11} " in body
    wheels = {int(number) for number in re.findall(r"wheel (?:number )?(\d+)", body)}
    assert wheels <= {at * 37 + 11, at * 37 + 12}
    assert "====" not in markdown
    assert "**NEWS**" in markdown
