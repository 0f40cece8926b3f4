"""The account of checking that closes a report: every statement once, by how it was checked and by its verdict.

Knows the results of the checks and counts them, so that the sums close. Does not check anything and does not know the
sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from corrobora.domain.report import Report, SentenceCheck, Support
from corrobora.reporting.markdown import format_table
from corrobora.text import phrases

_HOW = {
    "quote": "copied word for word",
    "restatement": "restated in other words",
    "arithmetic": "calculated",
    "count": "counted",
    "comparison": "compared",
    "trend": "told as a trend",
    "absence": "told as not found",
    "judgement": "judged",
    "": "without a source",
}
_VERDICTS = {
    Support.SUPPORTED: "carried",
    Support.PARTLY: "partly",
    Support.UNCLEAR: "unclear",
    Support.UNSUPPORTED: "not supported",
    Support.CONTRADICTED: "contradicted",
    Support.NOT_CHECKABLE: "not checked",
    Support.UNCITED: "no claim",
}
_WITHHELD, _ALL = "withheld", "all"


def summarize_checks(checks: Sequence[SentenceCheck]) -> str:
    """Return the checks in one line: what was copied, what else is carried, what is not, and what was withheld."""
    claims = [check for check in checks if check.support is not Support.UNCITED]
    printed = [check for check in claims if not check.withheld]
    copied = sum(check.follows == "quote" for check in printed)
    others = [check for check in printed if check.follows != "quote"]
    carried = sum(check.support is Support.SUPPORTED for check in others)
    withheld = len(claims) - len(printed)
    parts = [f"{copied} of {len(claims)} statements copied word for word"]
    parts += [f"{carried} of {len(others)} in other words carried by their quotes"] if others else []
    parts += [f"{withheld} of {len(claims)} withheld"] if withheld else []
    return ", ".join(parts)


def render_account(report: Report) -> str:
    """Render the section: a table whose sums close, then what was withheld and why, and what the labels mean."""
    if not report.checks:
        return ""
    columns = [*_VERDICTS.values(), _WITHHELD]
    counts = Counter((_name_how(check), _name_verdict(check)) for check in report.checks)
    used = [column for column in columns if any(key[1] == column for key in counts)]
    ways = [
        way
        for way in dict.fromkeys((*_HOW.values(), *(key[0] for key in counts)))
        if any(key[0] == way for key in counts)
    ]
    rows = [
        [way, *(counts[way, column] for column in used), sum(counts[way, column] for column in used)] for way in ways
    ]
    total = [_ALL, *(sum(counts[way, column] for way in ways) for column in used), len(report.checks)]
    table = format_table(("Statements", *used, _ALL), [*rows, total])
    notes = "\n".join(f"- {line}" for line in _explain_counts(report))
    return f"## {phrases.ACCOUNT}\n\n{table}\n\n{notes}"


def _explain_counts(report: Report) -> list[str]:
    claims = [check for check in report.checks if check.support is not Support.UNCITED]
    carried = sum(check.support is Support.SUPPORTED for check in claims)
    copied = sum(check.follows == "quote" and not check.withheld for check in claims)
    lines = [
        f"{carried} of {len(claims)} statements are carried by what they cite; {copied} of {len(claims)} are copies."
    ]
    why = Counter(check.withheld for check in report.checks if check.withheld)
    lines += [f"Withheld: {reason}{f' ({n} times)' if n > 1 else ''}." for reason, n in why.items()]
    labels = {check.support for check in claims if not check.withheld} & set(_VERDICTS) - {Support.SUPPORTED}
    if labels:
        lines.append(
            f"A label such as *({phrases.LABELS[1]})* stands behind a sentence that code could not confirm; "
            "it may be true, so read its quotes."
        )
    unchecked = sum(check.support is Support.NOT_CHECKABLE for check in report.checks)
    lines += [f"Not checked: {unchecked} of {len(report.checks)}."] if unchecked else []
    done = report.methodology
    if done.removed_markers:
        lines.append(f"{done.removed_markers} citations and addresses led to no source and were removed.")
    if done.repeated_lines:
        lines.append(f"{done.repeated_lines} lines that the writer repeated were printed only once or a few times.")
    return lines


def _name_how(check: SentenceCheck) -> str:
    return _HOW.get(check.follows, check.follows)


def _name_verdict(check: SentenceCheck) -> str:
    return _WITHHELD if check.withheld else _VERDICTS[check.support]
