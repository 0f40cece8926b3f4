"""Text is text: what any face prints of a source stands in the stored text, through every reader; and verify agrees."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from markdown_it import MarkdownIt
from tests.integration.documents import random_sentences, write_formats
from tests.plugins.shell import Shell

QUESTION = "How many tonnes do the cranes of Brenhaven lift?"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
QUOTED = ("quote", "quotes", "snippet", "claim", "content")
UNHURRIED = {"suppress_health_check": list(HealthCheck), "phases": [Phase.explicit, Phase.reuse, Phase.generate]}
LINKS_IN_A_DIFFERENCE = [  # what the report tells as a difference holds text that Markdown would read as a picture
    "3 < 4 > 2 ![i](j) Crane 0 of Brenhaven lifts 3 tonnes Σ _;.",
    "木水 Crane 1 of Brenhaven lifts 4 tonnes ![i](j) ![i](j) \\( ![i](j).",
]
BARE_MARKS = ["Crane 0 of Brenhaven lifts 3 tonnes.", "-- Crane 1 of Brenhaven lifts 4 tonnes.", "> Crane 2 lifts 5."]
BARS = ["Crane 0 of Brenhaven lifts 3 tonnes.", "| and \\| and || Crane 1 of Brenhaven lifts 4 tonnes | or \\\\| 5."]
FOOTNOTES = [  # a difference between two of them quotes marks that are no citations of the report
    "[1] ? Crane 0 of Brenhaven lifts 3 tonnes.",
    "](x) Crane 1 of Brenhaven lifts 4 tonnes .",
    "[^1] % Crane 2 of Brenhaven lifts 5 tonnes [1].",
]
BAR_BEFORE_A_FOOTNOTE = [  # a cell does not end at a bar of its quote, and a mark behind it is the quote's own
    "Crane 0 of Brenhaven lifts 3 tonnes )^!..",
    "Crane 1 of Brenhaven lifts 4 tonnes _a_ <.",
    "}* |+'( [^1] Crane 2 of Brenhaven lifts 5 tonnes }.",
]
_numbers = itertools.count(1)


class PageText(HTMLParser):
    """The text that a page shows."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._hidden += tag in ("head", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("head", "style")

    def handle_data(self, data: str) -> None:
        self.text += "" if self._hidden else data


def squeeze(text: str) -> str:
    return "".join(text.split())


def show_html(page: str) -> str:
    reader = PageText()
    reader.feed(page)
    reader.close()
    return squeeze(reader.text)


def show_markdown(text: str) -> str:
    return show_html(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


def iter_quoted(value: Any) -> Iterator[str]:
    """Yield all that a JSON document quotes."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        if name in QUOTED:
            yield from [part] if isinstance(part, str) else [each for each in part if isinstance(each, str)]
        yield from iter_quoted(part)


class Reading:
    """One set of documents in a library of its own, researched, searched and verified with the command."""

    def __init__(self, shell: Shell, url: str, sentences: Sequence[str]) -> None:
        self.name = f"lib{next(_numbers)}"
        self._shell, self._out = shell, shell.folder / f"{self.name}-out"
        write_formats(shell.folder / self.name, sentences)
        added = shell("library", "add", self.name, str(shell.folder / self.name))
        assert added.code == 0, added.err
        with psycopg.connect(url) as connection:
            self.stored = {
                sha: squeeze(body) for sha, body in connection.execute("select sha, body from snapshot").fetchall()
            }
        files = shell.folder / f"{self.name}-files"
        done = shell(QUESTION, "-l", self.name, "-o", str(self._out), "--artifacts", str(files))
        assert done.code in (0, 6), done.err
        found = shell("library", "search", self.name, "crane tonnes")
        self.lines = found.out.splitlines()
        self.hits = json.loads(shell("library", "search", self.name, "crane tonnes", "--json").out)
        self.files = {
            path.name: path.read_text()
            for folder in (files, self._out)
            if folder.exists()
            for path in sorted(folder.iterdir())
        }
        self.printed = {"stdout": done.out, "stderr": done.err, "search": found.out, **self.files}

    def is_stored(self, text: str) -> bool:
        return any(squeeze(text.removesuffix("…")) in body for body in self.stored.values())

    def list_problems(self) -> Iterator[tuple[object, ...]]:
        """Yield what is printed of the sources and does not stand in them, and what else must not be."""
        for name, text in self.printed.items():
            if (found := CONTROL.search(text)) is not None:
                yield "control", name, text[max(0, found.start() - 60) :][:80]
            if name.endswith(".json"):
                yield from (("json", name, each) for each in iter_quoted(json.loads(text)) if not self.is_stored(each))
        snippets = (*(hit["snippet"] for hit in self.hits), *self.lines[1::2])
        yield from (("search", each) for each in snippets if not self.is_stored(each))
        report = json.loads(self.files.get("report.json", "{}"))
        if report.get("markdown"):
            yield from self._list_of_report(report)
            yield from self._list_of_verify()

    def _list_of_report(self, report: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
        shown = {"md": show_markdown(self.files["report.md"]), "html": show_html(self.files["report.html"])}
        for citation in report["citations"]:
            for quote in map(squeeze, citation["quotes"]):
                if quote not in self.stored[citation["snapshot"]]:
                    yield "citation", quote
                yield from (("quote", name, quote) for name, text in shown.items() if quote not in text)
        for check in report["checks"]:
            said = squeeze(check["sentence"]).rstrip(".!?")
            if check["facts"] and not check["withheld"]:
                if check["follows"] == "quote" and not self.is_stored(said):
                    yield "statement", check["sentence"]
                yield from (("shown", name, check["sentence"]) for name, text in shown.items() if said not in text)

    def _list_of_verify(self) -> Iterator[tuple[object, ...]]:
        """Yield each form of the report whose verdicts are others than those of the delivered Markdown."""
        path, page = self._out / "report.md", self._out / "report.html"
        text = path.read_text()
        verdicts: dict[str, list[object]] = {"html": self._verify(page)}
        for kind, form in REFORMATTED.items():
            path.write_bytes(form(text).encode())
            verdicts[kind] = self._verify(path)
        yield from (("verify", *each) for each in verdicts.items() if each[1] != verdicts["as it is"])
        bundle = self._out / "bundle.zip"
        run = re.findall(r"Sealed: run `(\w+)`", text)[-1]
        exported = self._shell("export", run, "-f", "bundle", "-o", str(bundle))
        if exported.code or (told := json.loads(self._shell("verify", str(bundle), "--json").out)["bundle"])["problem"]:
            yield "bundle", exported.err or told

    def _verify(self, path: Path) -> list[object]:
        found = self._shell("verify", str(path), "--json")
        return [found.code, *(each["support"] for each in json.loads(found.out)["statements_checked"])]


def wrap(text: str, width: int = 72) -> str:
    """Wrap paragraphs as an editor of Markdown does: rows stay on their lines, and no line begins with a mark."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith(("|", "#", "[")) or len(line) <= width:
            lines.append(line)
            continue
        lead = "> " if line.startswith("> ") else ""
        words, row = line.removeprefix(lead).split(" "), lead
        for word in words:
            if len(row) + len(word) > width and row.strip("> ") and word.strip("-+*#>=|")[:1].isalpha():
                lines.append(row.rstrip())
                row = lead
            row += word + " "
        lines.append(row.rstrip())
    return "\n".join(lines)


REFORMATTED = {
    "as it is": lambda text: text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "wrapped": wrap,
}


def check_reading(shell: Shell, url: str, sentences: Sequence[str]) -> None:
    assert list(Reading(shell, url, sentences).list_problems()) == []


@settings(max_examples=1, **UNHURRIED)
@example(sentences=LINKS_IN_A_DIFFERENCE)
@example(sentences=BAR_BEFORE_A_FOOTNOTE)
@given(sentences=random_sentences())
def test_all_that_is_printed_of_a_source_stands_in_its_stored_text(
    served: Shell, database_url: str, sentences: list[str]
) -> None:
    check_reading(served, database_url, sentences)


@pytest.mark.slow
@settings(max_examples=150, **UNHURRIED)
@example(sentences=BARE_MARKS)
@example(sentences=BARS)
@example(sentences=FOOTNOTES)
@given(sentences=random_sentences())
def test_the_same_of_many_texts(served: Shell, database_url: str, sentences: list[str]) -> None:
    check_reading(served, database_url, sentences)
