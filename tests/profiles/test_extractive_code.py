"""The extractive analyst on what a question names by signs: an option, a standard, the number of a section."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.plugins.reading import ingest_here, load_settings_of
from tests.profiles.test_extractive_quality import ask

from corrobora.app import Workspace
from corrobora.domain.report import Outcome, Report

COMMANDS = ("set", "cart", "read", "weigh", "shut", "bell", "loft", "door")
EFFECT = "End the shell of the mill at once when a command fails."


def write_manual() -> str:
    parts = ["# The mill shell\n\nThe shell of the mill reads commands, and what set does is told below.\n"]
    for command in COMMANDS:
        effect = EFFECT if command == "set" else f"Wake the {command} keeper of the mill and wait for an answer."
        parts.append(
            f"## The {command} command\n\nThe {command} command of the mill shell takes these options.\n\n"
            f"- -a: Ask the {command} of the mill for all it has.\n- -e: {effect}\n"
            f"- -x: Show each {command} of the mill shell before it is done.\n\n"
            + f"What the {command} does in the mill shell is set by the miller. "
            * 20
        )
    parts.append(
        "## Questions\n\nDoes the mill support TIDE/2?\n\nThe mill does not obey TIDE/2 but lets it pass.\n\n"
        "Does the mill support TIDE on Sunday?\n\nThe mill supports TIDE in two ways on each day but Sunday.\n"
    )
    return "\n\n".join(parts)


def write_rules() -> str:
    chapters = [f"# {at}. Chapter of {name}\n" for at, name in ((48, "ropes"), (49, "bells"), (50, "boats"))]
    for at in range(3):
        chapters[at] += "".join(
            f"\n## {number}. Of the keeper\n\nWhat the section requires of the keeper of part {at} is rule "
            f"{(48 + at) * 10 + number} of the harbour.\n"
            for number in range(1, 9)
        )
    return "\n".join(chapters)


def research(tmp_path: Path, url: str, *questions: str, text: str) -> list[Report]:
    (tmp_path / "manual.md").write_text(text)

    async def ask_all() -> list[Report]:
        async with Workspace.open(load_settings_of(tmp_path / "home", url)) as workspace:
            await ingest_here(workspace.database, "mill", tmp_path / "manual.md")
            return [await ask(workspace, question, "mill") for question in questions]

    return asyncio.run(ask_all())


def test_an_option_a_standard_and_what_no_text_speaks_of(tmp_path: Path, database_url: str) -> None:
    option, standard, other = research(
        tmp_path,
        database_url,
        "What does the set -e option of the mill shell do?",
        "Does the mill support TIDE/2?",
        "What does the set -q option of the mill shell do?",
        text=write_manual(),
    )
    body = option.markdown.partition("\n## ")[0]
    assert f"-e: {EFFECT}" in body
    assert "Wake the" not in body.partition(EFFECT)[0], "an option of another command"
    assert "does not obey TIDE/2" in standard.markdown.partition("\n## ")[0]
    assert "on Sunday" not in standard.markdown.partition("\n## ")[0].partition("*\n\n")[2][:120]
    assert other.outcome is not Outcome.COMPLETE, "another option is no answer"


def test_a_section_is_found_by_its_number_where_headings_carry_its_last_part_alone(
    tmp_path: Path, database_url: str
) -> None:
    (report,) = research(tmp_path, database_url, "What does section 49.2 require of the keeper?", text=write_rules())
    assert "is rule 492 of the harbour" in report.markdown.partition("\n## ")[0].partition(". [1]")[0]
