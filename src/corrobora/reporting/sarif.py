"""SARIF 2.1.0: the findings of a check in the form that editors and pipelines show beside the line.

Knows the format's rules, levels and locations. Does not decide what is a finding.
"""

from __future__ import annotations

from corrobora.reporting.recheck import RecheckResult

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"contradicted": "error", "unsupported": "error", "unclear": "warning", "partly": "warning"}
_RULES = {
    "changed": "The text differs from the report that was delivered.",
    "reference": "A reference does not agree with its stored source.",
    "contradicted": "The cited source contradicts the statement.",
    "unsupported": "The cited source does not support the statement.",
    "partly": "The cited source supports a part of the statement.",
    "unclear": "It could not be decided whether the cited source supports the statement.",
    "supported": "The statement is supported, but one of its citations does not hold.",
    "not_checkable": "The cited source could not be looked at.",
}


def build_sarif(result: RecheckResult, name: str, version: str) -> dict[str, object]:
    """Return the findings as one SARIF run of this program version over `name`; what could not be checked is a note."""
    lines = {each.number: each.line for each in result.references}
    findings = [
        _make_result("changed", "error", f"{'Added' if each.added else 'Left out'}: {each.text}", name, each.line)
        for each in result.changes
    ]
    findings += [
        _make_result("reference", "error", f"Reference [{number}]: {problem}", name, lines.get(number, 1))
        for number, problem in result.problems.items()
    ]
    unknown = [each for each in result.statements if each.support.value == "not_checkable"]
    for each in (*result.failed, *unknown):
        state = each.support.value
        why = "; ".join(each.reasons) or _RULES[state]
        found = _make_result(state, _LEVELS.get(state, "note"), f"{each.text} ({why})", name, each.line)
        found["properties"] = {
            "state": state,
            "failingWords": list(each.failing),
            "citations": list(each.cited),
            "found": [status.value for status in each.found],
        }
        findings.append(found)
    rules = [{"id": rule, "shortDescription": {"text": text}} for rule, text in _RULES.items()]
    driver = {"name": "corrobora", "version": version, "rules": rules}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": findings}]}


def _make_result(rule: str, level: str, text: str, name: str, line: int) -> dict[str, object]:
    location = {"artifactLocation": {"uri": name}, "region": {"startLine": max(1, line)}}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text[:1000]},
        "locations": [{"physicalLocation": location}],
    }
