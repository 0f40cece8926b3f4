"""Verify: markers that are nouns, sentences that only announce, and amounts in other words."""

from __future__ import annotations

from tests.unit.reporting.test_verify import WHOLE, fact_of_rules

from corrobora.domain.report import Draft, Support
from corrobora.reporting.verify import check_draft
from corrobora.text import phrases


def test_a_marker_that_is_a_noun_is_read_as_the_title_of_its_source() -> None:
    """It was cut out of its sentence: "The rule is given in."."""
    for said, told in (
        ("The rule is given in [S1:C1].", "The rule is given in “Rules”. [S1:C1]"),
        ("A change is forced (see [S1:C1]).", "A change is forced (see “Rules”). [S1:C1]"),
        ("One thing holds: [S1:C1] says that secrets change.", "holds: “Rules” says that secrets change. [S1:C1]"),
        ("It is the rule they hold to [S1:C1].", "It is the rule they hold to. [S1:C1]"),
    ):
        assert told in check_draft(Draft("t", said), [fact_of_rules()]).draft.body


def test_a_sentence_that_only_announces_goes_to_a_model_and_is_withheld_without_one() -> None:
    draft = Draft("t", f"Two warnings stand out. {WHOLE} [S1:C1]")
    [alone, _] = check_draft(draft, [fact_of_rules()]).checks
    assert alone.withheld
    assert phrases.TELLS_RESEARCH in alone.reasons
    assert check_draft(draft, [fact_of_rules()], rulings={alone.key: ""}).draft.body.startswith(
        "Two warnings stand out. "
    )
    [claim] = check_draft(Draft("t", "Two clerks drowned."), [fact_of_rules()]).checks
    assert phrases.TELLS_RESEARCH not in claim.reasons


def test_a_model_confirms_an_amount_that_the_quotes_give_in_other_words() -> None:
    facts = [
        fact_of_rules("Sets the time until a gate is shut, in milliseconds."),
        fact_of_rules("Default: gate.shut: 30000"),
    ]
    for said, shown in (("30 seconds", True), ("40 seconds", False), ("30 minutes", False)):
        sentence = f"Gates of the basin are shut by default when {said} have gone by."
        [check] = check_draft(Draft("t", f"{sentence} [S1:C1]"), facts).checks
        assert bool(check.withheld) is not shown
        ruled = check_draft(Draft("t", f"{sentence} [S1:C1]"), facts, rulings={check.key: None}).checks[0]
        assert (ruled.support is Support.SUPPORTED) is shown
