"""The record: what a thread remembers of its rounds, none of which a later round changes."""

from __future__ import annotations

from tests.unit.policies.threads import decided, fact, one_round, thread

from corrobora.domain.plan import Record
from corrobora.domain.thread import Gap
from corrobora.engine.knowledge import MAX_ROUND_FACTS, build_record

BEGUN = Record("2026-03-01", "the library")
FIRST = one_round(
    1, "a", facts=(fact("The harbour was opened in 1874."),), decision=decided(Gap("the depth")), query="q"
)


def test_a_later_round_changes_nothing_that_was_remembered() -> None:
    again = one_round(2, "b", facts=(fact("The harbour was opened in 1874."), fact("It is 9 metres deep.")))
    one, two = build_record(thread(FIRST), BEGUN), build_record(thread(FIRST, again), BEGUN)
    assert (one.today, one.searched) == ("2026-03-01", "the library")
    assert two.rounds[:1] == one.rounds
    assert [each.quote for each in two.rounds[1].facts] == ["It is 9 metres deep."]


def test_a_round_is_remembered_with_the_yield_of_its_queries_and_what_it_left_open() -> None:
    [done] = build_record(thread(FIRST), BEGUN).rounds
    assert done.left_open == ("the depth",)
    assert [(each.query, each.facts) for each in done.queries] == [(q.text, 1) for q in FIRST.intent.queries]
    assert [each.outcome for each in done.sources] == ["read"]


def test_of_a_round_with_many_facts_each_question_keeps_its_best_and_the_rest_is_counted() -> None:
    many = [fact(f"The harbour was dug by {number} men.", answers=("sq-1",), confidence=0.9) for number in range(50)]
    rare = fact("It is 9 metres deep.", answers=("sq-2",), confidence=0.3)
    full = one_round(1, "a", facts=(*many, rare))
    [done] = build_record(thread(full), BEGUN).rounds
    assert (len(done.facts), len(done.others), done.more) == (
        MAX_ROUND_FACTS,
        MAX_ROUND_FACTS,
        51 - 2 * MAX_ROUND_FACTS,
    )
    assert rare in done.facts
    assert not set(done.others) & set(done.facts)
    [few] = build_record(thread(one_round(1, "a", facts=(*many[:5], rare))), BEGUN).rounds
    assert (len(few.facts), few.more) == (6, 0)


def test_what_a_round_had_no_room_for_is_shown_where_it_is_found_again() -> None:
    """Else who asks for it has it read again and still does not see it."""
    many = [fact(f"The harbour was dug by {number} men.", answers=("sq-1",), confidence=0.9) for number in range(50)]
    hidden = fact("It is 9 metres deep.", answers=("sq-1",), confidence=0.1)
    first, second = build_record(
        thread(one_round(1, "a", facts=(*many, hidden)), one_round(2, "b", facts=(many[0], hidden))), BEGUN
    ).rounds
    assert hidden not in first.facts
    assert second.facts == (hidden,)
