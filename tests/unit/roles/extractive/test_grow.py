"""Grow: a quote takes what it needs to be understood and what limits it, and nothing of the next matter."""

from __future__ import annotations

from corrobora.domain.evidence import Passage, PassageId, SourceId
from corrobora.policies.answers import asked
from corrobora.roles.extract import Excerpt
from corrobora.roles.extractive.grow import grown
from corrobora.roles.extractive.lines import read_lines


def quote(text: str, holds: str, question: str) -> str:
    """Return the words quoted for the sentence that holds `holds`."""
    passage = Passage(PassageId("C1"), SourceId("S1"), text, 0, len(text))
    lines = read_lines(Excerpt("root", "Notes", "", "", (passage,), question, ()))
    at = next(number for number, line in enumerate(lines) if holds in line.text)
    first, last = grown(lines, at, asked(question))
    return text[lines[first].start : lines[last].end]


def test_a_sentence_that_points_back_takes_the_one_before() -> None:
    text = "The ferry sails from the stone pier. It takes 40 minutes to the island. Cows graze near the church."
    assert quote(text, "40 minutes", "How long does the ferry take?") == (
        "The ferry sails from the stone pier. It takes 40 minutes to the island."
    )


def test_a_sentence_that_stands_alone_stays_alone() -> None:
    text = "The ferry sails from the stone pier at noon. Cows graze on the meadow near the old church."
    assert quote(text, "stone pier", "Where does the ferry sail?") == "The ferry sails from the stone pier at noon."


def test_what_limits_a_statement_is_quoted_with_it() -> None:
    text = "Boats may moor at the pier for two nights. However, in winter they must leave after one. Tea is sold there."
    grew = quote(text, "two nights", "How long may boats moor at the pier?")
    assert grew.endswith("in winter they must leave after one.")


def test_a_line_that_leads_in_a_list_is_quoted_with_its_items() -> None:
    text = (
        "The crew must carry the following things:\n\n- a rope of hemp\n- a lamp with oil\n\nThe harbour is deep here."
    )
    grew = quote(text, "The crew must carry", "What must the crew carry?")
    assert "a rope of hemp" in grew
    assert "a lamp with oil" in grew


def test_a_turn_of_a_talk_is_quoted_with_the_question_it_answers() -> None:
    text = "Mira: Where do we meet on Saturday?\nOle: At the old mill. It is next to the bridge.\nMira: I shall come.\n"
    grew = quote(text, "At the old mill", "Where do they meet?")
    assert "Where do we meet on Saturday?" in grew
    assert "next to the bridge" in grew
    assert "I shall come" not in grew
