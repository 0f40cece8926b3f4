"""`--language`: a report in German, or in a language that a file translates; it verifies like any other."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from bench.forgeries import FORMATS

from corrobora.reporting.seal import strip_seal

QUESTION = "When was the bridge at Arnholm opened, and how high is the tower of Arnholm?"
FRENCH = """tag = "fr"
name = "French"
own_name = "français"
[texts]
"Sources" = "Références"
"Methodology" = "Méthode"
"Account of checking" = "Vérification"
"Gaps" = "Lacunes"
"Status: {STATUS}." = "Statut : {STATUS}."
"Language: {name}." = "Langue : {name}."
"""


@pytest.mark.covers("research --language", "setting language")
def test_a_german_report_says_so_and_verifies_in_every_format(filled: Any) -> None:
    shell = filled
    run = json.loads(shell(QUESTION, "-l", "docs", "--language", "de", "--json", "-q").out)["run_id"]
    shell("export", run, "-f", "md,html,json", "-o", ".", "--force")
    texts = {form: (shell.folder / f"report.{form}").read_text() for form in ("md", "html", "json")}
    parts = (
        "*Status: ",
        "## Methodik",
        "- Sprache: Deutsch (de).",
        "## Prüfbericht",
        "## Quellen",
        "*Versiegelt: Lauf",
    )
    for told in parts:
        assert told in texts["md"], told
    assert not re.search(r"(?m)^## (Methodology|Sources|Gaps|Account)|^- (Profile|Spent|Stopped)", texts["md"])
    assert '<html lang="de">' in texts["html"]
    assert '<h2 id="sources">Quellen</h2>' in texts["html"]
    assert json.loads(texts["json"])["language"] == "de"
    ways = ("as delivered", "wrapped at 57", "underlined headings", "no bold or code", "quoted", "HTML", "JSON printed")
    for way in ways:
        form, put = FORMATS[way]
        (shell.folder / "again.md").write_bytes(put(texts[form]).encode())
        result = shell("verify", "again.md", "--json")
        counts = json.loads(result.out)
        assert (result.code, counts["seal"]) == (0, "delivered"), (way, result.out)
        assert counts["carried"] == counts["checkable"] > 0
        assert counts["cited"] == counts["statements"], "lines about the run are no statements"
    (shell.folder / "bare.md").write_text(strip_seal(texts["md"]))
    assert json.loads(shell("verify", "bare.md", "--json").out)["statements"] == counts["statements"]


@pytest.mark.parametrize(
    ("question", "flags", "language"),
    [
        ("Wann wurde die Bridge at Arnholm opened und wie lang ist sie?", (), "de"),
        ("Wann wurde die Bridge at Arnholm opened und wie lang ist sie?", ("--language", "en"), "en"),
        ("Quand est-ce que le Bridge at Arnholm opened dans la ville ?", (), "fr"),
        (QUESTION, (), "en"),
        ("Who built 'Der Mann und das Meer' at Arnholm, and when was it opened?", (), "en"),
    ],
)
def test_a_report_is_in_the_language_of_its_question_unless_one_is_set(
    filled: Any, question: str, flags: tuple[str, ...], language: str
) -> None:
    run = json.loads(filled(question, "-l", "docs", *flags, "--json", "-q").out)["run_id"]
    filled("export", run, "-f", "md,json", "-o", ".", "--force")
    assert json.loads((filled.folder / "report.json").read_text())["language"] == language
    assert ("## Quellen" in (filled.folder / "report.md").read_text()) is (language == "de")
    assert filled("verify", "report.md").code == 0


def test_one_changed_letter_of_a_german_report_is_found(filled: Any) -> None:
    shell = filled
    text = shell(QUESTION, "-l", "docs", "--language", "de", "-q").out
    places = [text.index(told) for told in ("Methodik", "1931", "## Quellen", "Status: ")]
    for at in places:
        (shell.folder / "forged.md").write_text(f"{text[:at]}{chr(ord(text[at]) ^ 1)}{text[at + 1 :]}")
        result = shell("verify", "forged.md", "--json")
        assert (result.code, json.loads(result.out)["seal"]) == (5, "changed"), text[at : at + 20]


def test_a_file_of_translations_gives_another_language(filled: Any) -> None:
    shell = filled
    (shell.folder / "fr.toml").write_text(FRENCH)
    run = json.loads(shell(QUESTION, "-l", "docs", "--language", "./fr.toml", "--json", "-q").out)["run_id"]
    shown = shell("runs", "show", run).out
    assert "language fr" in shown
    assert "Lacunes" not in shown, "a file of translations is no line for people"
    (shell.folder / "fr.toml").unlink()  # it is stored with the run
    text = shell("export", run, "-f", "md", "-o", "-").out
    for told in ("## Références", "## Méthode", "*Statut : ", "- Langue : français (fr)."):
        assert told in text, told
    (shell.folder / "report.md").write_text(text)
    result = shell("verify", "report.md", "--json")
    counts = json.loads(result.out)
    assert (result.code, counts["seal"]) == (0, "delivered"), result.out
    assert counts["cited"] == counts["statements"], "lines about the run are no statements"


def test_a_language_that_cannot_be_used_ends_before_a_run_is_made(filled: Any) -> None:
    for named, problem in (("deutsch!", "neither the tag"), ("none.toml", "does not exist")):
        result = filled(QUESTION, "-l", "docs", "-q", "--language", named)
        assert result.code == 2
        assert problem in result.complaint
