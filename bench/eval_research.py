"""The whole engine on real data, extractive analyst, default profile: anchors of the demo, evidence by round, refusals.

Knows how to turn each set into a library and its measure; every set runs with the same settings.
Run it as `python -m bench.eval_research --data DIR [--suite demo|twowiki|multihop|own]`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.eval_retrieval import Suite, distinct, fill, rows, twowiki
from bench.eval_retrieval import multihop as multihop_suite
from corrobora.app import Workspace
from corrobora.app.attempts import execute_run
from corrobora.app.libraries import ingest_files
from corrobora.app.runs import submit_run
from corrobora.app.verification import verify_report
from corrobora.config import load_settings
from corrobora.data import demo_documents
from corrobora.domain.report import Report
from corrobora.domain.run import Request
from corrobora.engine.session.journal import decode
from corrobora.policies.outcome import is_partly_answered
from corrobora.storage.index.catalog import Catalog

PROFILE = "timed"
OWN = (  # our own questions on the demo documents; False: the documents hold no answer
    ("How long must a randomly chosen memorized secret be?", True),
    ("What is the difference between AAL2 and AAL3?", True),
    ("Are biometrics allowed as a single factor?", True),
    ("Which revision requires phishing resistance, and for which assurance level?", True),
    ("What does HSTS do and how is a domain preloaded?", True),
    ("Which plays of the playbook speak about testing with users?", True),
    ("How often must a session at AAL2 be reauthenticated?", True),
    ("What is the boiling point of ethanol?", False),
    ("Who won the 2018 football world cup?", False),
    ("What did the Verge write about the Apple Watch Series 9?", False),
    ("How many calories does a banana have?", False),
    ("Which NIST publication regulates the storage of nuclear waste?", False),
)


async def ask(workspace: Workspace, question: str, library: str, profile: str = PROFILE) -> Report:
    """Research one question in this process and return its report."""
    run = await submit_run(
        workspace, Request(question, profile, libraries=(library,), authorized="policy"), deferred=False
    )
    epoch = await workspace.runs.claim(run, "eval")
    assert epoch is not None
    await execute_run(workspace, run, epoch)
    stored = await workspace.runs.read_artifact(run, "report.json")
    if stored is None:
        row = await workspace.runs.get(run)
        raise RuntimeError(f"no report: {row.status} {row.reason}")
    return decode(Report, stored.content.decode(), key=run)


async def demo(workspace: Workspace, home: Path) -> bool:
    """Share of must-cover anchors that a citation's quote holds, and the dated contradictions."""
    documents = demo_documents(home / "unpacked")
    await ingest_files(workspace.database, "demo", (documents,), lambda *_: None)
    manifest = {row["path"]: row for row in map(json.loads, (documents / "manifest.jsonl").read_text().splitlines())}
    covered = total = 0
    literal = True
    for question in json.loads((documents.parent / "demo_questions.json").read_text()):
        begin = time.process_time()
        report = await ask(workspace, question["question"], "demo")
        used = time.process_time() - begin
        missing: list[str] = []
        for anchor in question["must_cover"]:
            url, version = manifest[anchor["path"]]["url"], manifest[anchor["path"]]["version"]
            hit = any(
                " ".join(anchor["anchor"].split()) in " ".join(quote.split())
                for c in report.citations
                if anchor["path"] in c.url or (c.url.split("#")[0] == url and c.version == version)
                for quote in c.quotes
            )
            covered += hit
            total += 1
            missing += [] if hit else [anchor["fact"]]
        differences = [c.difference for c in report.findings.contradictions]
        literal = literal and await _literal(workspace, report)
        n = len(question["must_cover"])
        print(f"demo      {question['id']}: {n - len(missing)} of {n} anchors, {len(report.citations)} citations")
        print(f"          {used:.2f} CPU-s, differences: {differences[:6]}")
        for fact in missing:
            print(f"          missing: {fact}")
    print(f"demo      anchors {covered} of {total} (floor 9), every citation literal: {literal}")
    return covered >= 9 and literal


async def _literal(workspace: Workspace, report: Report) -> bool:
    """Check every citation offline, through the same code as `corrobora verify`."""
    result = await verify_report(workspace, report.markdown)
    return all(str(found) == "verified" for s in result.statements for found in s.found)


async def own(workspace: Workspace, home: Path) -> bool:
    """Our own questions on the demo documents, absent answers among them."""
    await ingest_files(workspace.database, "demo", (demo_documents(home / "unpacked"),), lambda *_: None)
    good = 0
    for question, answerable in OWN:
        report = await ask(workspace, question, "demo")
        refused = refuses(report)
        good += refused is not answerable
        first = next((c.sentence for c in report.checks if c.facts), "")[:110]
        print(f"own       {'ok ' if refused is not answerable else 'BAD'} {report.outcome:12} {question} | {first}")
    print(f"own       {good} of {len(OWN)} as expected")
    return good >= len(OWN) - 2


def refuses(report: Report) -> bool:
    """True if the report says that nothing that was read answers the question; fitting statements are no refusal."""
    return not report.markdown or not any(map(is_partly_answered, report.findings.sub_questions))


async def loop(workspace: Workspace, suite: Suite, *, floor: float) -> bool:
    """All-evidence@k over the first k documents that a thread read, after rounds 1, 2 and 3."""
    urls = await fill(Catalog(workspace.database), suite)
    found = {1: 0, 2: 0, 3: 0}
    searches = 0
    begin = time.process_time()
    for question in suite.questions:
        report = await ask(workspace, question.text, suite.name)
        read: list[str] = []
        by_round: dict[int, list[str]] = {}
        rounds = report.findings.rounds or tuple(r for c in report.findings.children for r in c.rounds)
        for each in rounds:
            searches += len(each.intent.queries)
            read += [urls[reading.hit.url] for reading in each.readings if reading.outcome == "read"]
            by_round[each.number] = distinct(read)[: suite.k]
        for number in found:
            last = by_round.get(number, by_round[max(by_round)] if by_round else [])
            found[number] += question.gold <= set(last)
    n = len(suite.questions)
    shares = {number: count / n for number, count in found.items()}
    spent = time.process_time() - begin
    line = "  ".join(f"round {number} {share:.3f}" for number, share in shares.items())
    print(f"{suite.name:9} all@{suite.k} by the loop: {line} (floor {floor:.2f})")
    print(f"          {n} questions, {searches / n:.1f} searches and {spent / n * 1e3:.0f} CPU ms each")
    return shares[3] >= floor


async def refusals(workspace: Workspace, data: Path) -> bool:
    """Null questions: how many are refused; and how many answerable ones are refused by mistake."""
    await fill(Catalog(workspace.database), multihop_suite(data))
    counts = {True: [0, 0], False: [0, 0]}
    for row in rows(data / "multihop_rag_500" / "queries_dev.jsonl.gz"):
        null = row["question_type"] == "null_query"
        counts[null][0] += refuses(await ask(workspace, row["query"], "multihop"))
        counts[null][1] += 1
    right, wrong = counts[True][0] / counts[True][1], counts[False][0] / counts[False][1]
    print(f"multihop  null questions refused {right:.3f} of {counts[True][1]} (floor .60)")
    print(f"          others refused {wrong:.3f} of {counts[False][1]} (at most .10)")
    return right >= 0.60 and wrong <= 0.10


async def main(data: Path, names: Sequence[str]) -> int:
    """Run the suites; return 1 if one is below its floor."""
    bad = 0
    with tempfile.TemporaryDirectory(prefix="corrobora-eval-") as folder:
        settings = load_settings({"home": (folder, "--home")})
        async with Workspace.open(settings) as workspace:
            for name in names:
                match name:
                    case "demo":
                        good = await demo(workspace, Path(folder))
                    case "own":
                        good = await own(workspace, Path(folder))
                    case "twowiki":
                        good = await loop(workspace, twowiki(data), floor=0.88)
                    case _:
                        good = await refusals(workspace, data)
                bad += not good
    return 1 if bad else 0


def arguments() -> Any:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--suite", action="append", choices=("demo", "own", "twowiki", "multihop"))
    return parser.parse_args()


if __name__ == "__main__":
    options = arguments()
    raise SystemExit(asyncio.run(main(options.data, options.suite or ["demo", "own", "twowiki", "multihop"])))
