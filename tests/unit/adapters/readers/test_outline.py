"""Plain text as people lay it out: headings, running heads, and terms above what defines them."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corrobora.adapters.readers import outline, read_text
from corrobora.adapters.readers.markup import read_markdown
from corrobora.adapters.readers.parser import ParserProcess
from corrobora.ports import Heading

RULE = re.compile(r"([=\-~^*#+_\"'.])\1{2,}")
MANUAL = """MILL(1)                  User Commands                  MILL(1)

NAME
       mill - grind what stands on standard input

OPTIONS
   Grinding
       -c, --coarse
              grind coarsely; a second pass is
              not made

       -f FILE
              Read the grain from FILE.

   Stones
       The stones turn at 90 revolutions a minute.
"""


def headings(text: str) -> list[tuple[int, str]]:
    return [(each.level, each.title) for each in read_text(text.encode()).headings]


def test_lines_that_stand_out_of_an_indented_body_are_headings() -> None:
    assert headings(MANUAL) == [(1, "NAME"), (1, "OPTIONS"), (2, "Grinding"), (2, "Stones")]


def test_a_running_head_gives_its_first_cell_as_the_title() -> None:
    assert read_text(MANUAL.encode()).title == "MILL(1)"


def test_a_term_stands_on_the_line_of_what_defines_it() -> None:
    text = read_text(MANUAL.encode()).text
    assert "-c, --coarse\u2003grind coarsely; a second pass is\n" in text
    assert "-f FILE\u2003Read the grain from FILE." in text


def test_two_terms_above_one_definition_are_both_read_with_it() -> None:
    text = read_text(b"Options:\n\n'-q'\n'--quiet'\n     Say nothing.\n").text
    assert "'-q' '--quiet'\u2003Say nothing." in text


def test_an_option_that_ends_in_a_comma_leads_on_to_its_other_name() -> None:
    text = read_text(b"Options:\n\n-b value,\n--bar=value\n     Bar it.\n\nHi all,\nthe bar\n     is open.\n").text
    assert "-b value, --bar=value\u2003Bar it." in text
    assert "Hi all,\nthe bar\n     is open." in text


def test_programs_lists_and_paragraphs_are_left_as_they_are() -> None:
    for text in ("def f(x):\n    return x", "- one\n  - two", "1. Grind\n   it well", "It grinds.\n    It turns."):
        assert read_text(text.encode()).text == text


def test_underlined_and_numbered_lines_are_headings() -> None:
    text = "The Mill\n========\n\nWords.\n\nStones\n------\n\nMore words.\n\n2.1 Turning the stones\n\nThey turn.\n"
    assert headings(text) == [(1, "The Mill"), (2, "Stones"), (4, "2.1 Turning the stones")]


def test_starred_lines_are_headings_where_there_are_several_levels() -> None:
    news = (
        "* Changes in release 3.8 [stable]\n\n** Mended\n\n  The wheel turns.\n\n* Changes in release 3.7\n\n  More.\n"
    )
    assert headings(news) == [(1, "Changes in release 3.8 [stable]"), (2, "Mended"), (1, "Changes in release 3.7")]
    assert headings("* a rope\n\n* a lamp\n\nThe crew carries them.\n") == []


def test_lines_that_recur_with_other_numbers_are_headings() -> None:
    news = "".join(f"version 1.{n} - Ann Moe, 2017-12-{n}\n\n* It is mended.\n\n" for n in (17, 16, 15))
    assert [title for _, title in headings(news)] == [f"version 1.{n} - Ann Moe, 2017-12-{n}" for n in (17, 16, 15)]
    news = "".join(f"CHANGES WITH {n}:\n\n        * It is mended.\n\n" for n in (17, 16, 15))
    assert [title for _, title in headings(news)] == ["CHANGES WITH 17", "CHANGES WITH 16", "CHANGES WITH 15"]
    assert headings("See page 4\n\nIt turns.\n\nCall 112\n\nIt stops.\n") == []


def test_sentences_and_rows_of_a_table_of_contents_are_no_headings() -> None:
    assert headings("1. The mill turns all day.\n\nWords.\n\n2.1 Stones ..... 14\n\n2.2 Wheels     15\n\nMore.\n") == []


async def test_the_headings_of_a_text_file_reach_its_passages() -> None:
    async with ParserProcess() as child:
        found = await child.parse_document(MANUAL.encode(), name="mill.txt")
    assert [each.title for each in found.headings] == ["NAME", "OPTIONS", "Grinding", "Stones"]


# the mark of quoted lines stands once before each paragraph: test_mail.py
_SIGNS = string.ascii_letters + string.digits + string.punctuation.replace(">", "") + " \n"


@given(st.text(alphabet=_SIGNS, max_size=400))
@example("***\nAbc\n***\n+---\n")
def test_words_are_never_changed_and_headings_stand_where_they_are_said_to(text: str) -> None:
    found = read_text(text.encode())
    words = [[each for each in one.split() if not RULE.fullmatch(each)] for one in (found.text, text)]
    assert words[0] == words[1]
    assert all(found.text[each.start :].lstrip("* ").startswith(each.title.lstrip("* ")) for each in found.headings)


def test_a_word_broken_by_a_formatter_is_one_word_and_the_indentation_stays() -> None:
    page = "MILL\n\n       Run contin\u2010\n       uously.  The stones\n       of a well\u2010\n       made\n mill\n"
    text = read_text(page.encode()).text
    assert "Run continuously." in text
    assert "\n       The stones" in text
    assert "wellmade\n mill" in text


def test_lines_of_a_series_above_a_short_rule_are_headings() -> None:
    news = "".join(
        f"\nver. 1.{n}.0 (2020/0{n}/01) - a name that is longer than its rule\n---\n- change {n}\n" for n in (1, 2, 3)
    )
    assert [title[:10] for _, title in headings(f"News\n{news}")] == ["ver. 1.1.0", "ver. 1.2.0", "ver. 1.3.0"]


def test_rules_beside_headings_are_no_text() -> None:
    text = "****\nMill\n****\n\nWords.\n\nStones\n------\n* They turn.\n\na | b\n-----\n"
    assert read_text(text.encode()).text == "\nMill\n\nWords.\n\nStones\n\n* They turn.\n\na | b\n"
    assert headings(text)[:2] == [(1, "Mill"), (2, "Stones")]


def test_a_numbered_question_is_a_heading() -> None:
    asked = "2.4. Is it wet?\n\nYes.\n\n2.5. How is it oiled?\n\nOften.\n\nIs it loud?\n\nNo.\n"
    assert [title for _, title in headings(asked)] == ["2.4. Is it wet?", "2.5. How is it oiled?"]


def test_the_first_release_is_no_title_of_the_news_of_all() -> None:
    news = "".join(f"New in version 4.{n}\n================\n\n* It is mended.\n\n" for n in (3, 2, 1))
    assert read_text(news.encode()).title == ""
    assert read_text(news.replace("New in version 4.3", "News of the mill").encode()).title == "News of the mill"
    assert read_markdown(b"# 4.3\n\nA.\n\n# 4.2\n\nB.\n\n# 4.1\n\nC.\n").title == ""
    assert read_markdown(b"# News\n\n## 4.3\n\nA.\n\n## 4.2\n\nB.\n\n## 4.1\n\nC.\n").title == "News"


def test_lines_that_name_a_release_and_its_day_are_headings_above_what_follows_at_once() -> None:
    news = "".join(f"1.{n}.2 [2020-0{n}-01]\nThe wheel of the mill is {n} feet high.\n\n" for n in (3, 2, 1))
    assert [title for _, title in headings(news)] == [f"1.{n}.2 [2020-0{n}-01]" for n in (3, 2, 1)]
    assert read_text(news.encode()).text.startswith("1.3.2 [2020-03-01]\n\nThe wheel")
    said = "".join(
        f"On 2020-0{n}-01 the mill got 1.{n}, of which the miller said that it\nturns.\n\n" for n in (3, 2, 1)
    )
    assert headings(said) == []


def test_a_labelled_line_that_stands_out_is_no_heading() -> None:
    text = (
        "Q:  How do I unpack the chart of the sea?\n    I have no tool.\n\nA:  chart -dc sea.map\n\n    Ask the pilot."
    )
    assert headings(f"Notes\n\n{text}\n\n    He is in his house.\n") == [(1, "Notes")]


def test_releases_between_rules_are_headings() -> None:
    rule = "-" * 60
    news = [
        f"{rule}\nharbour-1.{n}.2 (released 2021-0{n}-28):\n\n# FIXES:\n* The gate {n} shuts again.\n"
        for n in (4, 3, 2, 1)
    ]
    titles = [heading.title for heading in read_text("\n".join(["Harbour News", "", *news]).encode()).headings]
    assert sum(title.startswith("harbour-1.") for title in titles) == len(news)


def test_the_one_heading_above_all_others_is_the_title_and_the_first_line_of_a_script_is_none() -> None:
    marked = b".. include:: x\n.. _start:\n\nQuick Start\n===========\n\nThis begins.\n\nSteps\n-----\n\nGo on.\n"
    assert read_text(marked).title == "Quick Start"
    two = marked + b"\nNext Start\n==========\n\nAnd so on.\n"
    assert read_text(two).title == ""
    assert read_text(b"#! /bin/sh\n\n# a hook\necho done\n").title == ""


def test_headings_of_asciidoc_divide_a_text_and_their_marks_and_anchors_are_no_words_of_them() -> None:
    text = "Kilns\n=====\n\n== [[door]] The door\nIt opens.\n\n=== Its hinge ===\n\nIt bends.\n\na == b is compared.\n"
    assert headings(text) == [(1, "Kilns"), (2, "The door"), (3, "Its hinge")]


def test_the_marks_of_a_comment_are_no_part_of_a_title() -> None:
    for line in ('"""Tariffs of the ferry."""', "/* Tariffs of the ferry. */", "// Tariffs of the ferry."):
        assert outline.find_title([line, "", "FARE = 3"]) == "Tariffs of the ferry."
    assert outline.find_title(["The '90s: a review", "", "It was a time."]) == "The '90s: a review"


def test_the_lines_of_a_frame_of_stars_are_read_without_it() -> None:
    rule = "*" * 50
    lines = ["", "Lids may not be lifted while the kettle is", "heated by the fire of the hall.", ""]
    framed = "\n".join(f"*  {line:<46}*" for line in lines)
    text = read_text(f"On lids\n\n{rule}\n{framed}\n{rule}\n\nStore them dry.\n".encode()).text
    assert "Lids may not be lifted while the kettle is heated by the fire of the hall." in " ".join(text.split())
    assert read_text(b"* one *\n* two *\n").text == "* one *\n* two *"


@pytest.mark.parametrize(
    ("title", "second", "name", "named"),
    [
        ("Pumps", "Open a valve", "open valve", "Pumps: Open a valve"),
        ("Pumps", "Long Term Support", "LTS", "Pumps: Long Term Support"),
        ("Pumps", "HTTP/2", "HTTP2", "Pumps: HTTP/2"),
        ("Layout of pumps", "Valves", "valves and leaks", "Layout of pumps"),
        ("Pumps", "Description of valves", "valves", "Pumps"),
        ("Pump manual", "Manual", "manual", "Pump manual"),
    ],
)
def test_a_file_is_named_by_the_heading_that_says_what_it_is_called(title: str, second: str, name: str, named: str):
    made = [Heading(0, 1, title), Heading(20, 2, second)]
    assert outline.name_document(title, made, name) == named


def test_a_heading_above_the_title_is_the_name_of_a_file_that_is_called_so():
    made = [Heading(0, 2, "Pump layout"), Heading(20, 1, "Content")]
    assert outline.name_document("Content", made, "pump layout") == "Pump layout"
