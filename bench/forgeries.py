"""Forged reports: of each kind of forgery, how many `corrobora verify` catches; and honest reports in other formats.

Makes honest reports over the demo library, or over each folder in `--documents FOLDER` (one kind of documents each),
changes one thing in each copy, seals half of the copies again under another run, and checks them by the code of the
command. What is sealed again is seen by the library alone. Then writes every report in other formats, and prints which
are refused and why.
Run it as `python -m bench.forgeries [--documents FOLDER] [--reports N] [--each N] [--seed N]`; N reports a kind.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import tempfile
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.eval_research import OWN, PROFILE
from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.libraries import ingest_files
from corrobora.app.runs import submit_run
from corrobora.app.verification import verify_report
from corrobora.config import load_settings
from corrobora.data import demo_documents
from corrobora.domain.run import Request
from corrobora.faces.cli.new_run import DEMO_QUESTION
from corrobora.reporting.html_reader import html_to_markdown
from corrobora.reporting.recheck import RecheckResult
from corrobora.reporting.report_format import REPORT_FILES
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
    "source heading": replace_once(
        r"(?m)^(\[\d+\] \*\*[^*]+\*\*[^`]*?), [^`,]+?\. (\S+ `S\d)", r"\1, A heading of mine. \2"
    ),
    "heading added": replace_once(r"(?m)^(\[\d+\] \*\*[^*]+\*\*)\. (\S+ `S\d)", r"\1, A heading of mine. \2"),
    "source locator": replace_once(r"(?m)^(\[\d+\] .*`S\d+:C)(\d+)", r"\g<1>1\2"),
    "source number": replace_once(r"(?m)^(\[\d+\] .*`S)(\d+)", r"\g<1>1\2"),
    "spliced quote": replace_once(r"(?m)^> (.{30}).{20}", r"> \1"),
    "year": replace_once(r"\b(?:19|20)\d\d\b", "1987"),
    "conflict, word": replace_once(r"(?m)^(\|[^|\n]* -> .*“[^”]*)\b(?:[a-z]{4,})\b", r"\1never"),
    "conflict, label": replace_once(r"(?m)^(\|[^|\n]* -> [^|\n]*\| )[^|“\n]+: “", r"\1Revision 3 of my own: “"),
    "conflict, difference": replace_once(r"(?m)^\| ([^|\n]*) -> ([^|\n]*) \|", r"| \2 -> \1 |"),
    "conflict, sides swapped": replace_once(r"(?m)^(\|[^|\n]* -> .*”) \[\d+\]( \|.*”) \[(\d+)\]", r"\1 [\3]\2 [\3]"),
    "sign put in": in_body(r" (?=\w)", lambda _, draw: f" {draw.choice('>+-#*|')} "),
    "dashes put in": in_body(r" (?=\w)", lambda *_: " --"),
    "status line": replace_once(r"\*Status: \w+", "*Status: splendid"),
    "gaps": replace_once(r"\n## Methodology", "\n## Gaps\n\n- Nothing is missing.\n\n## Methodology"),
}
_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "…": "...", "–": "-", "—": "-", "\u00a0": " "})


def print_curly(text: str) -> str:
    """Return a text with typographic quotation marks, apostrophes and dots; addresses stay."""
    quoted = re.sub(r'"([^"\n]*)"', "\u201c\\1\u201d", text)
    return re.sub(r"(?<=\w)'", "\u2019", quoted).replace("...", "…")


def wrap_lines(width: int) -> Callable[[str], str]:
    """Return a format that breaks lines at `width` and indents nothing, as mail programs do."""

    def wrap(text: str) -> str:
        lines = (
            textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) for line in text.split("\n")
        )
        return "\n".join(part for line in lines for part in (line or [""]))

    return wrap


def join_lines(text: str) -> str:
    """Return a text with each paragraph on one line, as an editor joins them; it leaves code as it is."""
    parts = re.split(r"(?ms)(^```.*?^```$)", text)
    return "".join(part if number % 2 else _join_paragraphs(part) for number, part in enumerate(parts))


def _join_paragraphs(text: str) -> str:
    blocks = re.split(r"\n\s*\n", text)
    return "\n\n".join(block if re.match(r"[|>#-]|\d+[.)]", block) else " ".join(block.split("\n")) for block in blocks)


def escape_signs(text: str) -> str:
    """Return a text as formatters write it: signs escaped, addresses between angle brackets, spaces after bullets."""
    escaped = re.sub(r"\[(\d+)\]", r"\\[\1\\]", text).replace(" > ", " \\> ")
    return re.sub(r"(?m)^- ", "-   ", re.sub(r"(?<= )(https?://\S+)(?= `S\d)", r"<\1>", escaped))


def render_tables(text: str) -> str:
    """Return a text with its tables as HTML."""
    rows = re.compile(r"(?m)(?:^\|.*\n)+")
    return rows.sub(lambda table: re.search(r"(?s)<table>.*</table>\n", render_page(table.group())).group(), text)  # pyright: ignore[reportOptionalMemberAccess] - it has one


def render_page(text: str) -> str:
    """Return the page that another tool makes of our Markdown."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only this format needs it

    shown = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return f"<!doctype html>\n<html><body>{shown}</body></html>"


def print_json(text: str) -> str:
    """Return a JSON document as another program prints it."""
    fields = json.loads(text)
    run = re.search(r"run `(\w+)`", fields["seal"])
    return json.dumps({"run_id": run[1] if run else "", **fields}, indent=2, sort_keys=True)


FORMATS: dict[str, tuple[str, Callable[[str], str]]] = {  # of which file of the report, and what is done to it
    "as delivered": ("md", str),
    "line ends": ("md", lambda text: text.replace("\n", "\r\n")),
    **{f"wrapped at {width}": ("md", wrap_lines(width)) for width in (40, 57, 72)},
    "lines joined": ("md", join_lines),
    "blank lines": ("md", lambda text: text.replace("\n", "\n\n")),
    "typographic": ("md", print_curly),
    "plain signs": ("md", lambda text: text.translate(_PLAIN)),
    "no-break spaces": ("md", lambda text: re.sub(r"(\d) (?=\w)", "\\1\u00a0", text)),
    "headings, bullets": ("md", lambda text: re.sub(r"(?m)^- ", "* ", text.replace("\n## ", "\n### "))),
    "underlined headings": ("md", lambda text: re.sub(r"(?m)^## (.*)", r"\1\n-----", text)),
    "no bold or code": ("md", lambda text: re.sub(r"`(S\d+:C\d+)` `(.*)`", r"\1 \2", text).replace("**", "")),
    "lists renumbered": ("md", lambda text: re.sub(r"(?m)^\d{1,3}\. ", "1) ", text)),
    "quoted": ("md", lambda text: re.sub(r"(?m)^", "> ", text)),
    "wrapped, quoted": ("md", lambda text: re.sub(r"(?m)^", "> ", wrap_lines(72)(text))),
    "escaped": ("md", escape_signs),
    "round bullets": ("md", lambda text: re.sub(r"(?m)^- ", "• ", text)),
    "letters in parts": ("md", lambda text: unicodedata.normalize("NFD", text)),
    "tables as HTML": ("md", render_tables),
    "HTML of another tool": ("md", render_page),
    "HTML": ("html", str),
    "HTML to Markdown": ("html", html_to_markdown),
    "JSON": ("json", str),
    "JSON printed": ("json", print_json),
}
ONLY_WITH_RUN = ("dashes put in", "status line", "gaps")


class Honest(NamedTuple):
    """A delivered report: over which kind of documents, and its files by format."""

    kind: str
    files: dict[str, str]


def list_folders(documents: Path | None) -> list[Path]:
    """Return the folders below a folder."""
    return sorted(each for each in documents.iterdir() if each.is_dir()) if documents else []


async def make_reports(workspace: Workspace, home: Path, documents: Path | None, count: int) -> list[Honest]:
    """Research questions over each kind of documents; return the honest reports."""
    found: list[Honest] = []
    for folder in list_folders(documents) or [documents or demo_documents(home / "unpacked")]:
        await ingest_files(workspace.database, folder.name, (folder,), lambda *_: None)
        questions = (
            await draw_questions(workspace, folder.name, count)
            if documents
            else [DEMO_QUESTION, *(q for q, known in OWN if known)]
        )
        for question in questions[:count]:
            run = await submit_run(
                workspace, Request(question, PROFILE, libraries=(folder.name,), authorized="policy"), deferred=False
            )
            epoch = await workspace.runs.claim(run, "bench")
            await execute_run(workspace, run, epoch or 0)
            stored = {form: await workspace.runs.read_artifact(run, name) for form, name in REPORT_FILES.items()}
            files = {form: each.content.decode() for form, each in stored.items() if each is not None}
            found += [Honest(folder.name, files)] if len(files) == len(REPORT_FILES) else []
    return found


async def draw_questions(workspace: Workspace, library: str, count: int) -> list[str]:
    """Return questions about headings and about wordings of the documents, half of each."""
    rows = await workspace.database.fetch_all(
        "SELECT p.heading, p.body FROM passage p JOIN space l ON l.id = p.space WHERE l.name = %s ORDER BY p.id",
        [library],
        where="drawing questions",
    )
    draw = random.Random(library)
    headings = sorted({str(heading).rpartition(">")[2].strip() for heading, _ in rows})
    headings = [each for each in headings if 8 < len(each) < 80]
    draw.shuffle(headings)
    questions = [f"What is said about {each}?" for each in headings[: count // 2]]
    wordings = [re.findall(r"[A-Za-z][\w-]{3,}(?: [A-Za-z][\w-]{3,}){2,5}", str(body)) for _, body in rows]
    wordings = [each for each in wordings if each]
    while wordings and len(questions) < count:
        questions.append(f"What about {draw.choice(draw.choice(wordings))}?")
    return questions


async def measure_forgeries(
    workspace: Workspace, reports: list[str], each: int, draw: random.Random, *, show: bool
) -> None:
    """Draw the forgeries and print how many were caught; with `show`, also the line of each that was not."""
    for kind, change in FORGERIES.items():
        caught: Counter[bool] = Counter()
        made: Counter[bool] = Counter()
        for number in range(each):
            text = draw.choice(reports)
            alone = number % 2 == 1 and kind not in ONLY_WITH_RUN
            forged = change(text, draw)
            if forged != text:
                forged = seal_elsewhere(forged) if alone else forged
                made[alone] += 1
                passed = (await verify_report(workspace, forged)).passed
                caught[alone] += not passed
                if passed and show:
                    print_difference(text, forged)
        shown = [f"{caught[alone]:3} of {made[alone]:3}" for alone in (False, True)]
        print(f"{kind:26} with the run {shown[0]}   library alone {shown[1]}", flush=True)


def print_difference(text: str, forged: str) -> None:
    """Print the line that was forged, before and after."""
    pairs = zip(text.split("\n"), forged.split("\n"), strict=False)
    one, other = next(((one, other) for one, other in pairs if one != other), ("", ""))
    at = next((at for at in range(min(len(one), len(other))) if one[at] != other[at]), 0)
    print(f"      missed: {one[max(0, at - 80) : at + 80]}\n          as: {other[max(0, at - 80) : at + 80]}")


def seal_elsewhere(text: str) -> str:
    """Return a report as another machine would have sealed it."""
    bare = strip_seal(text).rstrip()
    return f"{bare}\n\n{format_seal('r_elsewhere', bare)}\n"


async def measure_formats(workspace: Workspace, reports: list[Honest]) -> None:
    """Print how many honest reports are refused in each format, by kind, with the reasons."""
    total: Counter[str] = Counter()
    for name, (form, put) in FORMATS.items():
        for alone in (False, True) if form == "md" else (False,):
            refused: Counter[str] = Counter()
            for report in reports:
                text = report.files[form]
                result = await verify_report(workspace, put(seal_elsewhere(text) if alone else text))
                refused[report.kind] += not result.passed
                for line in [] if result.passed else list_findings(result):
                    print(f"      {report.kind}: {line}"[:400])
            total += refused
            where = "library alone" if alone else "with the run"
            print(
                f"honest, {name:22} {where:14} refused {refused.total()} of {len(reports)} {dict(+refused)}", flush=True
            )
    print(f"honest, all formats: refused {total.total()}")


def list_findings(result: RecheckResult) -> list[str]:
    """Return why a report was refused, in lines."""
    return [
        *(f"changed, line {each.line}: {each.text}" for each in result.changes[:2]),
        *(f"reference [{number}]: {problem}" for number, problem in list(result.problems.items())[:2]),
        *(f"{each.support}, line {each.line}: {'; '.join(each.reasons)} | {each.text}" for each in result.failed[:2]),
    ]


async def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--reports", type=int, default=6)
    parser.add_argument("--each", type=int, default=6)
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--show", action="store_true", help="print the forgeries that were not caught")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corrobora-bench-") as folder:
        home = Path(folder)
        settings = load_settings(env={"CORROBORA_HOME": folder}, folder=home, user_file=home / "none.toml")
        async with Workspace.open(settings) as workspace:
            reports = await make_reports(workspace, home, given.documents, given.reports)
            print(f"{len(reports)} honest reports: {dict(Counter(report.kind for report in reports))}")
            await measure_formats(workspace, reports)
            texts = [report.files["md"] for report in reports]
            await measure_forgeries(workspace, texts, given.each, random.Random(given.seed), show=given.show)


if __name__ == "__main__":
    asyncio.run(main())
