"""Agreement: what the artifacts of one run say about the same thing, compared with each other.

Knows the files of a run and the meaning of exit codes, as their documentation says, and reads them as a person would.
Shares no code with what wrote them: the loop decision, the phase state, the completion and micro-reports, the report's
status, opening, gaps and methodology, the stored row, and the exit code with and without `--strict`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from corrobora.engine.sections import LIMIT_TOLD

Found = tuple[str, str]  # the kind of a disagreement, and what disagrees
Fields = Mapping[str, Any]

STATUS_WORDS = {
    "complete": "complete",
    "partial": "partial",
    "passages": "passages near the question",
    "no_evidence": "no sufficient evidence was found",
    "limit_reached": "a limit was reached before the question was answered",
    "cancelled": "cancelled",
}
_STRICT = {"complete": 0, "partial": 5, "passages": 6, "limit_reached": 5, "cancelled": 5}
_NO_REPORT = {"no_evidence": 6, "evidence_inaccessible": 6, "provider_down": 7, "limit_reached": 8, "cancelled": 130}
_NONE_LEFT = ("gaps_empty", "criteria_met")
_CLOSED = re.compile(r"(\d+) of (\d+) questions answered")
_PLURAL = re.compile(r"(?<![\d.])1 (?:rounds|searches|results|facts|sources|quotes|parts|model calls)\b|\d s no time")
_DENIED = ("No sufficient evidence was found", "No statement that was read", "Passages near the question")


class Ended(NamedTuple):
    """A run that ended: its files, the outcome and status of its row, and its exit code, plain and strict."""

    files: Mapping[str, str]
    outcome: str
    status: str
    code: int
    strict: int


def find_disagreements(run: Ended) -> list[Found]:
    """Return what the artifacts of a run say differently about the same thing."""
    report: Fields = json.loads(run.files.get("report.json", "{}"))
    if not report:
        return [] if run.code else [("exit", "no report was stored, and the exit code is 0")]
    found = [*_check_ends(run, report), *_check_status(report)]
    for leaf in iter_leaves(report["findings"]):
        found += _check_leaf(leaf)
        found += _check_completion(leaf, run.files)
        found += _check_rounds(leaf, run.files)
    if report["markdown"]:
        found += _check_page(report, run.files)
    return [*found, *_check_phase_state(report, run.files), *_check_counts(report)]


def iter_leaves(found: Fields) -> Iterator[Fields]:
    """Yield the findings of all threads."""
    children = [*found["children"], *found["left_out"]]
    if not found["children"]:
        yield found
    for child in children:
        yield from iter_leaves(child)


def _check_ends(run: Ended, report: Fields) -> Iterator[Found]:
    """The outcome of the report, of the row, and the exit codes."""
    outcome = report["outcome"]
    if run.outcome != outcome:
        yield "row", f"the row says {run.outcome}, the report {outcome}"
    if report["citations"]:
        wanted = (0, _STRICT[outcome])
    else:
        code = 6 if report["stop"] == "error" else _NO_REPORT.get(outcome, -1)
        wanted = (code, code)
    if (run.code, run.strict) != wanted:
        yield "exit", f"{outcome} ends with {run.code} and strictly {run.strict}, not {wanted}"


def _check_status(report: Fields) -> Iterator[Found]:
    """The status word against questions, gaps and failures."""
    found, outcome, reason = report["findings"], report["outcome"], report["reason"]
    standing = [each["standing"] for each in found["sub_questions"]]
    answered = standing.count("ANSWERED")
    if outcome == "complete" and (answered < len(standing) or found["gaps"] or reason):
        yield "status", f"complete, {answered} of {len(standing)} answered, {len(found['gaps'])} gaps, {reason!r}"
    if outcome == "partial" and not reason:
        yield "status", "partial without a reason"
    if outcome == "passages" and answered:
        yield "status", f"passages near the question, and {answered} questions are answered"
    said = _CLOSED.search(reason)
    if said is not None and (int(said[1]), int(said[2])) != (answered, len(standing)):
        yield "status", f"{said[0]}, and {answered} of {len(standing)} stand as answered"
    if outcome == "complete" and (lost := report["methodology"]["uncovered"]):
        yield "status", f"complete, and parts are not covered: {lost}"
    yield from _check_questions(found)


def _check_questions(found: Fields) -> Iterator[Found]:
    """Each question against the gaps and its key finding."""
    open_gaps = {gap["target"] for gap in found["gaps"]}
    claims = {fact["claim"] for fact in found["facts"]}
    for asked in found["sub_questions"]:
        closed = asked["standing"] == "ANSWERED"
        if closed == (asked["id"] in open_gaps):
            yield "gaps", f"{asked['id']} is {asked['standing']} and {'a' if closed else 'no'} gap"
        if closed and asked["finding"] not in claims:
            yield "finding", f"{asked['id']} is answered, and its key finding is {asked['finding']!r}"


def _check_leaf(leaf: Fields) -> Iterator[Found]:
    """Why a thread stopped, against what it lacks; the words of its decisions against its questions."""
    stop, rounds = leaf["stop"], leaf["rounds"]
    missing = [each["id"] for each in leaf["sub_questions"] if each["standing"] != "ANSWERED"]
    decided = rounds[-1]["decision"] if rounds else None
    if stop in _NONE_LEFT and missing and not rounds:
        yield "stop", f"{leaf['path']}: {stop} without a round, and {len(missing)} questions are open"
    if decided is None:
        return
    proposal = decided["proposal"]
    if stop in _NONE_LEFT and proposal["gaps"]:
        yield "stop", f"{leaf['path']}: {stop}, and its last decision lists {len(proposal['gaps'])} gaps"
    exhausted = any(each["standing"] == "EXHAUSTED" for each in leaf["sub_questions"])
    if stop == "all_exhausted" and missing and not exhausted:  # facts of a sibling may have answered them since
        yield "stop", f"{leaf['path']}: everything was tried, and no question is exhausted"
    if decided["stop"] is not None and decided["stop"] != stop:
        yield "stop", f"{leaf['path']}: stopped by {stop}, and its last decision says {decided['stop']}"
    said = _CLOSED.search(proposal["summary"])
    n = len(leaf["sub_questions"])
    if said is not None and int(said[1]) > n - len(missing):
        yield "decision", f"{leaf['path']}: its decision counts {said[0]}, and {n - len(missing)} are"
    for gap in proposal["gaps"]:
        standing = {each["id"]: each["standing"] for each in leaf["sub_questions"]}.get(gap["target"])
        if standing == "ANSWERED" and gap["target"] in {each["target"] for each in leaf["gaps"]}:
            yield "gaps", f"{leaf['path']}: {gap['target']} is answered and still a gap"


def _check_phase_state(report: Fields, files: Mapping[str, str]) -> Iterator[Found]:
    """The phase state of a run of one thread against its report."""
    found = report["findings"]
    if found["children"] or "phase_state.json" not in files:
        return
    state = json.loads(files["phase_state.json"])["research"]
    words = {"ANSWERED": "complete", "EXHAUSTED": "exhausted"}
    for asked in found["sub_questions"]:
        told = state["retry_tracking"]["subquestions"].get(asked["id"], {}).get("status")
        if told != words.get(asked["standing"], "pending"):
            yield "phase_state", f"{asked['id']} is {told} in the phase state and {asked['standing']} in the report"
    decision = state["gap_analysis"]["loop_decision"]
    if decision is None:
        return
    gaps = sorted(gap["text"] for gap in found["gaps"])
    if sorted(decision["gaps"]) != gaps:
        yield "loop_decision", f"the loop decision lists {sorted(decision['gaps'])}, the report {gaps}"
    if decision["shouldContinue"] and found["stop"] not in ("time_reserve", "limit", "cancelled", "error"):
        yield "loop_decision", f"the loop should continue, and it stopped by {found['stop']}"
    if state["iteration"]["current"] != len(found["rounds"]):
        yield "phase_state", f"iteration {state['iteration']['current']} of {len(found['rounds'])} rounds"


def _read_rows(text: str, heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading, without those of dashes."""
    part = text.partition(f"### {heading}\n")[2].partition("\n### ")[0]
    rows = [line.strip("|").split(" | ") for line in part.split("\n") if line.startswith("|")]
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in rows[2:] if set(row) - {" -", "- ", "-"}]


def _check_completion(leaf: Fields, files: Mapping[str, str]) -> Iterator[Found]:
    """The completion report of a thread against its findings."""
    title = f"## Thread Completion Report: {leaf['title']}\n"
    own = [text for name, text in files.items() if name.startswith("thread-completion-") and text.startswith(title)]
    if len(own) != 1:
        return
    standing = {row[0]: row[2] for row in _read_rows(own[0], "Sub-Question Status")}
    wanted = {each["id"]: each["standing"] for each in leaf["sub_questions"]}
    if standing != wanted:
        yield "completion", f"{leaf['path']}: the completion report has {standing}, the findings {wanted}"
    for row in _read_rows(own[0], "Sub-Question Status"):
        empty = row[4] == "no sufficient evidence"  # what is answered in part has a finding that does not suffice
        if (row[2] == "ANSWERED" and empty) or (row[2] == "OPEN" and not empty):
            yield "completion", f"{leaf['path']}: {row[0]} is {row[2]} with the key finding {row[4]!r}"
    gaps = _read_rows(own[0], "Gaps Remaining")
    if len(gaps) != len(leaf["gaps"]):
        yield "completion", f"{leaf['path']}: {len(gaps)} gaps in the completion report, {len(leaf['gaps'])} found"
    history = [(row[1], row[2]) for row in _read_rows(own[0], "Plateau History")]
    counts = [(str(each["new_facts"]), str(each["confirming_facts"])) for each in leaf["rounds"]]
    if history != counts:
        yield "completion", f"{leaf['path']}: the plateau history has {history}, the rounds {counts}"


def _check_rounds(leaf: Fields, files: Mapping[str, str]) -> Iterator[Found]:
    """The saturation of each micro-report against its own counts, and its counts against the round."""
    for each in leaf["rounds"]:
        head = f"thread: {leaf['title']}\nround: {each['number']}\n"
        texts = [text for name, text in files.items() if name.startswith("micro-report-") and head in text[:600]]
        if len(texts) != 1:
            continue
        new, level = (re.search(rf"^{name}: (\w+)", texts[0], re.MULTILINE) for name in ("new_facts", "saturation"))
        wanted = "HIGH" if each["new_facts"] <= 1 else "MEDIUM" if each["new_facts"] <= 4 else "LOW"
        if new is None or level is None or (new[1], level[1]) != (str(each["new_facts"]), wanted):
            yield "micro", f"{leaf['path']}, round {each['number']}: {new}, {level}, counted {each['new_facts']}"


def _check_page(report: Fields, files: Mapping[str, str]) -> Iterator[Found]:
    """The printed report: its status line, opening, gaps and the sections of answered questions."""
    text, found = report["markdown"].replace("\\", ""), report["findings"]
    status = next((line for line in text.split("\n") if line.startswith("*Status: ")), "")
    word = STATUS_WORDS[report["outcome"]] + (f" ({report['reason']})" if report["reason"] else "")
    if not status.startswith(f"*Status: {word.replace(chr(92), '')}."):
        yield "status_line", f"{status[:160]!r} for {word!r}"
    if re.sub(r"<[^>]*>|\s", "", status.strip("*"))[:40] not in re.sub(r"<[^>]*>|\s", "", files.get("report.html", "")):
        yield "status_line", "the page has another status line"
    part = text.partition("\n## Gaps\n")[2].partition("\n## ")[0]
    listed = sum(line.startswith("- ") for line in part.split("\n"))
    wanted = len({gap["text"] for gap in found["gaps"]}) + len(report["methodology"]["uncovered"])
    if listed != wanted:
        yield "gaps", f"{listed} gaps are printed, {wanted} are found"
    body = text.partition("\n## Gaps\n")[0].partition("\n## Methodology\n")[0]
    if report["outcome"] == "complete" and (denied := [each for each in _DENIED if each in body]):
        yield "opening", f"complete, and the body says {denied[0]!r}"
    for asked in found["sub_questions"]:
        section = body.partition(f"\n## {asked['text'].rstrip('?. ')}\n")[2].partition("\n## ")[0].strip()
        if asked["standing"] == "ANSWERED" and section.startswith(_DENIED):
            yield "section", f"{asked['id']} is answered, and its section says {section[:80]!r}"


def _check_counts(report: Fields) -> Iterator[Found]:
    """The methodology against the rounds and facts."""
    done, leaves = report["methodology"], list(iter_leaves(report["findings"]))
    rounds = sum(len(leaf["rounds"]) for leaf in leaves)
    if done["rounds"] != rounds:
        yield "methodology", f"{done['rounds']} rounds are told, {rounds} were made"
    failures = [each for leaf in leaves for done_round in leaf["rounds"] for each in done_round["failures"]]
    failed = sum(not each.endswith(LIMIT_TOLD) for each in failures)  # a search that a limit forbade was not made
    told = done["failed_searches"]  # each once, however many rounds asked for it
    if told > failed or bool(told) != bool(failed):
        yield "methodology", f"{told} failed searches are told, {failed} rounds had one"
    if report["markdown"] and (odd := _PLURAL.search(report["markdown"].partition("\n## Sources\n")[0])):
        yield "wording", f"{odd[0]!r}"
