"""The judge without a model (ANGLES-30); without one nobody criticizes or revises (ANGLES-29)."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.analysts.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, PARTS, QUESTION, facts_of, play

from corrobora.analysts.extractive.citations import cite_fact
from corrobora.domain.report import Draft
from corrobora.roles.review import Reviewing, Revising, Revision, critique, judge, revise
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


def test_angles_29_without_a_model_a_draft_is_left_as_it_is():
    found = play(critique, Reviewing("r", QUESTION, BAD, FACTS))
    assert found.problems == ()
    assert play(revise, Revising("r", QUESTION, BAD, found, FACTS)) == Revision()


def test_the_judge_ranks_the_good_draft_higher_and_stays_in_bounds():
    good = play(judge, Reviewing("r", QUESTION, GOOD, FACTS))
    bad = play(judge, Reviewing("r", QUESTION, BAD, FACTS, checks=("900 degrees", "Glaze", "Somebody")))
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


def test_angles_30_words_of_the_question_scattered_over_a_page_answer_nothing():
    asked = "Who paints the harbour gates of Ardal?"
    facts = tuple(
        replace(FACTS[0], id=f"f{n}", quote=text, source=f"S{n}", title="Notes")
        for n, text in enumerate(("Somebody paints a house.", "The gates are old.", "Ardal is far from here."), 1)
    )
    scattered = Draft("T", "# T\n\n" + "\n\n".join(cite_fact(fact) for fact in facts))
    whole = replace(facts[0], quote="Ruth Hale paints the harbour gates of Ardal.")
    answer = Draft("T", f"# T\n\n{cite_fact(whole)}\n")
    low = play(judge, Reviewing("r", asked, scattered, facts)).completeness
    high = play(judge, Reviewing("r", asked, answer, (whole,))).completeness
    assert low < 0.6 < high


def test_angles_30_parts_of_one_document_are_no_variety_of_sources():
    def judged_with(*urls: str) -> float:
        facts = tuple(
            replace(FACTS[0], id=f"f{n}", source=f"S{n}", passage=f"C{n}", origin=f"o{n}", url=url)
            for n, url in enumerate(urls, 1)
        )
        draft = Draft("T", "\n\n".join(cite_fact(fact) for fact in facts))
        return play(judge, Reviewing("r", QUESTION, draft, facts)).source_diversity

    one = judged_with("https://a.example/x#1", "https://a.example/x#2", "https://a.example/x")
    assert one < judged_with("https://a.example/x", "https://b.example/y", "https://c.example/z")
