"""Forged reports: of each kind of forgery, how many `corrobora verify` catches; and honest reports in other layouts.

Makes honest reports over the demo library (or `--documents FOLDER`), changes one thing in each copy, seals half of the
copies again under another run, and checks them by the code of the command. What is sealed again is seen by the
library alone. Run it as `python -m bench.forgeries [--documents FOLDER] [--reports N] [--each N] [--seed N]`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bench.eval_research import OWN, ask
from corrobora.app import Workspace
from corrobora.app.libraries import ingest_files
from corrobora.app.verification import verify_report
from corrobora.config import load_settings
from corrobora.data import demo_documents
from corrobora.reporting.seal import format_seal, strip_seal

Change = Callable[[str, random.Random], str]
_WORD_NUMBERS = "one two three four five six seven eight nine ten".split()
_OPPOSITES = {
    "at least": "at most",
    "SHALL NOT": "MAY",
    "SHALL": "MAY",
    "SHOULD": "SHALL",
    "must": "may",
    "more": "less",
}
_LOOK_ALIKE = str.maketrans("aeopc", "аеорс")


def in_body(pattern: str, put: Callable[[re.Match[str], random.Random], str]) -> Change:
    """Return a change of one match inside of a cited sentence of the body."""

    def change(text: str, draw: random.Random) -> str:
        body, mark, rest = text.partition("\n## Sources")
        cited = [m.span() for m in re.finditer(r"(?m)[^.\n|]{30,}\. \[\d+\]", body)]
        places = [m for begin, end in cited for m in re.finditer(pattern, body[begin:end])]
        starts = [begin for begin, end in cited for _ in re.finditer(pattern, body[begin:end])]
        if not places:
            return text
        at = draw.randrange(len(places))
        begin, end = starts[at] + places[at].start(), starts[at] + places[at].end()
        return body[:begin] + put(places[at], draw) + body[end:] + mark + rest

    return change


def replace_once(pattern: str, put: str) -> Change:
    """Return a change of the first match anywhere."""
    return lambda text, _: re.sub(pattern, put, text, count=1)


def splice(text: str, draw: random.Random) -> str:
    """Join the first half of one cited sentence with the second half of another."""
    cited = re.findall(r"(?m)[A-Z][^.\n|]{40,}\.(?= \[\d+\])", text.partition("\n## Sources")[0])
    if len(cited) < 2:
        return text
    one, other = draw.sample(cited, 2)
    return text.replace(one, f"{one[: len(one) // 2].rstrip()} {other[len(other) // 2 :].lstrip()}", 1)


FORGERIES: dict[str, Change] = {
    "digit": in_body(r"\d(?=\D)", lambda m, _: str((int(m.group()) + 3) % 10)),
    "homoglyph digit": in_body(r"\d(?=\D)", lambda m, _: chr(0xFF10 + int(m.group()))),
    "negation removed": in_body(r" (?:NOT|not) ", lambda *_: " "),
    "negation added": in_body(r" (SHALL|SHOULD|is|are|may|MAY|must) (?!NOT|not)", lambda m, _: f" {m[1]} not "),
    "obligation, comparative": in_body("|".join(_OPPOSITES), lambda m, _: _OPPOSITES[m.group()]),
    "unit": in_body(r"\b(characters?|days|hours|minutes|bits|years|%)", lambda *_: "weeks"),
    "number word": in_body(rf"\b(?:{'|'.join(_WORD_NUMBERS)})\b", lambda *_: "eleven"),
    "other name": in_body(r"(?<=[a-z] )[A-Z][a-z]{3,}", lambda *_: "Hartsea"),
    "homoglyph letters": in_body(r"\b[a-z]{6,}\b", lambda m, _: m.group().translate(_LOOK_ALIKE)),
    "tail cut": in_body(r",? (?:if|unless|provided|except|when) [^.]+(?=\.)", lambda *_: ""),
    "head cut": in_body(r"^(?:If|Unless|When|However|No|Not) [^,.]*,? ", lambda *_: ""),
    "swapped id": in_body(r"(?<=\[)\d+(?=\])", lambda m, _: str(int(m.group()) % 3 + 1)),
    "invented source": in_body(r"(?<=\[)\d+(?=\])", lambda *_: "99"),
    "two sentences spliced": splice,
    "uncited claim": replace_once(r"\n## ", "\nThe whole cost 64 million crowns in 2019.\n\n## "),
    "source title": replace_once(r"(?m)^(\[\d+\] \*\*)[^*]+", r"\1A title of my own"),
    "source edition": replace_once(r"(?m)^(\[\d+\] \*\*[^*]+\*\*)(?: \(.*?\)(?=[,.]))?", r"\1 (Revision 9)"),
    "source address": replace_once(r"(?m)^(\[\d+\] .* )\S+( `S\d)", r"\1https://elsewhere.example/\2"),
    "spliced quote": replace_once(r"(?m)^> (.{30}).{20}", r"> \1"),
    "year": replace_once(r"\b(?:19|20)\d\d\b", "1987"),
    "conflict table": replace_once(r"(?m)^(\|[^|\n]*[a-z][^|\n]*\|[^|\n]*?)(\w+)( [^|\n]*\[\d+\])", r"\1never\3"),
    "status line": replace_once(r"\*Status: \w+", "*Status: splendid"),
    "gaps": replace_once(r"\n## Methodology", "\n## Gaps\n\n- Nothing is missing.\n\n## Methodology"),
}
LAYOUTS: dict[str, Callable[[str], str]] = {
    "line ends": lambda text: text.replace("\n", "\r\n"),
    "hard wraps": lambda text: "\n".join(
        part for line in text.split("\n") for part in (textwrap.wrap(line, 72, break_long_words=False) or [""])
    ),
    "blank lines": lambda text: text.replace("\n", "\n\n"),
    "quotation marks": lambda text: re.sub(r'"([^"\n]*)"', "\u201c\\1\u201d", text).replace("'", "\u2019"),
    "no-break spaces": lambda text: re.sub(r"(\d) (?=\w)", "\\1\u00a0", text),
    "headings": lambda text: text.replace("\n## ", "\n### "),
}
ONLY_WITH_RUN = ("status line", "gaps")


async def make_reports(workspace: Workspace, home: Path, documents: Path | None, count: int) -> list[str]:
    """Research questions over the documents; return the honest reports."""
    folder = documents or demo_documents(home / "unpacked")
    await ingest_files(workspace.database, "bench", (folder,), lambda *_: None)
    questions = [question for question, known in OWN if known]
    if documents:
        rows = await workspace.database.fetch_all(
            "SELECT DISTINCT heading FROM passage WHERE length(heading) BETWEEN 12 AND 90 ORDER BY heading",
            [],
            where="reading headings",
        )
        questions = [f"What is said about {str(heading).rpartition('>')[2].strip()}?" for (heading,) in rows]
        random.Random(1).shuffle(questions)
    reports = [await ask(workspace, question, "bench") for question in questions[:count]]
    return [report.markdown for report in reports if report.markdown]


async def measure(workspace: Workspace, reports: list[str], each: int, draw: random.Random) -> None:
    """Draw the forgeries and print what was caught, then the honest layouts that were refused."""
    caught: Counter[tuple[str, bool]] = Counter()
    made: Counter[tuple[str, bool]] = Counter()
    for kind, change in FORGERIES.items():
        for number in range(each):
            text = draw.choice(reports)
            alone = number % 2 == 1 and kind not in ONLY_WITH_RUN
            forged = change(text, draw)
            if forged == text:
                continue
            bare = strip_seal(forged)
            forged = f"{bare}\n{format_seal('r_elsewhere', bare)}\n" if alone else forged
            made[kind, alone] += 1
            caught[kind, alone] += not (await verify_report(workspace, forged)).passed
        shown = [f"{caught[kind, alone]:3} of {made[kind, alone]:3}" for alone in (False, True)]
        print(f"{kind:26} with the run {shown[0]}   library alone {shown[1]}", flush=True)
    for way, layout in LAYOUTS.items():
        refused = sum([not (await verify_report(workspace, layout(text))).passed for text in reports])
        print(f"honest, {way:18} refused {refused} of {len(reports)}", flush=True)


async def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--reports", type=int, default=6)
    parser.add_argument("--each", type=int, default=6)
    parser.add_argument("--seed", type=int, default=8)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder:
        home = Path(folder)
        settings = load_settings(env={"CORROBORA_HOME": folder}, folder=home, user_file=home / "none.toml")
        async with Workspace.open(settings) as workspace:
            reports = await make_reports(workspace, home, given.documents, given.reports)
            print(f"{len(reports)} honest reports")
            await measure(workspace, reports, given.each, random.Random(given.seed))


if __name__ == "__main__":
    asyncio.run(main())
