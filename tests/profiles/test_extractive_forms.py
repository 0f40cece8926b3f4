"""The extractive analyst on texts of many forms and languages: what a reader meets first, and how it reads.

A manual with lists and tables, a log of changes, a file of values, a channel with time stamps, clauses, reports of two
quarters, a FAQ, a leaflet, and notices in German, French, Spanish and Chinese: all written for this test.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plugins.reading import load_settings_of

from corrobora.adapters.readers.parser import find_reader
from corrobora.adapters.readers.worker import parse_bytes
from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.runs import submit_run
from corrobora.domain.evidence import Source, SourceId
from corrobora.domain.report import Outcome, Report
from corrobora.domain.run import Request
from corrobora.engine.session.journal import decode
from corrobora.ports import IngestItem
from corrobora.storage.index.catalog import Catalog
from corrobora.text import phrases

FILES: dict[str, dict[str, str]] = {
    "oven": {
        "oven-k7.md": "# Kiln K7 manual\n\n## Contents\n\n1. Safety\n2. Firing\n3. Faults\n\n## "
        "Safety\n\nBefore you open "
        "the door, always:\n\n- switch off the power,\n- wait until the display shows less than 60 °C,\n- put "
        "on gloves."
        "\n\nThe shelf can be washed. The stones cannot.\n\n## Parts in the box\n\n- two shelves\n- a "
        "pyrometer\n- six "
        "stones\n\n## Faults\n\n| Fault | Cause | Remedy |\n|---|---|---|\n| Blue lamp flickers | Door is ajar "
        "| Close "
        "the door |\n| Display is dark | Fuse has blown | Replace the fuse |\n\n## Technical data\n\nPower: 3600 W\n"
        "Chamber: 45 l\nGuarantee: 36 months, stones excepted\n",
        "oven-k9.md": "# Kiln K9 manual\n\n## Technical data\n\nPower: 4200 W\nChamber: 70 l\nGuarantee: 24 months\n",
    },
    "gate": {
        "rules.md": "# Rules of the gate\n\n## Entry phrases\n\nAn entry phrase, commonly referred to as a passkey, is "
        "something that a member knows.\n\n## Entry phrases: setting one\n\nEntry phrases SHALL be at least 12 letters "
        "in length if chosen by the member.\n\n## Entry phrases: keeping one\n\nThe grain of an entry phrase SHALL be "
        "random. The grain SHALL be at least 40 bits in length.\n",
        "notes.md": "# Notes on the gate\n\n## Entry phrases and members\n\nWhen the gate relies on passkeys, it is "
        "known to be open to people who guess. Longer passkeys are harder to guess, although a passkey that is long "
        "is cumbersome.\n\n## Habits\n\nMembers write a passkey on the hand. A passkey of a member must not be lent.\n",
    },
    "changes": {
        "CHANGES.md": "# Changelog of plotter\n\n## 2.0.0 - 2024-03-01\n\n### Removed\n\n- The option `--grid`.\n\n"
        "### Changed\n\n- The default colour is now blue.\n\n## 1.9.0 - 2023-11-11\n\n### Added\n\n- Night mode.\n"
        "- Export as SVG.\n",
    },
    "sweep": {
        "sweep.md": "# sweep\n\n## Usage\n\nTo keep some copies, sweep keeps them by rules:\n\n"
        "    sweep --keep-hourly=3 --keep-daily=7 /attic\n\n## Options\n\n"
        "- --keep-hourly N: number of hourly copies to keep\n- --keep-daily N: number of daily copies to keep\n"
        "- --keep-weekly N: number of weekly copies to keep\n- --keep-monthly N: number of monthly copies to keep\n"
        "- --keep-yearly N: number of yearly copies to keep\n- --keep-within SPAN: leave all that is younger alone\n\n"
        "## Rules\n\nThe option --keep-daily of sweep keeps one copy a day. The option --keep-weekly of sweep keeps "
        "one copy a week.\n\nTime spans are written with a letter: --keep-within 2d spares copies of the past 48 "
        "hours.\n",
    },
    "values": {
        "wells.csv": "well,village,dug,depth_m,keeper\nMoor Well,Aldby,1921,14,Parish council\n"
        "Dry Well,Aldby,1954,22,Hedda Fossum\nMill Well,Storvik,1899,9,Parish council\n",
    },
    "channel": {
        "channel.txt": "[2025-01-07 08:10] Ida: the printer is down again\n[2025-01-07 08:12] Bo: did you turn "
        "it off and "
        "on?\n[2025-01-07 08:15] Ida: yes, no luck\n[2025-01-07 09:40] Bo: who has the key of the archive?\n"
        "[2025-01-07 09:41] Ida: the porter\n[2025-01-07 11:02] Bo: when is the audit?\n"
        "[2025-01-07 11:03] Ida: on Friday the 17th, in room 4\n",
    },
    "clauses": {
        "rules.md": "# Rules of the allotments\n\n## Article 4 Sheds\n\n(1) A member may build a shed. Not more "
        "than one "
        "shed shall stand on a plot.\n(2) The request shall include:\n(a) a drawing with measures;\n(b) the "
        "consent of "
        "the neighbours;\n(c) the fee of 30 crowns.\n(3) The committee shall decide within six weeks.\n\n## "
        "Article 5 "
        "Fires\n\nOpen fires are forbidden. This does not apply to the evening of 23 June.\n",
    },
    "quarters": {
        "q1.md": "# Brick works Tegel: report on the first quarter of 2024\n\nThe company employed 210 people "
        "at the end "
        "of March. Sales fell because two kilns were repaired.\n",
        "q2.md": "# Brick works Tegel: report on the second quarter of 2024\n\nThe company employed 198 people "
        "at the end "
        "of June. Sales rose by 6 percent.\n",
    },
    "faq": {
        "faq.md": "# Cartfile FAQ\n\n## Is cartfile safe against power loss?\n\nYes, if it was opened with "
        "sync. Otherwise "
        "the last record may be lost.\n\n## How do I shrink a file?\n\nRun the command compact. It needs free "
        "space.\n\n"
        "## Backup\n\nCall the copy command to write a backup while the file is in use.\n",
    },
    "thread": {
        "answer.txt": "Re: The ferry stop\n\nFrom: Ola Berg\nTo: all\n\nI have asked.\n\n> The council wants to know "
        "who looks after the\n> waiting room of the ferry stop at Ness, and who\n> holds its keys in winter.\n\n"
        "The harbour office does both.\n",
    },
    "leaflet": {
        "lumiphen.md": "# Lumiphen drops\n\nLumiphen contains a plant extract. It is used to relieve dry eyes "
        "in adults.\n"
        "\n## How to store the drops\n\nKeep them in the dark. After opening, use them within 8 weeks.\n\n## "
        "When they "
        "must not be used\n\nDo not use them with contact lenses.\n",
    },
    "abroad": {
        "ordnung.md": "# Ordnung der Werkstatt\n\n## § 1 Zeiten\n\nDie Werkstatt ist von 9 bis 17 Uhr geöffnet. "
        "Für Kurse "
        "gelten z. B. andere Zeiten.\n\n## § 2 Beitrag\n\nDer Beitrag beträgt 12 Euro im Monat. Dr. Ute Brandt "
        "leitet die "
        "Werkstatt seit dem 1. April 2020.\n",
        "atelier.txt": "L'atelier de la rue Haute\n\nL'atelier a été ouvert en 1998 par trois potiers. "
        "L'inscription coûte "
        "40 euros par an. La clé se trouve chez Mme Roux.\n",
        "taller.txt": "El taller del puerto\n\nEl taller abre de lunes a viernes. La entrada cuesta 5 euros; "
        "los niños no "
        "pagan nada.\n",
        "yaochang.txt": "东窑厂参观须知\n\n窑厂每天上午十点开门，下午五点关门，星期二休息。参观者不得触摸作品。"
        "门票为二十元。\n",
    },
    "scripts": {
        "biblioteka.md": "# Правила библиотеки\n\n## Читательские билеты\n\nЧитательский билет стоит двести рублей в "
        "год. Билеты выдаёт дежурный библиотекарь.\n\n## Книги\n\nНовую книгу разрешается держать дома четырнадцать "
        "дней. Каталогом новых книг заведует Анна Рогова.\n\n## Зал\n\nВ читальном зале нельзя разговаривать.\n",
        "toshokan.txt": "図書館の利用案内\n\n開館時間は午前九時から午後七時までです。月曜日は休館です。"
        "Orchidの端末は二階にあります。\n",
        "doseogwan.txt": "도서관 이용 안내\n\n도서관은 아침 아홉 시에 문을 엽니다. 대출증은 만 원입니다. 새 책은 "
        "두 주 동안 빌릴 수 있습니다.\n",
        "maktaba.txt": "دليل المكتبة\n\nتفتح المكتبة أبوابها في التاسعة صباحا. تدوم إعارة الكتب أسبوعين. "
        "تباع البطاقات عند المدخل.\n",
        "pustakalay.txt": "पुस्तकालय के नियम\n\nपुस्तकालय सुबह नौ बजे खुलता है। नई पुस्तकें चौदह दिन तक रखी जा सकती हैं। "
        "कार्ड का शुल्क सौ रुपये है।\n",
        "reglement.txt": "Règlement de la salle\n\nQui peut entrer ? Les membres peuvent entrer à toute heure. Les "
        "clés sont rendues : le soir. Les enfants paient deux euros !\n",
        "shuoming.txt": "展览说明\n\n馆长说（请注意！），展厅内禁止拍照。门票在入口处出售。\n",
    },
}  # fmt: skip
FIRST = (  # library, question, what the opening says
    ("oven", "What must be done before the door is opened?",
     "Before you open the door, always: switch off the power; wait until the display shows less than 60 °C"),
    ("oven", "Can the stones be washed?", "The stones cannot."),
    ("oven", "Which parts are in the box?", "two shelves; a pyrometer; six stones"),
    ("oven", "What should I do if the blue lamp flickers?",
     "Fault: Blue lamp flickers; Cause: Door is ajar; Remedy: Close the door"),
    ("oven", "How long is the guarantee of the K7?", "Guarantee: 36 months, stones excepted"),
    ("gate", "How long must a passkey be?", "Entry phrases SHALL be at least 12 letters in length"),
    ("gate", "How long must a passkey be at least?", "Entry phrases SHALL be at least 12 letters in length"),
    ("changes", "In which version was night mode added?", "1.9.0 - 2023-11-11: Added: Night mode."),
    ("sweep", "What does the --keep-within option of sweep do?", "leave all that is younger alone"),
    ("values", "Who is the keeper of the Dry Well?", "keeper: Hedda Fossum"),
    ("channel", "Who has the key of the archive?", "Ida: the porter"),
    ("channel", "When is the audit?", "on Friday the 17th, in room 4"),
    ("clauses", "What must a request for a shed include?",
     "The request shall include: (a) a drawing with measures; (b) the consent of the neighbours; (c) the fee"),
    ("clauses", "Are open fires forbidden?", "This does not apply to the evening of 23 June."),
    ("quarters", "Why did sales fall?", "because two kilns were repaired"),
    ("faq", "Is cartfile safe against power loss?", "Is cartfile safe against power loss? Yes, if it was opened"),
    ("faq", "How do I back up a file while it is in use?", "Call the copy command to write a backup"),
    ("thread", "What does the council want to know about the waiting room?",
     "The council wants to know who looks after the waiting room of the ferry stop at Ness, and who holds its keys"),
    ("leaflet", "What is Lumiphen?", "Lumiphen contains a plant extract."),
    ("leaflet", "How should the drops be stored?", "How to store the drops: Keep them in the dark."),
    ("abroad", "Wie hoch ist der Beitrag?", "Der Beitrag beträgt 12 Euro im Monat."),
    ("abroad", "Wer leitet die Werkstatt?", "Dr. Ute Brandt leitet die Werkstatt seit dem 1. April 2020."),
    ("abroad", "Wie viel muss man für die Werkstatt bezahlen?", "Der Beitrag beträgt 12 Euro im Monat."),
    ("abroad", "Wann darf man in die Werkstatt?", "Die Werkstatt ist von 9 bis 17 Uhr geöffnet."),
    ("sweep", "What does sweep do with --keep-within 3w?", "leave all that is younger alone"),
    ("abroad", "Combien coûte l'inscription à l'atelier ?", "L'inscription coûte 40 euros par an."),
    ("abroad", "¿Cuánto cuesta la entrada del taller?", "La entrada cuesta 5 euros"),
    ("abroad", "窑厂几点开门？", "窑厂每天上午十点开门"),
    ("scripts", "Сколько стоят читательские билеты?", "Читательский билет стоит двести рублей в год."),
    ("scripts", "Кто заведует каталогами новых книг?", "Каталогом новых книг заведует Анна Рогова."),
    ("scripts", "開館時間は何時からですか?", "開館時間は午前九時から午後七時までです。"),
    ("scripts", "Orchid の端末はどこにありますか?", "Orchidの端末は二階にあります。"),
    ("scripts", "도서관은 몇 시에 문을 여나요?", "도서관은 아침 아홉 시에 문을 엽니다."),
    ("scripts", "كم تدوم إعارة كتاب؟", "تدوم إعارة الكتب أسبوعين."),
    ("scripts", "पुस्तकालय कितने बजे खुलता है?", "पुस्तकालय सुबह नौ बजे खुलता है।"),
    ("scripts", "Quand rend-on les clés de la salle ?", "Les clés sont rendues : le soir."),
    ("scripts", "Combien paient les enfants ?", "Les enfants paient deux euros !"),
    ("scripts", "展厅内禁止拍照吗？", "馆长说（请注意！），展厅内禁止拍照。"),
)  # fmt: skip
NEAR = (  # questions in few words of the documents: which passages are shown all the same
    ("gate", "Who may borrow mine for a day while I am away, if it is a passkey?",
     "A passkey of a member must not be lent."),
    ("abroad", "Warum sollte jemand abends die Werkstatt benutzen?", "Die Werkstatt ist von 9 bis 17 Uhr geöffnet."),
    ("abroad", "Welche Kurse dauern länger und weshalb?", "Für Kurse gelten z. B. andere Zeiten."),
)  # fmt: skip
ABSENT = (
    ("oven", "Which composer wrote the opera Jenufa?"),
    ("values", "How many inhabitants has Buenos Aires?"),
    ("abroad", "Wie viele Einwohner hat Hamburg?"),
    ("scripts", "Кто написал оперу «Енуфа»?"),
)
OTHERS = (
    ("quarters", "How many people does the company employ?"),
    ("oven", "How much power does the kiln need?"),
)
CITED = re.compile(r" \[\d+\]")


async def researched(home: Path, url: str) -> dict[tuple[str, str], Report]:
    """Ask every question of its own library, in one workspace."""
    found: dict[tuple[str, str], Report] = {}
    async with Workspace.open(load_settings_of(home, url)) as workspace:
        catalog = Catalog(workspace.database)
        for library, files in FILES.items():
            items = [_item(name, text) for name, text in files.items()]
            await catalog.store(await catalog.open(library), items)
        for library, question in (*(row[:2] for row in (*FIRST, *NEAR)), *ABSENT, *OTHERS):
            request = Request(question, "timed", libraries=(library,), authorized="policy")
            run = await submit_run(workspace, request, deferred=False)
            epoch = await workspace.runs.claim(run, "test")
            assert epoch is not None
            await execute_run(workspace, run, epoch)
            stored = await workspace.runs.read_artifact(run, "report.json")
            assert stored is not None
            found[library, question] = decode(Report, stored.content.decode(), key=run)
    return found


def _item(name: str, text: str) -> IngestItem:
    data = text.encode()
    read = parse_bytes(find_reader(name, data).read, data)
    return IngestItem(Source(SourceId(""), read.title or name.partition(".")[0], name, ""), read.text, read.headings)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> dict[tuple[str, str], Report]:
    """The reports on all questions."""
    return asyncio.run(researched(tmp_path_factory.mktemp("forms"), module_database_url))


def body(report: Report) -> list[str]:
    """The lines of a report before the sections that code writes."""
    text = report.markdown.split("*Status:", 1)[1].split("\n\n", 1)[1]
    text = re.split(r"\n## (?:Contradictions|Gaps|Methodology)", text)[0]
    return [line for line in text.splitlines() if line.strip() and not line.startswith(("#", "**"))]


@pytest.mark.parametrize(("library", "question", "answer"), FIRST)
def test_a_report_answers_in_whole_sentences(
    reports: dict[tuple[str, str], Report], library: str, question: str, answer: str
) -> None:
    report = reports[library, question]
    assert report.markdown, report.reason
    said = CITED.sub("", " ".join(body(report)))
    places = [said.find(piece) for piece in re.split(r"[:;] ", answer)]
    assert -1 not in places, said
    assert places == sorted(places), said
    assert report.outcome in (Outcome.COMPLETE, Outcome.PARTIAL), "words alone may not tell that it is the answer"
    if library == "scripts":
        assert report.outcome is Outcome.PARTIAL, "the rating that makes a report complete knows English"
        assert {check.follows for check in report.checks if check.facts} == {"quote"}


@pytest.mark.parametrize(("library", "question", "passage"), NEAR)
def test_a_small_library_shows_what_it_says_of_the_topic(
    reports: dict[tuple[str, str], Report], library: str, question: str, passage: str
) -> None:
    report = reports[library, question]
    assert report.outcome is Outcome.PASSAGES
    assert passage in CITED.sub("", " ".join(body(report)))
    assert f"{phrases.NO_ANSWER}. {phrases.NEAR} follow." in report.markdown


@pytest.mark.parametrize(("library", "question"), ABSENT)
def test_what_is_absent_is_refused_in_any_language(
    reports: dict[tuple[str, str], Report], library: str, question: str
) -> None:
    assert reports[library, question].outcome is Outcome.NO_EVIDENCE


def test_a_question_for_one_thing_gets_a_few_sentences(reports: dict[tuple[str, str], Report]) -> None:
    for library, question, _ in FIRST:
        report = reports[library, question]
        told = replace(report, markdown=report.markdown.partition(f"\n## {phrases.NEAR}")[0])
        assert len(" ".join(body(told)).split()) < 90, question


def test_no_statement_is_a_fragment(reports: dict[tuple[str, str], Report]) -> None:
    for report in reports.values():
        lines = body(report) if report.markdown else []
        for line, below in zip(lines, [*lines, ""][1:], strict=True):
            pieces = [piece.strip(" .-") for piece in CITED.split(line) if piece.strip(" .-")]
            leads_in = below.lstrip().startswith(("- ", "```")) or line.startswith(phrases.STATED_IN)
            assert not any(piece.endswith((",", ";") if leads_in else (":", ",", ";")) for piece in pieces), line
            assert not any(piece.count(" | ") for piece in pieces), line


def test_every_statement_of_a_report_is_carried_by_its_quotes(reports: dict[tuple[str, str], Report]) -> None:
    for report in reports.values():
        cited = [check for check in report.checks if check.facts]
        assert all(check.support == "supported" for check in cited), [c for c in cited if c.support != "supported"]


def test_two_periods_and_two_models_do_not_contradict_each_other(reports: dict[tuple[str, str], Report]) -> None:
    for name in OTHERS:
        report = reports[name]
        assert len(report.citations) > 1
        assert report.findings.contradictions == ()
