"""Edits of a report's text: what no edit names keeps its bytes and its order, whatever is edited around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrobora.reporting.edits import EditableReport, UnknownPlace, apply_edit, split_document
from corrobora.reporting.versions import list_shortening
from corrobora.roles.edit import Edit, EditAction

TEXT = """# The harbour of Ardal

*Status: complete. 3 sources cited of 3 read.*

The harbour was opened in 1874. [1] It has two piers, e.g. the north pier. [2][3]

## Depth

Stated in Revision 2:

- The basin is 9 metres deep. [1]
- It was dredged in 1990. [2] *(unclear)*
- Ships of 80 metres  may enter. [3]

## Trade

| Year | Ships |
|---|---|
| 1990 | 40 ships [1] |
| 1991 | 52 ships [2] |

*[One sentence withheld: it states 12 without a source.]*
Timber left the harbour in spring. [3] Fish came in autumn. [1]

## Methodology

- Profile `timed`.

## Sources

[1] **Ardal**. a.md `S1:C1` `sha256:00`
"""
DOCUMENT = split_document(TEXT)
IDS = [piece.id for piece in DOCUMENT.pieces if piece.id]
ROWS = {piece.id for piece in DOCUMENT.pieces if piece.row}


def texts(document: EditableReport) -> dict[str, str]:
    return {piece.id: piece.text for piece in document.pieces if piece.id}


def order(document: EditableReport, without: set[str]) -> list[str]:
    return [piece.id for piece in document.pieces if piece.id and piece.id not in without]


def test_a_report_is_taken_apart_into_sentences_and_joined_again_byte_for_byte() -> None:
    assert DOCUMENT.text == TEXT
    assert texts(DOCUMENT) == {
        "0.1": "The harbour was opened in 1874. [1]",
        "0.2": "It has two piers, e.g. the north pier. [2][3]",
        "1.1": "The basin is 9 metres deep. [1]",
        "1.2": "It was dredged in 1990. [2] *(unclear)*",
        "1.3": "Ships of 80 metres  may enter. [3]",
        "2.1": "| 1990 | 40 ships [1] |",
        "2.2": "| 1991 | 52 ships [2] |",
        "2.3": "Timber left the harbour in spring. [3]",
        "2.4": "Fish came in autumn. [1]",
    }
    assert [DOCUMENT.read_title(each) for each in DOCUMENT.sections] == ["", "Depth", "Trade"]
    assert (DOCUMENT.find_piece("0.2").cited, DOCUMENT.find_piece("1.2").words) == ((2, 3), "It was dredged in 1990.")


PLACES = st.sampled_from([*IDS, *DOCUMENT.sections])
PLAIN = st.sampled_from([name for name in IDS if name not in ROWS])
EDITS = st.one_of(
    st.builds(Edit, st.just(EditAction.DROP), st.sampled_from(IDS)),
    st.builds(Edit, st.just(EditAction.REWORD), PLAIN, st.just("It is said otherwise. [1]")),
    st.builds(Edit, st.just(EditAction.ADD), PLACES, st.just("This is new. [2]")),
    st.builds(lambda target, after: Edit(EditAction.MOVE, target, after=after), PLAIN, PLACES),
)


@given(st.lists(EDITS, min_size=1, max_size=4))
def test_what_no_edit_names_keeps_its_bytes_and_its_order(edits: list[Edit]) -> None:
    document, named, added = DOCUMENT, set[str](), 0
    for edit in edits:
        try:
            document = apply_edit(document, edit)
        except UnknownPlace:
            continue
        added += edit.action is EditAction.ADD
        named |= {edit.target} if edit.action is not EditAction.ADD else set()
    left = texts(document)
    assert {name: text for name, text in left.items() if name not in named} == {
        name: text for name, text in texts(DOCUMENT).items() if name not in named
    }
    assert order(document, named) == order(DOCUMENT, named)
    assert document.text.count("This is new. [2]") == added
    assert (document.head, document.tail) == (DOCUMENT.head, DOCUMENT.tail)
    assert [line for line in document.text.split("\n") if line.startswith("#")] == [
        line for line in TEXT.split("\n") if line.startswith("#")
    ]
    assert "\n\n\n" not in document.text


@given(st.sampled_from([name for name in IDS if name not in ROWS]))
def test_to_take_an_edit_back_gives_the_same_bytes(name: str) -> None:
    old = DOCUMENT.find_piece(name).text
    there = apply_edit(DOCUMENT, Edit(EditAction.REWORD, name, "Other words."))
    assert there.text != TEXT
    assert apply_edit(there, Edit(EditAction.REWORD, name, old)).text == TEXT


def test_a_dropped_sentence_takes_its_line_its_item_and_a_lead_in_that_introduces_nothing_else() -> None:
    def drop(*names: str) -> str:
        document = DOCUMENT
        for name in names:
            document = apply_edit(document, Edit(EditAction.DROP, name))
        return document.body

    assert "1874" not in drop("0.1")
    assert "\nIt has two piers" in f"\n{drop('0.1')}"
    assert "- The basin" not in drop("1.1")
    assert "Stated in Revision 2:\n\n- It was dredged" in drop("1.1")
    assert "Stated in" not in drop("1.1", "1.2", "1.3")
    assert "## Depth\n\n## Trade" in drop("1.1", "1.2", "1.3")
    assert drop("2").endswith("may enter. [3]\n") or "Trade" not in drop("2")


def test_a_label_belongs_to_the_sentence_before_it_also_inside_a_paragraph() -> None:
    said = ("It was dug in 1874. [1] *(unclear)*", "It has two piers. [1]", "Fish came. [1][2] *(not supported)*")
    line = " ".join((*said, "Ships left. [2]"))
    document = split_document(TEXT.replace("The harbour was opened in 1874. [1]", line))
    pieces = [piece for piece in document.pieces if piece.id]
    assert [piece.label for piece in pieces][:4] == ["*(unclear)*", "", "*(not supported)*", ""]
    assert document.text.count(line) == 1
    assert apply_edit(document, Edit(EditAction.DROP, pieces[2].id)).text.count("not supported") == 0
    assert "[1] *(unclear)* Fish came" in apply_edit(document, Edit(EditAction.DROP, pieces[1].id)).text
    other = apply_edit(document, Edit(EditAction.REWORD, pieces[1].id, "Two piers. [1]")).text
    assert "*(unclear)* Two piers. [1] Fish" in other


def test_a_sentence_that_begins_with_a_dash_is_no_item_when_it_begins_a_line() -> None:
    given = split_document(TEXT.replace("[1] It has two piers", "[1] - it has two piers"))
    assert texts(given)["0.2"].startswith("- it has two piers")
    edits = (
        Edit(EditAction.DROP, "0.1"),
        Edit(EditAction.MOVE, "0.1", after="1"),
        Edit(EditAction.MOVE, "0.2", after="1"),
    )
    for edit in edits:
        after = apply_edit(given, edit)
        assert texts(after)["0.2"] == texts(given)["0.2"]
        assert "\n\\- it has two piers" in f"\n{after.body}"
    again = apply_edit(apply_edit(given, Edit(EditAction.DROP, "0.1")), Edit(EditAction.DROP, "0.2"))
    assert "\\" not in again.body


def test_sentences_and_sections_move_and_a_new_one_becomes_a_paragraph_of_its_section() -> None:
    moved = apply_edit(DOCUMENT, Edit(EditAction.MOVE, "2.4", after="0.1"))
    assert "in 1874. [1] Fish came in autumn. [1] It has two" in moved.text
    sections = apply_edit(DOCUMENT, Edit(EditAction.MOVE, "1", after="2"))
    assert sections.body.index("## Trade") < sections.body.index("## Depth")
    assert sorted(sections.text.split("\n")) == sorted(TEXT.split("\n"))
    first = apply_edit(DOCUMENT, Edit(EditAction.MOVE, "2.4", after="1"))
    assert "## Depth\n\nFish came in autumn. [1]\n\n" in first.text
    assert (
        apply_edit(DOCUMENT, Edit(EditAction.MOVE, "2.4", after="0")).body.lstrip().startswith("Fish came in autumn.")
    )
    added = apply_edit(DOCUMENT, Edit(EditAction.ADD, "1", "Pilots are needed. [3]"))
    assert "may enter. [3]\n\nPilots are needed. [3]\n\n## Trade" in added.text
    below = apply_edit(DOCUMENT, Edit(EditAction.ADD, "2.1", "Ships are counted. [3]"))
    assert "52 ships [2] |\n\nShips are counted. [3]\n" in below.text


@pytest.mark.parametrize(("target", "after"), [("0.1", "1.1"), ("1.2", "0.1"), ("0.1", "1.2")])
def test_a_sentence_stays_one_where_it_would_be_read_as_the_end_of_a_lead_in(target: str, after: str) -> None:
    """A reader takes what stands behind a colon for the rest of its sentence, a new id and a new check."""
    item = "- A call is played. [1] What a newer one owns, no older writes. [1]"
    before = split_document(f"# Work\n\nWhat is taken for granted: [1]\n\n## More\n\n{item}\n")
    after_it = split_document(apply_edit(before, Edit(EditAction.MOVE, target, after=after)).text)
    assert sorted(each.text for each in after_it.pieces) == sorted(each.text for each in before.pieces)
    assert item in after_it.text or not target.startswith("0"), "what nobody moved stays in its line"


def test_what_stands_behind_new_words_stays_a_sentence() -> None:
    before = split_document("# Work\n\n- A call is played. [1] module: pursue; one thread. [3]\n- Next. [1]\n")
    edited = apply_edit(before, Edit(EditAction.REWORD, "0.1", "A call (0.7). [1]"))
    assert [each.text for each in split_document(edited.text).pieces] == [
        "A call (0.7). [1]",
        "module: pursue; one thread. [3]",
        "Next. [1]",
    ]


@pytest.mark.parametrize("edit", [
    Edit(EditAction.DROP, "9.9"), Edit(EditAction.REWORD, "7.1", "x"), Edit(EditAction.ADD, "9", "x"),
    Edit(EditAction.MOVE, "0.1", after="9"), Edit(EditAction.MOVE, "2.1", after="0.1"),
    Edit(EditAction.MOVE, "0", after="1"), Edit(EditAction.DROP, ""),
])  # fmt: skip
def test_a_place_that_is_not_there_is_refused(edit: Edit) -> None:
    with pytest.raises(UnknownPlace):
        apply_edit(DOCUMENT, edit)


def test_a_section_is_shortened_to_half_and_keeps_its_first_sentence_and_what_only_it_cites_longest() -> None:
    drops = list_shortening(DOCUMENT, "1")
    assert "1.1" not in {edit.target for edit in drops}
    words = sum(len(DOCUMENT.find_piece(name).words.split()) for name in ("1.1", "1.2", "1.3"))
    gone = sum(len(DOCUMENT.find_piece(edit.target).words.split()) for edit in drops)
    assert gone >= words / 2
