"""What edits of stored reports change, lose and get done while the model breaks much of what it touches.

    python -m bench.edits [--runs 50] [--edits 10] [--breaks 0.3] [--drops 0.2]

Stores runs over the pages of this repository and the demo documents (six profiles, with and without a model), and edits
their reports by `corrobora edit`, half of the time the newest version again. The scripted model breaks some of its new
words (another number, another obligation, a negation, a half that is missing), rules wrongly on as many doubts, leaves
out citations, and edits what nobody asked for. The reader accepts everything. What changed is measured on the files
alone, by the sentences that the wish names; what was lost unsaid by what the command listed. Control: the same model
writes the report anew for each wish.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import random
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.careless import Careless, fold_words
from bench.model_server.server import ModelServer
from corrobora.faces.cli import run_command_line

PROFILES = ("timed", "rounds", "timed", "angles", "tree", "timed", "full")
FOLDERS = ("guides", "methods", "code", "decisions", "reference")
PAGES = Path(__file__).parents[1] / "docs"
DEMO = ("When must a memorized secret be changed?", "Which composition rules hold for passwords?")
WISHES = ("reword", "add", "reword", "drop", "reword", "move", "add", "shorten", "reword", "research")
_OPENED = re.compile(r"(?m)^((?:- )?)\\(?=[-*+#>|])")  # how a sentence that begins with a sign opens a line
_CITED = re.compile(r"(?<!\\)\[(\d{1,5})\](?!\(|:)")
_CODE = re.compile(r"(?m)^## (?:Contradictions and changes|Gaps|Methodology|Account of checking|Sources)$")
_FENCED = re.compile(r"(?ms)^```[^\n]*\n(.*?)^```$")
_LABEL = re.compile(r"\s*\*\([^()]*\)\*")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass
class Stored:
    """A report as its command shows it: text, sentences as they stand, by id, and titles of sections."""

    run: str
    text: str
    raw: dict[str, str]
    sections: dict[str, str]
    library: str

    @property
    def body(self) -> str:
        """What stands above the sections of code."""
        found = _CODE.search(self.text)
        return self.text[: found.start()] if found else self.text

    @property
    def sources(self) -> set[str]:
        """The numbers in the list of references."""
        return set(re.findall(r"(?m)^\[(\d+)\] ", self.text))


@dataclass
class Tally:
    """What was counted over all edits."""

    careless: Careless
    asked: Counter[str] = field(default_factory=Counter[str])
    done: Counter[str] = field(default_factory=Counter[str])
    outside: list[str] = field(default_factory=list[str])
    unsaid: list[str] = field(default_factory=list[str])
    broken: list[str] = field(default_factory=list[str])
    confirmed: list[str] = field(default_factory=list[str])
    missed: list[str] = field(default_factory=list[str])
    said: int = 0
    control: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True)
class Wish:
    """What a reader asks for: arguments of the command, and the ids that it names."""

    kind: str
    arguments: tuple[str, ...]
    target: str
    after: str = ""


def main() -> None:
    """Print the figures; end with 1 if one misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--edits", type=int, default=10)
    parser.add_argument("--breaks", type=float, default=0.3)
    parser.add_argument("--drops", type=float, default=0.2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="corrobora-edits-") as folder:
        Path(folder).chmod(0o711)  # the account of the embedded server passes
        os.environ |= {"CORROBORA_HOME": f"{folder}/home", "XDG_CONFIG_HOME": folder}
        os.chdir(folder)
        careless = Careless(options.breaks, options.drops)
        tally, began = Tally(careless), time.monotonic()
        with serve_model(careless) as model:
            runs = list(store_runs(options.runs, model))
            print(f"{len(runs)} runs stored in {time.monotonic() - began:.0f} s", flush=True)
            for number, (run, library) in enumerate(runs):
                first = read_stored(run, library=library)
                edit_run(number, first, options.edits, model, tally)
                rewrite(first, Careless(options.breaks, options.drops), tally)
                print(f"{number + 1}: {sum(tally.done.values())} of {sum(tally.asked.values())} done", flush=True)
        print_figures(tally)
    raise SystemExit(bool(tally.outside or tally.unsaid or sum(tally.done.values()) < 0.95 * sum(tally.asked.values())))


@contextlib.contextmanager
def serve_model(careless: Careless) -> Iterator[str]:
    """Serve the model in a thread; yield how `--model` names it."""
    ready, stop = threading.Event(), asyncio.Event()
    found: dict[str, Any] = {}

    async def serve() -> None:
        async with ModelServer(careless.answer, keep=False) as server:
            found.update(url=server.url, loop=asyncio.get_running_loop())
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait(60)
    try:
        yield f"openai-compatible:scripted-large@{found['url']}/v1"
    finally:
        found["loop"].call_soon_threadsafe(stop.set)
        thread.join()


def command(*arguments: str) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = int(run_command_line(arguments))
    return code, out.getvalue() or err.getvalue()


def store_runs(wanted: int, model: str) -> Iterator[tuple[str, str]]:
    """Research headings of pages until there are enough reports; every second run has a model."""
    made = 0
    for number, (library, question) in enumerate(list_questions()):
        if made == wanted:
            return
        profile = PROFILES[made % len(PROFILES)]
        writer = ("--model", model) if made % 2 else ()
        flags = ("-l", library, "-p", profile, "--yes", "--offline", "--json", "-q", "--no-input", *writer)
        _, printed = command("research", question, *flags)
        report = json.loads(printed) if printed.startswith("{") else {}
        if report.get("citations"):
            made += 1
            yield str(report["run_id"]), library
        else:
            print(f"no report ({number}, {profile}): {question}: {printed[-200:].strip()}", flush=True)


def list_questions() -> Iterator[tuple[str, str]]:
    """Yield libraries with a question each: about the headings of their pages, in turn."""
    asked: list[list[tuple[str, str]]] = [[("demo", each) for each in DEMO]]
    for folder in FOLDERS:
        headings = [
            line.removeprefix("## ").replace("`", "")
            for page in sorted((PAGES / folder).glob("*.md"))
            for line in page.read_text().split("\n")
            if line.startswith("## ") and len(line.split()) > 2
        ]
        random.Random(3).shuffle(headings)
        asked.append([(str(PAGES / folder), f"What is known about {each[:1].lower()}{each[1:]}?") for each in headings])
    for turn in range(max(map(len, asked))):
        yield from (each[turn] for each in asked if turn < len(each))


def read_stored(run: str, text: str = "", *, library: str) -> Stored:
    """Read a report and its outline by the command."""
    listed = json.loads(command("edit", run, "--outline", "--json")[1])
    lines = [line.strip() for line in command("edit", run, "--outline")[1].split("\n") if line.startswith("  ")]
    raw = {name: _OPENED.sub(r"\1", said) for name, said in (line.split("  ", 1) for line in lines)}
    assert list(raw) == [each["id"] for each in listed["sentences"]]
    text = text or command("export", run, "-f", "md", "-o", "-")[1]
    return Stored(
        run, _OPENED.sub(r"\1", text), raw, {each["id"]: each["title"] for each in listed["sections"]}, library
    )


def edit_run(number: int, first: Stored, edits: int, model: str, tally: Tally) -> None:
    """Edit the report of a run as often as asked: the report itself and its newest version in turn."""
    rng = random.Random(number)
    newest = first
    for turn in range(edits):
        before = newest if turn % 2 else first
        wish = make_wish(WISHES[turn % len(WISHES)], before, rng)
        tally.asked[wish.kind] += 1
        files = Path(f"files-{number}-{turn}")
        flags = ("--accept", "all", "--accept-losses", "--no-input", "-q", "--artifacts", str(files), "--json")
        code, printed = command("edit", before.run, *wish.arguments, *flags, "--model", model)
        if code:
            tally.missed.append(f"{wish.kind} {wish.arguments}: {printed.strip()[-300:]}")
            continue
        made = json.loads(printed)
        newest = read_stored(made["run_id"], made["markdown"], library=first.library)
        measure_edit(wish, (before, newest), json.loads((files / "edits.json").read_text()), tally)


def make_wish(kind: str, given: Stored, rng: random.Random) -> Wish:
    """Choose what a reader asks of a report."""
    plain = [name for name, text in given.raw.items() if not text.startswith("|")]
    cited = [name for name in plain if _CITED.search(given.raw[name]) and len(given.raw[name]) < 1_200]
    sizes = Counter(name.partition(".")[0] for name in given.raw)
    large = [section for section, size in sizes.items() if size > 2]
    if kind == "research":
        section = rng.choice([*given.sections])
        question = rng.choice([question for library, question in list_questions() if library == given.library])
        return Wish(kind, ("--research", f"{section}={question}"), section)
    if kind == "shorten" and large:
        section = rng.choice(large)
        return Wish(kind, ("--shorten", section), section)
    if kind == "move" and len(plain) > 1:
        target, after = rng.sample(plain, 2)
        return Wish(kind, (f"Move {target} behind {after}, please.",), target, after)
    if kind == "drop" and len(given.raw) > 1:
        target = rng.choice([*given.raw])
        return Wish(kind, (f"Drop {target}; it is of no use.",), target)
    if kind == "reword" and cited:
        target = rng.choice(cited)
        return Wish(kind, (f"Re-word {target} for a reader in a hurry.",), target)
    target = rng.choice([*given.raw])
    return Wish("add", (f"Add to {target} what else is known.",), target)


def measure_edit(wish: Wish, versions: tuple[Stored, Stored], told: dict[str, Any], tally: Tally) -> None:
    """Count what changed outside of the wish, what is lost unsaid, and whether the wish was done."""
    before, after = versions
    name = f"{wish.kind} {wish.target} of {before.run} -> {after.run}"
    scope = find_scope(wish, before, after)
    kept = [text for each, text in before.raw.items() if each not in scope]
    added = [find_added(kept, after.raw, backwards=way) for way in (False, True)]
    if added[0] is None:
        tally.outside.append(f"{name}: sentences: {[*(Counter(kept) - Counter(after.raw.values()))]}")
        return
    rest = cut_lines(before, scope)
    if not any(rest == cut_lines(after, each) for each in added if each is not None):
        other = cut_lines(after, added[0])
        tally.outside.append(f"{name}: {[*(Counter(rest) - Counter(other)), *(Counter(other) - Counter(rest))][:4]}")
    new = [after.raw[each] for each in sorted(added[0])]
    _count_losses(name, wish, versions, told, tally)
    if not any(each["losses"] for each in told["changes"]):
        wrong = [text for text in new if fold_words(_plain(text)) in tally.careless.broken]
        tally.confirmed += [f"{name}: {text}" for text in wrong if fold_words(_plain(text)) in tally.careless.misruled]
        tally.broken += [f"{name}: {text}" for text in wrong if fold_words(_plain(text)) not in tally.careless.misruled]
    if is_done(wish, before, after, new):
        tally.done[wish.kind] += 1
    else:
        tally.missed.append(f"{name}: {wish.arguments}: {[each['refused'] for each in told['changes']]}")


def find_scope(wish: Wish, before: Stored, after: Stored) -> set[str]:
    """Return the ids that a wish may take out of their place: of a shortened section those that are gone."""
    if wish.kind != "shorten":
        return {wish.target} if wish.kind in ("reword", "drop", "move") else set[str]()
    left = Counter(after.raw.values())
    left.subtract(text for name, text in before.raw.items() if name.partition(".")[0] != wish.target)
    scope: set[str] = set()
    for name, text in before.raw.items():
        if name.partition(".")[0] == wish.target:
            scope |= set[str]() if left[text] > 0 else {name}
            left[text] -= 1
    return scope


def _count_losses(name: str, wish: Wish, versions: tuple[Stored, Stored], told: dict[str, Any], tally: Tally) -> None:
    before, after = versions
    listed = [*told["together"], *(loss for each in told["changes"] if not each["refused"] for loss in each["losses"])]
    tally.said += len(listed)
    said = " ".join(loss["text"] for loss in listed)
    for number in before.sources - after.sources:
        if f"[{number}] " not in said:
            tally.unsaid.append(f"{name}: reference [{number}]")
    dropped = {text for text in before.raw.values() if text not in after.raw.values()}
    if wish.kind in ("shorten", "drop"):
        code = Counter(_FENCED.findall(before.body)) - Counter(_FENCED.findall(after.body))
        tally.unsaid += [f"{name}: code {each}" for each in code if _squeeze(each) not in _squeeze(said)]
    for text in dropped:
        words = _plain(text)
        if wish.kind in ("shorten", "drop") and _CITED.search(text) and _squeeze(words) not in _squeeze(said):
            tally.unsaid.append(f"{name}: statement {text}")
        if wish.kind == "reword":
            now = " ".join(_plain(each) for each in after.raw.values())
            lost = [each for each in _NUMBER.findall(words) if each not in now and each not in said]
            tally.unsaid += [f"{name}: number {each}" for each in lost]


def is_done(wish: Wish, before: Stored, after: Stored, new: Sequence[str]) -> bool:
    """True if the file shows what was asked for."""
    texts = [*after.raw.values()]
    old = before.raw.get(wish.target, "")
    match wish.kind:
        case "reword":
            return Counter(texts)[old] < Counter(before.raw.values())[old] and bool(new)
        case "drop":
            return Counter(texts)[old] < Counter(before.raw.values())[old]
        case "move":
            at = [place for place, text in enumerate(texts) if text == before.raw[wish.after]]
            return any(texts[place + 1 : place + 2] == [old] for place in at)
        case "shorten":
            size = [
                len(" ".join(text for name, text in each.raw.items() if name.partition(".")[0] == wish.target))
                for each in (before, after)
            ]
            return size[1] < size[0]
        case _:
            return bool(new)


def rewrite(given: Stored, careless: Careless, tally: Tally) -> None:
    """Control: the model writes the whole report anew; count what breaks."""
    for text in given.raw.values():
        marks = "".join(f"[{each}]" for each in _CITED.findall(text))
        words = _plain(text)
        again = careless.write(words, marks)
        tally.control["sentences"] += 1
        tally.control["cited"] += bool(marks)
        tally.control["broken"] += fold_words(words) != fold_words(_CITED.sub("", again))
        tally.control["uncited"] += bool(marks) and not _CITED.search(again)


def print_figures(tally: Tally) -> None:
    """Print what was counted, and each case that missed."""
    for title in ("outside", "unsaid", "broken", "confirmed", "missed"):
        for case in getattr(tally, title):
            print(f"{title}: {case}")
    asked, done, model, told = sum(tally.asked.values()), sum(tally.done.values()), tally.careless, tally.control
    print(f"{asked} edits: " + ", ".join(f"{kind} {tally.done[kind]}/{tally.asked[kind]}" for kind in tally.asked))
    print(f"the model wrote {model.written} texts: {len(model.broken)} broken, {model.cut} without their citations")
    print(f"done: {done} of {asked} ({done / asked:.1%}); changes outside the scope: {len(tally.outside)}")
    print(f"facts or citations lost unsaid: {len(tally.unsaid)}; losses that were listed and accepted: {tally.said}")
    print(f"broken words that no listed loss told: {len(tally.broken)}; confirmed by the model: {len(tally.confirmed)}")
    print(f"control: {told['broken']} of {told['sentences']} broken, {told['uncited']} of {told['cited']} uncited")


def _plain(text: str) -> str:
    return " ".join(_LABEL.sub("", _CITED.sub("", text)).split())


def _squeeze(text: str) -> str:
    return re.sub(r"[\s*_`\\]+", "", text)


def find_added(kept: Sequence[str], now: Mapping[str, str], *, backwards: bool) -> set[str] | None:
    """Return the ids of sentences that are not among those kept, in their order; None if one of these is missing."""
    way = -1 if backwards else 1
    left, added = [*kept][::way], set[str]()
    for name, text in [*now.items()][::way]:
        if left and left[0] == text:
            left.pop(0)
        else:
            added.add(name)
    return None if left else added


def cut_lines(given: Stored, names: Collection[str]) -> list[str]:
    """Return the lines of a body without its status and without these sentences.

    Bytes are compared, but for white space around what was cut. Code that it led in, and what led it in, goes with it.
    """
    body, at = given.body, 0
    for name, text in given.raw.items():
        start = body.index(text, at)
        cut = "\1" if _CITED.sub("", text).rstrip().endswith(":") else "\0"  # such a sentence leads in code
        body = f"{body[:start]}{cut}{body[start + len(text) :]}" if name in names else body
        at = start + 1 if name in names else start + len(text)
    leads = {text for text in body.split("\n") if text.rstrip().endswith(":") and text not in given.raw.values()}
    lines, goes, fenced = list[str](), False, False
    for line in (each for each in body.split("\n") if each.strip() and not each.startswith("*Status")):
        if goes and (fenced or line.startswith("```") or not _CITED.sub("", line).strip()):
            fenced ^= line.startswith("```")
            continue
        cut = re.sub(r"\s*(?:[\0\1]\s*)+", " ", line)
        gone = cut != line and not cut.strip(" -*+.0123456789)")
        goes = gone or line.rstrip().endswith("\1")
        lines += [] if gone else [cut.strip() if cut != line else line.rstrip()]
    ends = [below in leads or below.startswith("#") for below in (*lines[1:], "#")]
    return [line for line, end in zip(lines, ends, strict=True) if line not in leads or not end]


if __name__ == "__main__":
    main()
