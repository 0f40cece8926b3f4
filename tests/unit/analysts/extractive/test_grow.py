"""Grow: a quote takes what it needs to be understood and what limits it, and nothing of the next matter."""

from __future__ import annotations

import pytest

from corrobora.analysts.extractive.extract import find_context, grow_quote, refers_back
from corrobora.analysts.extractive.lines import read_lines
from corrobora.domain.evidence import Passage, PassageId, SourceId
from corrobora.roles.extract import Excerpt


def quote(text: str, holds: str) -> str:
    """Return the words quoted for the sentence that holds `holds`."""
    passage = Passage(PassageId("C1"), SourceId("S1"), text, 0, len(text))
    lines = read_lines(Excerpt("root", "Notes", "", "", (passage,), "", ()))
    at = next(number for number, line in enumerate(lines) if holds in line.text)
    first, last = grow_quote(lines, at)
    return text[lines[first].start : lines[last].end]


def test_a_sentence_that_points_back_takes_the_one_before() -> None:
    text = "The ferry sails from the stone pier. It takes 40 minutes to the island. Cows graze near the church."
    assert quote(text, "40 minutes") == ("The ferry sails from the stone pier. It takes 40 minutes to the island.")


@pytest.mark.parametrize("opens", ["If that fails,", "If so,", "After this", "In such cases", "Even so,"])
def test_a_condition_that_points_back_takes_the_one_before(opens: str) -> None:
    text = (
        f"The guard calls each boat by its radio. {opens} the guard writes its name down. Cows graze near the church."
    )
    assert quote(text, "its name down").startswith("The guard calls")


def test_a_sentence_that_stands_alone_stays_alone() -> None:
    text = "The ferry sails from the stone pier at noon. Cows graze on the meadow near the old church."
    assert quote(text, "stone pier") == "The ferry sails from the stone pier at noon."


def test_what_limits_a_statement_is_quoted_with_it() -> None:
    text = "Boats may moor at the pier for two nights. However, in winter they must leave after one. Tea is sold there."
    grew = quote(text, "two nights")
    assert grew.endswith("in winter they must leave after one.")


def test_what_a_statement_covers_is_quoted_with_it() -> None:
    text = "Some older berths of this pier were closed. These include berths 3, 4 and 9. Tea is sold near the pier."
    assert quote(text, "were closed").endswith("berths 3, 4 and 9.")
    assert quote(text.replace("3, 4 and 9", "3"), "were closed").endswith("were closed.")


def test_an_entry_of_a_list_is_quoted_to_its_end() -> None:
    text = (
        "- moor: The nights that a boat may stay at the pier. Longer stays cost more. Default: 2.\n- tea: It is sold."
    )
    assert quote(text, "may stay").endswith("Default: 2.")
    long = text.replace(
        "Longer", "Boats of guests who come from the islands lie at the far end of it. " * 12 + "Longer"
    )
    assert quote(long, "may stay").endswith("at the pier.")


def test_a_line_that_leads_in_a_list_is_quoted_with_its_items() -> None:
    text = (
        "The crew must carry the following things:\n\n- a rope of hemp\n- a lamp with oil\n\nThe harbour is deep here."
    )
    grew = quote(text, "The crew must carry")
    assert "a rope of hemp" in grew
    assert "a lamp with oil" in grew


def test_items_below_a_line_without_a_colon_are_quoted_with_it_also_those_marked_by_an_o() -> None:
    for mark in ("-", "  o"):
        items = f"{mark} it is deep\n\n{mark} it is near"
        grew = quote(f"Ships come here. It suits the crew because\n\n{items}\n\nBoats lie here.", "suits the crew")
        assert "it is near" in grew, grew
        assert "Boats" not in grew


def test_a_short_turn_of_a_talk_is_quoted_whole() -> None:
    text = "Mira: Where do we meet on Saturday?\nOle: At the old mill. It is next to the bridge.\nMira: I shall come.\n"
    grew = quote(text, "At the old mill")
    assert grew.startswith("Ole: At the old mill")
    assert "next to the bridge" in grew
    assert "I shall come" not in grew


def test_a_demonstrative_with_its_noun_needs_nothing_before_it() -> None:
    text = "The size of the plots had no influence. These results suggest that flowers help wild bees."
    assert quote(text, "flowers help").startswith("These results")
    text = "The clay is dried on racks. This removes the water before the firing."
    assert quote(text, "removes the water").startswith("The clay is dried")


def test_a_question_of_the_source_is_quoted_with_its_answer() -> None:
    text = "Is the kiln safe?\n\nYes, if the door is shut. It cools slowly.\n\nMay it stand outside?\n\nNo."
    for holds in ("Is the kiln safe", "Yes, if"):
        assert quote(text, holds).startswith("Is the kiln safe?\n\nYes, if the door is shut.")
    assert "outside" not in quote(text, "Is the kiln safe")


def test_the_reason_that_follows_is_quoted_with_what_it_explains() -> None:
    text = "The old kiln will be sold in April. Reasons: high costs and a cracked floor. Tea is served at five."
    grew = quote(text, "will be sold")
    assert grew.endswith("a cracked floor.")


def test_after_a_colon_without_a_list_only_the_next_paragraph_is_taken() -> None:
    text = "An example of a valid command is the following:\n\nkiln --hot 900\n\nThe weather was fine on that day."
    assert quote(text, "An example").endswith("kiln --hot 900")


def test_one_item_of_a_list_is_quoted_without_the_others() -> None:
    items = "".join(f"\n- the tool number {n} that the crew of the harbour has in its store" for n in range(1, 9))
    text = f"The crew must carry the following things on each of its long journeys across the bay:\n{items}"
    assert quote(text, "number 7") == "the tool number 7 that the crew of the harbour has in its store"


def test_a_short_last_line_is_quoted_with_what_stands_before_it() -> None:
    text = "Title: ferrymap\nLicense: MIT\nNeeds-Clock: >=3.9"
    assert quote(text, "Needs-Clock").endswith("License: MIT\nNeeds-Clock: >=3.9")


FAQ = (
    "Q:  The lamp flickers at night.\n    How can I repair it?\n\nA:  Give the burner a new wick. Clean the glass with "
    "vinegar.\n\nQ:  Who built the pier?\n\nA:  Anna Lund did, with two masons of the village."
)


def test_what_answers_a_question_is_quoted_with_it() -> None:
    assert quote(FAQ, "new wick") == FAQ.partition("\n\nQ:  Who")[0]
    assert quote(FAQ, "vinegar") == FAQ.partition("\n\nQ:  Who")[0]
    assert quote(FAQ, "Anna Lund") == FAQ[FAQ.index("Q:  Who") :]


def test_an_answer_in_signs_of_a_program_is_no_heading() -> None:
    text = "Q:  How do I unpack the chart?\n\nA:  chart -dc sea.map | unfold -\n\nThe office is open on Mondays."
    assert quote(text, "chart -dc") == text.partition("\n\nThe office")[0]


def test_an_answer_is_printed_from_its_begin_as_far_as_there_is_room() -> None:
    said = ("Q: How can I repair it?", "A: Give the burner a wick.", "Clean the glass.", "Bring it back.")
    assert find_context(said, 2, 12) == range(1, 3)
    assert find_context(said, 1, 40) == range(1, 4)
    assert find_context(("May I moor here?", "No, boats of the village may.", "Ask there."), 1, 8) == range(2)


def test_a_short_sentence_is_not_quoted_with_the_next_section() -> None:
    text = "Lunch costs more from May on.\n\nVotes\n\nAdam was against it.\n\nParty\n\nIt is on 18 July in the yard."
    assert quote(text, "Adam") == "Adam was against it."


def test_a_comment_and_the_line_that_it_is_about_are_quoted_together() -> None:
    pair = "# Seconds that the ferry waits at the stone pier for the last bus\nwait_for_the_last_bus_at_the_pier 240"
    text = f"{pair}\n\n# Cows that may be aboard\ncows_aboard 3"
    assert quote(text, "Seconds that") == quote(text, "240") == pair.removeprefix("# ")


def test_code_is_quoted_with_what_leads_it_in_and_with_nothing_else() -> None:
    led = "Close the pier with the script:\n\n\u2002close(3)\n\u2002    wait()\n\nTea is sold at noon by the church."
    whole = led.partition("\n\nTea")[0]
    assert (quote(led, "Close"), quote(led, "close(3)")) == (whole, whole)
    named = "The pier is closed by close_pier at night.\n\n\u2002close_pier(3)\n\u2002wait()"
    assert quote(named, "at night") == named
    assert quote(named.replace("by close_pier ", "by hand "), "at night") == "The pier is closed by hand at night."
    assert quote("It is shut.\n\n\u2002open_door(3)\n\u2002wait()", "shut") == "It is shut."


def test_code_that_is_led_in_states_nothing_alone() -> None:
    text = "Close the pier:\n\n\u2002close(3)  # it is to be closed by the one who was on it\n\u2002wait()"
    lines = read_lines(
        Excerpt("root", "Notes", "", "", (Passage(PassageId("C1"), SourceId("S1"), text, 0, len(text)),), "", ())
    )
    assert [(line.shown, line.sentence.bare) for line in lines] == [(False, False), (True, True)]
    assert "wait" in lines[0].sentence.above


def test_what_a_sentence_points_back_to_within_is_quoted_with_it() -> None:
    text = "The kiln stops at night. To override this behaviour, pull the red lever. Tea is served at five."
    assert quote(text, "red lever").startswith("The kiln stops at night.")
    text = "The kiln stops at night. To understand this chapter, read the first one. Tea is served at five."
    assert not quote(text, "read the first one").startswith("The kiln stops")


def test_a_row_of_two_cells_is_quoted_to_its_end() -> None:
    text = (
        "MAX_BOATS | Sets how many boats may moor at once. Others wait outside. The default is 10.\nTEA | It is sold."
    )
    assert quote(text, "many boats").endswith("The default is 10.")
    text = "Boats | 10 | The pier has a roof of tin and of old glass. It is red.\nTea | 5 | It is sold."
    assert not quote(text, "The pier").endswith("It is red.")


def test_a_turn_that_asks_and_goes_on_takes_the_reply() -> None:
    text = (
        "Mira: Can two mills be joined? It would help the guild.\nOle: No.\nMira: Fine.\nOle: Well, good night then.\n"
    )
    assert "Ole: No." in quote(text, "Can two mills")


@pytest.mark.parametrize(
    ("said", "leans"),
    [
        ("Close them explicitly in a hook.", True),
        ("Now it raises an error.", True),
        ("You should use the other socket instead.", True),
        ("Is it closed on Mondays?", False),
        ("The lid is closed instead of the vent.", False),
    ],
)
def test_what_speaks_of_it_or_of_something_instead_refers_back(said: str, *, leans: bool) -> None:
    assert refers_back(said) is leans
