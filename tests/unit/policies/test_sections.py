"""Sections: a short document is read whole; of a long one its best sections, within the room of one call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corrobora.domain.evidence import Passage, PassageId, SourceId
from corrobora.engine.sections import find_entry
from corrobora.policies.selection import (
    READ_CHARS,
    SECTION_CHARS,
    find_section,
    list_other_sections,
    read_section,
    select_sections,
)


def document(*sections: tuple[str, int], text: str = "plain words " * 80) -> list[Passage]:
    """Passages of about 1,000 characters, so many under each heading."""
    headings = [heading for heading, count in sections for _ in range(count)]
    return [Passage(PassageId(f"C{at}"), SourceId("S1"), text, 0, 1, heading) for at, heading in enumerate(headings)]


def test_a_short_document_is_read_as_a_whole() -> None:
    passages = document(("a", 3), ("b", 3))
    assert select_sections(passages, (), ("anything",)) == tuple(passages)


def test_a_page_that_several_lines_of_research_read_alone_is_read_as_a_whole_up_to_a_larger_size() -> None:
    passages = document(("a", 5), ("b", 5))
    assert len(select_sections(passages, (PassageId("C1"),), ("unheard",))) < len(passages)
    assert select_sections(passages, (PassageId("C1"),), ("unheard",), alone=True) == tuple(passages)
    larger = document(("a", 10), ("b", 10))
    assert len(select_sections(larger, (PassageId("C1"),), ("unheard",), alone=True)) < len(larger)


def test_a_short_rest_is_read_with_all_before_it() -> None:
    passages = document(("a", 24))
    assert len(select_sections(passages, (PassageId("C1"),), ("plain words",), most=23_000)) < len(passages)
    rest = replace(passages[-1], text="A short end.", heading="b")
    found = (PassageId("C3"), PassageId("C9"), PassageId("C15"), PassageId("C21"))
    assert select_sections([*passages, rest], found, ("unheard",), most=24_000)[-1] == rest


def test_what_stands_between_two_passages_that_are_read_is_read_with_them() -> None:
    passages = document(*((str(at), 1) for at in range(9)))
    found = tuple(PassageId(f"C{at}") for at in (1, 5))
    assert select_sections(passages, found, ("unheard",)) == tuple(passages[:7])
    passages[3:4] = document(("3", 1), text="plain words " * 300)
    assert passages[3] not in select_sections(passages, found, ("unheard",), most=9_000), "only as far as it fits"


def test_of_a_long_document_the_section_of_what_was_found_is_read_with_its_neighbours() -> None:
    passages = document(("a", 30), ("b", 3), ("c", 30))
    chosen = [passage.id for passage in select_sections(passages, (PassageId("C31"),), ("unheard",))]
    assert chosen[:3] == ["C30", "C31", "C32"] or {"C30", "C31", "C32"} <= set(chosen)
    assert sum(len(passages[int(each[1:])].text) for each in chosen) <= READ_CHARS


def test_what_speaks_to_the_query_is_read_beside_what_was_found_and_nothing_else() -> None:
    passages = document(("a", 20), ("b", 20))
    at = 35
    passages[at] = Passage(PassageId("C35"), SourceId("S1"), "The ferry sails at noon.", 0, 1, "b")
    chosen = {
        passage.id
        for passage in select_sections(passages, (PassageId("C2"),), ("When does the ferry sail?",), most=8_000)
    }
    assert {"C1", "C2", "C3"} <= chosen
    assert len(chosen) <= 9
    wide = {
        passage.id for passage in select_sections(passages, (), ("unheard of", "When does the ferry sail?"), most=5_000)
    }
    assert "C35" in wide
    assert not [each for each in wide if int(each[1:]) < 20]


def test_a_passage_that_holds_little_of_a_query_is_not_read_however_little_the_others_hold() -> None:
    """The best of an irrelevant document is not good: it has a common word of the query and lacks the others."""
    passages = document(("a", 20), ("b", 20))
    for at in (7, 25, 33):
        passages[at] = Passage(
            PassageId(f"C{at}"), SourceId("S1"), "The ferry was painted grey.", 0, 1, passages[at].heading
        )
    queries = ("Which conditions does the ferry company set for dogs in winter?",)
    chosen = [each.id for each in select_sections(passages, (PassageId("C2"),), queries)]
    assert {"C1", "C2", "C3"} <= set(chosen)
    assert not {"C25", "C33"} & set(chosen)


def test_sections_and_parts_of_them_that_were_not_read_are_listed_by_their_first_passage() -> None:
    passages = document(("a", 2), ("b", 4), ("c", 2))
    assert [each.id for each in list_other_sections(passages, {PassageId("C3")}, 9)] == ["C0", "C2", "C4", "C6"]
    assert [each.id for each in list_other_sections(passages, (), 1)] == ["C0"]


def test_a_section_is_read_from_where_it_was_asked_for_to_its_end() -> None:
    passages = document(("a", 2), ("b", 3), ("c", 2))
    assert [each.id for each in read_section(passages, PassageId("C2"))] == ["C2", "C3", "C4"]
    assert read_section(passages, PassageId("C99")) == ()


def test_an_entry_of_a_long_list_is_found_by_its_line_and_read_with_what_stands_near() -> None:
    passages = document(("settings", 19))
    texts = {"C2": "It ends here.\n\nlamp.mode\n\nSays when it is lit.", "C4": "See lamp.mode for more."}
    passages = [replace(each, text=texts.get(each.id, each.text)) for each in passages]
    found = find_entry(passages, "lamp.mode")
    assert found == "C2"
    assert find_entry(passages, "rope.mode") is None
    read = read_section(passages, PassageId("C2"))
    assert [each.id for each in read][:2] == ["C2", "C3"]
    assert sum(len(each.text) for each in read) <= SECTION_CHARS < sum(len(each.text) for each in passages[2:])


def test_no_query_takes_the_room_of_the_others() -> None:
    """Three queries, each with a section of its own: the first found ten passages, and the last one still gets in."""
    passages = document(*((f"part {number}", 1) for number in range(40)), text="gate oak " * 110)
    for at, text in ((30, "The ferry sails at noon. "), (36, "Rye bread costs four crowns. ")):
        passages[at] = Passage(PassageId(f"C{at}"), SourceId("S1"), text * 30, 0, 1, f"part {at}")
    found = [PassageId(f"C{at}") for at in range(0, 20, 2)]
    queries = ("gate of oak", "When does the ferry sail?", "What does rye bread cost?")
    chosen = {each.id for each in select_sections(passages, found, queries, most=12_000)}
    assert {"C0", "C30", "C36"} <= chosen
    assert "C18" not in chosen


def test_all_that_was_found_is_read_before_what_stands_around_the_first_of_it() -> None:
    """A chapter of a manual in which a search found a passage in each of many long sections."""
    passages = document(*((f"part {number}", 6) for number in range(12)))
    found = [PassageId(f"C{at}") for at in range(2, 72, 6)]
    chosen = [each.id for each in select_sections(passages, found, ("unheard",))]
    assert set(found) <= set(chosen)
    assert len(chosen) > len(found), "the rest of the room is for what stands around"


def test_a_word_that_is_repeated_holds_no_more_of_a_query() -> None:
    passages = document(("a", 20), ("b", 20))
    said = {12: "The ferry fares are in a table. " * 9, 33: "ferry " * 90}
    passages = [replace(each, text=said.get(at, each.text)) for at, each in enumerate(passages)]
    asked = ("Which ferry crosses at dawn in winter?", "What are the fares of the ferry?")
    chosen = {each.id for each in select_sections(passages, (PassageId("C2"),), asked, most=9_000)}
    assert ("C12" in chosen, "C33" in chosen) == (True, False)


def test_each_part_of_a_long_section_has_a_line_of_its_own_that_is_read_if_it_is_asked_for() -> None:
    """The options of a command are one section of a manual: whoever asks for it is given its beginning."""
    passages = document(("options", 60))
    passages[45] = replace(passages[45], text=f"- -Mf: marks messages as frozen. {passages[45].text}")
    listed = [each.id for each in list_other_sections(passages, (), 9, ("Which option marks messages as frozen?",))]
    assert listed[0] == "C0"
    assert len(listed) > 2
    parts = {each: {p.id for p in read_section(passages, each)} for each in listed}
    assert "C45" in set().union(*(parts[each] for each in listed[1:]))
    assert "C45" not in parts[PassageId("C0")]


def test_of_many_unread_sections_the_nearest_to_what_is_asked_are_listed_in_reading_order() -> None:
    passages = document(*((f"part {number}", 1) for number in range(9)))
    for at in (7, 4):
        passages[at] = Passage(PassageId(f"C{at}"), SourceId("S1"), "The ferry sails at noon.", 0, 1, f"part {at}")
    assert [each.id for each in list_other_sections(passages, (), 2, ("When does the ferry sail?",))] == ["C4", "C7"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("12. Upgrades of the mill", "C1"),
        ("Chapter 12: Upgrades of the mill", "C1"),
        ("12.2 Upgrading the wheel", "C2"),
        ("13. Upgrades of the ferry", None),
        ("Annals of the county", None),
    ],
)
def test_a_section_or_chapter_is_found_by_its_name(name: str, found: str | None) -> None:
    headings = (
        "11. Care",
        "12. Upgrades of the mill > 12.1 First",
        "12. Upgrades of the mill > 12.2 Upgrading the wheel",
    )
    assert find_section(document(*((heading, 1) for heading in headings)), name) == found


def test_a_passage_that_holds_the_rare_word_of_a_query_is_read_though_the_document_words_the_rest_otherwise() -> None:
    passages = document(("a", 20), ("b", 20), text="The worker and its connection. " * 30)
    passages[35] = replace(passages[35], text="A keepalive goes to each worker hourly.", heading="b > Keepalive")
    chosen = {each.id for each in select_sections(passages, (PassageId("C1"),), ("worker keepalive lost",))}
    assert "C35" in chosen


def test_what_stands_below_a_section_belongs_to_it_when_it_is_asked_for() -> None:
    """A section was cut at the first entry of a list in it that has passages of its own."""
    passages = document(("a", 2), ("a > mode", 1), ("a", 1), ("ab", 1))
    assert [each.id for each in read_section(passages, PassageId("C0"))] == ["C0", "C1", "C2", "C3"]
