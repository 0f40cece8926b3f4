"""The account of checking: every statement is counted once, and the sums close."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.domain.test_report import REPORT

from corrobora.domain.report import Report, SentenceCheck, Support
from corrobora.reporting.account import render_account, summarize_checks

CHECKS = st.builds(
    SentenceCheck,
    sentence=st.just("It is so."),
    facts=st.just(("F1",)),
    support=st.sampled_from(Support),
    overlap=st.just(0.5),
    follows=st.sampled_from(["", "quote", "restatement", "count", "something new"]),
    withheld=st.sampled_from(["", "its number 64 stands in none of its sources"]),
)


def table_of(report: Report) -> list[list[str]]:
    rows = [line for line in render_account(report).split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if "---" not in row]


@given(st.lists(CHECKS, min_size=1, max_size=30))
def test_truth_7_the_sums_of_the_account_close(checks: list[SentenceCheck]) -> None:
    _, *rows, total = table_of(replace(REPORT, checks=tuple(checks)))
    numbers = [[int(cell) for cell in row[1:]] for row in (*rows, total)]
    assert all(sum(row[:-1]) == row[-1] for row in numbers)
    assert [sum(column) for column in zip(*numbers[:-1], strict=True)] == numbers[-1]
    assert numbers[-1][-1] == len(checks)


@given(st.lists(CHECKS, min_size=1, max_size=30))
def test_truth_7_every_rate_has_its_denominator(checks: list[SentenceCheck]) -> None:
    said = summarize_checks(checks)
    for part, whole in re.findall(r"(\d+) of (\d+)", said + render_account(replace(REPORT, checks=tuple(checks)))):
        assert int(part) <= int(whole) <= len(checks)


def test_copies_are_counted_apart_and_what_was_withheld_is_told_with_its_reason() -> None:
    copied = SentenceCheck("A.", ("F1",), Support.SUPPORTED, 1.0, follows="quote")
    restated = replace(copied, follows="restatement")
    false = SentenceCheck("B.", ("F1",), Support.CONTRADICTED, 0.5, follows="restatement", withheld="negation differs")
    unclear = replace(restated, support=Support.UNCLEAR)
    checks = (copied, copied, restated, false, unclear)
    assert summarize_checks(checks) == (
        "2 of 5 statements copied word for word, 1 of 2 in other words carried by their quotes, 1 of 5 withheld"
    )
    account = render_account(replace(REPORT, checks=checks))
    assert "- Withheld: negation differs." in account
    assert "*(unclear)*" in account
    assert render_account(REPORT) == ""
