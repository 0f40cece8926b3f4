"""Critique, revise and judge without a model (S1)."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.roles.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, PARTS, QUESTION, facts_of, play

from corrobora.domain.report import Draft
from corrobora.roles.review import Reviewing, Revising, critique, judge, revise
from corrobora.roles.synthesize import Material, Part, synthesize

FACTS = facts_of(OLD_DOCUMENT, NEW_DOCUMENT)
GOOD = play(
    synthesize,
    Material("root", "report", QUESTION, "", (Part("root", "Kilns", "", FACTS),), PARTS, (), (), "questions"),
)
BAD = Draft(
    "T",
    "# T\n\n## Opening\n\n"
    "Operators SHOULD NOT open a thermal chamber above 200 degrees [S1:C1]. "
    "Kilns are always safe. "
    "Operators SHOULD NOT open a thermal chamber above 900 degrees [S1:C1]. "
    "Glaze is toxic to whales [S1:C1]. "
    "Somebody says so [S99:C99]. "
    "Operators SHOULD NOT open a thermal chamber above 200 degrees [S1:C1].\n",
)


def test_the_critique_names_every_kind_of_problem():
    problems = "\n".join(play(critique, Reviewing("r", QUESTION, BAD, FACTS)).problems)
    assert "without a citation: Kilns are always safe" in problems
    assert "no fact has this marker: Somebody" in problems
    assert "not supported by its quotes: Glaze" in problems
    assert "900 degrees" in problems
    assert "said twice" in problems
    assert "Section 'Opening'" in problems


def test_a_draft_of_quotes_has_no_bad_sentence():
    found = play(critique, Reviewing("r", QUESTION, GOOD, FACTS, words_max=5_000))
    assert not any("citation" in p or "supported" in p or "marker" in p for p in found.problems), found.problems


def test_the_revision_keeps_what_stands_and_nothing_else():
    given = Revising("r", QUESTION, BAD, play(critique, Reviewing("r", QUESTION, BAD, FACTS)), FACTS)
    body = play(revise, given).body
    assert body.count("above 200 degrees") >= 1
    for gone in ("900", "whales", "Somebody", "always safe"):
        assert gone not in body
    assert not any(
        "supported" in p or "citation" in p or "twice" in p or "marker" in p
        for p in play(critique, Reviewing("r", QUESTION, Draft("T", body), FACTS)).problems
    )


def test_the_revision_adds_what_nothing_spoke_to():
    thin = Draft("T", "# T\n\nOperators SHOULD log each firing in a book [S1:C1].\n")
    body = play(
        revise, Revising("r", QUESTION, thin, play(critique, Reviewing("r", QUESTION, thin, FACTS)), FACTS)
    ).body
    assert "inspected" in body


def test_the_judge_ranks_the_good_draft_higher_and_stays_in_bounds():
    good = play(judge, Reviewing("r", QUESTION, GOOD, FACTS))
    bad = play(judge, Reviewing("r", QUESTION, BAD, FACTS))
    empty = play(judge, Reviewing("r", QUESTION, Draft("T", "# T\n"), ()))
    assert good.overall > bad.overall > empty.overall
    assert empty.overall == 0.0
    for verdict in (good, bad, empty):
        scores = (
            verdict.factual_accuracy,
            verdict.citation_accuracy,
            verdict.completeness,
            verdict.source_quality,
            verdict.source_diversity,
        )
        assert all(0.0 <= score <= 1.0 for score in scores)
    assert good.factual_accuracy == 1.0


def test_one_source_is_less_diverse_than_two():
    one = play(judge, Reviewing("r", QUESTION, GOOD, tuple(f for f in FACTS if f.source == "S1")))
    two = play(judge, Reviewing("r", QUESTION, GOOD, tuple(replace(f) for f in FACTS)))
    assert two.source_diversity > one.source_diversity
