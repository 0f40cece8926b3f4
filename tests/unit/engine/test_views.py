"""Views: what roles see of a thread, and how the parts of a node become one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.unit.policies.threads import decided, fact, one_round, thread

from corrobora.config.profiles import load_profile
from corrobora.domain.evidence import Contradiction, Grade
from corrobora.domain.plan import Brief, Node, Record, Subject, SubQuestion, SubQuestionStatus
from corrobora.domain.report import Findings
from corrobora.domain.thread import Gap
from corrobora.engine.inputs import (
    build_part,
    list_open_gaps,
    merge_part_contradictions,
    report_input,
    scope_input,
    shorten_material,
    summary_input,
)
from corrobora.engine.investigate import merge_findings
from corrobora.roles.forms import select_best_facts

OPEN, DONE = SubQuestion("sq-1", "Who?"), SubQuestion("sq-2", "When?", SubQuestionStatus.ANSWERED, finding="In 1874.")
GIVEN_UP = SubQuestion("sq-3", "Why?", SubQuestionStatus.EXHAUSTED)
NODE = Node("root", "Ardal", "Describe Ardal")


def test_answering_facts_come_first_then_the_better_grades() -> None:
    plain = fact("It rains often in the harbour of Ardal.", grade=Grade.VERIFIED)
    weak = fact("The harbour may be old, some say.", answers=("sq-1",))
    strong = fact("The harbour was opened in 1874.", answers=("sq-1",), grade=Grade.VERIFIED)
    assert select_best_facts((plain, weak, strong), 2) == (strong, weak)
    assert select_best_facts((strong, weak, plain), 3) == select_best_facts((plain, weak, strong), 3)


def test_the_order_of_facts_that_rank_alike_does_not_follow_the_order_in_which_pages_arrived() -> None:
    texts = [f"The harbour of Ardal was dug in {year}." for year in range(1860, 1880)]
    arrived = [fact(text, source=f"S{number}") for number, text in enumerate(texts)]
    again = [fact(text, source=f"S{len(texts) - number}") for number, text in enumerate(texts)]
    assert [each.quote for each in select_best_facts(again, 30)] == [
        each.quote for each in select_best_facts(arrived, 30)
    ]


def test_triplet_needs_hold_what_is_open_and_not_what_was_given_up() -> None:
    last = one_round(1, "a", decision=decided(Gap("who it was", "sq-1"), Gap("why so", "sq-3")), query="ardal harbour")
    asked = (OPEN, SubQuestion("sq-9", "Where?"))
    run: Any = SimpleNamespace(record=Record(), questions=asked, brief=Brief("Who?"), has_model=False)
    seen = scope_input(thread(last, sub_questions=(OPEN, DONE, GIVEN_UP), subjects=(Subject("Ardal"),)), run)
    assert seen.all_questions == ("sq-1", "sq-9", "sq-2", "sq-3"), "the form is the same for all threads of a run"
    assert seen.open_questions == (OPEN,)
    assert [gap.text for gap in seen.gaps] == ["who it was"]
    assert (seen.known, seen.past_queries, seen.round) == (("In 1874.",), ("ardal harbour",), 2)
    assert seen.path == "root/round/2"


def test_a_thread_reports_the_gaps_of_its_last_assessment() -> None:
    last = one_round(1, "a", decision=decided(Gap("who it was", "sq-1"), Gap("a map")))
    gaps = list_open_gaps(thread(last, sub_questions=(OPEN, DONE, GIVEN_UP)))
    assert [gap.text for gap in gaps] == ["who it was", "a map"]
    assert summary_input(thread(last, sub_questions=(OPEN,))).purpose == "summary"
    assert [gap.text for gap in list_open_gaps(thread(sub_questions=(OPEN,)))] == ["Who?"], "before any round"


def test_what_one_part_lacks_and_another_answers_is_no_gap_of_the_whole() -> None:
    lacking = Findings("root/1", "a", sub_questions=(SubQuestion("sq-2", "When?"),), gaps=(Gap("the year", "sq-2"),))
    answering = Findings("root/2", "b", sub_questions=(DONE,))
    assert merge_findings(NODE, (lacking,), "", None).gaps == lacking.gaps
    assert merge_findings(NODE, (lacking, answering), "", None).gaps == ()


def test_tree_what_a_node_gathered_only_grows_and_the_better_standing_counts() -> None:
    first, second = fact("The harbour was opened in 1874."), fact("The mill has two wheels.", source="S2")
    before = merge_findings(NODE, (Findings("root/1", "a", facts=(first,), sub_questions=(DONE,)),), "x", None)
    again = Findings("root/1~2", "a", facts=(second,), sub_questions=(SubQuestion("sq-2", "When?"), OPEN))
    after = merge_findings(NODE, (again,), "y", before)
    assert {each.id for each in after.facts} == {first.id, second.id}
    assert {q.id: q.standing for q in after.sub_questions} == {
        "sq-2": SubQuestionStatus.ANSWERED,
        "sq-1": SubQuestionStatus.OPEN,
    }
    assert [child.path for child in after.children] == ["root/1", "root/1~2"]


def test_angles_a_node_has_failed_only_if_all_of_its_parts_have() -> None:
    lost, fine = Findings("root/1", "a", failed="refused"), Findings("root/2", "b")
    assert merge_findings(NODE, (lost, fine), "", None).failed == ""
    assert merge_findings(NODE, (lost, lost), "", None).failed != ""


def test_a_pair_of_facts_contradicts_once_whichever_side_is_named_first() -> None:
    a, b = fact("It holds 40 boats.").id, fact("It holds 35 boats.").id
    parts = (
        Findings("1", "a", contradictions=(Contradiction("boats", a, b),)),
        Findings("2", "b", contradictions=(Contradiction("boats", b, a),)),
    )
    assert len(merge_part_contradictions(parts)) == 1


def test_a_failed_part_is_named_as_uncovered_and_a_short_report_is_shorter() -> None:
    found = Findings("root", "t", children=(Findings("root/1", "Lost", failed="x"), Findings("root/2", "Kept")))
    material = report_input(found, "What of Ardal?", load_profile("angles"))
    assert (material.uncovered, [part.title for part in material.parts]) == (("Lost",), ["Kept"])
    assert shorten_material(material).words_max <= 700
    assert shorten_material(material).words_min == 0


def test_a_writer_sees_each_part_once_as_its_last_iteration_left_it_with_all_that_was_found() -> None:
    old, new = fact("It holds 40 boats."), fact("It holds 35 boats.")
    lacks = (Gap("the year"),)
    first = (
        Findings("root/1", "Harbour", summary="The year was not found.", facts=(old,), gaps=lacks),
        Findings("root/2", "Boats"),
    )
    later = (
        Findings("root/1~3", "Harbour", summary="It was 1874.", facts=(new,)),
        Findings("root/2~3", "Boats", failed="x"),
    )
    found = Findings("root", "t", children=(*first, *later))
    material = report_input(found, "What of Ardal?", load_profile("tree"))
    assert [(part.path, part.summary, part.gaps) for part in material.parts] == [
        ("root/1~3", "It was 1874.", ()),
        ("root/2", "", ()),
    ]
    assert {old, new} == set(material.parts[0].facts)
    assert material.uncovered == (), "an iteration that fails hides no earlier one"


def test_where_not_all_facts_are_shown_no_source_and_no_question_hides_another() -> None:
    many = [
        fact(f"The harbour of Ardal has pier {n}.", source="S1", answers=("sq-1",), confidence=0.9) for n in range(20)
    ]
    other = fact("The harbour was opened in 1874.", source="S2", answers=("sq-2",), confidence=0.1)
    shown = select_best_facts((*many, other), 5)
    assert other in shown
    assert len(shown) == 5
    assert build_part(Findings("root", "t", facts=(*many, other)), 5).more == 16
    assert select_best_facts((*many, other), 21)[-1] == other, "with room for all, the order is by worth alone"


def test_both_sides_of_a_conflict_are_shown_whatever_they_are_worth() -> None:
    many = [fact(f"Pier {n} of Ardal is long.", answers=("sq-1",), confidence=0.9) for n in range(9)]
    old, new = (fact(f"The harbour opened in {year}.", source=f"S{year}", confidence=0.1) for year in (1874, 1875))
    assert not {old, new} & set(select_best_facts((*many, old, new), 4))
    assert {old, new} <= set(select_best_facts((*many, old, new), 4, (Contradiction("opening", old.id, new.id),)))
