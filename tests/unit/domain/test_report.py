"""Reports: the judge's mean and the share of cited sentences that their citations carry."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.domain.limits import Usage
from corrobora.domain.report import (
    Findings,
    Methodology,
    Outcome,
    Report,
    SentenceCheck,
    Support,
    Verdict,
)

METHODOLOGY = Methodology(
    profile="timed",
    analyst="extractive (no language model)",
    rounds=1,
    searches=1,
    failed_searches=0,
    hits=1,
    sources_read=1,
    sources_cited=1,
    facts=1,
    outcomes=(("read", 1),),
    stops=(("root", "gaps_empty"),),
    exhausted=(),
    uncovered=(),
    limits_hit=(),
    removed_markers=0,
    removed_sentences=0,
    dropped_quotes=0,
    uncertain_calls=0,
    usage=Usage(),
    seconds=1.0,
    time_limit_seconds=300.0,
    providers=("library",),
)
REPORT = Report("q", "t", Outcome.COMPLETE, "", "# t", (), (), METHODOLOGY, Findings("root", "t"))

SCORES = st.floats(0, 1)


def report(*supports: Support) -> Report:
    return replace(REPORT, checks=tuple(SentenceCheck("It is so.", ("F1",), support, 0.5) for support in supports))


@given(SCORES, SCORES, SCORES, SCORES, SCORES)
def test_angles_the_verdict_is_the_mean_of_five_scores(a: float, b: float, c: float, d: float, e: float) -> None:
    assert Verdict(a, b, c, d, e).overall == pytest.approx((a + b + c + d + e) / 5)


@pytest.mark.parametrize(
    ("supports", "share"),
    [
        ((), 0.0),
        ((Support.UNCITED,), 0.0),
        ((Support.SUPPORTED,), 1.0),
        ((Support.SUPPORTED, Support.UNCITED), 1.0),
        ((Support.SUPPORTED, Support.UNSUPPORTED), 0.5),
        ((Support.PARTLY, Support.CONTRADICTED, Support.UNCITED), 0.0),
        ((Support.SUPPORTED, Support.UNCLEAR), 0.5),
        ((Support.CONTRADICTED, Support.UNSUPPORTED), 0.0),
    ],
)
def test_sentences_without_a_citation_are_not_counted_as_supported(supports: tuple[Support, ...], share: float) -> None:
    assert report(*supports).supported_share == share


@given(st.lists(st.sampled_from(Support)))
def test_the_share_lies_between_0_and_1(supports: list[Support]) -> None:
    assert 0.0 <= report(*supports).supported_share <= 1.0


def test_angles_a_failed_leaf_is_a_value() -> None:
    failed = Findings("root/2", "Prices", failed="ProviderError: down")
    assert failed.failed
    assert failed.facts == ()
