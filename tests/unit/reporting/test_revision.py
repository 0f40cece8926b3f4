"""A report cannot get worse by an edit: new words are checked, losses are listed, a silent one is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.domain.test_report import METHODOLOGY, REPORT
from tests.unit.policies.threads import fact

from corrobora.domain.report import Draft, Findings, Report
from corrobora.reporting.edits import apply_edit, parse_document
from corrobora.reporting.render import CitedSource, build_citations, number_citations, render_markdown
from corrobora.reporting.revision import (
    Base,
    apply_parts,
    build_version,
    list_joint_losses,
    plan_additions,
    plan_changes,
    refuse_silent_loss,
)
from corrobora.reporting.verify import check_draft
from corrobora.roles.edit import Change, Edit, EditAction, Loss, Proposed, choose_changes

OPENED = fact("The harbour of Ardal was opened to steamers in 1874.", passage="C1")
DEPTH = fact("The harbour basin is 9 metres deep at low water.", passage="C2")
MASTER = fact("The harbour master of Ardal is Greta Lund.", source="S2", passage="C3")
PILOTS = fact("Ships of more than 80 metres must take a pilot.", source="S2", passage="C4")
FACTS = (OPENED, DEPTH, MASTER, PILOTS)
BODY = f"""{OPENED.quote} {OPENED.marker} {DEPTH.quote} {DEPTH.marker}

## People

- {MASTER.quote} {MASTER.marker}
- {DEPTH.quote.replace("basin", "basin there")} {DEPTH.marker}
"""
SOURCES = {"S1": CitedSource("0" * 64), "S2": CitedSource("1" * 64)}


def make_report() -> Report:
    checked = check_draft(Draft("Ardal", BODY), FACTS)
    body, numbers = number_citations(checked.draft.body, FACTS)
    made = replace(
        REPORT, title="Ardal", findings=Findings("root", "Ardal", facts=FACTS), checks=checked.checks,
        citations=build_citations(numbers, FACTS, SOURCES), methodology=replace(METHODOLOGY, notes=("first",)),
    )  # fmt: skip
    return replace(made, markdown=render_markdown(made, body, numbers))


REPORT_NOW = make_report()
BASE = Base.read(REPORT_NOW)


def plan(*edits: Edit) -> tuple[Change, ...]:
    return plan_changes(BASE, edits)


def build(*changes: Change) -> Report:
    return build_version(BASE, changes, note="Edited.", sources=SOURCES, previous="r_1")


def reword(target: str, text: str) -> Change:
    return plan(Edit(EditAction.REWORD, target, text))[0]


def test_a_rewording_keeps_its_citations_and_only_its_own_line_differs() -> None:
    change = reword("0.1", "In 1874 the harbour of Ardal was opened to steamers.")
    assert (change.refused, change.losses) == ("", ())
    report = build(change)
    assert "In 1874 the harbour of Ardal was opened to steamers. [1]" in report.markdown
    old, new = REPORT_NOW.markdown.split("\n"), report.markdown.split("\n")
    differing = [line for line in old if line not in new]
    assert len(differing) <= 5  # the sentence's line, and what code counts: status and account
    assert all(line in new for line in old if line.startswith(("- The harbour", "## ", "> ", "[")))
    assert report.citations == REPORT_NOW.citations
    assert report.previous == "r_1"
    assert "- Note: Edited." in report.markdown
    assert "- Note: first" in report.markdown


@pytest.mark.parametrize("end", ["", ".", "?", " [1]", ". [1]", " [1]."])
def test_new_words_without_a_final_stop_do_not_swallow_the_sentence_behind_them(end: str) -> None:
    base = Base.read(
        replace(REPORT_NOW, markdown=REPORT_NOW.markdown.replace(DEPTH.quote, "the basin is 9 m deep.", 1))
    )
    text = f"In 1874 the harbour of Ardal was opened to steamers{end}"
    [change] = plan_changes(base, [Edit(EditAction.REWORD, "0.1", text)])
    made = replace(REPORT_NOW, markdown=apply_parts(base, change.parts).text)
    assert change.refused == ""
    assert parse_document(made).find_piece("0.2").words == "the basin is 9 m deep."


@pytest.mark.parametrize(("target", "text", "why"), [
    ("0.1", "The harbour of Ardal was opened to steamers in 1884.", "withheld"),
    ("0.2", "The harbour basin is not 9 metres deep at low water.", "withheld"),
    ("0.1", "The harbour of Ardal is the finest of the whole coast.", ""),
    ("1.1", "The harbour master of Ardal is Ole Brandt.", ""),
    ("0.1", "# A heading", "plain sentences"),
    ("0.1", "See https://evil.example/a for the harbour of Ardal, opened to steamers in 1874.", "web address"),
    ("7.1", "Words.", "no sentence"),
])  # fmt: skip
def test_words_that_are_worse_than_the_old_ones_are_refused(target: str, text: str, why: str) -> None:
    change = reword(target, text)
    assert change.refused
    assert why in change.refused


def test_details_that_new_words_leave_out_are_listed() -> None:
    change = reword("0.2", "The harbour basin is deep at low water.")
    assert not change.refused
    assert [loss.kind for loss in change.losses] == ["detail", "words"]
    assert "9" in change.losses[0].text


def test_a_drop_lists_its_statement_and_the_reference_that_nothing_else_cites() -> None:
    only, shared = plan(Edit(EditAction.DROP, "1.1"), Edit(EditAction.DROP, "0.2"))
    assert [loss.kind for loss in only.losses] == ["statement", "citation"]
    assert [loss.kind for loss in shared.losses] == ["statement"]
    report = build(only)
    assert "Greta Lund" not in report.markdown
    assert len(report.checks) == len(REPORT_NOW.checks) - 1
    assert {each.number for each in report.citations} == {1, 2}
    assert "[2] **" in report.markdown
    both = plan(Edit(EditAction.DROP, "0.2"), Edit(EditAction.DROP, "1.2"))
    assert [loss.kind for loss in list_joint_losses(BASE, both)] == ["citation"]


def test_an_added_statement_needs_a_fact_and_gets_the_next_number() -> None:
    bare, invented, good = plan(
        Edit(EditAction.ADD, "1", "The mayor of Ardal is Nils Holm."),
        Edit(EditAction.ADD, "1", "The mayor of Ardal is Nils Holm. [S2:C4]"),
        Edit(EditAction.ADD, "1.1", "Ships of more than 80 metres must take a pilot. [S2:C4]"),
    )
    assert bare.refused
    assert invented.refused
    report = build(good)
    assert "Greta Lund. [3] Ships of more than 80 metres must take a pilot. [4]" in report.markdown
    assert [each.number for each in report.citations] == [1, 2, 3, 4]
    assert len(report.checks) == len(REPORT_NOW.checks) + 1


def test_what_was_researched_again_is_added_once_and_only_what_holds() -> None:
    edit = Edit(EditAction.RESEARCH, "1")
    texts = [f"{PILOTS.quote} {PILOTS.marker}", f"{MASTER.quote} {MASTER.marker}", f"Pilots are free. {PILOTS.marker}"]
    change = plan_additions(BASE, 1, edit, texts)
    assert not change.losses
    assert [line for line in change.after if "pilot" in line] == [f"{PILOTS.quote} {PILOTS.marker}"]
    assert plan_additions(BASE, 1, edit, texts[1:2]).refused


def test_two_edits_of_one_place_or_into_a_section_that_goes_are_refused() -> None:
    first, second = plan(Edit(EditAction.MOVE, "0.1", after="1.1"), Edit(EditAction.DROP, "0.1"))
    assert not first.refused
    assert "another change" in second.refused
    moved, dropped = plan(Edit(EditAction.MOVE, "0.1", after="1.1"), Edit(EditAction.DROP, "1"))
    assert "drops the section" in moved.refused
    assert not dropped.refused
    assert "## People" not in build(dropped).markdown


@pytest.mark.parametrize("needs", [
    Edit(EditAction.ADD, "0.1", f"{PILOTS.quote} {PILOTS.marker}"),
    Edit(EditAction.REWORD, "0.1", "In 1884 the harbour of Ardal was opened to steamers."),  # refused itself
    Edit(EditAction.MOVE, "1.1", after="0.1"),
])  # fmt: skip
def test_what_one_edit_needs_another_one_does_not_drop(needs: Edit) -> None:
    drop = Edit(EditAction.DROP, "0.1")
    for edits in ((needs, drop), (drop, needs)):
        [dropped] = [each for each in plan(*edits) if each.edit is drop]
        assert "another change" in dropped.refused
    assert not plan(drop)[0].refused


@pytest.mark.parametrize(("text", "rest"), [
    (PILOTS.quote, ""),
    ("Ships of more than 80 metres.", "must take a pilot"),
    ("More than 80 metres must take a pilot.", "ships of"),
    ("A pilot must be taken by ships of more than 80 metres.", ""),
])  # fmt: skip
def test_an_added_sentence_that_breaks_its_source_off_says_so(text: str, rest: str) -> None:
    [change] = plan(Edit(EditAction.ADD, "1.1", f"{text} {PILOTS.marker}"))
    told = [loss.text for loss in change.losses if loss.kind == "words"]
    assert told == ([f"{rest} (of the sentence of its source)"] if rest else [])


def test_new_words_that_break_off_or_turn_a_sentence_say_so() -> None:
    cut, denied = (
        "Told in brief and short, the harbour basin is 9 metres deep.",
        "What is not more, the harbour basin is 9 metres deep at low water.",
    )
    carried = replace(BASE, rulings={(text, (DEPTH.id,)): "" for text in (cut, denied)})  # a model takes both
    first, second = (plan_changes(carried, [Edit(EditAction.REWORD, "0.2", text)])[0] for text in (cut, denied))
    assert (first.refused, second.refused) == ("", "")
    assert ("words", "at low water (of 0.2)") in [(loss.kind, loss.text) for loss in first.losses]
    assert [(loss.kind, "negation" in loss.text) for loss in second.losses] == [("detail", True)]


def test_a_version_that_changes_what_no_change_names_is_refused() -> None:
    change = reword("0.1", "In 1874 the harbour of Ardal was opened to steamers.")
    refuse_silent_loss(BASE, apply_parts(BASE, change.parts), [change])
    for other in (Edit(EditAction.REWORD, "0.2", "It is deep."), Edit(EditAction.DROP, "1.1")):
        with pytest.raises(ValueError, match=rf"would change {other.target}, which no change names"):
            refuse_silent_loss(BASE, apply_edit(BASE.document, other), [change])


def test_a_reader_accepts_what_loses_nothing_or_the_losses_by_number() -> None:
    lossless = Change(1, Edit(EditAction.MOVE, "0.1", after="1"))
    lossy = Change(2, Edit(EditAction.DROP, "0.2"), losses=(Loss("statement", "It is so."),))
    refused = Change(3, Edit(EditAction.DROP, "0.3"), refused="no")
    proposed = Proposed((lossless, lossy, refused))
    assert choose_changes(proposed, "all") == (lossless,)
    assert choose_changes(proposed, "all with losses") == (lossless, lossy)
    assert choose_changes(proposed, "2, 1") == (lossless, lossy)
    assert choose_changes(proposed, "none") == ()
    for words in ("3", "4", "yes", "1-2"):
        with pytest.raises(ValueError, match="not a change that"):
            choose_changes(proposed, words)


def test_a_change_that_would_lose_something_unsaid_is_a_bug_that_is_refused() -> None:
    silent = Change(1, Edit(EditAction.DROP, "1.1"), parts=(Edit(EditAction.DROP, "1.1"),))
    with pytest.raises(ValueError, match="not listed"):
        build(silent)


def test_a_change_that_the_ones_before_it_leave_no_place_for_is_refused() -> None:
    away = [Edit(EditAction.MOVE, each, after="1.1") for each in ("0.1", "0.2")]
    back = Edit(EditAction.MOVE, "1.2", after="0")
    *moved, lost = plan(*away, back)
    assert ([each.refused for each in moved], "no section '0'" in lost.refused) == (["", ""], True)
    assert build(*moved).markdown.count(DEPTH.quote) >= 1
    assert not plan(away[0], Edit(EditAction.MOVE, "0.2", after="0"))[1].refused  # it stands there already


IDS = ["0.1", "0.2", "1.1", "1.2"]
EDITS = st.one_of(
    st.builds(Edit, st.just(EditAction.DROP), st.sampled_from([*IDS, "1"])),
    st.builds(lambda a, b: Edit(EditAction.MOVE, a, after=b), st.sampled_from(IDS), st.sampled_from([*IDS, "0", "1"])),
    st.builds(Edit, st.just(EditAction.SHORTEN), st.sampled_from(["0", "1"])),
    st.builds(Edit, st.just(EditAction.ADD), st.sampled_from([*IDS, "1"]), st.just(f"{PILOTS.quote} {PILOTS.marker}")),
    st.builds(Edit, st.just(EditAction.REWORD), st.sampled_from(IDS), st.sampled_from([each.quote for each in FACTS])),
)


@given(st.lists(EDITS, min_size=1, max_size=4))
def test_whatever_is_edited_every_sentence_stays_or_is_named_and_every_loss_is_listed(edits: list[Edit]) -> None:
    changes = [change for change in plan(*edits) if not change.refused]
    if not changes:
        return
    report = build(*changes)
    after = Base.read(report).document
    left = [piece.text for piece in after.pieces]
    named = {part.target for change in changes for part in change.parts if part.action is not EditAction.ADD}
    for piece in BASE.document.pieces:
        if not {piece.id, piece.id.partition(".")[0]} & named:
            assert piece.text in left
    told = {loss.text for change in changes for loss in change.losses}
    told |= {loss.text for loss in list_joint_losses(BASE, changes)}
    body = " ".join(after.body.split())
    for piece in BASE.document.pieces:
        assert piece.words in body or piece.words in told or any(piece.id in each for each in told) or piece.id in named
        if piece.words not in body and piece.id not in {part.target for c in changes for part in c.parts if part.text}:
            assert piece.words in told
    for cited in REPORT_NOW.citations:
        assert f"[{cited.number}]" in body or f"[{cited.number}] {cited.title}" in told
    assert build(*changes).markdown == report.markdown


def test_what_several_changes_put_behind_one_place_stands_there_in_their_order() -> None:
    words = [f"The harbour has {number} cranes." for number in ("two", "three", "four")]
    added = [Edit(EditAction.ADD, "1.1", each) for each in words]
    assert " ".join(words) in apply_parts(BASE, added).body
    assert apply_parts(BASE, [Edit(EditAction.ADD, "1", each) for each in words]).body.count("\n\n".join(words)) == 1
