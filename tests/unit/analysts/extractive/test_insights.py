"""Insights: what a source says beside what was asked of it (TREE-30)."""

from __future__ import annotations

from tests.unit.analysts.extractive.samples import NEW_DOCUMENT, OLD_DOCUMENT, document, excerpt, play

from corrobora.domain.plan import SubQuestion
from corrobora.roles.extract import extract


def test_insights_come_under_the_triggers_only():
    quiet = play(
        extract,
        excerpt(OLD_DOCUMENT, "What is a thermal chamber?", (SubQuestion("sq-1", "What is a thermal chamber?"),)),
    )
    assert (quiet.follow_ups, quiet.gaps, quiet.linked) == ((), (), ())
    of = document(6, "Kilns", OLD_DOCUMENT.text + "\n\nA limitation of these kiln rules is that glaze is not covered.")
    stated = play(extract, excerpt(of))
    assert any("limitation" in gap for gap in stated.gaps)
    against = play(
        extract, excerpt(NEW_DOCUMENT, known_facts=("Operators SHOULD NOT open a thermal chamber above 200 degrees.",))
    )
    assert any("SHOULD NOT -> SHALL NOT" in text for text in against.contradicts_known)


def test_linked_sources_are_listed_for_discovery():
    of = document(
        5, "Kilns", "Kilns\n\nThe kiln rules on opening stand in [the guild's book](https://guild.example/book)."
    )
    found = play(extract, excerpt(of, discovery_intense=True))
    assert [link.reference for link in found.linked] == ["https://guild.example/book"]
