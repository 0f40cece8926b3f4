"""reStructuredText: marks go, words stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plugins.growth import LINEAR, measure_growth

from corrobora.adapters.readers.rst import read_rst, strip_inline

PAGE = b"""=====
Title
=====

Use :func:`~os.remove` with *care*, see `the page <http://x>`_ and ``code``.

.. note:: It is
   gone then.

.. comment
   hidden

Section
-------

- one
  more
- two

.. code-block:: python
   :linenos:

   x = 1

=====  =====
k      v
=====  =====
"""


def test_the_page_reads_as_a_person_would():
    parsed = read_rst(PAGE)
    assert parsed.title == "Title"
    assert [(heading.level, heading.title) for heading in parsed.headings] == [(1, "Title"), (2, "Section")]
    assert "Use os.remove with care, see the page and code." in parsed.text
    assert "It is\n\ngone then." in parsed.text
    assert "hidden" not in parsed.text
    assert "- one more\n- two" in parsed.text
    assert "x = 1" in parsed.text
    assert "linenos" not in parsed.text


def test_inline_marks():
    assert strip_inline(":ref:`words <target>` **bold** 2 * 3 * 4") == "words bold 2 * 3 * 4"


@given(
    st.lists(st.sampled_from(["a\n", "==\n", "..\n", ".. x::\n", "  b\n", "\n", "- c\n", "| d |\n", "+--+\n"])).map(
        "".join
    )
)
def test_anything_is_read_and_headings_stay_exact(text):
    parsed = read_rst(text.encode())
    for heading in parsed.headings:
        assert parsed.text.startswith(heading.title, heading.start)


@pytest.mark.parametrize("unit", ["`", "*a ", ":x:`", "==\n", ".. ", "|", "`a <"])
def test_hostile_text_is_read_in_linear_time(unit):
    assert measure_growth(lambda size: read_rst((unit * (size // len(unit))).encode()), 20_000) < LINEAR


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (b"It deletes ``\\*.log`` and \\*.tmp, *never* ``__init__``.", "It deletes \\*.log and *.tmp, never __init__."),
        (b"Use 2 * 3 and a*b, *.log and *.tmp files.", "Use 2 * 3 and a*b, *.log and *.tmp files."),
        (
            b"=====  =====\nPlan   Price\n=====  =====\nBasic  5\nFree   none\n       yet\n=====  =====\n",
            "Plan: Basic; Price: 5.\nPlan: Free; Price: none yet.",
        ),
        (
            b"+------+-------+\n| Plan | Price |\n+======+=======+\n| Top  | 5     |\n+------+-------+\n",
            "Plan: Top; Price: 5.",
        ),
        (b"+-----+-----+\n| a   | b   |\n+-----+-----+\n| 1   | 2   |\n+-----+-----+\n", "a | b\n1 | 2"),
    ],
)
def test_only_what_the_format_marks_is_dropped(source: bytes, text: str) -> None:
    assert read_rst(source).text == text


def test_notes_quotes_definitions_and_literal_blocks_keep_their_text_and_form():
    text = read_rst(
        b"The road was closed [1]_ near H\\ :sub:`2`\\ O works::\n\n    def cross():\n        return 7\n\nDone.\n\n"
        b"..\n\n   Nobody crosses in winter.\n\nhut\n   A house of wood\n   with one door.\npass\n   A way over.\n\n"
        b":Author: A. Lund\n:Version: 2\n\n.. [1]\n   In 1987.\n.. [Lund20] A book.\n.. a comment\n"
    ).text
    assert text.split("\n\n") == [
        "The road was closed [1] near H2O works:",
        "\u2002def cross():\n\u2002    return 7",
        "Done.",
        "Nobody crosses in winter.",
        "- hut: A house of wood with one door.",
        "- pass: A way over.",
        ":Author: A. Lund\n:Version: 2",
        "[1] In 1987.",
        "[Lund20] A book.",
    ]


def test_what_a_directive_describes_is_a_section_and_what_stands_in_it_is_read_as_elsewhere() -> None:
    parsed = read_rst(
        b"Kilns\n=====\n\n.. py:class:: Kiln(trays[, door=None])\n\n   :param int trays: How many it holds.\n"
        b"   :returns: The kiln.\n\n   A box that is fired.\n\n   .. note:: It is hot.\n\n"
        b"   .. py:method:: fire(hours=2)\n\n      Fires it.\n\n   .. comment:: x\n\nDone.\n"
    )
    assert [(each.level, each.title) for each in parsed.headings] == [(1, "Kilns"), (2, "Kiln"), (3, "fire")]
    assert parsed.text.split("\n\n") == [
        "Kilns",
        "Kiln",
        "Kiln(trays[, door=None])",
        "- trays (int): How many it holds.\n- returns: The kiln.",
        "A box that is fired.",
        "It is hot.",
        "fire",
        "fire(hours=2)",
        "Fires it.",
        "x",
        "Done.",
    ]


def test_a_bold_line_of_its_own_is_a_heading_below_another():
    parsed = read_rst(b"History\n=======\n\n**2.1**\n\n- a **bold** word\n\n**Note:**\n\nText.\n")
    assert [(each.level, each.title) for each in parsed.headings] == [(1, "History"), (2, "2.1")]
    assert read_rst(b"**2.1**\n\n- a change\n").headings == ()


def test_a_paragraph_of_signs_takes_linear_time() -> None:
    assert measure_growth(lambda size: read_rst(b"***\n" * size), 20_000) < LINEAR


def test_a_block_that_is_tested_is_code():
    text = b"Stop it:\n\n.. testcode::\n\n    stop(7)\n      # at once\n"
    assert read_rst(text).text == "Stop it:\n\n\u2002stop(7)\n\u2002  # at once"


def test_code_of_an_item_is_code_and_a_target_behind_it_says_nothing():
    page = b"""- **Kilns**: They are fired as follows:

    .. code-block:: python

        for kiln in kilns:
            kiln.fire()

    .. note::

        They are hot.

        .. versionadded:: 4.0

.. _`KILN-3`:
    https://kilns.example/3.txt

- **Ovens**: None.
"""
    text = read_rst(page).text
    assert text.split("\n\n") == [
        "- Kilns: They are fired as follows:",
        "\u2002for kiln in kilns:\n\u2002    kiln.fire()",
        "They are hot.",
        "4.0",
        "- Ovens: None.",
    ]


def test_a_name_is_shown_without_the_signs_that_tell_sphinx_where_to_look():
    text = strip_inline(
        "See `.Handler.get_cookie`, `~.Loop.run` and `configure <.Options.configure>`; `.gitignore` stays."
    )
    assert "See Handler.get_cookie, Loop.run and configure; .gitignore stays." in text
