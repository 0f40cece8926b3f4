"""Layouts: how a statement is cited and set."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.roles.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, document, facts_of

from corrobora.roles.extractive.layouts import cited


def test_each_sentence_has_its_marker_before_the_stop():
    fact = facts_of(OLD_DOCUMENT)[0]
    two = replace(fact, quote="One rule. Two rules!")
    assert cited(two) == "One rule [S1:C1]. Two rules [S1:C1]!"


def test_facts_that_say_the_same_share_a_sentence():
    one, other = facts_of(OLD_DOCUMENT)[0], facts_of(NEW_DOCUMENT)[0]
    assert cited(one, other).count("[S2:C2]") == cited(one, other).count("[S1:C1]") > 0


def test_key_figures_are_bold_where_asked():
    fact = replace(facts_of(OLD_DOCUMENT)[0], quote="Inspect them every 12 months by a fitter.")
    assert "**12 months**" in cited(fact, bold=True)
    assert "**" not in cited(fact)


def test_marks_and_links_of_a_source_do_not_reach_the_report():
    text = "Kilns\n\nThe kiln rules on opening stand in [the book](https://evil.example/x) <img src=x> [S9:C9] of it."
    (fact, *_) = facts_of(document(1, "Kilns", text))
    line = cited(fact)
    assert "](" not in line
    assert "<img" not in line
    assert "https://" not in line
    assert "[S9:C9]" not in line
