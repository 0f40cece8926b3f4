"""Markdown: markup goes, words stay, headings keep their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.adapters.readers.markup import read_markdown, split_front_matter

PAGE = b"""---
title: "Password rules"
date: 2017-06-22 10:00
tags: [a]
---
# <a name="x"></a> Rules {#rules}

Verifiers **SHALL NOT** require _memorized_
secrets to [change](http://x/y) `often`.[^1]

## Length {: .big}

| kind | value |
|------|-------|
| min  | **8** |

- one
- two with
  a wrap

1. first

<table><tr><td>A</td><td>B <i>b</i></td></tr>

    <tr><td>C</td><td>D</td></tr>
</table>

```python
x = "<b>"
```
"""


def test_the_page_reads_as_a_person_would():
    parsed = read_markdown(PAGE)
    assert (parsed.title, parsed.published) == ("Password rules", "2017-06-22")
    assert parsed.text.split("\n\n") == [
        "Rules",
        "Verifiers SHALL NOT require memorized secrets to change often.[^1]",
        "Length",
        "kind: min; value: 8.",
        "- one\n- two with a wrap\n1. first",
        "A | B b\nC | D",
        '\u2002x = "<b>"',
    ]


def test_headings_stand_where_they_say():
    parsed = read_markdown(PAGE)
    assert [(heading.level, heading.title) for heading in parsed.headings] == [(1, "Rules"), (2, "Length")]
    for heading in parsed.headings:
        assert parsed.text.startswith(heading.title, heading.start)


def test_front_matter_that_never_ends_is_text():
    assert split_front_matter("---\ntitle: x") == ({}, "---\ntitle: x")


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=400)
    | st.lists(st.sampled_from(["# a\n", "* b\n", "> ", "<td>", "```\n", "|a|b|\n|-|-|\n"])).map("".join)
)
def test_anything_is_read_and_headings_stay_exact(text):
    parsed = read_markdown(text.encode("utf-8", "replace"))
    for heading in parsed.headings:
        assert parsed.text.startswith(heading.title[:50], heading.start)


@pytest.mark.parametrize("unit", ["[", "*a ", "> ", "<", "`", "- ", "{:", "![](", "|a", "$$\n", "\\begin{align}\n"])
def test_hostile_markdown_is_read_in_linear_time(unit):
    assert measure_growth(lambda size: read_markdown((unit * (size // len(unit))).encode()), 4_000) < LINEAR


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (b"Run `ssh <user>@<host> -p <port>` as <name>.", "Run ssh <user>@<host> -p <port> as <name>."),
        (
            b"Skip at load<limit and queue>40, `__init__` and \\*.log.",
            "Skip at load<limit and queue>40, __init__ and *.log.",
        ),
        (b"## Force {#force}\n\nThe option `{#force}`.\n{: .note}", "Force\n\nThe option {#force}."),
        (b"<user>\nis the name\n", "<user> is the name"),
        (b"| Plan | Price |\n|---|---|\n| **Basic** | 5 |\n| Free | |", "Plan: Basic; Price: 5.\nPlan: Free."),
        (b"*See* [the book](https://a.example/x) and <b>more</b>.", "See the book and more."),
    ],
)
def test_only_what_the_format_marks_is_dropped(markdown: bytes, text: str) -> None:
    assert read_markdown(markdown).text == text


@pytest.mark.parametrize(
    ("listed", "authors"),
    [
        ('["Doe, Jane", "Mill Office"]', ("Doe, Jane", "Mill Office")),
        ("['Lund, Greta' , Ole Brandt]", ("Lund, Greta", "Ole Brandt")),
        ("[Jane Doe, Ole Brandt]", ("Jane Doe", "Ole Brandt")),
    ],
)
def test_a_quoted_name_in_a_list_of_authors_may_hold_a_comma(listed: str, authors: tuple[str, ...]) -> None:
    parsed = read_markdown(f"---\nauthors: {listed}\n---\n\n# Mill\n\nThe mill was built in 1874.\n".encode())
    assert parsed.authors == authors


def test_a_bold_line_of_its_own_is_a_heading_below_another() -> None:
    parsed = read_markdown(b"# History\n\n**2.1**\n\n- **bold item**\n\n**Note:**\n\nText **here**\n")
    assert [(each.level, each.title) for each in parsed.headings] == [(1, "History"), (2, "2.1")]
    assert read_markdown(b"**2.1**\n\n- a change\n").headings == ()


def test_a_list_inside_an_item_is_indented():
    parsed = read_markdown(b"* Roof\n  * repaired\n    1. in May\n* Bins\n")
    assert parsed.text == "- Roof\n  - repaired\n    1. in May\n- Bins"


def test_a_place_to_fill_in_that_is_called_like_an_element_leaves_code_as_it_is():
    text = "Write a line:\n\n    # <source device> <target>\n    swap1  /dev/sde9\n"
    assert (
        read_markdown(text.encode()).text == "Write a line:\n\n\u2002# <source device> <target>\n\u2002swap1  /dev/sde9"
    )


PAPER = rb"""---
title: Kilns
authors:
  - name : Greta Lund
  - name: Ole Brandt
date: 10 July 2024
---
Kilns shrink [^1]. The pattern is [^a-z], and `[^1]` in code.

![The *kiln*.\label{fig:kiln}](kiln.png){
width="360pt" }

The heat is given by
\begin{equation}\label{eq:heat}
\mathbf{q} = 0. \\
Q_{x} > 1.
\end{equation}
where it holds. It costs $$ 5.

- [X] Greta
- [ ] Ole

[^1]: By a tenth.
"""


def test_marks_that_a_processor_of_papers_obeys_are_not_printed():
    parsed = read_markdown(PAPER)
    assert (parsed.published, parsed.authors) == ("2024-07-10", ("Greta Lund", "Ole Brandt"))
    formula = ("\\begin{equation}", "\\mathbf{q} = 0. \\\\", "Q_{x} > 1.", "\\end{equation}")
    assert parsed.text.split("\n\n") == [
        "Kilns shrink. The pattern is [^a-z], and [^1] in code.",
        "The kiln.",
        "The heat is given by",
        "\n".join(f"\u2002{line}" for line in formula),
        "where it holds. It costs $$ 5.",
        "- ☑ Greta\n- ☐ Ole",
        "By a tenth.",
    ]


@pytest.mark.parametrize(("date", "published"), [("---", ""), ("9 Oct. 2023", "2023-10-09"), ("2019", "2019")])
def test_the_date_of_front_matter_is_read_or_left_out(date: str, published: str):
    assert read_markdown(f"---\ntitle: Kilns\ndate: {date}\n---\nA kiln.\n".encode()).published == published


def test_a_heading_inside_a_quotation_heads_nothing():
    page = b"# Pumps\n\n## Support\n\n> ## Security\n>\n> It is mended for a year.\n\nA pump lasts long.\n"
    parsed = read_markdown(page)
    assert [each.title for each in parsed.headings] == ["Pumps", "Support"]
    assert "Security\n\nIt is mended for a year." in parsed.text


def test_what_goes_on_in_an_item_stands_below_it():
    page = (
        b"1. Start the pump:\n\n   ```sh\n   > pump it now and then if it is not on\n   ```\n\n   It turns.\n2. Wait.\n"
    )
    code = "\u2002  > pump it now and then if it is not on"
    assert read_markdown(page).text == f"1. Start the pump:\n\n{code}\n\n  It turns.\n2. Wait."


def test_a_list_of_links_to_the_headings_of_a_page_is_no_text():
    listed = "- [Valves](#valves)\n  - [Open one](#open)\n- [Leaks](#leaks)\n"
    pages = [f"# Pumps\n\n{lead}\n\n{listed}\n## Valves\n\nThey turn.\n" for lead in ("## Contents", "These parts:")]
    alone, led = (read_markdown(page.encode()).text for page in pages)
    assert alone == "Pumps\n\nContents\n\nValves\n\nThey turn."
    assert "These parts:\n\n- Valves\n  - Open one\n- Leaks" in led
